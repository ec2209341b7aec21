import { type Expression, operandsOf } from "./expressions.ts";
import type { Action, Control, Program } from "./program.ts";
import type { Block, Statement, Target } from "./statements.ts";

/** Where an expression or statement stands. */
export interface Place {
  readonly block: "parser" | "ingress" | "egress";
  readonly control?: Control;
  readonly action?: Action;
}

/** All statements of a block and of the blocks within, in order. */
export function* statementsOf(block: Block): Generator<Statement> {
  for (const s of block) {
    yield s;
    if (s.kind === "if") {
      yield* statementsOf(s.whenTrue);
      yield* statementsOf(s.whenFalse);
    } else if (s.kind === "applyTable") {
      yield* statementsOf(s.hit);
      yield* statementsOf(s.miss);
    }
  }
}

/** Every statement of a program with its place. */
export function* placedStatements(program: Program): Generator<readonly [Statement, Place]> {
  for (const control of program.controls) {
    const block = control.gress;
    for (const action of control.actions) {
      for (const s of action.body) yield [s, { block, control, action }];
    }
    for (const s of statementsOf(control.apply)) yield [s, { block, control }];
  }
  for (const s of statementsOf(program.ingress)) yield [s, { block: "ingress" }];
  for (const s of statementsOf(program.egress)) yield [s, { block: "egress" }];
}

/** Expressions that stand directly in a statement; for a register update those of the update are included. */
export function expressionsOf(s: Statement): readonly Expression[] {
  switch (s.kind) {
    case "assign":
      return [s.value];
    case "registerUpdate":
      return [s.index, s.next, ...(s.output === undefined ? [] : [s.output])];
    case "count":
      return [s.index];
    case "clone":
      return [s.session];
    case "hash":
      return s.fields;
    case "random":
      return [s.low, s.high];
    case "meter":
      return [s.index];
    case "digest":
      return s.values;
    case "resubmit":
    case "recirculate":
      return s.keep;
    case "if":
      return [s.condition];
    case "callAction":
      return s.arguments;
    default:
      return [];
  }
}

/** What a statement writes by value; undefined for those that only act. */
export function targetOf(s: Statement): Target | undefined {
  return s.kind === "assign" ? s.target : "into" in s ? s.into : undefined;
}

/** An expression and all within, outermost first. */
export function* deep(e: Expression): Generator<Expression> {
  yield e;
  for (const operand of operandsOf(e)) yield* deep(operand);
}
