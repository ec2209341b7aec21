import type { Block, Expression, ParserState, ParserStep, Program, Statement } from "../../ir/index.ts";
import { extractedBy, instanceOf } from "../../ir/index.ts";
import { expressionsOf, placedStatements, statementsOf, targetOf } from "../../ir/walk.ts";
import { rewrite } from "../p4text/rewrite.ts";
import type { Refuse } from "./refuse.ts";

/** Which headers egress works on, for clones and for the packets that ingress sends. */
export interface EgressNeeds {
  readonly clone: ReadonlySet<string>;
  readonly sent: ReadonlySet<string>;
  /** Headers that egress takes off clones and does not look at: the mirror session cuts them off. */
  readonly cutFromClones: ReadonlySet<string>;
  /** Metadata that egress reads before it writes them. */
  readonly ingressPort: boolean;
  readonly isClone: boolean;
}

interface Use {
  readonly header: string;
  readonly how: "read" | "write" | "remove" | "add";
  /** Only clones come here; only packets that ingress sends; or both. */
  readonly packets: "clone" | "sent" | "both";
}

/**
 * What egress must find again: Tofino gives it the bytes that ingress wrote (or, for a clone, the bytes that came in), and none of
 * what ingress knew of them.
 */
export function egressNeeds(program: Program): EgressNeeds {
  const walk = new EgressWalk(program);
  walk.block(program.egress, "both");
  const uses = walk.uses;
  const needed = (packets: "clone" | "sent"): Set<string> => {
    const here = uses.filter((u) => u.packets === packets || u.packets === "both");
    // A header that is put in front of what it does not change is not parsed.
    const added = new Set(here.filter((u) => u.how === "add").map((u) => u.header));
    const read = here.filter((u) => u.how === "read" || (u.how === "write" && !added.has(u.header)));
    const removed = here.filter((u) => u.how === "remove" && !(packets === "clone"));
    return new Set([...read, ...removed].map((u) => u.header));
  };
  // Egress need not ask what is a clone to work on clones as well.
  const clones = walk.isClone || [...placedStatements(program)].some(([s]) => s.kind === "clone");
  const clone = clones ? needed("clone") : new Set<string>();
  const removed = uses.filter((u) => u.how === "remove" && u.packets !== "sent").map((u) => u.header);
  return {
    clone,
    sent: needed("sent"),
    cutFromClones: new Set(clones ? removed.filter((h) => !clone.has(h)) : []),
    ingressPort: walk.ingressPort,
    isClone: walk.isClone,
  };
}

class EgressWalk {
  readonly uses: Use[] = [];
  ingressPort = false;
  isClone = false;
  readonly #program: Program;

  constructor(program: Program) {
    this.#program = program;
  }

  block(block: Block, packets: Use["packets"]): void {
    for (const s of block) this.#statement(s, packets);
  }

  #statement(s: Statement, packets: Use["packets"]): void {
    if (s.kind === "if") {
      const side = cloneTest(s.condition);
      // Both sides are asked of all packets that come here, so what is tested must be known for the first.
      if (side === "clone") {
        this.isClone = true;
        this.#conjuncts(s.condition, packets);
        this.block(s.whenTrue, packets === "both" ? "clone" : packets);
        this.block(s.whenFalse, isWhole(s.condition) && packets === "both" ? "sent" : packets);
        return;
      }
      if (side === "sent") {
        this.isClone = true;
        this.block(s.whenTrue, packets === "both" ? "sent" : packets);
        this.block(s.whenFalse, packets === "both" ? "clone" : packets);
        return;
      }
    }
    for (const e of expressionsOf(s)) this.#reads(e, packets);
    switch (s.kind) {
      case "if":
        this.block(s.whenTrue, packets);
        this.block(s.whenFalse, packets);
        break;
      case "setValidity":
        this.uses.push({ header: s.header, how: s.valid ? "add" : "remove", packets });
        break;
      case "applyTable": {
        const table = this.#program.controls.flatMap((c) => c.tables).find((t) => t.name === s.table);
        for (const k of table?.key ?? []) this.#reads(k.expression, packets);
        for (const a of [
          ...(table?.actions ?? []),
          ...(table === undefined ? [] : [table.defaultAction.action]),
        ])
          this.#action(a, packets);
        this.block(s.hit, packets);
        this.block(s.miss, packets);
        break;
      }
      case "applyControl":
        this.block(this.#program.controls.find((c) => c.name === s.control)?.apply ?? [], packets);
        break;
      case "callAction":
        this.#action(s.action, packets);
        break;
      default: {
        const target = targetOf(s);
        if (target !== undefined) this.#target(target, packets);
      }
    }
  }

