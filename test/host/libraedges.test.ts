import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { JobLayout } from "../../src/host/libra/layout.ts";
import type { LibraOptions } from "../../src/host/libra/options.ts";
import { seededRandom } from "../../src/host/random.ts";
import { contributionLimit } from "../../src/numeric/headroom.ts";
import type { NumericMode } from "../../src/numeric/mode.ts";
import { parseIpv4 } from "../../src/wire/address.ts";
import { AGGREGATION_PORT, Kind } from "../../src/wire/aggregation.ts";
import { decodeAggregation } from "../../src/wire/aggregationpacket.ts";
import { type Datagram, parseFrame } from "../../src/wire/datagram.ts";
import { FP32, INT32, LibraCluster, SERVER, testLayout, workerIp } from "./libracluster.ts";

type Gradients = ReadonlyMap<number, number>;

const BAD_LINK = { loss: 0.1, duplicate: 0.1, reorder: 0.2 };
const LARGEST = 3.4028234663852886e38;

function oneRound(
  layout: JobLayout,
  gradients: readonly Gradients[],
  faults = {},
  options: Partial<LibraOptions> = {},
): LibraCluster {
  const cluster = new LibraCluster(layout, seededRandom(3), faults, options);
  layout.workers.forEach(({ member }, i) => {
    cluster.push(member, gradients[i] ?? new Map());
  });
  return cluster;
}

function finish(cluster: LibraCluster, rounds = 1, until = 600_000): void {
  const isDone = () => [...cluster.finished.values()].every((done) => done.length >= rounds);
  expect(cluster.network.run(isDone, until)).toBe(true);
}

/** Sum that the server got for a key in its first update. */
function sumOf(cluster: LibraCluster, key: number): number | undefined {
  const update = cluster.updates[0];
  const index = update?.keys.indexOf(key) ?? -1;
  return index < 0 ? undefined : update?.sums[index];
}

const modes: readonly (readonly [string, NumericMode])[] = [
  ["int32", INT32],
  ["fp32", FP32],
];
const places: readonly (readonly [string, Partial<JobLayout>])[] = [
  ["a switch", {}],
  ["the server alone", { aggregator: SERVER }],
];
const cases = modes.flatMap(([mode, m]) => places.map(([place, p]) => [mode, place, m, p] as const));

describe.each(cases)("mode %s with %s", (_mode, _place, mode, place) => {
  const layout = testLayout({ mode, ...place });

  it.each([
    ["NaN", Number.NaN, 1, Number.NaN],
    ["infinity", Number.POSITIVE_INFINITY, 1, Number.POSITIVE_INFINITY],
    ["infinities of both signs", Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN],
    ["the largest float", LARGEST, 1, LARGEST],
    ["twice the largest float", LARGEST, LARGEST, Number.POSITIVE_INFINITY],
    ["large values that cancel", LARGEST, -LARGEST, undefined],
    ["a sum that would overflow 32 bits", 1e9, 1e9, 2e9],
  ])("gives the float32 sum of the row for %s", (_name, a, b, sum) => {
    const cluster = oneRound(
      layout,
      [
        new Map([
          [100, a],
          [101, 1],
        ]),
        new Map([
          [100, b],
          [101, 2],
        ]),
        new Map([[200, 5]]),
      ],
      BAD_LINK,
    );
    finish(cluster);
    expect(sumOf(cluster, 100)).toEqual(sum);
    expect(sumOf(cluster, 101)).toBe(3);
    expect(sumOf(cluster, 200)).toBe(5);
    expect(cluster.server.counters.get("result_marked")).toBe(1);
    expect(cluster.server.counters.get("row_taken")).toBe(3);
  });

  it("sums a marked row in the order of the workers, not of arrival", () => {
    const sums = [1, 2, 3, 4, 5].map((seed) => {
      const cluster = new LibraCluster(layout, seededRandom(seed), {
        reorder: 0.5,
        loss: 0.1,
        holdBack: 100,
      });
      [1e30, 1, -1e30].forEach((value, member) => {
        cluster.push(member, new Map([[102, value]]));
      });
      finish(cluster);
      return sumOf(cluster, 102);
    });
    expect(sums).toEqual(Array(5).fill(undefined)); // (1e30 + 1) - 1e30 in float64, in this order
  });

  it("gives nothing for zeros of both signs, denormals, and rows without gradients", () => {
    const tiny = new Map([
      [100, 0],
      [101, -0],
      [102, 2 ** -149],
      [103, -(2 ** -127)],
    ]);
    const cluster = oneRound(layout, [tiny, tiny, new Map()]);
    finish(cluster);
    expect(cluster.updates).toEqual([{ round: 1, keys: [], sums: [], workers: 3 }]);
  });

  it("keeps cold keys in full float32, whatever they are", () => {
    const cluster = oneRound(layout, [
      new Map([
        [9, Number.NaN],
        [8, 1e-45],
        [7, LARGEST],
      ]),
      new Map([
        [8, 1e-45],
        [7, LARGEST],
        [0xffffffff, 0.5],
      ]),
      new Map(),
    ]);
    finish(cluster);
    expect(cluster.updates[0]?.keys).toEqual([7, 8, 9, 0xffffffff]);
    expect(cluster.updates[0]?.sums).toEqual([Number.POSITIVE_INFINITY, 2 * 2 ** -149, Number.NaN, 0.5]);
  });
});

