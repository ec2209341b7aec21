import type { Diagnostic, Program, SourceLocation } from "../../../ir/index.ts";
import type { PlacedFiles } from "../../p4text/places.ts";
import { placesByName } from "../../sourcemap.ts";
import type { CompilerMessage } from "./messages.ts";

/**
 * What the real compiler said, as findings about the user's program: with the place of the table, action, register or counter that the
 * message is about, where it can be told.
 */
export function findingsOf(
  messages: readonly CompilerMessage[],
  program: Program,
  { files, places: lines }: PlacedFiles,
): readonly Diagnostic[] {
  const places = placesByName(program);
  const placeOfLine = ({ file, line }: CompilerMessage): SourceLocation | undefined => {
    const path =
      file === undefined ? undefined : [...files.keys()].find((p) => file.endsWith(`/${p}`) || file === p);
    return path === undefined || line === undefined ? undefined : lines.get(path)?.get(line);
  };
  return messages.map((m): Diagnostic => {
    const name = [...namesIn(m.text), ...nameAround(m, files)].find((n) => places.has(n));
    const where = m.file === undefined ? "" : ` (${m.file}:${m.line})`;
    return {
      code: "GP1899",
      message: `${m.text}${where}`,
      at: placeOfLine(m) ?? (name === undefined ? undefined : places.get(name)),
      target: "tna",
    };
  });
}

/** Names of the form `control.object` in a text; the compiler puts a dot, or the names of controls around it, in front. */
function namesIn(text: string): readonly string[] {
  return [...text.matchAll(/\w+(?:\.\w+)+/g)].flatMap(([path]) => {
    const parts = path.split(".");
    return parts.slice(1).map((part, i) => `${parts[i]}.${part}`);
  });
}

/** The object in whose text the message points: the last one that was named up to that line. */
function nameAround({ file, line }: CompilerMessage, files: ReadonlyMap<string, string>): readonly string[] {
  if (file === undefined || line === undefined) return [];
  const text = [...files].find(([path]) => file.endsWith(path))?.[1] ?? "";
  const names = text
    .split("\n")
    .slice(0, line)
    .flatMap((l) => [...l.matchAll(/@name\("\.([^"]+)"\)/g)].flatMap((m) => m[1] ?? []));
  const control = /controls\/(\w+)\.p4$/.exec(file)?.[1];
  return [...names.slice(-1), ...(control === undefined ? [] : [control])];
}
