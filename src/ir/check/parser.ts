import type { Diagnostic } from "../diagnostics.ts";
import type { Expression } from "../expressions.ts";
import { valueSetsOf } from "../parserstates.ts";
import type { KeySet, ParserState, Program, SelectCase, ValueSet } from "../program.ts";
import { type DataType, typeName, widthOf } from "../types.ts";
import { includes, misfit } from "./keysets.ts";
import type { Names } from "./names.ts";
import { checkPaths } from "./parserpaths.ts";
import { checkSteps } from "./parsersteps.ts";
import { isSize } from "./sizes.ts";
import { hasWidth, type TypeChecker } from "./types.ts";

type Report = (d: Diagnostic) => void;

/** Parser states, and the paths between them. */
export function checkParser(program: Program, names: Names, types: TypeChecker, report: Report): void {
  for (const state of program.parser) {
    checkSteps(state, names, types, report);
    checkSelect(state, program, types, report);
  }
  for (const set of valueSetsOf(program)) checkValueSet(set, program, report);
  checkPaths(program, names, report);
}

function checkValueSet(set: ValueSet, program: Program, report: Report): void {
  const wrong = (message: string): void => report({ code: "GP1320", message, at: set.at });
  if (!isSize(set.size)) wrong(`value set ${set.name} has size ${set.size}`);
  if (set.fields.length === 0) wrong(`value set ${set.name} has no fields`);
  const other = set.fields.find((f) => f.type.kind !== "bit");
  if (other !== undefined) wrong(`field ${other.name} of value set ${set.name} is ${typeName(other.type)}`);
  const uses = program.parser.flatMap((s) =>
    s.transition.kind === "select" ? s.transition.cases.filter((c) => c.valueSet === set.name) : [],
  );
  // P4 would accept a set that nobody asks, and compilers leave it out.
  if (uses.length !== 1) wrong(`value set ${set.name} stands in ${uses.length} cases`);
}

/** Why a state cannot select by a value set, or undefined when it can. */
function misfitOfSet(c: SelectCase, keys: readonly Expression[], program: Program): string | undefined {
  const set = valueSetsOf(program).find((v) => v.name === c.valueSet);
  if (set === undefined) return `there is no value set ${c.valueSet}`;
  const types = (list: readonly DataType[]): string => list.map(typeName).join(", ");
  const [wanted, given] = [types(set.fields.map((f) => f.type)), types(keys.map((k) => k.type))];
  return wanted === given ? undefined : `value set ${set.name} has ${wanted}, and the keys are ${given}`;
}

function checkSelect(state: ParserState, program: Program, types: TypeChecker, report: Report): void {
  if (state.transition.kind !== "select") return;
  const { keys, cases } = state.transition;
  for (const key of keys) types.expression(key, { place: { block: "parser" }, at: state.at });
  const sound = cases.map((c) => {
    const wrong: string[] = [];
    if (c.valueSet !== undefined) {
      const why = misfitOfSet(c, keys, program);
      if (why !== undefined) report({ code: "GP1320", message: `state ${state.name}: ${why}`, at: c.at });
      // What it holds nobody knows: no case is shadowed by it.
      return false;
    }
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
  if (!sound.includes(false)) checkRest(state, report);
  checkRanges(state, report);
}

/** Whether a case leaves anything for `otherwise`. */
function checkRest(state: ParserState, report: Report): void {
  if (state.transition.kind !== "select") return;
  const { keys, cases, otherwise } = state.transition;
  const all = cases.findIndex((c) => takesEvery(c, keys));
  const taker = cases[all];
  if (taker === undefined || otherwise === "accept" || otherwise === taker.next) return;
  const message = `case ${all + 1} of state ${state.name} takes all that is left; nothing goes to ${otherwise}`;
  report({ code: "GP1406", message, at: taker.at });
}

/** Reports a select all of whose ways lead to one state. */
export function checkWays(state: ParserState, report: Report): void {
  if (state.transition.kind !== "select") return;
  const { keys, cases, otherwise } = state.transition;
  const ways = new Set(cases.map((c) => c.next));
  if (!cases.some((c) => takesEvery(c, keys))) ways.add(otherwise);
  if (ways.size === 1)
    report({
      code: "GP1308",
      message: `state ${state.name} goes to ${[...ways][0]} in any case`,
      at: cases[0]?.at ?? state.at,
    });
}

/** Whether no packet goes on to the next case. */
function takesEvery(c: SelectCase, keys: readonly Expression[]): boolean {
  return c.valueSet === undefined && c.values.every((set, k) => takesAll(set, keys[k]?.type));
}

function takesAll(set: KeySet, type: DataType | undefined): boolean {
  return type !== undefined && includes(set, { kind: "any" }, type);
}

/** p4c takes no more cases than this where a range becomes masks. */
const MOST_MASKS = 100;

function checkRanges(state: ParserState, report: Report): void {
  if (state.transition.kind !== "select") return;
  const { keys, cases } = state.transition;
  for (const c of cases) {
    const counts = c.values.map((set, i) => {
      const type = keys[i]?.type;
      return set.kind === "range" && type !== undefined ? masksOf(set.low, set.high, widthOf(type)) : 1;
    });
    const product = counts.reduce((a, b) => a * b, 1);
    if (product > MOST_MASKS) {
      const message = `a case of state ${state.name} makes ${product} cases of masks`;
      report({ code: "GP1315", message, at: c.at, target: "v1model" });
    }
  }
}

/** How many masks cover a range exactly. */
function masksOf(low: bigint, high: bigint, width: number): number {
  let count = 0;
  for (let from = low; from <= high; count++) {
    let size = 1n << BigInt(width);
    while (from % size !== 0n || from + size - 1n > high) size >>= 1n;
    from += size;
  }
  return count;
}