describe("the server's sums", () => {
  it("of cold keys are made in the order of the workers, not of arrival", () => {
    const sums = [1, 2, 3, 4, 5, 6].map((seed) => {
      const cluster = new LibraCluster(testLayout(), seededRandom(seed), { reorder: 0.5, holdBack: 100 });
      [1e30, -1e30, 1].forEach((value, member) => {
        cluster.push(member, new Map([[9, value]]));
      });
      finish(cluster);
      return sumOf(cluster, 9);
    });
    expect(sums).toEqual(Array(6).fill(1)); // (1e30 - 1e30) + 1; another order would give 0
  });

  it("take one RESULT per row and round, and count the rest by what is wrong with them", () => {
    const layout = testLayout();
    const results: Uint8Array[] = [];
    const cluster = oneRound(layout, [new Map([[100, 1]]), new Map([[100, 2]])]);
    cluster.network.filter = (frame) => {
      const datagram = parseFrame(frame);
      const message = "payload" in datagram ? decodeAggregation(datagram.payload) : datagram;
      if ("header" in message && message.header.kind === Kind.RESULT) results.push(frame.slice());
      return true;
    };
    const deliver = (frame: Uint8Array, at?: number, byte = 0) => {
      const copy = frame.slice();
      if (at !== undefined) copy[42 + at] = byte;
      cluster.server.handle({ type: "frame", frame: copy }, cluster.network.now);
    };
    cluster.network.run(() => results.length === 1, 1000);
    const [result] = results;
    if (result === undefined) throw new Error("no result was sent");
    for (let i = 0; i < 3; i++) deliver(result);
    deliver(result, 3, 8); // another job
    deliver(result, 5, 0); // an older placement
    deliver(result, 7, 99); // another scale
    deliver(result, 9, 3); // a slot before the job's
    deliver(result, 9, 7); // a slot behind it
    deliver(result, 15, 9); // another round
    expect(cluster.server.counters.snapshot()).toMatchObject({
      result_taken: 1,
      result_taken_before: 2,
      other_job: 1,
      result_foreign: 3 + 1,
      result_other_round: 1,
    });
    finish(cluster);
    expect(sumOf(cluster, 100)).toBe(3);
  });
});

