import { contributionBits } from "./headroom.ts";

/**
 * Numeric mode `fp32`: hosts send raw IEEE-754 binary32 codes and the switch turns each into a fixed-point
 * integer by table lookup, so hosts do no arithmetic on what they send.
 *
 * A code has sign s, exponent e and mantissa m (23 bits). The window is the 31 binades above the base B, which
 * travels in the header's `scale`; rel = max(0, e - B). With k = 31 - ceil(log2 W) for W workers:
 *
 *  - rel = 0: the value is below the window (also zeros and denormals) and counts as 0;
 *  - rel = 1..31: (-1)^s * (2^23 + m) * 2^(k - 55 + rel), in units of 2^(B - 95 - k);
 *  - rel > 31: above the window (also infinities and NaN): counts as 0 and sets the row's mark.
 *
 * For a given s and e the value is linear in the bits of m, so a sum of lookups by slices of the mantissa gives
 * it with small tables. Each slice's part is rounded half away from zero on its own: that is what the tables
 * hold, so it is the definition, and the error bound below follows from it. The tables do not depend on B: the
 * window moves by changing the base alone.
 */
export interface Fp32Format {
  /** Most workers of any job of the program; decides k. */
  readonly workers: number;
  /** Widths of the mantissa slices, highest bits first; they sum to 23. */
  readonly slices: readonly number[];
}

export const DEFAULT_SLICES: readonly number[] = [6, 6, 6, 5];

/** Binades of the window: rel 1..31. */
export const WINDOW_BINADES = 31;
export const MIN_BASE = 1;
/** The highest base: its window ends with the largest finite binade. */
export const MAX_BASE = 223;

const MANTISSA_BITS = 23;
/** A slice's table has 2^(6 + bits) entries: more than this many bits fit no switch. */
const MAX_SLICE_BITS = 14;
const HIDDEN_BIT = 2 ** MANTISSA_BITS;

export function fp32Format(workers: number, slices: readonly number[] = DEFAULT_SLICES): Fp32Format {
  contributionBits(workers);
  if (slices.some((bits) => !Number.isInteger(bits) || bits < 1 || bits > MAX_SLICE_BITS))
    throw new RangeError(
      `mantissa slices must be 1 to ${MAX_SLICE_BITS} bits wide, not [${slices.join(", ")}]`,
    );
  const total = slices.reduce((sum, bits) => sum + bits, 0);
  if (total !== MANTISSA_BITS)
    throw new RangeError(`mantissa slices [${slices.join(", ")}] sum to ${total} bits, not ${MANTISSA_BITS}`);
  return { workers, slices: [...slices] };
}

/** Bit position of a slice's lowest bit in the mantissa. */
export function sliceShift(format: Fp32Format, slice: number): number {
  let shift = MANTISSA_BITS;
  for (let i = 0; i <= slice; i++) shift -= format.slices[i] ?? 0;
  return shift;
}

/** One entry of a slice's lookup table: exact match on (sign, rel, bits). */
export interface Fp32Entry {
  readonly sign: 0 | 1;
  /** Exponent above the window's base, 0..31. The key field is 8 bits wide; larger values have no entry. */
  readonly rel: number;
  /** This slice's bits of the mantissa. */
  readonly bits: number;
  /** Signed 32-bit integer to add. */
  readonly part: number;
}

/**
 * The contents of the lookup table of one slice. What a miss means is part of the format: in slice 0 it sets the
 * mark (every code inside or below the window has an entry), in the other slices it gives the part 0.
 *
 * With `omitZeros`, entries of the other slices whose part is 0 are left out, since a miss says the same; about a
 * third of the entries less to write.
 */
export function* fp32Entries(
  format: Fp32Format,
  slice: number,
  options: { readonly omitZeros?: boolean } = {},
): Generator<Fp32Entry> {
  const width = format.slices[slice];
  if (width === undefined) throw new RangeError(`there is no mantissa slice ${slice}`);
  const omitZeros = options.omitZeros === true && slice > 0;
  for (const sign of [0, 1] as const)
    for (let rel = 0; rel <= WINDOW_BINADES; rel++)
      for (let bits = 0; bits < 2 ** width; bits++) {
        const magnitude = partMagnitude(format, slice, rel, bits);
        if (omitZeros && magnitude === 0) continue;
        yield { sign, rel, bits, part: sign === 1 && magnitude !== 0 ? -magnitude : magnitude };
      }
}

