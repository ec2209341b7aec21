import { contributionBits } from "./headroom.ts";

/**
 * Numeric mode `fp16`, beside its tables (`lookup.ts`): the host sends binary16 codes of value * 2^f, as loss scaling does; f, its
 * fraction bits, travels in the header's `scale` as in mode `int32`. Codes are counted in steps of 2^-24, the smallest binary16
 * number, so every code whose magnitude is below `fp16Limit` is summed exactly; the others set the mark.
 */

/** Value of the integer 1. */
export function fp16Unit(fractionBits: number): number {
  return 2 ** (-24 - fractionBits);
}

/** Codes of at least this magnitude set the mark. */
export function fp16Limit(workers: number): number {
  return 2 ** (contributionBits(workers) - 24);
}
