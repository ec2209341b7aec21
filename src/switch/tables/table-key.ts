import type { MatchKind } from "../bmv2json/program.ts";
import { SwitchRuntimeError } from "./runtime-error.ts";

/**
 * One field of a match, as the control plane gives and gets it. Values are non-negative bigints below 2^width. A don't
 * care is written by leaving the field undefined (not for exact fields).
 */
export type MatchField =
  | { readonly kind: "exact"; readonly value: bigint }
  | { readonly kind: "lpm"; readonly value: bigint; readonly prefixLength: number }
  | { readonly kind: "ternary"; readonly value: bigint; readonly mask: bigint }
  | { readonly kind: "range"; readonly low: bigint; readonly high: bigint }
  | { readonly kind: "optional"; readonly value: bigint };

/** A table's key: one item per key field, in the table's order. */
export type Match = readonly (MatchField | undefined)[];

/** A key field of a table. */
export interface KeyField {
  readonly name: string;
  readonly kind: MatchKind;
  readonly width: number;
  /** First of the field's words in the lookup key, and how many there are, most significant first. */
  readonly word: number;
  readonly words: number;
}

/** Bounds of a range field as words. */
export interface RangeBounds {
  readonly word: number;
  readonly low: Uint32Array;
  readonly high: Uint32Array;
}

/** A match in the form that lookups use. */
export interface CompiledMatch {
  readonly value: Uint32Array;
  readonly mask: Uint32Array;
  readonly ranges: readonly RangeBounds[];
  readonly prefixLength: number;
  /** Identifies the match among a table's entries (priority aside). */
  readonly identity: string;
}

export function wordsOf(value: bigint, count: number): Uint32Array {
  const words = new Uint32Array(count);
  let rest = value;
  for (let i = count - 1; i >= 0; i--) {
    words[i] = Number(BigInt.asUintN(32, rest));
    rest >>= 32n;
  }
  return words;
}

function allOnes(width: number): bigint {
  return (1n << BigInt(width)) - 1n;
}

interface FieldBits {
  readonly value: bigint;
  readonly mask: bigint;
  readonly range: { readonly low: bigint; readonly high: bigint } | undefined;
  readonly prefixLength: number;
}

function checkWidth(table: string, field: KeyField, value: bigint): void {
  if (value < 0n || value > allOnes(field.width)) {
    throw new SwitchRuntimeError(
      "INVALID_ARGUMENT",
      table,
      `${field.name}: ${value} does not fit ${field.width} bits`,
    );
  }
}

function bitsOfField(table: string, field: KeyField, match: MatchField | undefined): FieldBits {
  const full = allOnes(field.width);
  const refuse = (problem: string): never => {
    throw new SwitchRuntimeError("INVALID_ARGUMENT", table, `${field.name}: ${problem}`);
  };
  if (match === undefined) {
    if (field.kind === "exact") return refuse("an exact field must be given");
    return {
      value: 0n,
      mask: 0n,
      range: field.kind === "range" ? { low: 0n, high: full } : undefined,
      prefixLength: 0,
    };
  }
  switch (match.kind) {
    case "exact":
      if (field.kind !== "exact") return refuse(`the field is matched ${field.kind}, not exact`);
      checkWidth(table, field, match.value);
      return { value: match.value, mask: full, range: undefined, prefixLength: field.width };
    case "lpm": {
      if (field.kind !== "lpm") return refuse(`the field is matched ${field.kind}, not lpm`);
      checkWidth(table, field, match.value);
      const { prefixLength } = match;
      if (!Number.isInteger(prefixLength) || prefixLength < 0 || prefixLength > field.width) {
        return refuse(`a prefix length of ${prefixLength} is not within 0..${field.width}`);
      }
      const mask = full ^ allOnes(field.width - prefixLength);
      if ((match.value & ~mask) !== 0n) return refuse("bits beyond the prefix must be 0");
      return { value: match.value, mask, range: undefined, prefixLength };
    }
    case "ternary":
      // p4c writes optional fields as ternary ones.
      if (field.kind !== "ternary" && field.kind !== "optional")
        return refuse(`the field is matched ${field.kind}`);
      checkWidth(table, field, match.value);
      checkWidth(table, field, match.mask);
      if ((match.value & ~match.mask) !== 0n) return refuse("bits outside the mask must be 0");
      return { value: match.value, mask: match.mask, range: undefined, prefixLength: 0 };
    case "optional":
      if (field.kind !== "ternary" && field.kind !== "optional")
        return refuse(`the field is matched ${field.kind}`);
      checkWidth(table, field, match.value);
      return { value: match.value, mask: full, range: undefined, prefixLength: 0 };
    case "range":
      if (field.kind !== "range") return refuse(`the field is matched ${field.kind}, not range`);
      checkWidth(table, field, match.low);
      checkWidth(table, field, match.high);
      if (match.low > match.high) return refuse(`the range ${match.low}..${match.high} is empty`);
      return { value: 0n, mask: 0n, range: { low: match.low, high: match.high }, prefixLength: 0 };
  }
}

/** Checks a match against a table's key and brings it into the form that lookups use. */
export function compileMatch(table: string, key: readonly KeyField[], match: Match): CompiledMatch {
  if (match.length !== key.length) {
    throw new SwitchRuntimeError(
      "INVALID_ARGUMENT",
      table,
      `the key has ${key.length} fields, the match ${match.length}`,
    );
  }
  const words = key.reduce((sum, field) => sum + field.words, 0);
  const value = new Uint32Array(words);
  const mask = new Uint32Array(words);
  const ranges: RangeBounds[] = [];
  let prefixLength = 0;
  const identity: string[] = [];
  key.forEach((field, i) => {
    const bits = bitsOfField(table, field, match[i]);
    value.set(wordsOf(bits.value, field.words), field.word);
    mask.set(wordsOf(bits.mask, field.words), field.word);
    if (field.kind === "lpm") prefixLength = bits.prefixLength;
    if (bits.range !== undefined) {
      ranges.push({
        word: field.word,
        low: wordsOf(bits.range.low, field.words),
        high: wordsOf(bits.range.high, field.words),
      });
      identity.push(`${bits.range.low.toString(36)}-${bits.range.high.toString(36)}`);
    } else if (field.kind === "exact") identity.push(bits.value.toString(36));
    else identity.push(`${bits.value.toString(36)}/${bits.mask.toString(36)}`);
  });
  return { value, mask, ranges, prefixLength, identity: identity.join(",") };
}
