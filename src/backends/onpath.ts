import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** The program in the first folder of a PATH that has it; undefined when none has. */
export function onPath(program: string, path: string | undefined): string | undefined {
  return (path ?? "")
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find(isExecutable);
}

export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
