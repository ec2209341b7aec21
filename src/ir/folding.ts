import { type Binary, type Constant, type Expression, operandsOf, type Slice } from "./expressions.ts";
import { bool, type DataType, rangeOf, sameType, widthOf } from "./types.ts";

/**
 * The expression as compilers simplify it: what holds constants only is computed, and what does not depend on a value loses it
 * (`x & 0`, `x - x`, `x < 0` without sign, both values of a choice alike). What stays is shared with the expression given.
 */
export function folded(e: Expression): Expression {
  switch (e.kind) {
    case "unary": {
      const operand = folded(e.operand);
      if (operand.kind === "constant") {
        const v = operand.value;
        return literal(e.operator === "!" ? 1n - v : e.operator === "-" ? -v : ~v, e.type);
      }
      if (operand.kind === "unary" && operand.operator === e.operator && e.operator !== "-")
        return operand.operand;
      return operand === e.operand ? e : { ...e, operand };
    }
    case "cast": {
      const operand = folded(e.operand);
      if (operand.kind === "constant") return literal(operand.value, e.type);
      return operand === e.operand ? e : { ...e, operand };
    }
    case "slice": {
      const operand = folded(e.operand);
      return slice(operand === e.operand ? e : { ...e, operand });
    }
    case "concat": {
      const [left, right] = [folded(e.left), folded(e.right)];
      if (left.kind === "constant" && right.kind === "constant") {
        const low = BigInt(widthOf(right.type));
        return literal((unsigned(left) << low) | unsigned(right), e.type);
      }
      return left === e.left && right === e.right ? e : { ...e, left, right };
    }
    case "mux": {
      const condition = folded(e.condition);
      const [whenTrue, whenFalse] = [folded(e.whenTrue), folded(e.whenFalse)];
      if (condition.kind === "constant") return condition.value === 1n ? whenTrue : whenFalse;
      if (isAlike(whenTrue, whenFalse)) return whenTrue;
      const isSame = condition === e.condition && whenTrue === e.whenTrue && whenFalse === e.whenFalse;
      return isSame ? e : { ...e, condition, whenTrue, whenFalse };
    }
    case "binary": {
      const [left, right] = [folded(e.left), folded(e.right)];
      const inner = left === e.left && right === e.right ? e : { ...e, left, right };
      return binary(inner);
    }
    default:
      return e;
  }
}

/** Whether compilers see the same in both, once they have left out what changes nothing. */
function isAlike(a: Expression, b: Expression): boolean {
  return sameExpression(a, b) || (sameType(a.type, b.type) && sameExpression(bare(a), bare(b)));
}

/** The value without casts to its own type, slices of all of it and operations that change nothing, anywhere within it. */
function bare(e: Expression): Expression {
  switch (e.kind) {
    case "unary":
      return { ...e, operand: bare(e.operand) };
    case "cast": {
      const operand = bare(e.operand);
      return sameType(operand.type, e.type) ? operand : { ...e, operand };
    }
    case "slice":
      return bareSlice({ ...e, operand: bare(e.operand) });
    case "concat":
      return { ...e, left: bare(e.left), right: bare(e.right) };
    case "mux":
      return { ...e, condition: bare(e.condition), whenTrue: bare(e.whenTrue), whenFalse: bare(e.whenFalse) };
    case "binary": {
      const [left, right] = [bare(e.left), bare(e.right)];
      const turned = left.kind === "constant" && COMMUTATIVE.has(e.operator);
      return unchanged(turned ? { ...e, left: right, right: left } : { ...e, left, right });
    }
    default:
      return e;
  }
}

const COMMUTATIVE: ReadonlySet<string> = new Set(["+", "*", "|+|", "&", "|", "^"]);

function bareSlice(e: Slice): Expression {
  const part = slice(e);
  if (part.kind !== "slice") return part;
  const { operand, high, low } = part;
  // What a cast to more bits adds is above the slice.
  if (operand.kind === "cast" && operand.operand.type.kind !== "bool" && high < widthOf(operand.operand.type))
    return bareSlice({ ...part, operand: operand.operand });
  return low === 0 && sameType(operand.type, part.type) ? operand : part;
}

/** Whether two expressions are written alike, wherever they stand. */
export function sameExpression(a: Expression, b: Expression): boolean {
  if (a === b) return true;
  if (a.kind !== b.kind || !sameType(a.type, b.type)) return false;
  const [x, y] = [operandsOf(a), operandsOf(b)];
  return ownParts(a) === ownParts(b) && x.every((operand, i) => sameOrMissing(operand, y[i]));
}

