import type { ParserState, Program } from "../../ir/index.ts";
import { extractsOf, instanceOf, stackOf, successorsOf, unionsOf } from "../../ir/index.ts";
import { placedStatements } from "../../ir/walk.ts";
import type { EgressNeeds } from "./egress.ts";
import type { Refuse } from "./refuse.ts";

/** Header stacks and unions: what Tofino has of them, and what of that is lowered. */
export function checkHeaderKinds(program: Program, needs: EgressNeeds, refuse: Refuse): void {
  for (const u of unionsOf(program)) refuse("GP1833", `${u.name} is a union`, u.at);
  for (const t of program.headerTypes)
    if (t.varbit !== undefined) refuse("GP1837", `${t.name}.${t.varbit.name}`, t.at);
  for (const [s] of placedStatements(program)) {
    if (s.kind === "pushFront" || s.kind === "popFront")
      refuse("GP1834", `stack ${s.stack} is shifted`, s.at);
  }
  const stacks = new Map(
    program.headers.flatMap((h) => (h.elements === undefined ? [] : [[h.name, h.at] as const])),
  );
  for (const header of new Set([...needs.clone, ...needs.sent].map(instanceOf))) {
    if (stacks.has(header)) refuse("GP1835", `egress uses stack ${header}`, stacks.get(header));
  }
  for (const state of program.parser) {
    const isUnrolled = extractsOf(state).some((e) => stackOf(e.header, "next") !== undefined);
    if (!isUnrolled && leadsBack(state, program.parser))
      refuse("GP1836", `state ${state.name} may come again and again`, state.at);
  }
}

/** Whether a way leads from the state to itself without reading a stack. */
function leadsBack(state: ParserState, states: readonly ParserState[]): boolean {
  const seen = new Set<ParserState>();
  const visit = (name: string): boolean => {
    const next = states.find((s) => s.name === name);
    if (next === undefined || extractsOf(next).some((e) => stackOf(e.header, "next") !== undefined))
      return false;
    if (next === state) return true;
    if (seen.has(next)) return false;
    seen.add(next);
    return successorsOf(next).some(visit);
  };
  return successorsOf(state).some(visit);
}
