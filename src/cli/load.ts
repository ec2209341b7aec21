import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { SwitchProgram } from "../dsl/program.ts";
import { ProgramError } from "../dsl/programerror.ts";
import { UserError } from "./exit.ts";

/** Imports a user's TypeScript or JavaScript file. */
export async function importFile(file: string): Promise<Readonly<Record<string, unknown>>> {
  const path = resolve(file);
  if (!existsSync(path) || !statSync(path).isFile()) throw new UserError(`there is no file ${file}`);
  try {
    await learnTypeScript();
    return await import(pathToFileURL(path).href);
  } catch (error) {
    if (error instanceof ProgramError || error instanceof UserError) throw error;
    throw new UserError(`${file} could not be loaded: ${reasonOf(error)}`);
  }
}

/** Set by bin/gradplane.js; absent where all modules are TypeScript already, as in tests. */
async function learnTypeScript(): Promise<void> {
  const learn: unknown = Reflect.get(globalThis, Symbol.for("gradplane.learnTypeScript"));
  if (typeof learn === "function") await learn();
}

/** The message, and where in the user's own files it happened. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const isOurs = (line: string): boolean =>
    /node:|node_modules|\/gradplane\/(src|dist)\//.test(line) || line.includes(ownFolder);
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line) && !isOurs(line));
  return [error.message, ...frames.slice(0, 3)].join("\n");
}

const ownFolder = fileURLToPath(new URL("..", import.meta.url));

/** The program that a file exports by default. */
export async function loadProgram(file: string): Promise<SwitchProgram> {
  const found = (await importFile(file)).default;
  if (isProgram(found)) return found;
  throw new UserError(`${file} has no program: write "export default program(name, { ... })"`);
}

export function isProgram(value: unknown): value is SwitchProgram {
  return typeof value === "object" && value !== null && "ir" in value && "features" in value;
}