  /** In `is_clone && x`, only clones are asked for x. */
  #conjuncts(e: Expression, packets: Use["packets"]): void {
    if (e.kind === "binary" && e.operator === "&&") {
      const first = cloneTest(e.left) === "clone";
      this.#conjuncts(e.left, packets);
      if (first && packets === "both") this.#reads(e.right, "clone");
      else this.#conjuncts(e.right, packets);
      return;
    }
    this.#reads(e, packets);
  }

  #action(name: string, packets: Use["packets"]): void {
    const action = this.#program.controls.flatMap((c) => c.actions).find((a) => a.name === name);
    this.block(action?.body ?? [], packets);
  }

  #target(t: Expression, packets: Use["packets"]): void {
    const whole = t.kind === "slice" ? t.operand : t;
    if (whole.kind === "field") this.uses.push({ header: whole.header, how: "write", packets });
  }

  #reads(e: Expression, packets: Use["packets"]): void {
    rewrite(e, (node) => {
      if (node.kind === "field" || node.kind === "valid")
        this.uses.push({ header: node.header, how: "read", packets });
      if (node.kind === "intrinsic" && node.name === "ingress_port") this.ingressPort = true;
      if (node.kind === "intrinsic" && node.name === "is_clone") this.isClone = true;
      return undefined;
    });
  }
}

/** Whether a condition lets only clones, or only other packets, into its first branch. */
function cloneTest(e: Expression): "clone" | "sent" | undefined {
  if (e.kind === "intrinsic" && e.name === "is_clone") return "clone";
  if (e.kind === "unary" && e.operator === "!" && cloneTest(e.operand) === "clone" && isWhole(e.operand))
    return "sent";
  if (
    e.kind === "binary" &&
    e.operator === "&&" &&
    [e.left, e.right].some((side) => cloneTest(side) === "clone")
  )
    return "clone";
  return undefined;
}

function isWhole(e: Expression): boolean {
  return e.kind === "intrinsic";
}

/** The states that lead to the needed headers, with the others' transitions cut off. */
export function prunedStates(
  states: readonly ParserState[],
  needed: ReadonlySet<string>,
): readonly ParserState[] {
  const byName = new Map(states.map((s) => [s.name, s]));
  const useful = new Map<string, boolean>();
  const leads = (name: string): boolean => {
    const known = useful.get(name);
    if (known !== undefined) return known;
    const state = byName.get(name);
    if (state === undefined) return false;
    useful.set(name, false);
    const found = extractedBy(state).some((h) => needed.has(h)) || nextOf(state).some(leads);
    useful.set(name, found);
    return found;
  };
  const first = states[0];
  if (first === undefined || !leads(first.name)) return [];
  const target = (name: string): string => (leads(name) ? name : name === "reject" ? "reject" : "accept");
  return states
    .filter((s) => leads(s.name))
    .map((s) => {
      const t = s.transition;
      if (t.kind === "goto") return { ...s, transition: { ...t, next: target(t.next) } };
      const cases = t.cases.map((c) => ({ ...c, next: target(c.next) }));
      // Only from the end: an earlier case may keep packets from a later one.
      while (cases.at(-1)?.next === target(t.otherwise)) cases.pop();
      const transition =
        cases.length === 0
          ? { kind: "goto" as const, next: target(t.otherwise) }
          : { ...t, cases, otherwise: target(t.otherwise) };
      return { ...s, transition };
    });
}

export function nextOf(state: ParserState): readonly string[] {
  const t = state.transition;
  return t.kind === "goto" ? [t.next] : [...t.cases.map((c) => c.next), t.otherwise];
}

