import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { LinkFaults } from "../../src/host/faults.ts";
import type { JobLayout } from "../../src/host/libra/layout.ts";
import { seededRandom } from "../../src/host/random.ts";
import { rowCodec } from "../../src/numeric/mode.ts";
import { FP32, INT32, LibraCluster, SERVER, SWITCH_B, testLayout, type Update } from "./libracluster.ts";

/** What one worker pushes in one round. */
type Gradients = ReadonlyMap<number, number>;

const hotKeys = testLayout().rows.flat();
const coldKeys = [1, 2, 3, 1000, 0xffffffff];

const anyValue = fc.oneof(
  { weight: 8, arbitrary: fc.float({ min: -4, max: 4, noNaN: true }) },
  { weight: 1, arbitrary: fc.constantFrom(0, -0, 2 ** -149, 2 ** -127, 1e-30) },
);
const anyGradients: fc.Arbitrary<Gradients> = fc
  .uniqueArray(fc.tuple(fc.constantFrom(...hotKeys, ...coldKeys), anyValue), {
    selector: ([key]) => key,
    maxLength: 12,
  })
  .map((pairs) => new Map(pairs));

const anyFaults: fc.Arbitrary<LinkFaults> = fc.record({
  loss: fc.double({ min: 0, max: 0.3, noNaN: true }),
  duplicate: fc.double({ min: 0, max: 0.3, noNaN: true }),
  reorder: fc.double({ min: 0, max: 0.5, noNaN: true }),
  delay: fc.integer({ min: 0, max: 20 }),
  holdBack: fc.constantFrom(1, 30, 300),
});

const anyMode = fc.constantFrom(INT32, FP32);
const anySeed = fc.integer();
const MINUTES = 60_000;

/** Rounds of gradients: [round][worker]. */
function anyRounds(workers: number): fc.Arbitrary<Gradients[][]> {
  const round = fc.array(anyGradients, { minLength: workers, maxLength: workers });
  return fc.array(round, { minLength: 1, maxLength: 5 });
}

/** Trains all rounds: each worker pushes as early as it may. Gives the cluster when all is finished. */
function train(
  layout: JobLayout,
  rounds: readonly (readonly Gradients[])[],
  seed: number,
  faults: LinkFaults,
  during: (cluster: LibraCluster) => void = () => {},
): LibraCluster {
  const cluster = new LibraCluster(layout, seededRandom(seed), faults);
  for (const round of rounds)
    layout.workers.forEach(({ member }, i) => {
      cluster.push(member, round[i] ?? new Map());
    });
  during(cluster);
  const isDone = () => [...cluster.finished.values()].every((done) => done.length === rounds.length);
  const done = cluster.network.run(isDone, 10 * MINUTES);
  expect({ done, errors: [...cluster.errors] }).toEqual({ done: true, errors: [] });
  return cluster;
}

/** Updates that a run without faults gives. */
function faultless(layout: JobLayout, rounds: readonly (readonly Gradients[])[]): Update[] {
  return train(layout, rounds, 0, {}).updates;
}

/** The integer sums of one contribution per worker, by (round, slot), worked out directly from the gradients. */
function expectedSums(layout: JobLayout, rounds: readonly (readonly Gradients[])[]): Map<string, number[]> {
  const codec = rowCodec(layout.mode);
  const sums = new Map<string, number[]>();
  rounds.forEach((round, r) => {
    layout.rows.forEach((row, index) => {
      const sum = new Array<number>(layout.lanes).fill(0);
      for (const gradients of round) {
        const lanes = new Int32Array(layout.lanes);
        codec.encode(
          Float32Array.from(row, (key) => gradients.get(key) ?? 0),
          lanes,
        );
        for (let lane = 0; lane < sum.length; lane++) sum[lane] = (sum[lane] ?? 0) + (lanes[lane] ?? 0);
      }
      sums.set(`${(layout.firstRound + r) >>> 0} ${layout.slotBase + index}`, sum);
    });
  });
  return sums;
}

