import type { Sample } from "./brown.ts";

/** A sparse gradient: `values[i]` belongs to `keys[i]`; keys ascend. */
export interface SparseGradient {
  readonly keys: Uint32Array;
  readonly values: Float32Array;
}

/** Sparse logistic regression; a sample's features all have the value 1 / sqrt(number of features). */
export function predict(weights: Float32Array, sample: Sample): number {
  let score = 0;
  for (const key of sample.keys) score += weights[key] ?? 0;
  return 1 / (1 + Math.exp(-score / Math.sqrt(sample.keys.length)));
}

/** Gradient of the mean log loss over `batch`, to be summed over workers; `total` is the samples of all workers together. */
export function gradient(weights: Float32Array, batch: readonly Sample[], total: number): SparseGradient {
  const sums = new Map<number, number>();
  for (const sample of batch) {
    const error = (predict(weights, sample) - sample.label) / Math.sqrt(sample.keys.length) / total;
    for (const key of sample.keys) sums.set(key, (sums.get(key) ?? 0) + error);
  }
  const keys = Uint32Array.from(sums.keys()).sort();
  return { keys, values: Float32Array.from(keys, (key) => sums.get(key) ?? 0) };
}

/** Share of samples whose label is predicted. */
export function accuracy(weights: Float32Array, samples: readonly Sample[]): number {
  const right = samples.filter((s) => predict(weights, s) > 0.5 === (s.label === 1)).length;
  return right / samples.length;
}
