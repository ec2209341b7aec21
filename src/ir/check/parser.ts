import type { Diagnostic } from "../diagnostics.ts";
import { extractsOf } from "../parserstates.ts";
import type { ParserState, Program } from "../program.ts";
import type { SourceLocation } from "../source.ts";
import { widthOf } from "../types.ts";
import { includes, misfit } from "./keysets.ts";
import type { Names } from "./names.ts";
import { checkSteps } from "./parsersteps.ts";
import { hasWidth, type TypeChecker } from "./types.ts";

type Report = (d: Diagnostic) => void;

/** Headers, parser states, and the paths between them. */
export function checkParser(program: Program, names: Names, types: TypeChecker, report: Report): void {
  for (const type of program.headerTypes) {
    if (!type.fields.every((f) => hasWidth(f.type))) continue;
    const bits = type.fields.reduce((sum, f) => sum + widthOf(f.type), 0);
    if (bits % 8 !== 0 || bits === 0)
      report({ code: "GP1301", message: `${type.name} is ${bits} bits wide`, at: type.at });
  }
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

function isEnd(name: string): boolean {
  return name === "accept" || name === "reject";
}

interface Edge {
  readonly next: string;
  readonly at?: SourceLocation;
}

function edgesOf(state: ParserState): readonly Edge[] {
  const t = state.transition;
  return t.kind === "goto" ? [{ next: t.next }] : [...t.cases, { next: t.otherwise }];
}

function checkPaths(program: Program, names: Names, report: Report): void {
  const { order, hasCircle } = inOrder(names, report);
  for (const state of program.parser) {
    // A state with a built-in name is reported as that.
    if (!order.includes(state) && !isEnd(state.name))
      report({ code: "GP1303", message: `no path leads to state ${state.name}`, at: state.at });
  }
  if (!hasCircle) checkExtracts(order, names, report);
}

/** The states that packets reach; where there is no circle, each after all that lead to it. */
function inOrder(
  names: Names,
  report: Report,
): { readonly order: readonly ParserState[]; readonly hasCircle: boolean } {
  const path: ParserState[] = [];
  const done: ParserState[] = [];
  let hasCircle = false;
  const visit = (name: string, at: SourceLocation | undefined): void => {
    if (isEnd(name)) return;
    const state = names.states.get(name);
    if (state === undefined) report({ code: "GP1204", message: `there is no parser state ${name}`, at });
    else if (path.includes(state)) {
      const circle = [...path.slice(path.indexOf(state)), state].map((s) => s.name).join(" -> ");
      report({ code: "GP1302", message: `the parser runs in a circle: ${circle}`, at });
      hasCircle = true;
    } else if (!done.includes(state)) {
      path.push(state);
      for (const edge of edgesOf(state)) visit(edge.next, edge.at ?? state.at);
      path.pop();
      done.push(state);
    }
  };
  visit("start", undefined);
  return { order: done.reverse(), hasCircle };
}

/** Each header at most once on each path. */
function checkExtracts(order: readonly ParserState[], names: Names, report: Report): void {
  /** For each state, the headers that some path to it extracts, and where. */
  const before = new Map<ParserState, Map<string, ParserState>>(order.map((s) => [s, new Map()]));
  for (const state of order) {
    const seen = new Map(before.get(state));
    for (const { header, at } of extractsOf(state)) {
      const first = seen.get(header);
      if (first !== undefined) {
        const where = first === state ? "twice" : `again, after state ${first.name}`;
        const message = `state ${state.name} extracts ${header} ${where}`;
        report({ code: "GP1305", message, at: at ?? state.at });
      }
      seen.set(header, state);
    }
    for (const { next } of edgesOf(state)) {
      const follower = names.states.get(next);
      const known = follower === undefined ? undefined : before.get(follower);
      for (const [header, where] of seen) if (known?.has(header) === false) known.set(header, where);
    }
  }
}