describe("a Libra job under loss, duplication, delay and reordering", () => {
  it("gets from the aggregator the exact integer sum of one contribution per worker", () => {
    fc.assert(
      fc.property(anyRounds(3), anyFaults, anySeed, (rounds, faults, seed) => {
        const layout = testLayout();
        const { results } = train(layout, rounds, seed, faults);
        const expected = expectedSums(layout, rounds);
        expect(new Set(results.map(({ header }) => `${header.round} ${header.slot}`))).toEqual(
          new Set(expected.keys()),
        );
        for (const { header, lanes } of results)
          expect([...lanes]).toEqual(expected.get(`${header.round} ${header.slot}`));
      }),
      { numRuns: 60 },
    );
  });

  it("updates the server bit for bit as without faults", () => {
    fc.assert(
      fc.property(anyRounds(3), anyMode, anyFaults, anySeed, (rounds, mode, faults, seed) => {
        const layout = testLayout({ mode });
        expect(train(layout, rounds, seed, faults).updates).toEqual(faultless(layout, rounds));
      }),
      { numRuns: 60 },
    );
  });

  it("goes through the wrap of the round number", () => {
    fc.assert(
      fc.property(
        anyRounds(2),
        fc.integer({ min: 0, max: 4 }),
        anyFaults,
        anySeed,
        (rounds, back, faults, seed) => {
          const layout = testLayout({ members: [0, 1], firstRound: (2 ** 32 - back) >>> 0 });
          const cluster = train(layout, rounds, seed, faults);
          expect(cluster.updates.map((update) => update.round)).toEqual(
            rounds.map((_, i) => (layout.firstRound + i) >>> 0),
          );
          const unwrapped = testLayout({ members: [0, 1] });
          expect(cluster.updates.map((update) => update.sums)).toEqual(
            faultless(unwrapped, rounds).map((update) => update.sums),
          );
        },
      ),
      { numRuns: 40 },
    );
  });

  it.each([1, 2, 31, 32])("works for %i workers", (count) => {
    const members = Array.from({ length: count }, (_, i) => i);
    const layout = testLayout({ members });
    const rounds = [1, 2].map((round) =>
      members.map(
        (member) =>
          new Map([
            [100, member + round],
            [301, -1],
            [5, 0.5],
          ]),
      ),
    );
    const { updates } = train(layout, rounds, 5, { loss: 0.1, duplicate: 0.1, reorder: 0.2 });
    const total = (round: number) => members.reduce((sum, member) => sum + member + round, 0);
    expect(updates).toEqual(
      [1, 2].map((round) => ({
        round,
        keys: [100, 301, 5],
        sums: [total(round), -count, count / 2],
        workers: count,
      })),
    );
  });
});

describe("a Libra job that moves", () => {
  const anyMoment = fc.integer({ min: 0, max: 400 });

  it("goes on at a second switch with the same bits when the first dies in the middle of a round", () => {
    fc.assert(
      fc.property(
        anyRounds(3),
        anyMode,
        anyFaults,
        anySeed,
        anyMoment,
        (rounds, mode, faults, seed, moment) => {
          const layout = testLayout({ mode });
          const cluster = train(layout, rounds, seed, faults, (started) => {
            started.network.run(() => false, moment);
            started.network.remove(layout.aggregator.ip);
            started.network.run(() => false, moment + 300);
            const next = {
              ...layout,
              generation: 2,
              aggregator: SWITCH_B,
              firstRound: started.server.openRound,
            };
            started.addSwitch(next);
            started.move(next);
          });
          expect(cluster.updates).toEqual(faultless(layout, rounds));
        },
      ),
      { numRuns: 40 },
    );
  });

  it("goes on without a switch, the server adding, and with the same bits", () => {
    fc.assert(
      fc.property(
        anyRounds(3),
        anyMode,
        anyFaults,
        anySeed,
        anyMoment,
        (rounds, mode, faults, seed, moment) => {
          const layout = testLayout({ mode });
          const cluster = train(layout, rounds, seed, faults, (started) => {
            started.network.run(() => false, moment);
            started.network.remove(layout.aggregator.ip);
            started.move({
              ...layout,
              generation: 2,
              aggregator: SERVER,
              firstRound: started.server.openRound,
            });
          });
          expect(cluster.updates).toEqual(faultless(layout, rounds));
        },
      ),
      { numRuns: 40 },
    );
  });

  it("may stay on the same switch under a new generation: the old one's packets are refused", () => {
    fc.assert(
      fc.property(anyRounds(3), anyFaults, anySeed, anyMoment, (rounds, faults, seed, moment) => {
        const layout = testLayout();
        const cluster = train(layout, rounds, seed, faults, (started) => {
          started.network.run(() => false, moment);
          const next = { ...layout, generation: 2, firstRound: started.server.openRound };
          started.addSwitch(next);
          started.move(next);
        });
        expect(cluster.updates).toEqual(faultless(layout, rounds));
      }),
      { numRuns: 40 },
    );
  });

  it("tells each host of the move at another time, and still gives the same bits", () => {
    fc.assert(
      fc.property(
        anyRounds(3),
        anyFaults,
        anySeed,
        anyMoment,
        fc.array(fc.integer({ min: 0, max: 500 }), { minLength: 4, maxLength: 4 }),
        (rounds, faults, seed, moment, lags) => {
          const layout = testLayout();
          const cluster = train(layout, rounds, seed, faults, (started) => {
            started.network.run(() => false, moment);
            const next = {
              ...layout,
              generation: 2,
              aggregator: SWITCH_B,
              firstRound: started.server.openRound,
            };
            started.addSwitch(next);
            const parties = [...started.workers.values(), { dispatch: started.moveServer }];
            const order = parties
              .map((party, i) => ({ party, at: moment + (lags[i] ?? 0) }))
              .sort((a, b) => a.at - b.at);
            for (const { party, at } of order) {
              started.network.run(() => false, at);
              party.dispatch({ type: "layout", layout: next });
            }
          });
          expect(cluster.updates).toEqual(faultless(layout, rounds));
        },
      ),
      { numRuns: 40 },
    );
  });
});
