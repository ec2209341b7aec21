import { FLOATS } from "./floatcode.ts";
import { contributionBits } from "./headroom.ts";
import { type LookupFormat, mantissaPower, sliceShift, WINDOW_BINADES } from "./lookup.ts";

/** The window of the modes `fp32` and `bf16`: its base, its unit, and how exact it is. */

export const MIN_BASE = 1;
/** The highest base: its window ends with the largest finite binade. */
export const MAX_BASE = 223;

/** Value of the integer 1: 2^(B - 95 - k). A sum times this is exact in float64. */
export function windowUnit(base: number, workers: number): number {
  return 2 ** (base - 95 - contributionBits(workers));
}

/**
 * The base whose window ends just above `largest`: every value of at most that magnitude fits, and the unit is as
 * small as it can be.
 */
export function windowBaseFor(largest: number, float: "fp32" | "bf16" = "fp32"): number {
  return Math.min(MAX_BASE, Math.max(MIN_BASE, exponentOf(largest, float) - WINDOW_BINADES));
}

/**
 * Largest absolute error of one contribution, against the value of the code that was sent, when it carries no mark. Half a unit for
 * each slice that has bits below the unit at this exponent; |x| itself below the window. It is 0 where all bits of the
 * significand lie above the unit. The sum of W contributions is off by at most the sum of their bounds.
 */
export function windowErrorBound(value: number, base: number, format: LookupFormat): number {
  const rel = Math.max(0, exponentOf(value, format.float) - base);
  if (rel === 0) return Math.abs(value);
  const power = mantissaPower(format, rel);
  const inexact = format.slices.filter((_, slice) => sliceShift(format, slice) + power < 0).length;
  return (inexact / 2) * windowUnit(base, format.workers);
}

/** The bound that holds for every contribution without a mark: half a unit per slice. */
export function windowWorstError(base: number, format: LookupFormat): number {
  // A value below the window is smaller than 2^(k - 31) units, at most one; so one slice alone needs a whole unit.
  const halves = Math.max(format.slices.length, 2 ** (contributionBits(format.workers) - 30));
  return (halves / 2) * windowUnit(base, format.workers);
}

function exponentOf(value: number, float: LookupFormat["float"]): number {
  const { encode, exponentBits, mantissaBits } = FLOATS[float];
  return (encode(value) >>> mantissaBits) & (2 ** exponentBits - 1);
}
