import type { Constant, DataType, Expression, Target } from "../../ir/index.ts";
import { bit, widthOf } from "../../ir/index.ts";
import { folded } from "./folding.ts";

/** Bits that an action can take from the hash unit. */
export const HASHED_BITS = 32;

/** Casts between bit and int of one width change no bit. */
export function withoutSameCasts(e: Expression): Expression {
  const isSameWidth =
    e.kind === "cast" &&
    e.type.kind !== "bool" &&
    e.operand.type.kind !== "bool" &&
    widthOf(e.type) === widthOf(e.operand.type);
  return isSameWidth ? withoutSameCasts(e.operand) : e;
}

/** A constant, or what comes with the entry of a table. */
export function isGiven(e: Expression): boolean {
  if (e.kind === "constant" || e.kind === "parameter") return true;
  return (e.kind === "cast" || e.kind === "slice") && e.type.kind !== "bool" && isGiven(e.operand);
}

export function isPlace(
  e: Expression,
): e is Extract<Expression, { kind: "field" } | { kind: "metadata" } | { kind: "intrinsic" }> {
  return e.kind === "field" || e.kind === "metadata" || e.kind === "intrinsic";
}

/** What a value is put together of, from high to low: places, slices of places, what is given; undefined: something else is in it. */
export function partsOf(e: Expression): readonly Expression[] | undefined {
  if (isGiven(e) || isPlace(e)) return e.type.kind === "bool" ? undefined : [e];
  switch (e.kind) {
    case "concat": {
      const [left, right] = [partsOf(e.left), partsOf(e.right)];
      return left === undefined || right === undefined ? undefined : [...left, ...right];
    }
    case "slice": {
      const parts = partsOf(e.operand);
      return parts === undefined ? undefined : partBits(parts, e.high, e.low);
    }
    case "cast": {
      const parts = partsOf(e.operand);
      if (parts === undefined || e.type.kind === "bool" || e.operand.type.kind === "bool") return undefined;
      const extra = widthOf(e.type) - widthOf(e.operand.type);
      if (extra <= 0) return partBits(parts, widthOf(e.type) - 1, 0);
      return e.operand.type.kind === "int" ? undefined : [zero(bit(extra), extra), ...parts];
    }
    default:
      return undefined;
  }
}

/** Bits high..low of what is put together. */
function partBits(parts: readonly Expression[], high: number, low: number): readonly Expression[] {
  let end = parts.reduce((sum, p) => sum + widthOf(p.type), 0);
  return parts.flatMap((p) => {
    const start = end - widthOf(p.type);
    const [h, l] = [Math.min(high, end - 1) - start, Math.max(low, start) - start];
    end = start;
    return h < l ? [] : [sliced(p, h, l)];
  });
}

function sliced(e: Expression, high: number, low: number): Expression {
  const width = widthOf(e.type);
  if (low === 0 && high === width - 1) return e;
  if (e.kind === "slice") return sliced(e.operand, high + e.low, low + e.low);
  const type = bit(high - low + 1);
  return folded({ kind: "slice", operand: e, high, low, type });
}

/** The parts in groups that one hash gives, from high to low; what comes with a table's entry is apart. */
export function groupsOf(parts: readonly Expression[]): readonly (readonly Expression[])[] {
  const groups: Expression[][] = [];
  let room = 0;
  for (const p of parts.flatMap(pieces)) {
    const width = widthOf(p.type);
    const last = groups.at(-1);
    if (last === undefined || isParameter(p) || last.some(isParameter) || width > room) {
      groups.push([p]);
      room = HASHED_BITS - width;
    } else {
      last.push(p);
      room -= width;
    }
  }
  return groups;
}

function isParameter(e: Expression): boolean {
  return e.kind === "parameter" || ((e.kind === "slice" || e.kind === "cast") && isParameter(e.operand));
}

function pieces(e: Expression): readonly Expression[] {
  const width = widthOf(e.type);
  if (width <= HASHED_BITS || isParameter(e)) return [e];
  return [sliced(e, width - 1, HASHED_BITS), sliced(e, HASHED_BITS - 1, 0)].flatMap(pieces);
}

export function joined(parts: readonly Expression[]): Expression {
  const bits = (e: Expression): Expression =>
    e.type.kind === "int" && parts.length > 1 ? { kind: "cast", type: bit(widthOf(e.type)), operand: e } : e;
  const [first, ...more] = parts.map(bits);
  return more.reduce<Expression>(
    (left, right) => ({
      kind: "concat",
      type: bit(widthOf(left.type) + widthOf(right.type)),
      left,
      right,
    }),
    first ?? zero(bit(1), 1),
  );
}

export function zero(type: DataType, width: number): Constant {
  return { kind: "constant", type: type.kind === "bool" ? bit(width) : type, value: 0n };
}

export function cut(target: Exclude<Target, { kind: "intrinsic" }>, high: number, low: number): Target {
  if (low === 0 && high === widthOf(target.type) - 1) return target;
  if (target.kind === "slice") return cut(target.operand, high + target.low, low + target.low);
  return { kind: "slice", operand: target, high, low, type: bit(high - low + 1) };
}
