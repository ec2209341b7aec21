import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { LibraError } from "../../src/host/libra/errors.ts";
import type { JobLayout } from "../../src/host/libra/layout.ts";
import { seededRandom } from "../../src/host/random.ts";
import { LibraCluster, SERVER, testLayout } from "./libracluster.ts";

const MEMBERS = [0, 1, 2];
const ROUNDS = 8;
const HOT = testLayout().rows.flat();
const COLD = [7, 8];

/** The same for all keys of a worker's round, and no two lives give the same: a sum shows who took part, in which life. */
const gradient = (member: number, life: number): ReadonlyMap<number, number> =>
  new Map([...HOT, ...COLD].map((key) => [key, (1 + life) * 16 ** member]));

/** The job under new lives of its workers. */
function withLives(layout: JobLayout, lives: readonly number[], generation: number): JobLayout {
  const workers = layout.workers.map((worker) => ({ ...worker, life: lives[worker.member] ?? 0 }));
  return { ...layout, generation, workers };
}

/** Starts the next push of each worker when the one before is finished. */
function drive(cluster: LibraCluster, lives: readonly number[], begun: Map<string, number>): void {
  for (const member of MEMBERS) {
    const life = lives[member] ?? 0;
    const key = `${member}/${life}`;
    const first = life === 0 ? 1 : cluster.resumed.get(member);
    if (first === undefined) continue;
    const finished = cluster.finished.get(member)?.length ?? 0;
    const count = begun.get(key) ?? 0;
    if (finished < count || first + count > ROUNDS) continue;
    begun.set(key, count + 1);
    cluster.push(member, gradient(member, life));
  }
}

describe("a worker that starts again", () => {
  test("goes on in a new life, and no round mixes what two lives of it gave, whatever the network does", () => {
    fc.assert(
      fc.property(
        fc.record({
          seed: fc.integer(),
          loss: fc.double({ min: 0, max: 0.3, noNaN: true }),
          duplicate: fc.double({ min: 0, max: 0.3, noNaN: true }),
          reorder: fc.double({ min: 0, max: 0.5, noNaN: true }),
          onSwitch: fc.boolean(),
          crashes: fc.array(
            fc.record({ at: fc.integer({ min: 1, max: 80 }), member: fc.constantFrom(...MEMBERS) }),
            {
              maxLength: 4,
            },
          ),
          pause: fc.integer({ min: 0, max: 60 }),
        }),
        ({ seed, onSwitch, crashes, pause, ...faults }) => {
          const base = testLayout(onSwitch ? {} : { aggregator: SERVER });
          const cluster = new LibraCluster(base, seededRandom(seed), { delay: 1, ...faults });
          const lives = [0, 0, 0];
          const begun = new Map<string, number>();
          let generation = 1;
          const isDone = (): boolean => {
            drive(cluster, lives, begun);
            return cluster.updates.length === ROUNDS;
          };
          for (const { at, member } of [...crashes].sort((a, b) => a.at - b.at)) {
            if (cluster.network.run(isDone, at)) break;
            const ip = base.workers[member]?.ip ?? "";
            cluster.network.remove(ip);
            cluster.resumed.delete(member);
            lives[member] = (lives[member] ?? 0) + 1;
            const dead = (): boolean => {
              drive(
                cluster,
                lives.map((life, m) => (m === member ? -1 : life)),
                begun,
              );
              return cluster.updates.length === ROUNDS;
            };
            if (cluster.network.run(dead, at + pause)) break;
            // The controller knows an old round only.
            const layout = withLives(base, lives, ++generation);
            if (onSwitch) cluster.addSwitch(layout);
            cluster.startWorker(layout, member);
            cluster.moveServer({ type: "layout", layout });
            for (const m of MEMBERS)
              if (m !== member) cluster.workers.get(m)?.dispatch({ type: "layout", layout });
          }
          expect(cluster.network.run(isDone, 100_000)).toBe(true);
          expect(cluster.updates.map((u) => u.round)).toEqual(
            Array.from({ length: ROUNDS }, (_, i) => i + 1),
          );
          for (const { sums, keys, workers } of cluster.updates) {
            expect(workers).toBe(MEMBERS.length);
            expect(keys.length).toBe(HOT.length + COLD.length);
            expect(new Set(sums).size).toBe(1);
            for (const member of MEMBERS) expect(((sums[0] ?? 0) >> (4 * member)) & 0xf).toBeGreaterThan(0);
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  test("is told the round of its new life by the server, however old the controller's knowledge is", () => {
    const cluster = new LibraCluster(testLayout(), seededRandom(1), { delay: 1 });
    for (let round = 1; round <= 3; round++) {
      for (const member of MEMBERS) cluster.push(member, gradient(member, 0));
      expect(cluster.network.run(() => cluster.updates.length === round, 10_000)).toBe(true);
    }
    const layout = withLives(testLayout(), [0, 1, 0], 2);
    cluster.addSwitch(layout);
    cluster.startWorker(layout, 1);
    cluster.push(1, gradient(1, 1));
    cluster.moveServer({ type: "layout", layout });
    for (const member of [0, 2]) cluster.workers.get(member)?.dispatch({ type: "layout", layout });
    expect(cluster.network.run(() => cluster.resumed.get(1) === 4, 10_000)).toBe(true);
    for (const member of [0, 2]) cluster.push(member, gradient(member, 0));
    expect(cluster.network.run(() => cluster.updates.length === 4, 10_000)).toBe(true);
    expect(cluster.errors.size).toBe(0);
  });

  test("has replaced its former life, which is told so and takes part no more", () => {
    const cluster = new LibraCluster(testLayout(), seededRandom(1), {});
    const former = cluster.workers.get(1);
    const layout = withLives(testLayout(), [0, 1, 0], 2);
    former?.dispatch({ type: "layout", layout });
    const [error] = cluster.errors.get(1) ?? [];
    expect(error).toBeInstanceOf(LibraError);
    expect(error?.code).toBe("replaced");
    expect(former?.machine.layout.generation).toBe(1);
  });
});
