import { carriesExponents } from "../wire/aggregation.ts";
import type { AggregationMessage } from "../wire/aggregationpacket.ts";
import { contributionBits } from "./headroom.ts";

/**
 * Numeric mode `block`: a row is one exponent and integer mantissas; the switch shifts each row to the exponent of its slot.
 *
 * The exponent e of a row is the smallest integer of 0..254 for which all |x| < 2^(e - 126): the biased IEEE exponent of its largest
 * value, 0 for a row of zeros or denormals. With k = min(30, 31 - ceil(log2 W)) for W workers, the mantissas are
 * round(x * 2^(k + 126 - e)), half away from zero, so their magnitudes are below 2^k and no sum overflows.
 *
 * The slot's exponent E for a round was agreed on two rounds before: every contribution announces what its sender expects of the round
 * after next, and the slot keeps the largest. All announcements of a round are in when the round is complete, and nobody
 * sends the round after next before that, so E is final when the first packet that needs it comes. The switch shifts the
 * mantissas right by E - e and adds them, in units of 2^(E - 126 - k). A row with e > E can't be shifted left without losing the
 * headroom: it adds nothing and sets the mark.
 *
 * Announcements travel as words of a 24-bit tag and the exponent: the tag is the round they are for, without the two bits that choose
 * bank and register. Words are compared as serial numbers, so a newer round's word replaces an older one's, within a
 * round the larger exponent wins, in whatever order, however often; and a row finds out that the slot has no exponent for its
 * round, since then the difference of the words is no shift. A packet that is sent again must be the same, its announcement
 * too: a larger one would come while the round that it is for is being summed.
 *
 * Shifting right rounds to nearest, by adding half a unit before: members with an even number add 2^(d-1), odd ones 2^(d-1) - 1. So
 * ties go up for one half of the workers and down for the other, and sums are not biased; zero stays zero.
 */

/** The largest exponent of a row: that of the largest finite numbers. */
export const MAX_EXPONENT = 254;

/** The largest shift that leaves anything; above it all is 0. */
export const MAX_SHIFT = 30;

/** The largest difference of two exponents; words that differ by more are not of the same round. */
export const MAX_DIFFERENCE = 255;

/** Above this the mantissas are shorter than those of float32, and rounding could carry one over its bound. */
const MAX_BLOCK_WORKERS = 128;

/** Bits of a mantissa's magnitude. At most 30, so that adding half a unit can't overflow. @throws RangeError */
export function mantissaBits(workers: number): number {
  if (workers > MAX_BLOCK_WORKERS)
    throw new RangeError(`mode block has at most ${MAX_BLOCK_WORKERS} workers, not ${workers}`);
  return Math.min(30, contributionBits(workers));
}

/** Exponent of a row; `undefined` when it has NaN or infinity, which no exponent can hold. */
export function blockExponent(values: Float32Array): number | undefined {
  let largest = 0;
  for (let i = 0; i < values.length; i++) {
    const magnitude = Math.abs(values[i] ?? 0);
    if (!(magnitude < Number.POSITIVE_INFINITY)) return undefined;
    if (magnitude > largest) largest = magnitude;
  }
  scratch.setFloat32(0, largest);
  return scratch.getUint32(0) >>> 23;
}

const scratch = new DataView(new ArrayBuffer(4));

/** Writes the mantissas of a row into `out`, for an exponent that is at least the row's own. Missing values are 0. */
export function encodeBlockRow(
  values: Float32Array,
  exponent: number,
  workers: number,
  out: Int32Array,
): void {
  const factor = 2 ** (mantissaBits(workers) + 126 - exponent);
  for (let i = 0; i < out.length; i++) {
    const scaled = (i < values.length ? (values[i] ?? 0) : 0) * factor;
    // A float32 times a power of two is exact in float64, and so are its halves.
    out[i] = scaled < 0 ? -Math.floor(0.5 - scaled) : Math.floor(0.5 + scaled);
  }
}

/** Value of one unit of a sum: sum * unit is exact in float64. */
export function blockUnit(exponent: number, workers: number): number {
  return 2 ** (exponent - 126 - mantissaBits(workers));
}

/** What the switch makes of a mantissa that is shifted right by 0..255 bits. */
export function shiftMantissa(mantissa: number, shift: number, member: number): number {
  if (shift === 0) return mantissa | 0;
  return shift > MAX_SHIFT ? 0 : (mantissa + roundingConstant(shift, member)) >> shift;
}

/** What is added before a shift by 1..30 bits. */
export function roundingConstant(shift: number, member: number): number {
  return 2 ** (shift - 1) - (member & 1);
}

/** The word that says which exponent is meant for which round. */
export function exponentWord(round: number, exponent: number): number {
  return (((round >>> 2) << 8) | exponent) >>> 0;
}

/** The message with its exponent words, if its mode has any: the exponent of its row, and what its sender expects two rounds later. */
export function withExponents(
  message: AggregationMessage,
  exponent: number,
  expected: number,
): AggregationMessage {
  const { mode, round } = message.header;
  if (!carriesExponents(mode)) return message;
  const next = exponentWord((round + 2) >>> 0, expected);
  return { ...message, exponents: { current: exponentWord(round, exponent), next } };
}

/** The exponent of a word. */
export function exponentOfWord(word: number): number {
  return word & 0xff;
}

/** Which of a bank's two registers holds the exponents for a round; the other takes the announcements for the round after next. */
export function exponentRegister(round: number): 0 | 1 {
  return (round & 2) === 0 ? 0 : 1;
}

/**
 * The words that RESET writes, given the first round of a placement and the exponent that is expected of its first two: nothing
 * has announced those. `round` is the one that the RESET gives to its bank.
 */
export function resetWords(round: number, firstRound: number, exponent: number) {
  const expected = (next: number): number => {
    const isFirst = next === firstRound || next === (firstRound + 1) >>> 0;
    return exponentWord(next, isFirst ? exponent : 0);
  };
  return { current: expected((round + 4) >>> 0), next: expected((round + 2) >>> 0) };
}

/**
 * Largest absolute error of one contribution that carries no mark, when its row's exponent was `own` and the slot's `exponent`:
 * half a unit of the host's rounding, and half a unit of the sum's where the row was shifted.
 */
export function blockErrorBound(own: number, exponent: number, workers: number): number {
  const unit = blockUnit(exponent, workers);
  return 0.5 * blockUnit(own, workers) + (exponent > own ? 0.5 * unit : 0);
}
