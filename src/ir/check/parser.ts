import type { Diagnostic } from "../diagnostics.ts";
import type { ParserState, Program } from "../program.ts";
import { includes, misfit } from "./keysets.ts";
import type { Names } from "./names.ts";
import { checkPaths } from "./parserpaths.ts";
import { checkSteps } from "./parsersteps.ts";
import { hasWidth, type TypeChecker } from "./types.ts";

type Report = (d: Diagnostic) => void;

/** Parser states, and the paths between them. */
export function checkParser(program: Program, names: Names, types: TypeChecker, report: Report): void {
  for (const state of program.parser) {
    checkSteps(state, names, types, report);
    checkSelect(state, types, report);
  }
  checkPaths(program, names, report);
}

function checkSelect(state: ParserState, types: TypeChecker, report: Report): void {
  if (state.transition.kind !== "select") return;
  const { keys, cases } = state.transition;
  for (const key of keys) types.expression(key, { place: { block: "parser" }, at: state.at });
  const sound = cases.map((c) => {
    const wrong: string[] = [];
    if (c.values.length !== keys.length) wrong.push(`${c.values.length} values for ${keys.length} keys`);
    c.values.forEach((set, i) => {
      const key = keys[i];
      const why = key === undefined ? undefined : misfit(set, key.type);
      if (why !== undefined) wrong.push(why);
    });
    for (const why of wrong)
      report({ code: "GP1304", message: `select in state ${state.name}: ${why}`, at: c.at });
    return wrong.length === 0;
  });
  if (!keys.every((k) => hasWidth(k.type))) return;
  cases.forEach((c, i) => {
    const before = cases.findIndex(
      (other, j) =>
        j < i &&
        sound[i] === true &&
        sound[j] === true &&
        keys.every((key, k) => {
          const [a, b] = [other.values[k], c.values[k]];
          return a !== undefined && b !== undefined && includes(a, b, key.type);
        }),
    );
    if (before >= 0) {
      const message = `case ${i + 1} of state ${state.name} comes after case ${before + 1}`;
      report({ code: "GP1406", message, at: c.at });
    }
  });
}
