import type { KeySet } from "../program.ts";
import { type DataType, rangeOf, sameType, typeName, widthOf } from "../types.ts";
import { hasWidth } from "./types.ts";

/** Why a value, mask, prefix or range does not lie within the type of its key, or undefined when it does. */
export function misfit(set: KeySet, type: DataType): string | undefined {
  // The key itself is reported.
  if (!hasWidth(type)) return undefined;
  if (set.kind === "value" && set.named !== undefined && !sameType(set.named.type, type))
    return `${set.named.name} is ${typeName(set.named.type)}, not ${typeName(type)}`;
  const [low, high] = rangeOf(type);
  const outside = (v: bigint): boolean => v < low || v > high;
  const length = set.kind === "prefix" ? set.length : 0;
  const bad =
    (set.kind === "value" && outside(set.value)) ||
    (set.kind === "mask" && (outside(set.value) || outside(set.mask))) ||
    (set.kind === "prefix" && (outside(set.value) || !Number.isInteger(length))) ||
    (set.kind === "range" && (outside(set.low) || outside(set.high) || set.low > set.high));
  return bad || length < 0 || length > widthOf(type)
    ? `${keySetText(set)} is not a value for ${typeName(type)}`
    : undefined;
}

/** Why a table entry's value is not in the form that P4Runtime asks for: bits that are not compared are 0. */
export function uncanonical(set: KeySet, type: DataType): string | undefined {
  if (!hasWidth(type) || (set.kind !== "mask" && set.kind !== "prefix")) return undefined;
  const [value, mask] = valueAndMask(set, type);
  return (value & mask) === value ? undefined : `${keySetText(set)} has bits outside its mask`;
}

export function keySetText(set: KeySet): string {
  switch (set.kind) {
    case "value":
      return `${set.value}`;
    case "mask":
      return `${set.value} &&& ${set.mask}`;
    case "prefix":
      return `${set.value}/${set.length}`;
    case "range":
      return `${set.low}..${set.high}`;
    case "any":
      return "_";
  }
}

/** Whether `a` takes every value that `b` takes. Both fit the type. */
export function includes(a: KeySet, b: KeySet, type: DataType): boolean {
  if (a.kind === "any") return true;
  if (a.kind === "range" || b.kind === "range") {
    const [low, high] = bounds(a, type);
    const [from, to] = bounds(b, type);
    // A mask is no range; what it takes lies between its bounds, but not all of that.
    return a.kind !== "mask" && low <= from && to <= high;
  }
  const [av, am] = valueAndMask(a, type);
  const [bv, bm] = valueAndMask(b, type);
  return (am & bm) === am && (av & am) === (bv & am);
}

/** Smallest and largest value that a set may take. */
function bounds(set: KeySet, type: DataType): readonly [bigint, bigint] {
  if (set.kind === "range") return [set.low, set.high];
  if (set.kind === "value") return [set.value, set.value];
  if (set.kind === "prefix") {
    const [value, mask] = valueAndMask(set, type);
    return [value & mask, value | (allOnes(type) ^ mask)];
  }
  return rangeOf(type);
}

function valueAndMask(set: KeySet, type: DataType): readonly [bigint, bigint] {
  const all = allOnes(type);
  switch (set.kind) {
    case "value":
      return [set.value, all];
    case "mask":
      return [set.value, set.mask];
    case "prefix":
      return [set.value, all ^ (all >> BigInt(set.length))];
    default:
      return [0n, 0n];
  }
}

function allOnes(type: DataType): bigint {
  return (1n << BigInt(widthOf(type))) - 1n;
}
