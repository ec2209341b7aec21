import type { Expression, ParserState, ParserStep, Program } from "../../ir/index.ts";
import { expressionsOfState, instanceOf, successorsOf } from "../../ir/index.ts";
import { deep } from "../../ir/walk.ts";
import type { Refuse } from "./refuse.ts";

/** What Tofino's parser cannot do: it copies bits and counts bytes, and has no arithmetic (targets.md b.1). */
export function checkParserSteps(program: Program, refuse: Refuse): void {
  for (const state of program.parser) {
    for (const step of state.steps) checkStep(step, state, refuse);
    const { transition } = state;
    for (const key of transition.kind === "select" ? transition.keys : [])
      if (!isCopied(key))
        refuse("GP1830", `state ${state.name} selects on a computed value`, key.at ?? state.at);
  }
  checkKeptOnce(program, refuse);
}

/** The parser ors what it keeps into the container, so a second value on the same way would mix with the first. */
function checkKeptOnce(program: Program, refuse: Refuse): void {
  const states = new Map(program.parser.map((s) => [s.name, s]));
  const kept = (s: ParserState): readonly string[] =>
    s.steps.flatMap((step) => (step.kind === "assign" ? [step.target.name] : []));
  for (const state of program.parser) {
    const own = kept(state);
    if (own.length === 0) continue;
    const later = new Set<ParserState>();
    const visit = (name: string): void => {
      const next = states.get(name);
      if (next === undefined || later.has(next)) return;
      later.add(next);
      successorsOf(next).forEach(visit);
    };
    successorsOf(state).forEach(visit);
    const again = [...later].flatMap(kept);
    const twice = own.find((name, i) => own.indexOf(name) !== i || again.includes(name));
    if (twice !== undefined)
      refuse("GP1862", `${twice} may have a value already, or get another, in state ${state.name}`, state.at);
  }
}

function checkStep(step: ParserStep, state: ParserState, refuse: Refuse): void {
  const at = step.at ?? state.at;
  switch (step.kind) {
    case "advance":
      if (step.bits.kind !== "constant")
        refuse("GP1830", `state ${state.name} advances by a number of bits from the packet`, at);
      break;
    case "assign":
      if (step.value.kind === "metadata" || !isCopied(step.value))
        refuse("GP1830", `state ${state.name} computes ${step.target.name}`, at);
      break;
    case "verify":
      refuse("GP1831", `state ${state.name} ends with the error ${step.error}`, at);
  }
}

/** A value that the parser finds somewhere as it is. */
function isCopied(e: Expression): boolean {
  if (e.kind === "slice") return isCopied(e.operand);
  return ["constant", "field", "metadata", "intrinsic", "lookahead"].includes(e.kind);
}

/** Metadata that states of the parser set. */
export function keptByParser(program: Program): ReadonlySet<string> {
  const steps = program.parser.flatMap((s) => s.steps);
  return new Set(steps.flatMap((s) => (s.kind === "assign" ? [s.target.name] : [])));
}

/** Refuses a second reading, in egress, that would need what the first one has kept. */
export function checkReread(states: readonly ParserState[], refuse: Refuse): void {
  for (const state of states) {
    const stack = state.steps.find((s) => s.kind === "extract" && instanceOf(s.header) !== s.header);
    if (stack !== undefined)
      refuse("GP1835", `egress would read through a stack, in state ${state.name}`, stack.at ?? state.at);
    const set =
      state.transition.kind === "select" ? state.transition.cases.find((c) => c.valueSet) : undefined;
    if (set !== undefined)
      refuse(
        "GP1832",
        `egress would ask the value set ${set.valueSet} again, in state ${state.name}`,
        set.at,
      );
    const kept = expressionsOfState(state)
      .flatMap((e) => [...deep(e)])
      .find((e) => e.kind === "metadata");
    if (kept !== undefined)
      refuse(
        "GP1832",
        `egress would find its headers by ${kept.name}, in state ${state.name}`,
        kept.at ?? state.at,
      );
  }
}