describe("mode int32 at its limit", () => {
  it.each([1, 2, 31, 32])(
    "takes the largest contribution of each of %i workers, and marks one more",
    (count) => {
      const members = Array.from({ length: count }, (_, i) => i);
      const mode: NumericMode = { name: "int32", workers: count, fractionBits: 0 };
      const limit = contributionLimit(count);
      // The largest float32 integer that is not beyond the limit.
      const largest =
        Math.fround(limit) <= limit
          ? Math.fround(limit)
          : Math.fround(limit) - 2 ** (Math.floor(Math.log2(limit)) - 22);
      const layout = testLayout({ members, mode, rows: [[100]], lanes: 1 });
      const within = oneRound(
        layout,
        members.map(() => new Map([[100, -largest]])),
      );
      finish(within);
      expect(sumOf(within, 100)).toBe(Math.fround(-largest * count));
      expect(within.server.counters.get("result_marked")).toBe(0);
      const beyond = oneRound(
        layout,
        members.map((member) => new Map([[100, member === 0 ? limit * 2 : 1]])),
      );
      finish(beyond);
      expect(sumOf(beyond, 100)).toBe(Math.fround(Math.fround(limit * 2) + count - 1));
      expect(beyond.server.counters.get("result_marked")).toBe(1);
    },
  );
});

describe("any number of hot keys", () => {
  it.each([0, 1, 31, 32, 33, 62, 63, 64, 255, 256, 257])("works: %i", (count) => {
    const keys = Array.from({ length: count }, (_, i) => 1000 + i);
    const rows: number[][] = [];
    for (let at = 0; at < count; at += 32) rows.push(keys.slice(at, at + 32));
    const layout = testLayout({ lanes: 32, rows, members: [0, 1] });
    const cluster = oneRound(layout, [
      new Map(keys.map((key) => [key, key])),
      new Map(keys.map((key) => [key, 1])),
    ]);
    finish(cluster);
    expect(cluster.updates).toEqual([{ round: 1, keys, sums: keys.map((key) => key + 1), workers: 2 }]);
  });

  it("and keys that a worker gives twice count with their sum", () => {
    const layout = testLayout({ members: [0] });
    const cluster = new LibraCluster(layout, seededRandom(1), {});
    const [keys, values] = [Uint32Array.of(100, 5, 100, 5), Float32Array.of(1, 2, 3, 4)];
    cluster.workers.get(0)?.dispatch({ type: "push", keys, values });
    keys.fill(0);
    values.fill(9); // the arrays are the caller's again
    finish(cluster);
    expect(cluster.updates).toEqual([{ round: 1, keys: [100, 5], sums: [4, 6], workers: 1 }]);
  });
});

describe("pull", () => {
  it("gives the values of the last finished round, in the order of the keys", () => {
    const layout = testLayout();
    const cluster = oneRound(
      layout,
      [
        new Map([
          [100, 1],
          [5, 2],
        ]),
        new Map([[100, 2]]),
        new Map(),
      ],
      BAD_LINK,
    );
    finish(cluster);
    cluster.workers.get(1)?.dispatch({ type: "pull", request: 77, keys: Uint32Array.of(5, 6, 100, 5) });
    cluster.workers.get(2)?.dispatch({ type: "pull", request: 78, keys: new Uint32Array(0) });
    expect(
      cluster.network.run(
        () => cluster.pulled.get(1)?.has(77) === true && cluster.pulled.get(2)?.has(78) === true,
        60_000,
      ),
    ).toBe(true);
    expect(cluster.pulled.get(1)?.get(77)).toEqual(Float32Array.of(2, 0, 3, 2));
    expect(cluster.pulled.get(2)?.get(78)).toEqual(new Float32Array(0));
  });

  it("carries more keys than a frame holds", () => {
    const layout = testLayout({ members: [0] });
    const keys = Uint32Array.from({ length: 5000 }, (_, i) => 10_000 + i);
    const cluster = oneRound(layout, [new Map([...keys].map((key) => [key, key]))], BAD_LINK);
    finish(cluster);
    cluster.workers.get(0)?.dispatch({ type: "pull", request: 1, keys });
    cluster.network.run(() => cluster.pulled.get(0)?.has(1) === true, 60_000);
    expect(cluster.pulled.get(0)?.get(1)).toEqual(Float32Array.from(keys));
  });
});

