import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { onPath } from "../../src/backends/onpath.ts";

/** The program that the variable names, or the one on the PATH, or undefined. */
export function findTool(variable: string, program: string): string | undefined {
  const named = process.env[variable];
  if (named !== undefined && named !== "") return named;
  return onPath(program, process.env.PATH);
}

/** Tools that tests want, with one line on those that are missing. */
export function findTools<const T extends Record<string, readonly [variable: string, program: string]>>(
  wanted: T,
): { readonly [K in keyof T]: string | undefined } {
  const found = Object.entries(wanted).map(
    ([key, [variable, program]]) => [key, findTool(variable, program)] as const,
  );
  const missing = Object.entries(wanted).filter(([key]) =>
    found.some(([k, path]) => k === key && path === undefined),
  );
  if (missing.length > 0)
    console.log(
      `not tested with real tools, missing: ${missing.map(([, [variable, program]]) => `${program} (${variable})`).join(", ")}`,
    );
  // One entry for each key of `wanted`.
  return Object.fromEntries(found) as { readonly [K in keyof T]: string | undefined };
}

/** Writes generated files below a folder. */
export function writeFiles(folder: string, files: ReadonlyMap<string, string | Uint8Array>): void {
  for (const [path, content] of files) {
    const file = join(folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
}

export interface Ran {
  readonly status: number | null;
  readonly output: string;
}

/** Runs a program to its end; answers its exit code and all that it wrote. */
export function run(program: string, args: readonly string[], cwd: string): Ran {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: "utf8" });
  return { status, output: `${stdout ?? ""}${stderr ?? ""}${error === undefined ? "" : String(error)}` };
}

/**
 * What a compiler says, without the warning that p4c has for every table with an action profile: it gives each table a default
 * action itself, and then finds that BMv2 takes none there. Nothing that a program says avoids it.
 */
export function withoutProfileWarnings(output: string): string {
  const known =
    /^.*warning: Target does not support default_action for \S+ \(due to action profiles\)\n.*\n.*\^+\n?/gm;
  return output.replace(known, "");
}
