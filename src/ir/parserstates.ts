import type { Expression } from "./expressions.ts";
import {
  type Extract,
  type ParserState,
  type ParserStep,
  type Program,
  parserErrors,
  type ValueSet,
} from "./program.ts";

export function extractsOf(state: ParserState): readonly Extract[] {
  return state.steps.filter((s) => s.kind === "extract");
}

/** The headers that a state extracts, in order. */
export function extractedBy(state: ParserState): readonly string[] {
  return extractsOf(state).map((s) => s.header);
}

/** Expressions that stand directly in a step. */
export function expressionsOfStep(s: ParserStep): readonly Expression[] {
  switch (s.kind) {
    case "extract":
      return s.length === undefined ? [] : [s.length];
    case "advance":
      return [s.bits];
    case "assign":
      return [s.value];
    case "verify":
      return [s.condition];
  }
}

/** Expressions of a state, those of its select included. */
export function expressionsOfState(state: ParserState): readonly Expression[] {
  const keys = state.transition.kind === "select" ? state.transition.keys : [];
  return [...state.steps.flatMap(expressionsOfStep), ...keys];
}

/** The states that a state may go on to, in order of its cases; `accept` and `reject` among them. */
export function successorsOf(state: ParserState): readonly string[] {
  const t = state.transition;
  return t.kind === "goto" ? [t.next] : [...t.cases.map((c) => c.next), t.otherwise];
}

export function valueSetsOf(program: Program): readonly ValueSet[] {
  return program.valueSets ?? [];
}

/** Errors that the program has beside those of P4, in order of first use. */
export function ownErrors(program: Program): readonly string[] {
  const known: readonly string[] = parserErrors;
  const used = program.parser.flatMap((s) => s.steps).flatMap((s) => (s.kind === "verify" ? [s.error] : []));
  return [...new Set(used)].filter((e) => !known.includes(e));
}
