import type { SourceLocation } from "../../ir/index.ts";

/**
 * Places of the user's program travel through templates inside the text, as characters of Unicode's private area that are taken out at
 * the end. They have no width, and look like no name.
 */
const OPEN = "\ue000";
const CLOSE = "\ue001";
const SHIFT = 0xe100;

/** What stands in front of the text that a place of the user's program has made. */
export function placeMark({ file, line, column }: SourceLocation): string {
  const bytes = Buffer.from(`${line}:${column}:${file}`, "utf8");
  return `${OPEN}${String.fromCharCode(...[...bytes].map((b) => b + SHIFT))}${CLOSE}`;
}

/** A text on its own, without the marks in it. */
export function unmarked(text: string): string {
  return text.replace(/\ue000[^\ue001]*\ue001/g, "");
}

/** Emitted files, and the user's places by file and line. */
export interface PlacedFiles {
  readonly files: ReadonlyMap<string, string>;
  readonly places: ReadonlyMap<string, ReadonlyMap<number, SourceLocation>>;
}

/** Takes the marks out; a line has the place of its first mark. */
export function withoutMarks(marked: ReadonlyMap<string, string>): PlacedFiles {
  const files = new Map<string, string>();
  const places = new Map<string, Map<number, SourceLocation>>();
  for (const [path, text] of marked) {
    const found = new Map<number, SourceLocation>();
    const lines = text.split("\n").map((l, i) => {
      if (!l.includes(OPEN)) return l;
      return l
        .replace(/\ue000([^\ue001]*)\ue001/g, (_, inner: string) => {
          if (!found.has(i + 1)) found.set(i + 1, placeOf(inner));
          return "";
        })
        .trimEnd();
    });
    files.set(path, lines.join("\n"));
    places.set(path, found);
  }
  return { files, places };
}

function placeOf(inner: string): SourceLocation {
  const text = Buffer.from([...inner].map((c) => c.charCodeAt(0) - SHIFT)).toString("utf8");
  const [, line, column, file = ""] = /^(\d+):(\d+):(.*)$/s.exec(text) ?? [];
  return { file, line: Number(line), column: Number(column) };
}