/** Bytes in front of a header, or undefined when paths to it differ; header lengths by instance. */
export function bytesBefore(
  states: readonly ParserState[],
  header: string,
  bytesOf: (header: string) => number,
): ReadonlySet<number> {
  const byName = new Map(states.map((s) => [s.name, s]));
  const found = new Set<number>();
  const way: ParserState[] = [];
  const visit = (name: string, at: number): void => {
    const state = byName.get(name);
    // Loops are refused where egress would have to go through them.
    if (state === undefined || way.includes(state)) return;
    way.push(state);
    let position = at;
    for (const step of state.steps) {
      if (step.kind === "extract" && step.header === header) found.add(position);
      position += bytesOfStep(step, bytesOf);
    }
    for (const next of new Set(nextOf(state))) visit(next, position);
    way.pop();
  };
  const first = states[0];
  if (first !== undefined) visit(first.name, 0);
  return found;
}

/** What a step passes over. An advance that is not constant is refused before. */
function bytesOfStep(s: ParserStep, bytesOf: (header: string) => number): number {
  if (s.kind === "extract") return bytesOf(s.header);
  return s.kind === "advance" && s.bits.kind === "constant" ? Number(s.bits.value) / 8 : 0;
}

/** The longest way through the states, in bytes. */
export function longestPath(states: readonly ParserState[], bytesOf: (header: string) => number): number {
  const byName = new Map(states.map((s) => [s.name, s]));
  const way: ParserState[] = [];
  const visit = (name: string): number => {
    const state = byName.get(name);
    if (state === undefined || way.includes(state)) return 0;
    way.push(state);
    const own = state.steps.reduce((sum, s) => sum + bytesOfStep(s, bytesOf), 0);
    const longest = Math.max(0, ...nextOf(state).map(visit));
    way.pop();
    return own + longest;
  };
  return states[0] === undefined ? 0 : visit(states[0].name);
}

/** Refuses what ingress does to headers in front of what egress reads, or to the fields that tell the way there. */
export function checkReparse(
  program: Program,
  states: readonly ParserState[],
  needed: ReadonlySet<string>,
  refuse: Refuse,
): void {
  const onPath = new Set(states.flatMap(extractedBy));
  const keys = new Set<string>();
  for (const s of states)
    if (s.transition.kind === "select")
      for (const k of s.transition.keys)
        rewrite(k, (node) => {
          if (node.kind === "field") keys.add(`${node.header}.${node.field}`);
          return undefined;
        });
  for (const h of onPath)
    if (!program.deparser.includes(h) && needed.has(h))
      refuse(
        "GP1807",
        `egress uses header ${h}, which ingress does not send on`,
        program.headers.find((x) => x.name === h)?.at,
      );
  const ingress = [
    ...program.controls
      .filter((c) => c.gress === "ingress")
      .flatMap((c) => [...c.actions.flatMap((a) => a.body), ...statementsOf(c.apply)]),
    ...statementsOf(program.ingress),
  ];
  for (const h of needed)
    if (!onPath.has(h) && ingress.some((s) => s.kind === "setValidity" && s.valid && s.header === h))
      refuse("GP1807", `egress uses header ${h}, which ingress adds and the parser does not know`);
  const last = Math.max(-1, ...[...needed].map((h) => program.deparser.indexOf(h)));
  for (const s of ingress) {
    if (
      s.kind === "setValidity" &&
      program.deparser.includes(instanceOf(s.header)) &&
      program.deparser.indexOf(instanceOf(s.header)) <= last
    )
      refuse(
        "GP1807",
        `ingress ${s.valid ? "adds" : "removes"} ${s.header}, in front of what egress uses`,
        s.at,
      );
    const target = targetOf(s);
    const whole = target?.kind === "slice" ? target.operand : target;
    if (whole?.kind === "field" && keys.has(`${whole.header}.${whole.field}`))
      refuse(
        "GP1807",
        `ingress writes ${whole.header}.${whole.field}, which leads egress to its headers`,
        s.at,
      );
  }
}
