import type { Expression } from "../../ir/index.ts";
import { bool, widthOf } from "../../ir/index.ts";
import { negation } from "../p4text/expressions.ts";
import type { TnaBlock, TnaStatement } from "./lowered.ts";
import { atomsOf } from "./stages.ts";

export type If = Extract<TnaStatement, { readonly kind: "if" }>;

/** The negation, with the tests themselves turned round. */
export function opposite(e: Expression): Expression {
  if (e.kind !== "binary" || (e.operator !== "&&" && e.operator !== "||")) return negation(e);
  return {
    ...e,
    operator: e.operator === "&&" ? "||" : "&&",
    left: opposite(e.left),
    right: opposite(e.right),
  };
}

export function ask(condition: Expression, whenTrue: TnaBlock): If {
  return { kind: "if", condition, whenTrue, whenFalse: [] };
}

/** What a gateway compares at most: bytes, and the rows of its memory, one for each way in which a condition is true. */
const GATEWAY_BITS = 44;
const GATEWAY_TESTS = 3;

/** `if (a) { if (b) { ... } }` as one question, where one gateway can ask it. */
export function joined(s: If): If {
  const [only, ...more] = s.whenTrue;
  if (only?.kind !== "if" || more.length + s.whenFalse.length + only.whenFalse.length > 0) return s;
  const tests = [...testsOf(s.condition), ...testsOf(only.condition)];
  const isPlain = [s.condition, only.condition].every(isConjunction);
  if (!isPlain || tests.length > GATEWAY_TESTS || bitsCompared(tests) > GATEWAY_BITS) return s;
  const condition: Expression = {
    kind: "binary",
    type: bool,
    operator: "&&",
    left: s.condition,
    right: only.condition,
  };
  return joined({ ...only, condition });
}

function isConjunction(e: Expression): boolean {
  if (e.kind === "binary" && e.operator === "&&") return isConjunction(e.left) && isConjunction(e.right);
  if (e.kind === "binary") return e.operator !== "||";
  return e.kind !== "unary" || e.operand.kind === "valid" || e.operand.kind === "metadata";
}

function testsOf(e: Expression): readonly Expression[] {
  return e.kind === "binary" && e.operator === "&&" ? [...testsOf(e.left), ...testsOf(e.right)] : [e];
}

function bitsCompared(tests: readonly Expression[]): number {
  const fields = new Map<string, number>();
  for (const t of tests) {
    for (const b of atomsOf(t)) fields.set(`${b.key}[${b.high}:${b.low}]`, Math.min(b.high - b.low + 1, 64));
    if (t.kind === "valid" || (t.kind === "unary" && t.operand.kind === "valid"))
      fields.set(`valid ${fields.size}`, 1);
    if (t.kind === "binary" && t.left.kind === "intrinsic")
      fields.set(`intrinsic ${t.left.name}`, widthOf(t.left.type));
  }
  return [...fields.values()].reduce((sum, bits) => sum + bits, 0);
}
