import type { Diagnostic } from "../diagnostics.ts";
import type { KeySet, ParserState, Program } from "../program.ts";
import type { SourceLocation } from "../source.ts";
import { type DataType, rangeOf, typeName, widthOf } from "../types.ts";
import type { Names } from "./names.ts";
import type { TypeChecker } from "./types.ts";

type Report = (d: Diagnostic) => void;

/** Headers, parser states, and the paths between them. */
export function checkParser(program: Program, names: Names, types: TypeChecker, report: Report): void {
  for (const type of program.headerTypes) {
    const bits = type.fields.reduce((sum, f) => sum + widthOf(f.type), 0);
    if (bits % 8 !== 0 || bits === 0)
      report({ code: "GP1301", message: `${type.name} is ${bits} bits wide`, at: type.at });
  }
  for (const state of program.parser) {
    for (const header of state.extracts) {
      if (!names.headers.has(header))
        report({ code: "GP1204", message: `there is no header ${header}`, at: state.at });
    }
    if (state.transition.kind !== "select") continue;
    const { keys, cases } = state.transition;
    for (const key of keys) types.expression(key, { block: "parser" });
    for (const c of cases) {
      if (c.values.length !== keys.length) {
        report({
          code: "GP1304",
          message: `${c.values.length} values for ${keys.length} keys in ${state.name}`,
          at: c.at,
        });
      }
      c.values.forEach((set, i) => {
        const key = keys[i];
        if (key !== undefined) checkKeySet(set, key.type, "GP1304", `select in ${state.name}`, c.at, report);
      });
    }
  }
  checkPaths(program, names, report);
}

/** A value, mask, prefix or range must lie within the type of its key. */
export function checkKeySet(
  set: KeySet,
  type: DataType,
  code: "GP1304" | "GP1405",
  what: string,
  at: SourceLocation | undefined,
  report: Report,
): void {
  const [low, high] = rangeOf(type);
  const outside = (v: bigint): boolean => v < low || v > high;
  const bad =
    (set.kind === "value" && outside(set.value)) ||
    (set.kind === "mask" && (outside(set.value) || outside(set.mask))) ||
    (set.kind === "prefix" && (outside(set.value) || set.length < 0 || set.length > widthOf(type))) ||
    (set.kind === "range" && (outside(set.low) || outside(set.high) || set.low > set.high));
  if (bad) report({ code, message: `${what}: ${keySetText(set)} is not a value for ${typeName(type)}`, at });
}

function keySetText(set: KeySet): string {
  switch (set.kind) {
    case "value":
      return `${set.value}`;
    case "mask":
      return `${set.value} &&& ${set.mask}`;
    case "prefix":
      return `${set.value}/${set.length}`;
    case "range":
      return `${set.low}..${set.high}`;
    case "any":
      return "_";
  }
}

function nextStates(state: ParserState): readonly { readonly next: string; readonly at?: SourceLocation }[] {
  const t = state.transition;
  return t.kind === "goto" ? [{ next: t.next }] : [...t.cases, { next: t.otherwise }];
}

function checkPaths(program: Program, names: Names, report: Report): void {
  const reached = new Set<string>();
  const reported = new Set<string>();
  const visit = (name: string, path: readonly ParserState[], at: SourceLocation | undefined): void => {
    if (name === "accept" || name === "reject") return;
    const state = names.states.get(name);
    const once = (
      code: "GP1204" | "GP1302" | "GP1305",
      message: string,
      place: SourceLocation | undefined,
    ): void => {
      if (!reported.has(message)) report({ code, message, at: place });
      reported.add(message);
    };
    if (state === undefined) {
      once("GP1204", `there is no parser state ${name}`, at);
      return;
    }
    if (path.includes(state)) {
      once("GP1302", [...path.slice(path.indexOf(state)), state].map((s) => s.name).join(" -> "), state.at);
      return;
    }
    for (const header of state.extracts) {
      const times = state.extracts.filter((h) => h === header).length;
      const earlier = path.find((s) => s.extracts.includes(header));
      if (times > 1 || earlier !== undefined) {
        once(
          "GP1305",
          `${header} in state ${name}${earlier === undefined ? "" : ` after ${earlier.name}`}`,
          state.at,
        );
      }
    }
    reached.add(name);
    for (const next of nextStates(state)) visit(next.next, [...path, state], next.at ?? state.at);
  };
  visit("start", [], undefined);
  for (const state of program.parser) {
    if (!reached.has(state.name)) report({ code: "GP1303", message: state.name, at: state.at });
  }
}
