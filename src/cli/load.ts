import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { SwitchProgram } from "../dsl/program.ts";
import { ProgramError } from "../dsl/programerror.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import { missingExportText, thrownText } from "./programfault.ts";

/** URL of the folder with gradplane's modules. */
const own = new URL("../", import.meta.url).href;

/** Imports a user's TypeScript or JavaScript file. */
export async function importFile(file: string): Promise<Readonly<Record<string, unknown>>> {
  const path = resolve(file);
  if (!existsSync(path) || !statSync(path).isFile()) throw new UserError(`there is no file ${file}`);
  try {
    // In tests all modules are TypeScript, and whoever runs them loads programs, too.
    if (import.meta.url.endsWith(".ts")) return await import(pathToFileURL(path).href);
    const { importTypeScript } = await import("./userprogram.ts");
    return await importTypeScript(path, own);
  } catch (error) {
    if (error instanceof ProgramError || error instanceof UserError || error instanceof EnvironmentError)
      throw error;
    const reason = (await missingExportText(error, own)) ?? thrownText(error);
    throw new UserError(`${file} could not be loaded: ${reason}`);
  }
}

/** The program that a file exports by default. */
export async function loadProgram(file: string): Promise<SwitchProgram> {
  const exported = await importFile(file);
  if (isProgram(exported.default)) return exported.default;
  const [name] = Object.entries(exported).find(([, value]) => isProgram(value)) ?? [];
  if (name !== undefined)
    throw new UserError(
      `${file} exports a program as ${name}, and none by default: write "export default ${name}"`,
    );
  throw new UserError(`${file} has no program: write "export default program(name, { ... })"`);
}

export function isProgram(value: unknown): value is SwitchProgram {
  return typeof value === "object" && value !== null && "ir" in value && "features" in value;
}
