import type { Binary, Expression, SourceLocation } from "../../ir/index.ts";
import { bool, rangeOf, widthOf } from "../../ir/index.ts";
import type { Refuse } from "./refuse.ts";
import { isAtom } from "./stages.ts";

/** Bits of which equality is compared; order is compared of no more than one container. */
const COMPARED_BITS = 44;
const ORDERED_BITS = 32;

/** A condition as one gateway can test it; casts that only widen a field for a comparison are gone. */
export function gatewayCondition(e: Expression, refuse: Refuse, at: SourceLocation | undefined): Expression {
  switch (e.kind) {
    case "unary":
      return e.operator === "!" ? not(gatewayCondition(e.operand, refuse, e.at ?? at)) : e;
    case "binary": {
      if (e.operator === "&&" || e.operator === "||") {
        const [left, right] = [e.left, e.right].map((side) => gatewayCondition(side, refuse, side.at ?? at));
        if (left === undefined || right === undefined) return e;
        return join({ ...e, left, right });
      }
      return comparison(e, refuse, e.at ?? at);
    }
    case "constant":
    case "valid":
    case "intrinsic":
    case "metadata":
    case "field":
      return e;
    default:
      refuse("GP1803", "a condition that is no comparison of fields", e.at ?? at);
      return e;
  }
}

function comparison(e: Binary, refuse: Refuse, at: SourceLocation | undefined): Expression {
  const narrow = narrowed(e);
  if (narrow.kind !== "binary") return narrow;
  const { left, right, operator } = narrow;
  const isEquality = operator === "==" || operator === "!=";
  const hasConstant = left.kind === "constant" || right.kind === "constant";
  const width = widthOf(left.type);
  if (!isAtom(left) || !isAtom(right)) refuse("GP1803", "a computed value is compared", at);
  else if (!isEquality && !hasConstant) refuse("GP1803", `two fields are compared by ${operator}`, at);
  else if (!isEquality && (width > ORDERED_BITS || left.type.kind === "int"))
    refuse(
      "GP1803",
      `${width} bits${left.type.kind === "int" ? ", signed," : ""} are compared by ${operator}`,
      at,
    );
  else if (isEquality && width > COMPARED_BITS) refuse("GP1803", `${width} bits are compared`, at);
  return narrow;
}

/** `bit<32>(x) >= 512` as `x >= 512`; decided at once where the constant lies outside the field. */
function narrowed(e: Binary): Expression {
  const { left, right } = e;
  if (left.kind !== "cast" || right.kind !== "constant") return e;
  const inner = left.operand;
  if (inner.type.kind !== "bit" || left.type.kind !== "bit" || widthOf(inner.type) >= widthOf(left.type))
    return e;
  const [low, high] = rangeOf(inner.type);
  const c = right.value;
  if (c >= low && c <= high) return narrowed({ ...e, left: inner, right: { ...right, type: inner.type } });
  const isTrue = e.operator === "<" || e.operator === "<=" || e.operator === "!=";
  return { kind: "constant", type: bool, value: isTrue ? 1n : 0n };
}

function not(e: Expression): Expression {
  if (e.kind === "constant") return { ...e, value: 1n - e.value };
  return { kind: "unary", type: bool, operator: "!", operand: e };
}

/** The condition without sides that are decided. */
export function join(e: Binary): Expression {
  const isAnd = e.operator === "&&";
  for (const [side, other] of [
    [e.left, e.right],
    [e.right, e.left],
  ] as const) {
    if (side.kind !== "constant") continue;
    return (side.value !== 0n) === isAnd ? other : side;
  }
  return e;
}