function sameOrMissing(a: Expression, b: Expression | undefined): boolean {
  return b !== undefined && sameExpression(a, b);
}

/** What an expression says beside its operands. */
function ownParts(e: Expression): string {
  switch (e.kind) {
    case "constant":
      return String(e.value);
    case "field":
      return `${e.header}.${e.field}`;
    case "metadata":
    case "parameter":
    case "intrinsic":
      return e.name;
    case "memory":
      return e.which;
    case "valid":
      return e.header;
    case "unary":
    case "binary":
      return e.operator;
    case "slice":
      return `${e.high}:${e.low}`;
    default:
      return "";
  }
}

/** A constant of a type; as in P4, what lies beyond it wraps. */
export function literal(value: bigint, type: DataType): Constant {
  const width = widthOf(type);
  const within = type.kind === "int" ? BigInt.asIntN(width, value) : BigInt.asUintN(width, value);
  return { kind: "constant", type, value: within };
}

function unsigned(e: Constant): bigint {
  return BigInt.asUintN(widthOf(e.type), e.value);
}

/** Bits of a constant, of a slice, of a part of what is put together. */
function slice(e: Slice): Expression {
  const { operand, high, low } = e;
  const width = widthOf(operand.type);
  // A slice outside its value is reported where types are checked.
  if (!Number.isInteger(high) || !Number.isInteger(low) || low < 0 || high < low || high >= width) return e;
  if (operand.kind === "constant") return literal(unsigned(operand) >> BigInt(low), e.type);
  if (operand.kind === "slice")
    return slice({ ...e, operand: operand.operand, high: high + operand.low, low: low + operand.low });
  if (operand.kind === "concat") {
    const rest = widthOf(operand.right.type);
    if (low >= rest) return slice({ ...e, operand: operand.left, high: high - rest, low: low - rest });
    if (high < rest) return slice({ ...e, operand: operand.right });
  }
  if (operand.kind === "binary" && operand.operator === "<<" && operand.right.kind === "constant")
    if (BigInt(high) < operand.right.value) return literal(0n, e.type);
  return e;
}

function binary(e: Binary): Expression {
  const { operator, left, right } = e;
  if (left.kind === "constant" && right.kind === "constant") return computed(e, left.value, right.value);
  const isZero = (side: Expression): boolean => side.kind === "constant" && side.value === 0n;
  const isOne = (side: Expression): boolean => side.kind === "constant" && side.value === 1n;
  const alike = isAlike(left, right);
  switch (operator) {
    case "&":
      if (isZero(left) || isZero(right)) return literal(0n, e.type);
      return alike ? left : e;
    case "|":
      return alike ? left : e;
    case "*":
      return isZero(left) || isZero(right) ? literal(0n, e.type) : shiftedOut(e);
    case "^":
    case "-":
      return alike ? literal(0n, e.type) : e;
    case "|-|":
      return alike || (isZero(left) && e.type.kind === "bit") ? literal(0n, e.type) : e;
    case "<<":
    case ">>":
      return isZero(left) ? left : shiftedOut(e);
    case "&&":
      if (isZero(left) || isZero(right)) return literal(0n, bool);
      if (isOne(left)) return right;
      return isOne(right) ? left : e;
    case "||":
      if (isOne(left) || isOne(right)) return literal(1n, bool);
      if (isZero(left)) return right;
      return isZero(right) ? left : e;
    case "==":
    case "!=":
      return alike ? literal(operator === "==" ? 1n : 0n, bool) : e;
    case "<":
    case ">":
    case "<=":
    case ">=":
      return alike ? literal(operator.length === 2 ? 1n : 0n, bool) : atLimit(e);
    default:
      return e;
  }
}

/** Shifts by constants, and products with powers of two, that together leave nothing of the value. */
function shiftedOut(e: Binary): Expression {
  const direction = e.operator === ">>" ? ">>" : "<<";
  const width = BigInt(widthOf(e.type));
  const whole = movedBy(e, direction);
  // A single step by too much is reported where types are checked.
  if (ownStep(e, direction)?.by === whole || whole < width) return e;
  if (direction === "<<" || e.type.kind === "bit") return literal(0n, e.type);
  if (e.right.kind !== "constant") return e;
  return { ...e, left: movedFrom(e, direction), right: { ...e.right, value: width - 1n } };
}

/** By how many bits constants move a value, one behind the other: compilers make one shift of them. */
export function movedBy(e: Expression, direction: "<<" | ">>"): bigint {
  const step = ownStep(unchanged(e), direction);
  return step === undefined ? 0n : step.by + movedBy(step.of, direction);
}

