import type { Diagnostic } from "../diagnostics.ts";
import { stackOf } from "../headers.ts";
import { extractsOf, successorsOf } from "../parserstates.ts";
import type { ParserState, Program } from "../program.ts";
import type { SourceLocation } from "../source.ts";
import type { Names } from "./names.ts";

type Report = (d: Diagnostic) => void;

/** The ways through the parser: where they lead, that they come to an end, and that they extract each header once. */
export function checkPaths(program: Program, names: Names, report: Report): void {
  const reached = reachedStates(names, report);
  for (const state of program.parser) {
    // A state with a built-in name is reported as that.
    if (!reached.has(state) && !isEnd(state.name))
      report({ code: "GP1303", message: `no path leads to state ${state.name}`, at: state.at });
  }
  if (checkLoops(reached, names, report)) return;
  const ways = [...reached].flatMap(edgesOf).map((e) => e.next);
  const start = names.states.get("start");
  if (start !== undefined && ways.every((next) => names.states.has(next) && !isEnd(next)))
    report({ code: "GP1302", message: "no way leads to the end of the parser", at: [...reached].at(-1)?.at });
  checkExtracts([...reached], names, report);
}

function isEnd(name: string): boolean {
  return name === "accept" || name === "reject";
}

interface Edge {
  readonly next: string;
  readonly at: SourceLocation | undefined;
}

function edgesOf(state: ParserState): readonly Edge[] {
  const t = state.transition;
  const edges: readonly { readonly next: string; readonly at?: SourceLocation }[] =
    t.kind === "goto" ? [t] : [...t.cases, { next: t.otherwise }];
  return edges.map((e) => ({ next: e.next, at: e.at ?? state.at }));
}

/** The states that packets reach, in the order of a walk. */
function reachedStates(names: Names, report: Report): ReadonlySet<ParserState> {
  const reached = new Set<ParserState>();
  const visit = ({ next, at }: Edge): void => {
    if (isEnd(next)) return;
    const state = names.states.get(next);
    if (state === undefined) report({ code: "GP1204", message: `there is no parser state ${next}`, at });
    else if (!reached.has(state)) {
      reached.add(state);
      for (const edge of edgesOf(state)) visit(edge);
    }
  };
  visit({ next: "start", at: undefined });
  return reached;
}

/** Whether a state brings the parser on each time: there are only so many elements in a stack and bytes in a packet. */
function bringsOn(state: ParserState): boolean {
  return state.steps.some(
    (s) =>
      (s.kind === "extract" && stackOf(s.header, "next") !== undefined) ||
      (s.kind === "advance" && s.bits.kind === "constant" && s.bits.value > 0n),
  );
}

/** Reports circles of states that may go on for ever; whether there are any. */
function checkLoops(reached: ReadonlySet<ParserState>, names: Names, report: Report): boolean {
  const path: ParserState[] = [];
  const done = new Set<ParserState>();
  let found = false;
  const visit = ({ next, at }: Edge): void => {
    const state = names.states.get(next);
    if (state === undefined || isEnd(next) || done.has(state) || bringsOn(state)) return;
    if (path.includes(state)) {
      const circle = [...path.slice(path.indexOf(state)), state].map((s) => s.name).join(" -> ");
      report({ code: "GP1302", message: `the parser runs in a circle: ${circle}`, at });
      found = true;
      return;
    }
    path.push(state);
    for (const edge of edgesOf(state)) visit(edge);
    path.pop();
    done.add(state);
  };
  for (const state of reached) visit({ next: state.name, at: state.at });
  return found;
}

/** Each header at most once on each path; of a stack, the next one. */
function checkExtracts(states: readonly ParserState[], names: Names, report: Report): void {
  /** For each state, the headers that some path to it extracts, and where. */
  const before = new Map(states.map((s) => [s, new Map<string, ParserState>()]));
  const todo = [...states];
  for (let state = todo.shift(); state !== undefined; state = todo.shift()) {
    const seen = new Map(before.get(state));
    for (const { header } of extractsOf(state)) if (!seen.has(header)) seen.set(header, state);
    for (const next of new Set(successorsOf(state))) {
      const follower = names.states.get(next);
      const known = follower === undefined ? undefined : before.get(follower);
      if (follower === undefined || known === undefined) continue;
      const fresh = [...seen].filter(([header]) => !known.has(header));
      for (const [header, where] of fresh) known.set(header, where);
      if (fresh.length > 0) todo.push(follower);
    }
  }
  for (const state of states) {
    const seen = new Map(before.get(state));
    for (const { header, at } of extractsOf(state)) {
      const first = seen.get(header);
      if (first !== undefined && stackOf(header, "next") === undefined) {
        const isLoop = first === state && before.get(state)?.has(header) === true;
        const where = isLoop ? "in a loop" : first === state ? "twice" : `again, after state ${first.name}`;
        const message = `state ${state.name} extracts ${header} ${where}`;
        report({ code: "GP1305", message, at: at ?? state.at });
      }
      seen.set(header, state);
    }
  }
}
