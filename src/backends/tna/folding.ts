import { computed, literal } from "../../ir/folding.ts";
import type { Binary, Constant, Expression } from "../../ir/index.ts";
import { widthOf } from "../../ir/index.ts";
import { deep } from "../../ir/walk.ts";

/**
 * The expression with what can be worked out now worked out, and operations that change nothing left out. An instruction of Tofino
 * takes one constant, and its compiler folds none that come from an action's arguments.
 */
export function folded(e: Expression): Expression {
  switch (e.kind) {
    case "unary": {
      const operand = folded(e.operand);
      if (operand.kind !== "constant" || operand.type.kind === "bool") return { ...e, operand };
      return constantOf(e, e.operator === "~" ? ~operand.value : -operand.value);
    }
    case "cast": {
      const operand = folded(e.operand);
      if (operand.kind !== "constant" || operand.type.kind === "bool" || e.type.kind === "bool")
        return { ...e, operand };
      return constantOf(e, operand.value);
    }
    case "slice": {
      const operand = folded(e.operand);
      return operand.kind === "constant" ? constantOf(e, operand.value >> BigInt(e.low)) : { ...e, operand };
    }
    case "concat": {
      const [left, right] = [folded(e.left), folded(e.right)];
      if (left.kind !== "constant" || right.kind !== "constant") return { ...e, left, right };
      const width = widthOf(right.type);
      return constantOf(e, (left.value << BigInt(width)) | BigInt.asUintN(width, right.value));
    }
    case "binary":
      return binary({ ...e, left: folded(e.left), right: folded(e.right) });
    default:
      return e;
  }
}

/** A number of the type and at the place of the node that it stands for. */
function constantOf(e: Expression, value: bigint): Constant {
  return { ...literal(value, e.type), ...(e.at === undefined ? {} : { at: e.at }) };
}

function binary(e: Binary): Expression {
  const { left, right, operator } = e;
  if (e.type.kind === "bool") return e;
  if (left.kind === "constant" && right.kind === "constant") {
    const result = computed(e, left.value, right.value);
    return result.kind === "constant" ? constantOf(e, result.value) : e;
  }
  // What comes with the entries of tables is not taken away from them.
  if ([...deep(e)].some((n) => n.kind === "parameter")) return e;
  const zero = constantOf(e, 0n);
  if (isSame(left, right))
    switch (operator) {
      case "-":
      case "|-|":
      case "^":
        return zero;
      case "&":
      case "|":
        return left;
      default:
        return e;
    }
  const ones = constantOf(e, -1n).value;
  const other = left.kind === "constant" ? right : left;
  const known = left.kind === "constant" ? left : right.kind === "constant" ? right : undefined;
  if (known?.value === 0n) {
    if (operator === "&") return zero;
    const isRight = known === right;
    if (["+", "|", "^", "|+|"].includes(operator) || (isRight && ["-", "|-|", "<<", ">>"].includes(operator)))
      return other;
    if (operator === "|-|" && e.type.kind === "bit") return zero;
  }
  if (known?.value === ones) {
    if (operator === "&") return other;
    if (operator === "|") return constantOf(e, -1n);
  }
  return e;
}

/** The same bits of the packet. */
export function isSame(a: Expression, b: Expression): boolean {
  if (a.kind === "field" && b.kind === "field") return a.header === b.header && a.field === b.field;
  if (a.kind === "slice" && b.kind === "slice")
    return a.high === b.high && a.low === b.low && isSame(a.operand, b.operand);
  if (a.kind === "metadata" && b.kind === "metadata") return a.name === b.name;
  if (a.kind === "parameter" && b.kind === "parameter") return a.name === b.name;
  return a.kind === "intrinsic" && b.kind === "intrinsic" && a.name === b.name;
}
