import type { Block, Statement, StraightStatement } from "../../ir/index.ts";
import { NO_ACTION, widthOf } from "../../ir/index.ts";
import { BackendError } from "../backenderror.ts";
import { type Identifiers, identifier } from "../p4text/identifiers.ts";
import { type StepContext, stepsOf, withChecksums } from "./actions.ts";
import { apart } from "./apart.ts";
import { gatewayCondition } from "./conditions.ts";
import type { Step, TnaAction, TnaBlock, TnaStatement } from "./lowered.ts";
import { bitsOf, isAtom, overlaps, stagesOf } from "./stages.ts";

/** One of the actions, called one after the other, that an action of the program has become. */
export interface ActionPart {
  /** Which of the action's arguments this part takes. */
  readonly indexes: readonly number[];
  readonly action: TnaAction;
}

/** Statements of ingress, of egress or of a control; what needs an action of its own is put into `added`. */
export class BlockLowering {
  readonly added: TnaAction[] = [];
  readonly #context: StepContext;
  readonly #ids: Identifiers;
  readonly #actions: ReadonlyMap<string, readonly ActionPart[]>;

  constructor(context: StepContext, ids: Identifiers, actions: ReadonlyMap<string, readonly ActionPart[]>) {
    this.#context = context;
    this.#ids = ids;
    this.#actions = actions;
  }

  block(block: Block): TnaBlock {
    const out: TnaStatement[] = [];
    let run: StraightStatement[] = [];
    const flush = (): void => {
      if (run.length > 0) out.push(...this.#run(run));
      run = [];
    };
    for (const s of block) {
      if (isStraight(s)) run.push(s);
      else {
        flush();
        out.push(...this.#statement(s));
      }
    }
    flush();
    return out;
  }

  /** Statements of one stage stay as they are; the compiler would put dependent ones into one action, and refuse that. */
  #run(statements: readonly StraightStatement[]): readonly TnaStatement[] {
    const { names, refuse, owner, asked } = this.#context;
    const stages = stagesOf(statements, refuse).flatMap(apart);
    if (stages.length === 1) {
      const { steps, updates, units } = stepsOf(stages[0] ?? [], owner, this.#context);
      // The compiler makes tables of their own of assignments to parts of one field, unless one action has them all; and what is widened
      // is assigned in parts, the zeros apart.
      const hasParts =
        steps.some(isWidened) ||
        (steps.length > 1 && steps.some((s) => s.kind === "assign" && s.target.kind === "slice"));
      const isInHash = steps.some((s) => "inHash" in s);
      // What is computed for a condition would be put into it, and no gateway computes.
      const isAsked = (stages[0] ?? []).some(
        (t) =>
          t.kind === "assign" && !isAtom(t.value) && asked.some((bits) => overlaps(bits, bitsOf(t.target))),
      );
      // A port that is known there would be put into the call, which then has no field to take away.
      const isCall = steps.some((s) => s.kind === "invalidate");
      const isPlain = updates.length + units.length === 0 && !hasParts && !isInHash && !isAsked && !isCall;
      if (isPlain) return [{ kind: "steps", steps }];
    }
    return stages.map((stage) => {
      const local = names.take("step_1", "");
      const made = stepsOf(stage, local, this.#context);
      this.added.push({ name: `${owner}.${local}`, local, parameters: [], ...made });
      return { kind: "callAction", local, arguments: [] };
    });
  }

  #statement(s: Exclude<Statement, StraightStatement>): readonly TnaStatement[] {
    const { control, own, owner, refuse } = this.#context;
    switch (s.kind) {
      case "if": {
        const condition = gatewayCondition(withChecksums(s.condition, this.#context), refuse, s.at);
        if (condition.kind === "constant")
          return this.block(condition.value === 0n ? s.whenFalse : s.whenTrue);
        return [
          { kind: "if", condition, whenTrue: this.block(s.whenTrue), whenFalse: this.block(s.whenFalse) },
        ];
      }
      case "applyTable":
        return [
          {
            kind: "applyTable",
            local: identifier(own?.tables ?? new Map(), s.table, "table", owner, "tna"),
            hit: this.block(s.hit),
            miss: this.block(s.miss),
          },
        ];
      case "applyControl": {
        const id = this.#ids.controls.get(s.control);
        if (id === undefined)
          throw new BackendError("GP2001", "tna", `the program has no control ${s.control}`);
        return [{ kind: "applyControl", instance: id.instance }];
      }
      case "callAction": {
        if (s.action === NO_ACTION) return [];
        const parts = this.#actions.get(s.action);
        if (parts === undefined)
          throw new BackendError(
            "GP2002",
            "tna",
            `${control?.name ?? owner} calls ${s.action} of another control`,
            s.at,
          );
        return parts.map(({ action, indexes }) => ({
          kind: "callAction",
          local: action.local,
          arguments: indexes.flatMap((i) => s.arguments[i] ?? []),
        }));
      }
      case "exit":
        return [{ kind: "exit" }];
    }
  }
}

function isWidened(s: Step): boolean {
  if (s.kind !== "assign" || s.value.kind !== "cast" || s.value.operand.kind === "constant") return false;
  return s.value.operand.type.kind === "bit" && widthOf(s.value.type) > widthOf(s.value.operand.type);
}

function isStraight(s: Statement): s is StraightStatement {
  return !["if", "applyTable", "applyControl", "callAction", "exit"].includes(s.kind);
}
