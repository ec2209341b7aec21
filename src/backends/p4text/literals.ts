import type { DataType, KeySet } from "../../ir/index.ts";
import { widthOf } from "../../ir/index.ts";

/** Counts and ports are read as decimal numbers; addresses, protocol numbers and masks as hexadecimal ones. */
const SMALL = 1024n;

/**
 * A number as P4 writes it: decimal when small, else hexadecimal.
 * `sized` puts the type in front (`16w0x800`), needed where the context does not give one.
 */
export function literal(value: bigint, type: DataType, sized: boolean): string {
  if (type.kind === "bool") return value === 0n ? "false" : "true";
  const magnitude = value < 0n ? -value : value;
  const digits = magnitude < SMALL ? magnitude.toString() : `0x${wholeBytes(magnitude.toString(16))}`;
  const sign = value < 0n ? "-" : "";
  if (!sized) return sign + digits;
  // The magnitude of the smallest signed value does not fit its own type: `-8s128` would wrap before the sign applies.
  if (type.kind === "int" && value === -(1n << BigInt(type.width - 1)))
    return `(int<${type.width}>)${sign}${digits}`;
  return `${sign}${type.width}${type.kind === "int" ? "s" : "w"}${digits}`;
}

/** `800` as `0800`: people know ether types and the like by whole bytes. */
function wholeBytes(digits: string): string {
  return digits.length % 2 === 0 ? digits : `0${digits}`;
}

/** A mask: all its digits, so that it can be read beside the value. */
export function hexadecimal(value: bigint, width: number): string {
  return `0x${value.toString(16).padStart(Math.ceil(width / 4), "0")}`;
}

/** All ones in the `length` highest bits of `width`. */
export function prefixMask(length: number, width: number): bigint {
  return ((1n << BigInt(length)) - 1n) << BigInt(width - length);
}

/** One position of a select case or of an entry. A range is spelled out when `spellRange`, since p4c cannot write `_` for wide ones. */
export function keySet(set: KeySet, type: DataType, spellRange = false): string {
  const width = widthOf(type);
  switch (set.kind) {
    case "any":
      return spellRange ? `0..${hexadecimal((1n << BigInt(width)) - 1n, width)}` : "_";
    case "value":
      return set.named?.name ?? literal(set.value, type, false);
    case "mask":
      return `${hexadecimal(set.value, width)} &&& ${hexadecimal(set.mask, width)}`;
    case "prefix": {
      // A shift by slashes would be a division in P4.
      return `${hexadecimal(set.value, width)} &&& ${hexadecimal(prefixMask(set.length, width), width)}`;
    }
    case "range":
      return `${literal(set.low, type, false)}..${literal(set.high, type, false)}`;
  }
}
