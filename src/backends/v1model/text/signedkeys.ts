import type { DataType, Expression, KeySet } from "../../../ir/index.ts";
import { widthOf } from "../../../ir/index.ts";
import { Level, operand, type Scope } from "../../p4text/expressions.ts";
import { concat, type Doc } from "../../p4text/layout.ts";

/**
 * Whether a signed key is compared with negative values. p4c refuses them in table entries, and writes them with a sign into the parser of
 * its JSON, which BMv2 does not read; so such keys are compared as bits.
 */
export function isSignedAsBits(type: DataType, sets: readonly (KeySet | undefined)[]): boolean {
  const isNegative = (set: KeySet | undefined): boolean =>
    (set?.kind === "value" && set.value < 0n) ||
    (set?.kind === "mask" && (set.value < 0n || set.mask < 0n)) ||
    (set?.kind === "prefix" && set.value < 0n);
  return type.kind === "int" && sets.some(isNegative);
}

/** The key as the bits that it has. */
export function bitsText(key: Expression, scope: Scope): Doc {
  return concat(`(bit<${widthOf(key.type)}>)`, operand(key, scope, Level.PREFIX));
}

/** The same set of bits without a sign. */
export function withoutSign(set: KeySet, width: number): KeySet {
  const bits = (v: bigint): bigint => BigInt.asUintN(width, v);
  switch (set.kind) {
    case "value":
      return { kind: "value", value: bits(set.value) };
    case "mask":
      return { ...set, value: bits(set.value), mask: bits(set.mask) };
    case "prefix":
      return { ...set, value: bits(set.value) };
    default:
      return set;
  }
}
