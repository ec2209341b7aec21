import { FLOATS, type FloatName } from "./floatcode.ts";
import { contributionBits } from "./headroom.ts";

/**
 * Numeric modes `fp32`, `fp16` and `bf16`: hosts send raw IEEE-754 codes and the switch turns each into a fixed-point integer by
 * table lookup, so hosts do no arithmetic on what they send.
 *
 * A code has sign s, exponent e and mantissa m of M bits. For a given s and e the value is linear in the bits of m, so a sum of
 * lookups by slices of the mantissa gives it with small tables, keyed by (s, rel, slice). With k = 31 - ceil(log2 W) for W workers:
 *
 * `fp32` and `bf16` have a window: the 31 binades above the base B, which travels in the header's `scale`; rel = max(0, e - B).
 *
 *  - rel = 0: the value is below the window (also zeros and denormals) and counts as 0;
 *  - rel = 1..31: (-1)^s * (2^M + m) * 2^(k - 32 - M + rel), in units of 2^(B - 95 - k);
 *  - rel > 31: above the window (also infinities and NaN): counts as 0 and sets the row's mark.
 *
 * The tables do not depend on B: the window moves by changing the base alone.
 *
 * `fp16` has so few exponents that its codes are counted in units of their smallest step, 2^-24; rel = e.
 *
 *  - rel = 0: (-1)^s * m, zeros and denormals;
 *  - rel = 1..k-10 (at most 30): (-1)^s * (2^10 + m) * 2^(rel - 1), always an integer;
 *  - above: as above the window.
 *
 * Each slice's part is rounded half away from zero on its own: that is what the tables hold, so it is the definition.
 */
export interface LookupFormat {
  readonly float: FloatName;
  /** Most workers of any job of the program; decides k. */
  readonly workers: number;
  /** Widths of the mantissa slices, highest bits first; they sum to the mantissa's bits. */
  readonly slices: readonly number[];
}

export const DEFAULT_SLICES: Readonly<Record<FloatName, readonly number[]>> = {
  fp32: [6, 6, 6, 5],
  fp16: [5, 5],
  bf16: [4, 3],
};

/** Binades of the window of `fp32` and `bf16`: rel 1..31. */
export const WINDOW_BINADES = 31;

/** A slice's table has 2^(6 + bits) entries: more than this many bits fit no switch. */
const MAX_SLICE_BITS = 14;

/** @throws RangeError for slices that do not cover the mantissa. */
export function lookupFormat(
  float: FloatName,
  workers: number,
  slices = DEFAULT_SLICES[float],
): LookupFormat {
  contributionBits(workers);
  const { mantissaBits } = FLOATS[float];
  if (slices.some((bits) => !Number.isInteger(bits) || bits < 1 || bits > MAX_SLICE_BITS))
    throw new RangeError(
      `mantissa slices must be 1 to ${MAX_SLICE_BITS} bits wide, not [${slices.join(", ")}]`,
    );
  const total = slices.reduce((sum, bits) => sum + bits, 0);
  if (total !== mantissaBits)
    throw new RangeError(`mantissa slices [${slices.join(", ")}] sum to ${total} bits, not ${mantissaBits}`);
  return { float, workers, slices: [...slices] };
}

/** Is the exponent counted from a window's base? */
export function hasWindow({ float }: Pick<LookupFormat, "float">): boolean {
  return float !== "fp16";
}

/** Bit position of a slice's lowest bit in the mantissa. */
export function sliceShift(format: LookupFormat, slice: number): number {
  let shift = FLOATS[format.float].mantissaBits;
  for (let i = 0; i <= slice; i++) shift -= format.slices[i] ?? 0;
  return shift;
}

/** The largest `rel` whose values fit: those above have no entries. */
export function largestRel({ float, workers }: LookupFormat): number {
  return float === "fp16" ? Math.min(30, contributionBits(workers) - 10) : WINDOW_BINADES;
}

/** Power of two of the mantissa's lowest bit, in units of the sum. */
export function mantissaPower({ float, workers }: LookupFormat, rel: number): number {
  if (float === "fp16") return Math.max(rel, 1) - 1;
  return contributionBits(workers) - 32 - FLOATS[float].mantissaBits + rel;
}