describe("the open rounds", () => {
  it("are at most two, and the rest waits", () => {
    const cluster = new LibraCluster(testLayout({ members: [0, 1] }), seededRandom(1), {});
    const sent = new Set<number>();
    cluster.network.filter = (frame) => {
      const datagram = parseFrame(frame);
      if ("payload" in datagram && datagram.dstPort === AGGREGATION_PORT) {
        const message = decodeAggregation(datagram.payload);
        if ("header" in message && message.header.kind <= Kind.NULL) sent.add(message.header.round);
      }
      return true;
    };
    for (let round = 1; round <= 4; round++) cluster.push(0, new Map([[100, round]]));
    cluster.network.run(() => false, 1000);
    expect(sent).toEqual(new Set([1, 2]));
    expect(cluster.workers.get(0)?.machine.nextRound).toBe(5);
    for (let round = 1; round <= 4; round++) cluster.push(1, new Map([[100, 10 * round]]));
    finish(cluster, 4);
    expect(cluster.updates.map((update) => update.sums)).toEqual([[11], [22], [33], [44]]);
  });

  it("finish although the result for the server is lost: the server asks", () => {
    const cluster = oneRound(testLayout(), [new Map([[100, 1]]), new Map([[100, 2]]), new Map()]);
    let lost = 0;
    cluster.network.filter = (frame) => {
      const datagram = parseFrame(frame);
      const message = "payload" in datagram ? decodeAggregation(datagram.payload) : datagram;
      const isFirst =
        "header" in message && message.header.kind === Kind.RESULT && message.header.member !== 255;
      if (isFirst) lost++;
      return !isFirst;
    };
    finish(cluster);
    expect(lost).toBe(3);
    expect(cluster.server.traffic.collects).toBe(3);
    expect(sumOf(cluster, 100)).toBe(3);
  });
});

describe("a worker that falls silent", () => {
  const options = { silence: 2000, heartbeat: 100 };

  it("gives the survivors and the server an error that names it, within a bound", () => {
    const cluster = new LibraCluster(testLayout(), seededRandom(1), {}, options);
    cluster.network.remove(workerIp(2));
    cluster.push(0, new Map([[100, 1]]));
    cluster.push(1, new Map([[5, 1]]));
    cluster.network.run(() => false, 3000);
    for (const who of [0, 1, "server"] as const)
      expect(cluster.errors.get(who)).toMatchObject([
        { code: "worker_lost", details: { job: 7, round: 1, worker: 2 } },
      ]);
    expect(cluster.updates).toEqual([]);
  });

  it("can be left out: the others go on, and the round has their gradients alone", () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: 0, max: 300 }), (seed, moment) => {
        const layout = testLayout();
        const cluster = new LibraCluster(layout, seededRandom(seed), BAD_LINK, options);
        for (const round of [1, 2])
          for (const member of [0, 1, 2])
            cluster.push(
              member,
              new Map([
                [100, member + round],
                [5, 1],
              ]),
            );
        cluster.network.run(() => false, moment);
        cluster.network.remove(workerIp(2));
        cluster.network.run(() => cluster.errors.has(0) && cluster.errors.has(1), moment + 20_000);
        const before = cluster.updates.length;
        const rest = {
          ...testLayout({ members: [0, 1], generation: 2 }),
          firstRound: cluster.server.openRound,
        };
        cluster.addSwitch(rest);
        for (const row of rest.rows.keys())
          for (const node of cluster.nodes.values()) node.golden.dismiss(7, 2, rest.slotBase + row);
        cluster.move(rest);
        cluster.finished.delete(2);
        finish(cluster, 2);
        cluster.updates.forEach(({ round, keys, sums, workers }, i) => {
          const all = i < before;
          expect({ keys, workers }).toEqual({ keys: [100, 5], workers: all ? 3 : 2 });
          expect(sums).toEqual(all ? [3 + 3 * round, 3] : [1 + 2 * round, 2]);
        });
      }),
      { numRuns: 30 },
    );
  });

  it("is not lost when it is only slow, or nobody waits for it", () => {
    const slow = oneRound(testLayout(), [new Map([[100, 1]])], { delay: 200 }, options);
    finish(slow);
    expect([...slow.errors]).toEqual([]);
    const idle = new LibraCluster(testLayout(), seededRandom(1), {}, options);
    idle.network.remove(workerIp(2));
    idle.network.run(() => false, 20_000);
    expect([...idle.errors]).toEqual([]);
  });

  it("is named when it has left while others still push", () => {
    const cluster = oneRound(
      testLayout({ members: [0, 1] }),
      [new Map([[100, 1]]), new Map([[100, 1]])],
      {},
      options,
    );
    finish(cluster);
    cluster.workers.get(1)?.dispatch({ type: "leave" });
    cluster.network.run(() => cluster.left.length > 0, 1000);
    cluster.push(0, new Map([[100, 1]]));
    cluster.network.run(() => cluster.errors.has(0), 5000);
    expect(cluster.errors.get(0)).toMatchObject([{ code: "worker_lost", details: { round: 2, worker: 1 } }]);
  });

  it("may leave when its work is done, without an error anywhere", () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        const cluster = new LibraCluster(testLayout(), seededRandom(seed), BAD_LINK, options);
        for (const member of [0, 1, 2]) cluster.push(member, new Map([[100, 1]]));
        for (const member of [0, 1, 2]) {
          cluster.network.run(() => cluster.finished.get(member)?.length === 1, 60_000);
          cluster.workers.get(member)?.dispatch({ type: "leave" });
          expect(cluster.network.run(() => cluster.left.includes(member), 60_000)).toBe(true);
          cluster.network.remove(workerIp(member));
        }
        cluster.network.run(() => false, 120_000);
        expect([...cluster.errors]).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });
});

