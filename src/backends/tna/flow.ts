import type { Block, Expression, Program, Statement, StraightStatement } from "../../ir/index.ts";
import { expressionsOf, targetOf } from "../../ir/walk.ts";
import { rewrite } from "../p4text/rewrite.ts";

/** BMv2's port for packets that are dropped. */
const DROP_PORT = 511n;

/** What holds at a point of a gress, over all paths that lead there. */
interface State {
  /** Metadata that every path has written. */
  readonly written: ReadonlySet<string>;
  /** Some path has dropped, set the output port, or set a multicast group. */
  readonly dropped: boolean;
  readonly unicast: boolean;
  readonly multicast: boolean;
  /** Some path has sent the packet through ingress once more. */
  readonly again?: "resubmit" | "recirculate";
  readonly ended: boolean;
}

/** What the lowering must know of the order of things. */
export interface FlowFacts {
  /** Metadata that some path reads before it writes them: the parser clears them. */
  readonly unwritten: ReadonlySet<string>;
  /** Writes of the output port, or of the multicast group, that come after what they must undo. */
  readonly afterDrop: ReadonlySet<StraightStatement>;
  readonly afterUnicast: ReadonlySet<StraightStatement>;
  readonly afterMulticast: ReadonlySet<StraightStatement>;
  /** Drops after a resubmission, and output ports and groups after a recirculation. */
  readonly afterAgain: ReadonlySet<StraightStatement>;
}

export function flowFacts(program: Program, gress: "ingress" | "egress"): FlowFacts {
  const flow = new Flow(program);
  flow.block(program[gress], {
    written: new Set(),
    dropped: false,
    unicast: false,
    multicast: false,
    ended: false,
  });
  return flow;
}

class Flow implements FlowFacts {
  readonly unwritten = new Set<string>();
  readonly afterDrop = new Set<StraightStatement>();
  readonly afterUnicast = new Set<StraightStatement>();
  readonly afterMulticast = new Set<StraightStatement>();
  readonly afterAgain = new Set<StraightStatement>();
  readonly #program: Program;

  constructor(program: Program) {
    this.#program = program;
  }

  block(block: Block, before: State): State {
    return block.reduce((state, s) => (state.ended ? state : this.#statement(s, state)), before);
  }

  #statement(s: Statement, state: State): State {
    switch (s.kind) {
      case "if":
        this.#reads(s.condition, state);
        return join(this.block(s.whenTrue, state), this.block(s.whenFalse, state));
      case "applyTable": {
        const table = this.#program.controls.flatMap((c) => c.tables).find((t) => t.name === s.table);
        if (table === undefined) return state;
        for (const k of table.key) this.#reads(k.expression, state);
        const miss = this.#action(table.defaultAction.action, state);
        const hits = table.actions.map((a) => this.#action(a, state));
        const hit = hits.reduce(join, hits[0] ?? miss);
        return join(this.block(s.hit, hit), this.block(s.miss, miss));
      }
      case "applyControl":
        return this.block(this.#program.controls.find((c) => c.name === s.control)?.apply ?? [], state);
      case "callAction":
        for (const a of s.arguments) this.#reads(a, state);
        return this.#action(s.action, state);
      case "exit":
        return { ...state, ended: true };
      default:
        return this.#straight(s, state);
    }
  }

  #action(name: string, state: State): State {
    const action = this.#program.controls.flatMap((c) => c.actions).find((a) => a.name === name);
    return (action?.body ?? []).reduce((st, s) => this.#straight(s, st), state);
  }

  #straight(s: StraightStatement, state: State): State {
    for (const e of expressionsOf(s)) this.#reads(e, state);
    switch (s.kind) {
      case "drop":
        if (state.again === "resubmit") this.afterAgain.add(s);
        return { ...state, dropped: true };
      case "resubmit":
        if (state.dropped) this.afterDrop.add(s);
        return { ...state, again: "resubmit", dropped: false };
      case "recirculate":
        if (state.again === "resubmit") return state;
        if (state.dropped) this.afterDrop.add(s);
        if (state.multicast) this.afterMulticast.add(s);
        return { ...state, again: "recirculate", unicast: true, multicast: false, dropped: false };
      case "assign":
        break;
      default: {
        const target = targetOf(s);
        return target?.kind === "metadata" ? wrote(state, target.name) : state;
      }
    }
    if (s.target.kind === "metadata") return wrote(state, s.target.name);
    // The bits beside the slice stay what they were.
    if (s.target.kind === "slice") this.#reads(s.target.operand, state);
    if (s.target.kind !== "intrinsic") return state;
    if (s.target.name !== "egress_port" && s.target.name !== "multicast_group") return state;
    if (state.again === "recirculate") this.afterAgain.add(s);
    // The drop port sends nowhere: nothing to undo, and nothing that a group would come on top of.
    if (isDropPort(s)) return { ...state, unicast: false };
    if (state.dropped) this.afterDrop.add(s);
    if (state.unicast) this.afterUnicast.add(s);
    if (state.multicast) this.afterMulticast.add(s);
    return s.target.name === "egress_port" ? { ...state, unicast: true } : { ...state, multicast: true };
  }

  #reads(e: Expression, state: State): void {
    rewrite(e, (node) => {
      if (node.kind === "metadata" && !state.written.has(node.name)) this.unwritten.add(node.name);
      return undefined;
    });
  }
}

/** Whether a statement sets the output port to the one that drops. */
export function isDropPort(s: StraightStatement): boolean {
  return (
    s.kind === "assign" &&
    s.target.kind === "intrinsic" &&
    s.target.name === "egress_port" &&
    s.value.kind === "constant" &&
    s.value.value === DROP_PORT
  );
}

function wrote(state: State, name: string): State {
  return { ...state, written: new Set(state.written).add(name) };
}

function join(a: State, b: State): State {
  if (a.ended) return b;
  if (b.ended) return a;
  const again = a.again ?? b.again;
  return {
    written: new Set([...a.written].filter((name) => b.written.has(name))),
    dropped: a.dropped || b.dropped,
    unicast: a.unicast || b.unicast,
    multicast: a.multicast || b.multicast,
    ...(again === undefined ? {} : { again }),
    ended: false,
  };
}
