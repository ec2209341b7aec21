import { relative } from "node:path";
import { type Diagnostic, ruleOf, severityOf } from "./diagnostics.ts";
import { errorSection } from "./errorpage.ts";
import type { SourceLocation } from "./source.ts";

export interface CodeFrameOptions {
  /** Text of a file; may throw when there is none. Then the frame has the place without the lines. */
  readonly readFile: (path: string) => string;
  /** Directory to which paths are shown relative; as they are by default. */
  readonly relativeTo?: string;
  /** Mark the message and the caret with ANSI colours. */
  readonly colour?: boolean;
}

/** Lines shown before and after the line in question. */
const CONTEXT = 2;
/** Longest piece of a source line that is shown. */
const MAX_COLUMNS = 100;
const CUT = "...";

/**
 * A finding for people: what is wrong, the lines of the user's program with a caret under the place, and what to write
 * instead.
 *
 *     error GP1102: constant 300 does not fit bit<8> (0 to 255)
 *       --> libra.ts:11:7
 *       10 | p.ingress("route", (s) => {
 *     > 11 |   s.set(m, 300);
 *          |     ^
 *       12 | });
 *     To mend it: widen the type, or cut the constant to the width yourself. See docs/errors.md#gp1102.
 */
export function codeFrame(d: Diagnostic, options: CodeFrameOptions): string {
  const severity = severityOf(d);
  const paint =
    options.colour === true ? painter(severity === "error" ? RED : YELLOW) : (text: string) => text;
  const target = d.target === undefined ? "" : ` [${d.target}]`;
  return [
    `${paint(`${severity} ${d.code}`)}${target}: ${d.message}`,
    ...(d.at === undefined ? [] : placeLines(d.at, options, paint)),
    `${severity === "note" ? "To change it" : "To mend it"}: ${ruleOf(d).remedy}. See ${errorSection(d.code)}.`,
  ].join("\n");
}

const RED = 31;
const YELLOW = 33;

function painter(colour: number): (text: string) => string {
  return (text) => `\u001b[1;${colour}m${text}\u001b[0m`;
}

/** A place, and the lines of the program around it. */
export function placeLines(
  at: SourceLocation,
  options: CodeFrameOptions,
  paint: (text: string) => string = (text) => text,
): readonly string[] {
  const file = options.relativeTo === undefined ? at.file : relative(options.relativeTo, at.file);
  return [`  --> ${file}:${at.line}:${at.column}`, ...sourceLines(at, options.readFile, paint)];
}

function sourceLines(
  at: SourceLocation,
  readFile: CodeFrameOptions["readFile"],
  paint: (text: string) => string,
): readonly string[] {
  const lines = linesOf(at.file, readFile);
  const line = lines[at.line - 1];
  // The file is gone, or was changed since the program was loaded.
  if (line === undefined) return [];
  const column = Math.min(Math.max(at.column, 1), line.length + 1);
  // All lines are cut at the same column, so that they stay in step.
  const start = line.length <= MAX_COLUMNS ? 0 : Math.max(0, column - 1 - MAX_COLUMNS / 2);
  const first = Math.max(1, at.line - CONTEXT);
  const last = Math.min(lines.length, at.line + CONTEXT);
  const digits = String(last).length;
  const shown: string[] = [];
  for (let n = first; n <= last; n++) {
    const isPlace = n === at.line;
    const text = cut(lines[n - 1] ?? "", start);
    shown.push(`${isPlace ? paint(">") : " "} ${String(n).padStart(digits)} | ${text}`.trimEnd());
    if (isPlace) shown.push(`  ${" ".repeat(digits)} | ${indent(line, start, column)}${paint("^")}`);
  }
  return shown;
}

function linesOf(file: string, readFile: CodeFrameOptions["readFile"]): readonly string[] {
  try {
    return readFile(file).split(/\r\n|\r|\n/);
  } catch {
    return [];
  }
}

function cut(line: string, start: number): string {
  const before = start > 0 && line.length > start ? CUT : "";
  const after = line.length > start + MAX_COLUMNS ? CUT : "";
  return `${before}${line.slice(start, start + MAX_COLUMNS)}${after}`;
}

/** White space as wide as what stands before the column; tabs stay tabs, whose width only the terminal knows. */
function indent(line: string, start: number, column: number): string {
  return `${start > 0 ? " ".repeat(CUT.length) : ""}${line.slice(start, column - 1).replace(/[^\t]/g, " ")}`;
}
