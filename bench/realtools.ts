import { onPath } from "../src/backends/onpath.ts";

/** The real tool that the variable names, or the one on the PATH; undefined when it is not there. */
export function realTool(variable: string, program: string): string | undefined {
  const named = process.env[variable];
  if (named !== undefined && named !== "") return named;
  return onPath(program, process.env.PATH);
}