function partMagnitude(format: Fp32Format, slice: number, rel: number, bits: number): number {
  if (rel === 0) return 0;
  const significand = bits * 2 ** sliceShift(format, slice) + (slice === 0 ? HIDDEN_BIT : 0);
  // At most 24 significant bits times a power of two: exact in float64, and so is adding a half.
  return Math.floor(significand * 2 ** (contributionBits(format.workers) - 55 + rel) + 0.5);
}

/**
 * The conversion itself, by the tables' contents: the golden model of the switch's lookups. Build it once per
 * format; `convert` allocates nothing.
 */
export class Fp32Converter {
  readonly format: Fp32Format;
  readonly #slices: readonly {
    readonly shift: number;
    readonly width: number;
    readonly mask: number;
    readonly parts: Int32Array;
  }[];

  constructor(format: Fp32Format) {
    this.format = format;
    this.#slices = format.slices.map((width, slice) => {
      const parts = new Int32Array((WINDOW_BINADES + 1) << width);
      for (const entry of fp32Entries(format, slice))
        if (entry.sign === 0) parts[(entry.rel << width) | entry.bits] = entry.part;
      return { shift: sliceShift(format, slice), width, mask: (1 << width) - 1, parts };
    });
  }

  /** The integer of one code; `undefined` when it is above the window and the row has to be marked. */
  convert(code: number, base: number): number | undefined {
    const rel = ((code >>> 23) & 0xff) - base;
    if (rel <= 0) return 0;
    if (rel > WINDOW_BINADES) return undefined;
    let magnitude = 0;
    for (const { shift, width, mask, parts } of this.#slices)
      magnitude += parts[(rel << width) | ((code >>> shift) & mask)] ?? 0;
    return code < 0 || code > 0x7fff_ffff ? -magnitude | 0 : magnitude;
  }
}

/** The value of a fixed-point sum, exact in float64: sum * 2^(B - 95 - k). */
export function fromFp32Fixed(sum: number, base: number, workers: number): number {
  return sum * fp32Unit(base, workers);
}

/** Value of the integer 1: 2^(B - 95 - k). */
export function fp32Unit(base: number, workers: number): number {
  return 2 ** (base - 95 - contributionBits(workers));
}

/**
 * Largest absolute error of one contribution of magnitude |x| that carries no mark. Half a unit for each slice
 * that has bits below the unit at this exponent; |x| itself below the window. It is 0 where all 24 bits of the
 * significand lie above the unit. The sum of W contributions is off by at most the sum of their bounds.
 */
export function fp32ErrorBound(value: number, base: number, format: Fp32Format): number {
  const unit = fp32Unit(base, format.workers);
  const rel = Math.max(0, ((float32Code(value) >>> 23) & 0xff) - base);
  if (rel === 0) return Math.abs(value);
  const exponent = contributionBits(format.workers) - 55 + rel;
  const inexact = format.slices.filter((_, slice) => sliceShift(format, slice) + exponent < 0).length;
  return (inexact / 2) * unit;
}

/** The bound that holds for every contribution without a mark: half a unit per slice. */
export function fp32WorstError(base: number, format: Fp32Format): number {
  // A value below the window is smaller than 2^(k - 31) units, at most one; so one slice alone needs a whole unit.
  const halves = Math.max(format.slices.length, 2 ** (contributionBits(format.workers) - 30));
  return (halves / 2) * fp32Unit(base, format.workers);
}

/**
 * The base whose window ends just above `largest`: every value of at most that magnitude fits, and the unit is as
 * small as it can be.
 */
export function fp32BaseFor(largest: number): number {
  const exponent = (float32Code(largest) >>> 23) & 0xff;
  return Math.min(MAX_BASE, Math.max(MIN_BASE, exponent - WINDOW_BINADES));
}

const scratch = new DataView(new ArrayBuffer(4));

/** The IEEE-754 binary32 code of a number, as an unsigned integer. */
export function float32Code(value: number): number {
  scratch.setFloat32(0, value);
  return scratch.getUint32(0);
}

/** The number of a binary32 code. */
export function float32Value(code: number): number {
  scratch.setUint32(0, code);
  return scratch.getFloat32(0);
}
