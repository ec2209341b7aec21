import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The real tool that the variable names, or the one on the PATH; undefined when it is not there. */
export function realTool(variable: string, program: string): string | undefined {
  const named = process.env[variable];
  if (named !== undefined && named !== "") return named;
  return (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
