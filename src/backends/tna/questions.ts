import type { Expression } from "../../ir/index.ts";
import { both, fitsGateways } from "./gateways.ts";
import type { Layout } from "./layout.ts";
import type { TnaBlock, TnaStatement } from "./lowered.ts";

export type If = Extract<TnaStatement, { readonly kind: "if" }>;

export function ask(condition: Expression, whenTrue: TnaBlock): If {
  return { kind: "if", condition, whenTrue, whenFalse: [] };
}

/** Rows of a gateway's memory, one for each way in which a condition is true, are few. */
const GATEWAY_TESTS = 3;

/** `if (a) { if (b) { ... } }` as one question, where one gateway can ask it. */
export function joined(s: If, layout: Layout): If {
  const [only, ...more] = s.whenTrue;
  if (only?.kind !== "if" || more.length + s.whenFalse.length + only.whenFalse.length > 0) return s;
  const tests = [...testsOf(s.condition), ...testsOf(only.condition)];
  const isPlain = [s.condition, only.condition].every(isConjunction);
  const condition = both(s.condition, "&&", only.condition);
  if (!isPlain || tests.length > GATEWAY_TESTS || !fitsGateways(condition, layout)) return s;
  return joined({ ...only, condition }, layout);
}

function isConjunction(e: Expression): boolean {
  if (e.kind === "binary" && e.operator === "&&") return isConjunction(e.left) && isConjunction(e.right);
  if (e.kind === "binary") return e.operator !== "||";
  return e.kind !== "unary" || e.operand.kind === "valid" || e.operand.kind === "metadata";
}

/** What a conjunction asks, one by one. */
export function testsOf(e: Expression): readonly Expression[] {
  return e.kind === "binary" && e.operator === "&&" ? [...testsOf(e.left), ...testsOf(e.right)] : [e];
}
