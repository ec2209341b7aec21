import type { MatchKind } from "../bmv2json/program.ts";
import { SwitchRuntimeError } from "./runtime-error.ts";

/**
 * One field of a match, as the control plane gives and gets it. Values are non-negative bigints below 2^width. A don't
 * care is written by leaving the field undefined (not for exact fields), and comes back as undefined however it was written.
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

/** The value with all bits of a width set. */
export function allOnes(width: number): bigint {
  return (1n << BigInt(width)) - 1n;
}

/** Writes a value as 32-bit words, most significant first. */
export function putWords(into: Uint32Array, at: number, count: number, value: bigint): void {
  let rest = value;
  for (let i = at + count - 1; i >= at; i--) {
    into[i] = Number(BigInt.asUintN(32, rest));
    rest >>= 32n;
  }
}

/** Reads what `putWords` wrote. */
export function takeWords(from: Uint32Array, at: number, count: number): bigint {
  let value = BigInt(from[at] ?? 0);
  for (let i = at + 1; i < at + count; i++) value = (value << 32n) | BigInt(from[i] ?? 0);
  return value;
}

export function areEqualWords(a: Uint32Array, b: Uint32Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

const noWords = new Uint32Array(0);

/** The words and ranges that a table's keys have. */
export class KeyLayout {
  readonly fields: readonly KeyField[];
  readonly words: number;
  /** Index among the range fields, for those that are such; -1 for others. */
  readonly rangeIndex: readonly number[];
  /** First word of each range field's bounds in `EntryKey.ranges`: the low bound, then the high one. */
  readonly rangeAt: readonly number[];
  readonly rangeWords: number;
  /** Bounds of range fields that are don't care. */
  readonly fullRanges: Uint32Array;
  /** Some field is matched lpm. */
  readonly hasPrefix: boolean;

  constructor(fields: readonly KeyField[]) {
    this.fields = fields;
    this.words = fields.reduce((sum, field) => sum + field.words, 0);
    const rangeIndex: number[] = [];
    const rangeAt: number[] = [];
    let rangeWords = 0;
    for (const field of fields) {
      rangeIndex.push(field.kind === "range" ? rangeAt.length : -1);
      if (field.kind !== "range") continue;
      rangeAt.push(rangeWords);
      rangeWords += 2 * field.words;
    }
    this.rangeIndex = rangeIndex;
    this.rangeAt = rangeAt;
    this.rangeWords = rangeWords;
    this.fullRanges = rangeWords === 0 ? noWords : new Uint32Array(rangeWords);
    fields.forEach((field, i) => {
      const at = rangeAt[this.rangeIndex[i] ?? -1];
      if (at !== undefined) putWords(this.fullRanges, at + field.words, field.words, allOnes(field.width));
    });
    this.hasPrefix = fields.some((field) => field.kind === "lpm");
  }
}

/**
 * The key of an entry in the form that tables store and look up: one object per table is filled again and again. Bits outside the mask are
 * zero in the value; a range field takes no part in value and mask.
 */
export class EntryKey {
  readonly layout: KeyLayout;
  readonly value: Uint32Array;
  readonly mask: Uint32Array;
  /** Bounds of the range fields, as `KeyLayout.rangeAt` has them. */
  readonly ranges: Uint32Array;
  /** Of the lpm field; 0 in tables without one. */
  prefixLength = 0;
  priority = 0;
  private readonly emptyMask: Uint32Array;

  constructor(layout: KeyLayout) {
    this.layout = layout;
    this.value = new Uint32Array(layout.words);
    this.emptyMask = new Uint32Array(layout.words);
    for (const { kind, word, words, width } of layout.fields)
      if (kind === "exact") putWords(this.emptyMask, word, words, allOnes(width));
    this.mask = this.emptyMask.slice();
    this.ranges = layout.rangeWords === 0 ? noWords : layout.fullRanges.slice();
  }

  /** Forgets all fields: what is not set afterwards is don't care. Exact fields must be set. */
  clear(): void {
    const { value, mask, emptyMask, ranges } = this;
    const { fullRanges } = this.layout;
    for (let i = 0; i < value.length; i++) {
      value[i] = 0;
      mask[i] = emptyMask[i] ?? 0;
    }
    for (let i = 0; i < ranges.length; i++) ranges[i] = fullRanges[i] ?? 0;
    this.prefixLength = 0;
    this.priority = 0;
  }

  /**
   * Fills in a match.
   *
   * @throws SwitchRuntimeError INVALID_ARGUMENT that names the table and the field
   */
  fill(table: string, match: Match, priority: number): void {
    const { fields } = this.layout;
    if (match.length !== fields.length)
      throw new SwitchRuntimeError(
        "INVALID_ARGUMENT",
        table,
        `the key has ${fields.length} fields, the match ${match.length}`,
      );
    this.clear();
    this.priority = priority;
    fields.forEach((field, i) => {
      const given = match[i];
      const problem = given === undefined ? missing(field) : wrong(field, given);
      if (problem !== undefined)
        throw new SwitchRuntimeError("INVALID_ARGUMENT", table, `${field.name}: ${problem}`);
      if (given !== undefined) this.set(i, field, given);
    });
  }

  private set(index: number, field: KeyField, match: MatchField): void {
    const { word, words, width } = field;
    switch (match.kind) {
      case "exact":
      case "optional":
        putWords(this.value, word, words, match.value);
        putWords(this.mask, word, words, allOnes(width));
        return;
      case "lpm":
        putWords(this.value, word, words, match.value);
        putWords(this.mask, word, words, prefixMask(width, match.prefixLength));
        this.prefixLength = match.prefixLength;
        return;
      case "ternary":
        putWords(this.value, word, words, match.value);
        putWords(this.mask, word, words, match.mask);
        return;
      case "range": {
        const at = this.layout.rangeAt[this.layout.rangeIndex[index] ?? -1] ?? 0;
        putWords(this.ranges, at, words, match.low);
        putWords(this.ranges, at + words, words, match.high);
      }
    }
  }
}

export function prefixMask(width: number, prefixLength: number): bigint {
  return allOnes(width) ^ allOnes(width - prefixLength);
}

function missing(field: KeyField): string | undefined {
  return field.kind === "exact" ? "an exact field must be given" : undefined;
}

function isTooWide(field: KeyField, value: bigint): string | undefined {
  return value < 0n || value > allOnes(field.width) ? `${value} does not fit ${field.width} bits` : undefined;
}

/** What is wrong with a match of a field; undefined if nothing is. */
function wrong(field: KeyField, match: MatchField): string | undefined {
  switch (match.kind) {
    case "exact":
      if (field.kind !== "exact") return `the field is matched ${field.kind}, not exact`;
      return isTooWide(field, match.value);
    case "lpm": {
      if (field.kind !== "lpm") return `the field is matched ${field.kind}, not lpm`;
      const { prefixLength } = match;
      if (!Number.isInteger(prefixLength) || prefixLength < 0 || prefixLength > field.width)
        return `a prefix length of ${prefixLength} is not within 0..${field.width}`;
      if ((match.value & ~prefixMask(field.width, prefixLength) & allOnes(field.width)) !== 0n)
        return "bits beyond the prefix must be 0";
      return isTooWide(field, match.value);
    }
    case "ternary":
      // p4c writes optional fields as ternary ones.
      if (field.kind !== "ternary" && field.kind !== "optional") return `the field is matched ${field.kind}`;
      if ((match.value & ~match.mask) !== 0n) return "bits outside the mask must be 0";
      return isTooWide(field, match.value) ?? isTooWide(field, match.mask);
    case "optional":
      if (field.kind !== "ternary" && field.kind !== "optional") return `the field is matched ${field.kind}`;
      return isTooWide(field, match.value);
    case "range":
      if (field.kind !== "range") return `the field is matched ${field.kind}, not range`;
      if (match.low > match.high) return `the range ${match.low}..${match.high} is empty`;
      return isTooWide(field, match.low) ?? isTooWide(field, match.high);
  }
}

/** Where the words of an entry's key are. */
export interface StoredKey {
  readonly values: Uint32Array;
  readonly valueAt: number;
  readonly mask: Uint32Array;
  readonly prefixLength: number;
  readonly ranges: Uint32Array;
  readonly rangeAt: number;
}

/** The match that stored words mean. */
export function matchOfWords(layout: KeyLayout, key: StoredKey): Match {
  return layout.fields.map((field, i): MatchField | undefined => {
    const { kind, word, words, width } = field;
    if (kind === "range") {
      const at = key.rangeAt + (layout.rangeAt[layout.rangeIndex[i] ?? -1] ?? 0);
      const low = takeWords(key.ranges, at, words);
      const high = takeWords(key.ranges, at + words, words);
      return low === 0n && high === allOnes(width) ? undefined : { kind, low, high };
    }
    const value = takeWords(key.values, key.valueAt + word, words);
    if (kind === "exact") return { kind, value };
    const mask = takeWords(key.mask, word, words);
    if (mask === 0n) return undefined;
    if (kind === "lpm") return { kind, value, prefixLength: key.prefixLength };
    return kind === "optional" ? { kind, value } : { kind, value, mask };
  });
}
