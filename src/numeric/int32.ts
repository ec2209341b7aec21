import { contributionLimit } from "./headroom.ts";

/**
 * Numeric mode `int32`: the host multiplies by 2^f and rounds, the switch adds plain integers.
 *
 * Error: a value that is not marked is off by at most half a unit, 2^-(f+1), per worker; the sum of W workers by
 * at most W * 2^-(f+1). NaN, infinities and values beyond the limit are marked, never saturated.
 */

/** Range of the fraction bits: they travel as a signed byte in the header's `scale`. */
export const MIN_FRACTION_BITS = -128;
export const MAX_FRACTION_BITS = 127;

/**
 * One value in fixed point, rounded half away from zero, so that q(-x) = -q(x) and -0 gives 0.
 * `undefined` when it can't be sent: NaN, infinity, or a magnitude above `limit`.
 */
export function toInt32(value: number, fractionBits: number, limit: number): number | undefined {
  const magnitude = Math.abs(value) * 2 ** fractionBits;
  // Not Math.floor(magnitude + 0.5): the addition itself would round 0.49999999999999994 up.
  const whole = Math.trunc(magnitude);
  const rounded = magnitude - whole >= 0.5 ? whole + 1 : whole;
  if (!(rounded <= limit)) return undefined;
  return value < 0 && rounded !== 0 ? -rounded : rounded;
}

/**
 * Writes a row of float32 values as integers into `out` (same length or longer; the rest becomes 0).
 * Returns true when some value could not be represented: its lane is 0 and the row has to be marked.
 */
export function encodeInt32Row(
  values: Float32Array,
  fractionBits: number,
  workers: number,
  out: Int32Array,
): boolean {
  const limit = contributionLimit(workers);
  let mark = false;
  for (let i = 0; i < out.length; i++) {
    const value = i < values.length ? (values[i] ?? 0) : 0;
    const fixed = toInt32(value, fractionBits, limit);
    if (fixed === undefined) mark = true;
    out[i] = fixed ?? 0;
  }
  return mark;
}

/** The value of a fixed-point sum, exact in float64. */
export function fromInt32(sum: number, fractionBits: number): number {
  return sum * 2 ** -fractionBits;
}

/** Largest absolute error of the sum of `workers` contributions that carry no mark. */
export function int32ErrorBound(fractionBits: number, workers: number): number {
  return workers * 2 ** -(fractionBits + 1);
}

/** Fraction bits as the header's unsigned `scale` byte. */
export function fractionBitsToScale(fractionBits: number): number {
  if (!Number.isInteger(fractionBits) || fractionBits < MIN_FRACTION_BITS || fractionBits > MAX_FRACTION_BITS)
    throw new RangeError(`fraction bits must be an integer from -128 to 127, not ${fractionBits}`);
  return fractionBits & 0xff;
}

export function scaleToFractionBits(scale: number): number {
  return (scale << 24) >> 24;
}
