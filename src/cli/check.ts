import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { checkTna, notesOf } from "../backends/index.ts";
import { ProgramError } from "../dsl/programerror.ts";
import { codeFrame } from "../ir/codeframe.ts";
import { type Diagnostic, ruleOf, type Severity, severityOf, type TargetName } from "../ir/diagnostics.ts";
import { errorSection } from "../ir/errorpage.ts";
import type { SourceLocation } from "../ir/source.ts";
import { loadProgram } from "./load.ts";
import { onlyFile, parse, type Verb } from "./verb.ts";

export const check: Verb = {
  help: `Usage: gradplane check PROGRAM.ts [--json]

Checks a program and prints what is wrong: code, file:line:column, the line, and what to write instead.
Exits with 0 when there is no error.

  --json   one array of findings on stdout, for editors: code, severity, message, title, remedy, docs, target,
           file, line, column, endLine, endColumn (docs/errors.md describes them)

Example:
  gradplane check examples/libra/program.ts`,
  async run(args) {
    const { values, positionals } = parse("check", args, { json: { type: "boolean" } });
    const file = onlyFile("check", positionals);
    const found = await findingsOf(file);
    if (values.json === true) process.stdout.write(`${JSON.stringify(found.map(forEditors), null, 2)}\n`);
    else print(found, file);
    if (found.some(isError)) process.exitCode = 1;
  },
};

async function findingsOf(file: string): Promise<readonly Diagnostic[]> {
  try {
    const { ir, warnings } = await loadProgram(file);
    const lacks = checkTna(ir);
    return [...warnings, ...(lacks.length > 0 ? lacks : notesOf(ir))];
  } catch (error) {
    if (error instanceof ProgramError) return error.diagnostics;
    throw error;
  }
}

/** What one target alone refuses is an error only when that target is built. */
function isError(d: Diagnostic): boolean {
  return severityOf(d) === "error" && d.target === undefined;
}

function print(found: readonly Diagnostic[], file: string): void {
  for (const d of found) process.stderr.write(`${frame(d)}\n\n`);
  const only = (target: TargetName) =>
    found.filter((d) => severityOf(d) === "error" && d.target === target).length;
  const of = (severity: Severity) => found.filter((d) => severityOf(d) === severity).length;
  const counts = [
    count(found.filter(isError).length, "error"),
    count(of("warning"), "warning"),
    ...(["v1model", "tna"] as const).flatMap((t) =>
      only(t) > 0 ? [`${count(only(t), "error")} for ${t} alone`] : [],
    ),
    ...(of("note") > 0 ? [count(of("note"), "note")] : []),
  ];
  process.stdout.write(`${file}: ${counts.join(", ")}\n`);
}

/** A finding with its lines of source. */
export function frame(d: Diagnostic): string {
  return codeFrame(d, { readFile: (path) => readFileSync(path, "utf8"), relativeTo: process.cwd() });
}

function forEditors(d: Diagnostic): object {
  return {
    code: d.code,
    severity: severityOf(d),
    message: d.message,
    title: ruleOf(d).title,
    remedy: ruleOf(d).remedy,
    docs: errorSection(d.code),
    ...(d.target === undefined ? {} : { target: d.target }),
    ...(d.at === undefined
      ? {}
      : { file: relative(process.cwd(), d.at.file), line: d.at.line, column: d.at.column, ...endOf(d.at) }),
  };
}

/** The end of the word at a place, so that editors have something to underline; one column when the file is gone. */
function endOf({ file, line, column }: SourceLocation): {
  readonly endLine: number;
  readonly endColumn: number;
} {
  let text = "";
  try {
    text = readFileSync(file, "utf8").split(/\r\n|\r|\n/)[line - 1] ?? "";
  } catch {
    // The program was loaded from it, so it was there.
  }
  const word = /^\w+/.exec(text.slice(column - 1))?.[0] ?? " ";
  return { endLine: line, endColumn: column + word.length };
}

function count(n: number, word: string): string {
  return `${n} ${n === 1 ? word : `${word}s`}`;
}
