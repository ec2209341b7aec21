import type { Random } from "../random.ts";

/**
 * Which parameters are hot: counted on a small uniform sample of the training data, 4-8 % (Libra). One example of
 * sparse data is the list of keys that it touches, and each key of it is one update.
 */
export type Example = ArrayLike<number>;

/** How often each key occurs. */
export type Heat = ReadonlyMap<number, number>;

/**
 * A uniform sample of round(fraction * length) examples, in their order, each subset equally likely (selection
 * sampling: one pass, no copy of the rest).
 *
 * @throws RangeError when the fraction is not between 0 and 1.
 */
export function sampleExamples<E extends Example>(data: readonly E[], fraction: number, random: Random): E[] {
  if (!(fraction >= 0 && fraction <= 1))
    throw new RangeError(`sample fraction ${fraction} is not between 0 and 1`);
  const sample: E[] = [];
  let wanted = Math.round(data.length * fraction);
  data.forEach((example, index) => {
    if (random() * (data.length - index) >= wanted) return;
    sample.push(example);
    wanted--;
  });
  return sample;
}

/** Counts the keys of some examples. */
export function countKeys(examples: Iterable<Example>): Heat {
  const heat = new Map<number, number>();
  for (const example of examples)
    for (let i = 0; i < example.length; i++) {
      const key = example[i] ?? 0;
      heat.set(key, (heat.get(key) ?? 0) + 1);
    }
  return heat;
}

/** The `count` keys that occur most often, hottest first; equal heat by key, so that every host ranks alike. */
export function hottestKeys(heat: Heat, count: number): number[] {
  return [...heat]
    .sort(([keyA, a], [keyB, b]) => b - a || keyA - keyB)
    .slice(0, count)
    .map(([key]) => key);
}

/** Share of all updates of `data` that go to the hot keys, 0..1; 0 when there are no updates. */
export function coverage(hot: Iterable<number>, data: Iterable<Example>): number {
  const isHot = new Set(hot);
  let all = 0;
  let covered = 0;
  for (const example of data) {
    all += example.length;
    for (let i = 0; i < example.length; i++) if (isHot.has(example[i] ?? 0)) covered++;
  }
  return all === 0 ? 0 : covered / all;
}

/** Share of the first `count` keys of one ranking that are among the first `count` of the other. */
export function overlap(a: readonly number[], b: readonly number[], count: number): number {
  const first = new Set(a.slice(0, count));
  if (first.size === 0) return 0;
  return b.slice(0, count).filter((key) => first.has(key)).length / first.size;
}
