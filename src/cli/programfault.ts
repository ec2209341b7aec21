import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Message } from "esbuild";
import { placeLines } from "../ir/codeframe.ts";
import type { SourceLocation } from "../ir/source.ts";
import { didYouMean } from "../p4info/suggest.ts";

/** Why a user's file could not be loaded, with the place in it, for people. */

const ownFolder = fileURLToPath(new URL("..", import.meta.url));

/** What the compiler found in files below `folder`. */
export function compilerText({ text, location }: Message, folder: string): string {
  if (location === null) return text;
  const { file, line, column } = location;
  return placed(text, { file: join(folder, file), line, column: column + 1 });
}

/** What the program threw, and where in the user's own files; the place of the call when it was thrown in a package. */
export function thrownText(error: unknown): string {
  if (!(error instanceof Error))
    return `it throws ${typeof error === "string" ? JSON.stringify(error) : String(error)}`;
  const text = `${error.name}: ${error.message}${isOfUndefined(error) ? UNDEFINED : ""}`;
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line) && !isOurs(line));
  const [, file, line, column] = /\(?((?:file:)?\/[^()]+):(\d+):(\d+)\)?$/.exec(frames[0] ?? "") ?? [];
  if (file === undefined) return text;
  const path = file.startsWith("file:") ? fileURLToPath(file) : file;
  return placed(text, { file: path, line: Number(line), column: Number(column) });
}

const UNDEFINED =
  "; something that is used or handed over there is undefined: is its name spelt right? The TypeScript compiler tells (npx tsc --noEmit)";

/** What V8 throws where a name that does not exist was read. */
function isOfUndefined(error: Error): boolean {
  return error instanceof TypeError && /undefined|is not a function/.test(error.message);
}

function isOurs(line: string): boolean {
  return /node:|node_modules|\/gradplane\/(src|dist)\//.test(line) || line.includes(ownFolder);
}

/** A name that a module does not have; undefined for other errors. `own`: URL of the folder with gradplane's modules. */
export async function missingExportText(error: unknown, own: string): Promise<string | undefined> {
  if (!(error instanceof SyntaxError)) return undefined;
  const message = /^The requested module '(.+)' does not provide an export named '(.+)'$/;
  const [, module, name] = message.exec(error.message) ?? [];
  if (module === undefined || name === undefined) return undefined;
  const known = module.startsWith(own) ? Object.keys(await import(module)) : [];
  const door = module.slice(own.length).replace(/\/?index\.js$/, "");
  const shown = module.startsWith(own) ? `gradplane${door === "" ? "" : `/${door}`}` : module;
  const text = `"${shown}" has no export "${name}"${didYouMean(name, known)}`;
  // Node writes the line that asks in front of the stack.
  const [, file, number, line] = /^(.+):(\d+)\n(.*)\n/.exec(error.stack ?? "") ?? [];
  if (file === undefined || line === undefined) return text;
  const column = line.search(new RegExp(`\\b${name.replaceAll("$", "\\$")}\\b`)) + 1;
  return placed(text, { file, line: Number(number), column: Math.max(1, column) });
}

function placed(text: string, at: SourceLocation): string {
  const lines = placeLines(at, { readFile: (path) => readFileSync(path, "utf8"), relativeTo: process.cwd() });
  return [text, ...lines].join("\n");
}
