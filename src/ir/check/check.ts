import { type Diagnostic, severityOf } from "../diagnostics.ts";
import type { Program } from "../program.ts";
import { placedStatements } from "../walk.ts";
import { checkAnnotations } from "./annotations.ts";
import { checkChecksums } from "./checksums.ts";
import { checkEffects } from "./effects.ts";
import { checkFlow } from "./flow.ts";
import { checkHeaders } from "./headers.ts";
import { checkLiveness } from "./liveness.ts";
import { checkNames, Names } from "./names.ts";
import { checkParser } from "./parser.ts";
import { checkPorts } from "./ports.ts";
import { checkTables } from "./tables.ts";
import { checkWidths, TypeChecker } from "./types.ts";
import { checkValidity } from "./validity.ts";

/**
 * Everything that is wrong with a program, in the order of the source; what has no place of its own comes first. A finding
 * with a `target` holds for that target alone.
 */
export function check(program: Program): readonly Diagnostic[] {
  const found = new Map<string, Diagnostic>();
  const report = (d: Diagnostic): void => {
    // A node that is used in several places is found wrong several times.
    const { file, line, column } = d.at ?? { file: "", line: 0, column: 0 };
    const key = `${d.code} ${d.target ?? ""} ${file}:${line}:${column} ${d.message}`;
    if (!found.has(key)) found.set(key, d);
  };
  const names = new Names(program);
  const types = new TypeChecker(names, report);
  checkPorts(program, report);
  checkNames(program, report);
  checkAnnotations(program, report);
  checkWidths(program, report);
  for (const k of program.constants) types.constant(k.value, k.type, k.at, `constant ${k.name}:`);
  checkHeaders(program, names, report);
  checkParser(program, names, types, report);
  checkTables(program, names, types, report);
  for (const [statement, place] of placedStatements(program)) types.statement(statement, place);
  checkChecksums(program, names, types, report);
  checkFlow(program, names, report);
  // What is not whole cannot be followed.
  if ([...found.values()].every((d) => severityOf(d) === "warning" || d.target !== undefined)) {
    checkEffects(program, report);
    checkLiveness(program, names, report);
    checkValidity(program, names, report);
  }
  return bySource([...found.values()]);
}

/** Files in the order in which they first appear, lines and columns ascending within. */
function bySource(found: readonly Diagnostic[]): readonly Diagnostic[] {
  const files = [...new Set(found.map((d) => d.at?.file))];
  const rank = (d: Diagnostic): readonly number[] =>
    d.at === undefined ? [-1, 0, 0] : [files.indexOf(d.at.file), d.at.line, d.at.column];
  return found.toSorted((a, b) => {
    const [x, y] = [rank(a), rank(b)];
    return x.map((n, i) => n - (y[i] ?? 0)).find((difference) => difference !== 0) ?? 0;
  });
}