/** One entry of a slice's lookup table: exact match on (sign, rel, bits). */
export interface LookupEntry {
  readonly sign: 0 | 1;
  /** The exponent, counted from the window's base where there is one. The key field may hold larger values; they have no entry. */
  readonly rel: number;
  /** This slice's bits of the mantissa. */
  readonly bits: number;
  /** Signed 32-bit integer to add. */
  readonly part: number;
}

/**
 * The contents of the lookup table of one slice. What a miss means is part of the format: in slice 0 it sets the
 * mark (every code that fits has an entry), in the other slices it gives the part 0.
 *
 * With `omitZeros`, entries of the other slices whose part is 0 are left out, since a miss says the same; about a
 * third of the entries less to write.
 */
export function* lookupEntries(
  format: LookupFormat,
  slice: number,
  options: { readonly omitZeros?: boolean } = {},
): Generator<LookupEntry> {
  const width = format.slices[slice];
  if (width === undefined) throw new RangeError(`there is no mantissa slice ${slice}`);
  const omitZeros = options.omitZeros === true && slice > 0;
  for (const sign of [0, 1] as const)
    for (let rel = 0; rel <= largestRel(format); rel++)
      for (let bits = 0; bits < 2 ** width; bits++) {
        const magnitude = partMagnitude(format, slice, rel, bits);
        if (omitZeros && magnitude === 0) continue;
        yield { sign, rel, bits, part: sign === 1 && magnitude !== 0 ? -magnitude : magnitude };
      }
}

function partMagnitude(format: LookupFormat, slice: number, rel: number, bits: number): number {
  if (rel === 0 && hasWindow(format)) return 0;
  const hidden = slice === 0 && rel > 0 ? 2 ** FLOATS[format.float].mantissaBits : 0;
  const significand = bits * 2 ** sliceShift(format, slice) + hidden;
  // At most 24 significant bits times a power of two: exact in float64, and so is adding a half.
  return Math.floor(significand * 2 ** mantissaPower(format, rel) + 0.5);
}

/** How an aggregator turns the words of a contribution into integers. */
export interface CodeConverter {
  /** The integer of one code; `undefined` when it does not fit and the row has to be marked. `base` is the header's `scale`. */
  convert(code: number, base: number): number | undefined;
}

/**
 * The conversion itself, by the tables' contents: the golden model of the switch's lookups. Build it once per
 * format; `convert` allocates nothing.
 */
export class LookupConverter implements CodeConverter {
  readonly format: LookupFormat;
  readonly #mantissaBits: number;
  readonly #exponentMask: number;
  readonly #signBit: number;
  readonly #hasWindow: boolean;
  readonly #largestRel: number;
  readonly #slices: readonly {
    readonly shift: number;
    readonly width: number;
    readonly mask: number;
    readonly parts: Int32Array;
  }[];

  constructor(format: LookupFormat) {
    const { bits, exponentBits, mantissaBits } = FLOATS[format.float];
    this.format = format;
    this.#mantissaBits = mantissaBits;
    this.#exponentMask = 2 ** exponentBits - 1;
    this.#signBit = bits - 1;
    this.#hasWindow = hasWindow(format);
    this.#largestRel = largestRel(format);
    this.#slices = format.slices.map((width, slice) => {
      const parts = new Int32Array((this.#largestRel + 1) << width);
      for (const entry of lookupEntries(format, slice))
        if (entry.sign === 0) parts[(entry.rel << width) | entry.bits] = entry.part;
      return { shift: sliceShift(format, slice), width, mask: (1 << width) - 1, parts };
    });
  }

  convert(code: number, base: number): number | undefined {
    const exponent = (code >>> this.#mantissaBits) & this.#exponentMask;
    const rel = this.#hasWindow ? Math.max(0, exponent - base) : exponent;
    if (rel > this.#largestRel) return undefined;
    let magnitude = 0;
    for (const { shift, width, mask, parts } of this.#slices)
      magnitude += parts[(rel << width) | ((code >>> shift) & mask)] ?? 0;
    return ((code >>> this.#signBit) & 1) === 1 ? -magnitude | 0 : magnitude;
  }
}