describe("a peer that can't be reached", () => {
  const options = { retries: 5, silence: 3000 };

  it("is named when it is the aggregator, with the row; and the job goes on after a move", () => {
    const layout = testLayout();
    const cluster = oneRound(
      layout,
      [new Map([[100, 1]]), new Map([[100, 2]]), new Map([[100, 3]])],
      {},
      options,
    );
    cluster.network.remove(layout.aggregator.ip);
    cluster.network.run(() => false, 8000);
    expect(cluster.errors.get(1)).toMatchObject([
      { code: "aggregator_unreachable", details: { job: 7, row: 0, worker: 1, peer: layout.aggregator.ip } },
    ]);
    expect(cluster.errors.get("server")?.[0]).toMatchObject({
      code: "aggregator_unreachable",
      details: { peer: layout.aggregator.ip },
    });
    cluster.move({ ...layout, generation: 2, aggregator: SERVER });
    finish(cluster);
    expect(sumOf(cluster, 100)).toBe(6);
  });

  it("is named when it is the server, and the work goes on when it is back", () => {
    const layout = testLayout();
    const cluster = oneRound(
      layout,
      [new Map([[100, 1]]), new Map([[100, 2]]), new Map([[100, 3]])],
      {},
      options,
    );
    let isCut = true;
    cluster.network.filter = (_, to) => !(isCut && to === parseIpv4(SERVER.ip));
    cluster.network.run(() => false, 8000);
    // It hears nobody, so it can't know who is at fault, and blames no worker before the others.
    for (const member of [0, 1, 2])
      expect(cluster.errors.get(member)).toMatchObject([
        { code: "server_unreachable", details: { job: 7, worker: member, peer: SERVER.ip } },
      ]);
    isCut = false;
    finish(cluster);
    expect(sumOf(cluster, 100)).toBe(6);
  });
});

