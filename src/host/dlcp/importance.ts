import { seededRandom } from "../random.ts";

/**
 * When a packet of gradients is important, and not to be dropped: when the mean of their magnitudes is above a threshold that is estimated
 * on 5 % of the tensor. `medianOfValues` is MLT's threshold (NSDI 2024, section 4.2): the median magnitude of the tensor's values.
 * As magnitudes are mostly small and seldom large, a packet's mean is above it almost always. `medianOfMeans` takes the median of the means of packets
 * instead, so that half of the packets are droppable.
 */
export type ImportanceRule = "medianOfValues" | "medianOfMeans";

/** One value, or packet, in this many is looked at. */
const SAMPLE_EVERY = 20;

/** More tell no more about a median. */
const MOST_SAMPLES = 8192;

/** The threshold of a tensor. The same values and seed give the same one. */
export function importanceThreshold(
  values: Float32Array,
  segment: number,
  rule: ImportanceRule,
  seed: number,
): number {
  const segments = Math.ceil(values.length / segment);
  const population = rule === "medianOfValues" ? values.length : segments;
  // Never so few that the median says nothing.
  const samples = Math.min(population, MOST_SAMPLES, Math.max(64, Math.ceil(population / SAMPLE_EVERY)));
  const random = seededRandom(seed);
  const found = new Float32Array(samples);
  for (let i = 0; i < samples; i++) {
    const at = Math.min(population - 1, Math.floor(((i + random()) * population) / samples));
    found[i] =
      rule === "medianOfValues" ? Math.abs(values[at] ?? 0) : meanMagnitude(values, at * segment, segment);
  }
  found.sort();
  return found[samples >> 1] ?? 0;
}

/** Mean magnitude of `count` values from `from` on, or of those that there are. */
export function meanMagnitude(values: Float32Array, from: number, count: number): number {
  const end = Math.min(values.length, from + count);
  let sum = 0;
  for (let i = from; i < end; i++) sum += Math.abs(values[i] ?? 0);
  return sum / Math.max(1, end - from);
}
