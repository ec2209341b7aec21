import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { placeByAffinity, placeByHeat, placementQuality } from "../../src/host/libra/placement.ts";
import { countKeys, coverage, hottestKeys, overlap, sampleExamples } from "../../src/host/libra/sampling.ts";
import { seededRandom } from "../../src/host/random.ts";

/** Sparse examples with a heavy head: topics of keys that come together, and noise. */
function topicData(examples: number, seed: number): number[][] {
  const random = seededRandom(seed);
  return Array.from({ length: examples }, () => {
    const topic = Math.floor(random() * 16);
    const keys = new Set<number>();
    for (let i = 0; i < 8; i++) keys.add(1000 + Math.floor(random() * 12) * 16 + topic);
    for (let i = 0; i < 3; i++) keys.add(Math.floor(100_000 * random() ** 4) + 10_000);
    return [...keys];
  });
}

describe("sampling", () => {
  it("takes the asked share of the examples, in their order", () => {
    fc.assert(
      fc.property(
        fc.nat(300),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer(),
        (size, fraction, seed) => {
          const data = Array.from({ length: size }, (_, i) => [i]);
          const sample = sampleExamples(data, fraction, seededRandom(seed)).map(([i]) => i ?? -1);
          expect(sample).toHaveLength(Math.round(size * fraction));
          expect(sample).toEqual([...new Set(sample)].sort((a, b) => a - b));
        },
      ),
    );
    expect(() => sampleExamples([], 1.5, Math.random)).toThrow(RangeError);
  });

  it("takes each example equally often", () => {
    const data = Array.from({ length: 20 }, (_, i) => [i]);
    const taken = new Array<number>(20).fill(0);
    const random = seededRandom(4);
    for (let run = 0; run < 4000; run++)
      for (const [i] of sampleExamples(data, 0.25, random)) taken[i ?? 0] = (taken[i ?? 0] ?? 0) + 1;
    for (const count of taken) expect(Math.abs(count - 1000)).toBeLessThan(150);
  });

  it("ranks by heat, then by key as a number", () => {
    const heat = countKeys([[9, 10, 2], [10, 2, 1], [10]]);
    expect(hottestKeys(heat, 10)).toEqual([10, 2, 1, 9]);
    expect(hottestKeys(heat, 2)).toEqual([10, 2]);
    expect(coverage([10, 2], [[9, 10, 2], [10, 2, 1], [10]])).toBe(5 / 7);
    expect(coverage([1], [])).toBe(0);
    expect(overlap([1, 2, 3], [3, 4, 1], 3)).toBe(2 / 3);
    expect(overlap([], [1], 3)).toBe(0);
  });

  it("finds on 6 % of skewed data nearly the keys that are hot on all of it", () => {
    const data = topicData(20_000, 1);
    const full = hottestKeys(countKeys(data), 192);
    const sampled = hottestKeys(countKeys(sampleExamples(data, 0.06, seededRandom(2))), 192);
    expect(overlap(full, sampled, 192)).toBeGreaterThan(0.95);
    expect(coverage(sampled, data)).toBeGreaterThan(0.98 * coverage(full, data));
  });
});

describe("placement", () => {
  const anyExamples = fc.array(fc.array(fc.nat(60), { maxLength: 10 }), { maxLength: 40 });

  it("gives each of the hottest keys one place, in rows no wider than the lanes", () => {
    fc.assert(
      fc.property(
        anyExamples,
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1, max: 10 }),
        (examples, lanes, rows) => {
          const hot = hottestKeys(countKeys(examples), 100);
          for (const place of [
            placeByAffinity(hot, examples, { lanes, rows }),
            placeByHeat(hot, { lanes, rows }),
          ]) {
            const placed = hot.slice(0, lanes * rows);
            expect(new Set(place.flat())).toEqual(new Set(placed));
            expect(place.flat()).toHaveLength(placed.length);
            expect(place).toHaveLength(Math.ceil(placed.length / lanes));
            for (const row of place.slice(0, -1)) expect(row).toHaveLength(lanes);
          }
        },
      ),
    );
  });

  it("is the same for the same sample", () => {
    const data = topicData(300, 3);
    const hot = hottestKeys(countKeys(data), 64);
    const place = () => placeByAffinity(hot, data, { lanes: 8, rows: 8 });
    expect(place()).toEqual(place());
  });

  it("puts keys that travel together into the same rows", () => {
    const data = topicData(4000, 5);
    const sample = sampleExamples(data, 0.08, seededRandom(6));
    const hot = hottestKeys(countKeys(sample), 192);
    const options = { lanes: 12, rows: 16 };
    const byAffinity = placementQuality(placeByAffinity(hot, sample, options), data);
    const byHeat = placementQuality(placeByHeat(hot, options), data);
    expect(byAffinity.rowsPerBatch).toBeLessThan(0.5 * byHeat.rowsPerBatch);
    expect(byAffinity.fill).toBeGreaterThan(2 * byHeat.fill);
  });

  it("measures rows and fill", () => {
    const grid = [
      [1, 2],
      [3, 4],
    ];
    expect(placementQuality(grid, [[1, 2, 9], [1, 3], []])).toEqual({ rowsPerBatch: 1, fill: 4 / 6 });
    expect(placementQuality(grid, [])).toEqual({ rowsPerBatch: 0, fill: 0 });
  });
});