function movedFrom(e: Expression, direction: "<<" | ">>"): Expression {
  const step = ownStep(unchanged(e), direction);
  return step === undefined ? unchanged(e) : movedFrom(step.of, direction);
}

/** What an expression does to its operand when all that it does is to move it by a constant. */
function ownStep(
  e: Expression,
  direction: "<<" | ">>",
): { readonly of: Expression; readonly by: bigint } | undefined {
  if (e.kind !== "binary") return undefined;
  const { operator, left, right } = e;
  if (operator === direction && right.kind === "constant") return { of: left, by: right.value };
  if (operator !== "*" || direction === ">>") return undefined;
  const [factor, of] = left.kind === "constant" ? [left, right] : [right, left];
  if (factor.kind !== "constant" || factor.value <= 0n) return undefined;
  const by = BigInt(factor.value.toString(2).length - 1);
  return factor.value === 1n << by ? { of, by } : undefined;
}

/** The value without what changes nothing in it: `x + 0`, `x | 0`, `x * 1`. */
function unchanged(e: Expression): Expression {
  if (e.kind !== "binary") return e;
  const { operator, left, right } = e;
  const is = (side: Expression, v: bigint): boolean => side.kind === "constant" && side.value === v;
  switch (operator) {
    case "+":
    case "|+|":
    case "|":
    case "^":
      if (is(left, 0n)) return unchanged(right);
      return is(right, 0n) ? unchanged(left) : e;
    case "-":
    case "|-|":
    case "<<":
    case ">>":
      return is(right, 0n) ? unchanged(left) : e;
    case "*":
      if (is(left, 1n)) return unchanged(right);
      return is(right, 1n) ? unchanged(left) : e;
    case "&": {
      const ones = (side: Expression): boolean =>
        side.kind === "constant" && unsigned(side) === (1n << BigInt(widthOf(side.type))) - 1n;
      if (ones(left)) return unchanged(right);
      return ones(right) ? unchanged(left) : e;
    }
    default:
      return e;
  }
}

/** A comparison that no value, or each one, satisfies: `x < 0` without sign. */
function atLimit(e: Binary): Expression {
  const isRight = e.right.kind === "constant";
  const limit = isRight ? e.right : e.left;
  if (limit.kind !== "constant" || limit.type.kind === "bool") return e;
  const [low, high] = rangeOf(limit.type);
  // As if the constant stood on the right.
  const mirrored: Partial<Record<string, string>> = { "<": ">", ">": "<", "<=": ">=", ">=": "<=" };
  const operator = isRight ? e.operator : mirrored[e.operator];
  if (operator === "<" && limit.value === low) return literal(0n, bool);
  if (operator === ">=" && limit.value === low) return literal(1n, bool);
  if (operator === ">" && limit.value === high) return literal(0n, bool);
  if (operator === "<=" && limit.value === high) return literal(1n, bool);
  return e;
}

/** What an operation makes of two constants; the operation itself where it shifts by more than is allowed. */
export function computed(e: Binary, a: bigint, b: bigint): Expression {
  const truth = (v: boolean): Constant => literal(v ? 1n : 0n, bool);
  switch (e.operator) {
    case "+":
      return literal(a + b, e.type);
    case "-":
      return literal(a - b, e.type);
    case "*":
      return literal(a * b, e.type);
    case "|+|":
      return literal(saturated(a + b, e.type), e.type);
    case "|-|":
      return literal(saturated(a - b, e.type), e.type);
    case "&":
      return literal(a & b, e.type);
    case "|":
      return literal(a | b, e.type);
    case "^":
      return literal(a ^ b, e.type);
    case "<<":
      return b < 0n || b > MOST_SHIFT ? e : literal(a << b, e.type);
    case ">>":
      return b < 0n || b > MOST_SHIFT ? e : literal(a >> b, e.type);
    case "==":
      return truth(a === b);
    case "!=":
      return truth(a !== b);
    case "<":
      return truth(a < b);
    case "<=":
      return truth(a <= b);
    case ">":
      return truth(a > b);
    case ">=":
      return truth(a >= b);
    case "&&":
      return truth(a === 1n && b === 1n);
    case "||":
      return truth(a === 1n || b === 1n);
  }
}

/** Larger amounts are refused where types are checked. */
const MOST_SHIFT = 4096n;

function saturated(v: bigint, type: DataType): bigint {
  const [low, high] = rangeOf(type);
  return v < low ? low : v > high ? high : v;
}
