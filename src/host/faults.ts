import type { Random } from "./random.ts";

/** What a bad link does to frames. Probabilities are 0..1, times milliseconds. */
export interface LinkFaults {
  /** Probability that a frame is lost. */
  readonly loss?: number;
  /** Probability that a frame arrives twice. */
  readonly duplicate?: number;
  /** Probability that a copy is held back, so that later frames overtake it. */
  readonly reorder?: number;
  /** Time that every copy needs. */
  readonly delay?: number;
  /** Longest extra time of a copy that is held back; 20 when absent. */
  readonly holdBack?: number;
}

/**
 * When the copies of one frame arrive, as times from now; none when it is lost. Pure but for `random`, from which
 * it always draws the same number of times, so that changing one probability leaves the other faults in place.
 */
export function deliveries(random: Random, faults: LinkFaults): readonly number[] {
  const isLost = random() < (faults.loss ?? 0);
  const isTwice = random() < (faults.duplicate ?? 0);
  const first = arrival(random, faults);
  const second = arrival(random, faults);
  if (isLost) return [];
  return isTwice ? [first, second] : [first];
}

function arrival(random: Random, { reorder = 0, delay = 0, holdBack = 20 }: LinkFaults): number {
  const isHeldBack = random() < reorder;
  const extra = random() * holdBack;
  return isHeldBack ? delay + extra : delay;
}