describe("garbage at the hosts", () => {
  it("is counted, and changes no sum", () => {
    const layout = testLayout();
    const recorded: Uint8Array[] = [];
    const first = oneRound(layout, [
      new Map([
        [100, 1],
        [5, 1],
      ]),
      new Map([[100, 2]]),
      new Map(),
    ]);
    first.network.filter = (frame) => {
      recorded.push(frame.slice());
      return true;
    };
    finish(first);
    const meaningOf = ({ dstIp, dstPort, payload }: Datagram): string =>
      `${dstIp} ${dstPort} ${Buffer.from(payload).toString("hex")}`;
    const sound = new Set(
      recorded.map((frame) => {
        const opened = parseFrame(frame);
        return "refused" in opened ? "" : meaningOf(opened);
      }),
    );
    const flips = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 })), {
      minLength: 1,
      maxLength: 3,
    });
    const spoilt = fc
      .tuple(fc.nat(), flips, fc.nat(), fc.boolean())
      .map(([which, changes, cut, isCut]) => {
        const frame = recorded[which % recorded.length]?.slice() ?? new Uint8Array(0);
        // Flips that the IPv4 checksum or the addresses do not catch: in the UDP payload's header, but not in its values.
        for (const [at, mask] of changes) frame[at % 42] = (frame[at % 42] ?? 0) ^ mask;
        return isCut ? frame.subarray(0, cut % frame.length) : frame;
      })
      // Flips of a MAC or of the sender's port spoil nothing: an acknowledgement before its time is a lie, not garbage.
      .filter((frame) => {
        const opened = parseFrame(frame);
        return "refused" in opened || !sound.has(meaningOf(opened));
      });
    const anyBytes = fc.uint8Array({ maxLength: 100 });
    fc.assert(
      fc.property(fc.array(fc.oneof(spoilt, anyBytes), { maxLength: 30 }), fc.integer(), (garbage, seed) => {
        const cluster = new LibraCluster(layout, seededRandom(seed), BAD_LINK);
        cluster.push(
          0,
          new Map([
            [100, 1],
            [5, 1],
          ]),
        );
        cluster.push(1, new Map([[100, 2]]));
        cluster.push(2, new Map());
        const targets = [SERVER.ip, layout.aggregator.ip, workerIp(0), workerIp(1)].map(parseIpv4);
        garbage.forEach((frame, i) => {
          cluster.network.deliver(frame, targets[i % targets.length] ?? 0);
        });
        finish(cluster);
        expect(cluster.updates).toEqual(first.updates);
      }),
      { numRuns: 60 },
    );
  });

  it("is counted under the name of what is wrong", () => {
    const layout = testLayout();
    const cluster = oneRound(layout, [new Map([[100, 1]])]);
    const server = cluster.server;
    const worker = cluster.workers.get(0)?.machine;
    server.handle({ type: "frame", frame: new Uint8Array(3) }, 0);
    worker?.handle({ type: "frame", frame: new Uint8Array(0) }, 0);
    expect(server.counters.snapshot()).toEqual({ frame_too_short: 1 });
    expect(worker?.counters.snapshot()).toEqual({ frame_too_short: 1 });
  });
});

describe("wrong layouts", () => {
  it.each([
    ["a key twice", { rows: [[1, 2], [2]] }, /key 2 is placed twice/],
    ["a row wider than the lanes", { rows: [[1, 2, 3, 4, 5]] }, /number of keys of row 0/],
    ["slots beyond 16 bits", { slotBase: 65534 }, /last slot/],
    ["a bad address", { server: { mac: "02:00", ip: "10.0.0.1" } }, /server: "02:00" is no MAC/],
    ["a numeric mode out of range", { mode: { ...FP32, base: 0 } as NumericMode }, /window base/],
    [
      "more workers than the headroom allows",
      { mode: { ...INT32, workers: 2 } as NumericMode },
      /number of workers/,
    ],
  ])("are refused: %s", (_, changes, message) => {
    expect(() => new LibraCluster(testLayout(changes), seededRandom(1), {})).toThrow(message);
  });

  it("do not replace a layout while rounds are open, or when they are not newer", () => {
    const layout = testLayout();
    const cluster = oneRound(layout, [new Map([[100, 1]])]);
    const other = { ...layout, rows: [[1]] };
    cluster.workers.get(0)?.dispatch({ type: "layout", layout: other });
    expect(cluster.workers.get(0)?.machine.counters.get("old_layout")).toBe(1);
    cluster.workers.get(0)?.dispatch({ type: "layout", layout: { ...other, generation: 2 } });
    expect(cluster.errors.get(0)).toMatchObject([{ code: "layout_invalid" }]);
    expect(cluster.workers.get(0)?.machine.layout).toBe(layout);
  });
});
