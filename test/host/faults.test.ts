import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { deliveries } from "../../src/host/faults.ts";
import { seededRandom } from "../../src/host/random.ts";

describe("faults of a link", () => {
  const frames = 20_000;
  const run = (faults: Parameters<typeof deliveries>[1], seed = 1) => {
    const random = seededRandom(seed);
    return Array.from({ length: frames }, () => deliveries(random, faults));
  };

  it("are as frequent as asked for", () => {
    const all = run({ loss: 0.1, duplicate: 0.2, reorder: 0.3, delay: 5, holdBack: 10 });
    const share = (test: (times: readonly number[]) => boolean) => all.filter(test).length / frames;
    expect(share((times) => times.length === 0)).toBeCloseTo(0.1, 1);
    expect(share((times) => times.length === 2)).toBeCloseTo(0.9 * 0.2, 1);
    const copies = all.flat();
    expect(copies.filter((time) => time > 5).length / copies.length).toBeCloseTo(0.3, 1);
    expect(Math.min(...copies)).toBe(5);
    expect(Math.max(...copies)).toBeLessThan(15);
  });

  it("of a good link are none", () => {
    expect(run({}).every((times) => times.length === 1 && times[0] === 0)).toBe(true);
  });

  it("are the same for the same seed, and the loss stays when another fault changes", () => {
    const lost = (faults: Parameters<typeof deliveries>[1]) =>
      run(faults, 7).map((times) => times.length === 0);
    expect(run({ loss: 0.3, reorder: 0.5 }, 9)).toEqual(run({ loss: 0.3, reorder: 0.5 }, 9));
    expect(lost({ loss: 0.3 })).toEqual(lost({ loss: 0.3, duplicate: 0.5, reorder: 0.5, delay: 3 }));
    expect(lost({ loss: 0.3 })).not.toEqual(run({ loss: 0.3 }, 8).map((times) => times.length === 0));
  });

  it("come from a source that is even over 0..1", () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const random = seededRandom(seed);
        const bins = new Array<number>(10).fill(0);
        for (let i = 0; i < 5000; i++) {
          const bin = Math.floor(random() * 10);
          bins[bin] = (bins[bin] ?? 0) + 1;
        }
        expect(bins).toHaveLength(10);
        for (const count of bins) expect(Math.abs(count - 500)).toBeLessThan(150);
      }),
      { numRuns: 30 },
    );
  });
});
