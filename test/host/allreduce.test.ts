import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { resolveEndpoint } from "../../src/host/endpoint.ts";
import type { LinkFaults } from "../../src/host/faults.ts";
import { AggregatorNode, formatFor, frameOf } from "../../src/host/libra/aggregatornode.ts";
import {
  type AllreduceEvent,
  type AllreduceLayout,
  AllreduceWorker,
} from "../../src/host/libra/allreduceworker.ts";
import type { LibraError } from "../../src/host/libra/errors.ts";
import type { LibraOptions } from "../../src/host/libra/options.ts";
import { seededRandom } from "../../src/host/random.ts";
import { type NumericMode, rowCodec } from "../../src/numeric/mode.ts";
import { SWITCH_A, SWITCH_B, testLayout } from "./libracluster.ts";
import { VirtualNetwork } from "./virtualnetwork.ts";

const INT32: NumericMode = { name: "int32", workers: 8, fractionBits: 20 };
const MODES: readonly NumericMode[] = [
  INT32,
  { name: "block", workers: 8, exponent: 130 },
  { name: "fp32", workers: 8, base: 100, slices: [6, 6, 6, 5] },
  { name: "fp16", workers: 8, fractionBits: 0, slices: [5, 5] },
  { name: "bf16", workers: 8, base: 110, slices: [4, 3] },
];

function layoutFor(mode: NumericMode, workers: number, rows = 4): AllreduceLayout {
  const {
    rows: _,
    server: __,
    ...layout
  } = testLayout({
    mode,
    members: Array.from({ length: workers }, (_, member) => member),
  });
  return { ...layout, rows };
}

/** Workers of a job, and golden aggregators in the switches' places, on a bad network under a virtual clock. */
class Cluster {
  readonly network: VirtualNetwork;
  readonly sums = new Map<number, Float32Array[]>();
  readonly errors: LibraError[] = [];
  readonly workers: {
    readonly machine: AllreduceWorker;
    readonly dispatch: (event: AllreduceEvent) => void;
  }[];

  constructor(
    layout: AllreduceLayout,
    seed: number,
    faults: LinkFaults,
    options: Partial<LibraOptions> = {},
  ) {
    this.network = new VirtualNetwork(seededRandom(seed), faults);
    this.workers = layout.workers.map(({ member, ip }) => {
      const machine = new AllreduceWorker(layout, member, options);
      this.sums.set(member, []);
      const dispatch = this.network.addHost(ip, machine, (action) => {
        if (action.type === "error") this.errors.push(action.error);
        else this.sums.get(member)?.push(action.sums);
      });
      return { machine, dispatch };
    });
    this.place(layout);
  }

  /** Puts the job on the switch of the layout. */
  place(layout: AllreduceLayout): void {
    const job = { ...layout, rows: Array.from({ length: layout.rows }, () => []), server: layout.aggregator };
    const node = new AggregatorNode(resolveEndpoint(layout.aggregator), {
      ...formatFor(job),
      result: "allreduce",
    });
    node.place(job);
    this.network.addNode(layout.aggregator.ip, (frame) => (node.receive(frame)?.packets ?? []).map(frameOf));
  }

  reduce(values: readonly Float32Array[]): void {
    for (const [member, { dispatch }] of this.workers.entries())
      dispatch({ type: "reduce", values: values[member] ?? new Float32Array() });
  }

  /** Runs until each worker has so many sums. */
  finish(tensors: number, until = 60_000): boolean {
    return this.network.run(() => [...this.sums.values()].every((s) => s.length >= tensors), until);
  }
}

const tensor = (length: number, random: () => number, size = 1): Float32Array =>
  Float32Array.from({ length }, () => (random() - 0.5) * 2 * size);
const bits = (values: Float32Array | undefined): string =>
  Buffer.from(values?.buffer ?? new ArrayBuffer(0)).toString("hex");

function exactSum(values: readonly Float32Array[]): Float64Array {
  const sums = new Float64Array(values[0]?.length ?? 0);
  for (const one of values)
    one.forEach((v, i) => {
      sums[i] = (sums[i] ?? 0) + v;
    });
  return sums;
}

const TOLERANCE: Record<NumericMode["name"], number> = {
  int32: 2 ** -18,
  block: 1e-6,
  fp32: 1e-6,
  fp16: 4e-3,
  bf16: 3e-2,
};

describe.each(MODES)("allreduce, mode $name", (mode) => {
  test("under loss, duplication and reordering all workers get the same bits, those of a quiet network", () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.nat(70), { minLength: 1, maxLength: 4 }),
        (seed, workers, lengths) => {
          const random = seededRandom(seed);
          const inputs = lengths.map((n) => Array.from({ length: workers }, () => tensor(n, random)));
          const run = (faults: LinkFaults) => {
            const cluster = new Cluster(layoutFor(mode, workers), seed, faults);
            for (const values of inputs) cluster.reduce(values);
            expect(cluster.finish(lengths.length)).toBe(true);
            expect(cluster.errors).toEqual([]);
            return [...cluster.sums.values()];
          };
          const bad = run({ loss: 0.15, duplicate: 0.15, reorder: 0.3, delay: 2 });
          const [quiet] = run({ delay: 1 });
          inputs.forEach((values, t) => {
            for (const sums of bad) expect(bits(sums[t])).toBe(bits(quiet?.[t]));
            const exact = exactSum(values);
            quiet?.[t]?.forEach((sum, i) => {
              expect(Math.abs(sum - (exact[i] ?? 0))).toBeLessThanOrEqual(TOLERANCE[mode.name] * workers);
            });
          });
        },
      ),
      { numRuns: 25 },
    );
  });

  test("NaN or infinity at one worker is NaN at all of them, is told, and spoils no other row", () => {
    const cluster = new Cluster(layoutFor(mode, 3), 1, { delay: 1 });
    const values = [0, 1, 2].map(() => new Float32Array(16).fill(0.5));
    (values[1] ?? new Float32Array())[6] = Number.NaN;
    cluster.reduce(values);
    cluster.reduce(values.map(() => new Float32Array(16).fill(0.25)));
    expect(cluster.finish(2)).toBe(true);
    for (const [first, second] of cluster.sums.values()) {
      expect([...(first ?? [])].map(Number.isNaN)).toEqual([...Array(16).keys()].map((i) => i >= 4 && i < 8));
      expect(first?.[0]).toBe(1.5);
      expect([...(second ?? [])]).toEqual(Array(16).fill(0.75));
    }
    expect(cluster.errors.map((e) => e.code)).toEqual(["not_finite", "not_finite", "not_finite"]);
  });

  test("a value far outside of the window is summed all the same, by all alike", () => {
    const cluster = new Cluster(layoutFor(mode, 3), 2, { loss: 0.1, delay: 1 });
    const large = 2 ** 40;
    const values = [0, 1, 2].map((w) => Float32Array.of(large * (w + 1), 0, 0, 0, 1, 1, 1, 1));
    cluster.reduce(values);
    expect(cluster.finish(1)).toBe(true);
    const all = [...cluster.sums.values()].map((s) => s[0]);
    for (const sums of all) expect(bits(sums)).toBe(bits(all[0]));
    expect((all[0]?.[0] ?? 0) / (6 * large)).toBeCloseTo(1, 1);
    expect(all[0]?.[4]).toBe(3);
    expect(cluster.errors).toEqual([]);
  });
});

describe("an allreduce job that loses its switch", () => {
  const modes = MODES.filter((mode) => mode.name !== "block");

  test.each(modes)(
    "goes on at another one with the same bits everywhere, whenever that happens (mode $name)",
    (mode) => {
      fc.assert(
        fc.property(fc.nat(), fc.integer({ min: 1, max: 120 }), (seed, when) => {
          const random = seededRandom(seed);
          const layout = layoutFor(mode, 3);
          const inputs = [30, 50, 9].map((n) => [0, 1, 2].map(() => tensor(n, random)));
          const cluster = new Cluster(layout, seed, { loss: 0.1, duplicate: 0.1, reorder: 0.2, delay: 2 });
          for (const values of inputs) cluster.reduce(values);
          cluster.network.run(() => false, when);
          cluster.network.remove(SWITCH_A.ip);
          const next = { ...layout, generation: layout.generation + 1, aggregator: SWITCH_B };
          cluster.place(next);
          // The workers do not hear of it at once.
          cluster.workers.forEach(({ dispatch }, i) => {
            cluster.network.run(() => false, when + 20 * (i + 1));
            dispatch({ type: "layout", layout: next });
          });
          expect(cluster.finish(inputs.length)).toBe(true);
          const calm = new Cluster(layout, seed, { delay: 1 });
          for (const values of inputs) calm.reduce(values);
          calm.finish(inputs.length);
          const wanted = (calm.sums.get(0) ?? []).map(bits);
          for (const sums of cluster.sums.values()) expect(sums.map(bits)).toEqual(wanted);
          expect(cluster.errors).toEqual([]);
        }),
        { numRuns: 25 },
      );
    },
  );

  test("in mode block moves between tensors only, and says so", () => {
    const layout = layoutFor(MODES[1] ?? INT32, 2);
    const cluster = new Cluster(layout, 1, { delay: 1 });
    const values = [0, 1].map(() => new Float32Array(40).fill(1));
    cluster.reduce(values);
    const next = { ...layout, generation: layout.generation + 1, aggregator: SWITCH_B };
    cluster.workers[0]?.dispatch({ type: "layout", layout: next });
    expect(cluster.errors.map((e) => e.message)).toEqual([
      "layout: in mode block a job moves between tensors only",
    ]);
    expect(cluster.finish(1)).toBe(true);
    cluster.place(next);
    for (const { dispatch } of cluster.workers) dispatch({ type: "layout", layout: next });
    cluster.reduce(values);
    expect(cluster.finish(2)).toBe(true);
    for (const sums of cluster.sums.values()) expect([...(sums[1] ?? [])]).toEqual(Array(40).fill(2));
  });
});

describe("an allreduce worker", () => {
  test("pads no tensor and writes over no end (pitfall 85)", () => {
    for (const length of [0, 1, 3, 4, 5, 15, 16, 17, 31]) {
      const cluster = new Cluster(layoutFor(INT32, 2), length, { delay: 1 });
      cluster.reduce([0, 1].map(() => Float32Array.from({ length }, (_, i) => i)));
      expect(cluster.finish(1)).toBe(true);
      expect([...(cluster.sums.get(0)?.[0] ?? [])]).toEqual(Array.from({ length }, (_, i) => 2 * i));
    }
  });

  test("keeps tensors apart that have the same shape, in their order (pitfall 87)", () => {
    const cluster = new Cluster(layoutFor(INT32, 2), 7, { reorder: 0.5, delay: 3 });
    for (let t = 1; t <= 5; t++) cluster.reduce([0, 1].map(() => new Float32Array(10).fill(t)));
    expect(cluster.finish(5)).toBe(true);
    for (const sums of cluster.sums.values()) expect(sums.map((s) => s[9])).toEqual([2, 4, 6, 8, 10]);
  });

  test("waits for a straggler, counts no contribution twice, and names the wait when it gets long (pitfalls 79, 89)", () => {
    const cluster = new Cluster(layoutFor(INT32, 2), 3, { delay: 1 }, { silence: 1000 });
    cluster.workers[0]?.dispatch({ type: "reduce", values: Float32Array.of(1, 2, 3, 4) });
    cluster.network.run(() => false, 3000);
    expect(cluster.errors.map((e) => e.code)).toEqual(["worker_lost"]);
    expect(cluster.workers[0]?.machine.counters.get("waits_for_others")).toBeGreaterThan(3);
    cluster.workers[1]?.dispatch({ type: "reduce", values: Float32Array.of(10, 20, 30, 40) });
    expect(cluster.finish(1)).toBe(true);
    for (const [sums] of cluster.sums.values()) expect([...(sums ?? [])]).toEqual([11, 22, 33, 44]);
  });

  test("gives up a silent aggregator after so many tries, with an error and not a hang (pitfall 79)", () => {
    const cluster = new Cluster(layoutFor(INT32, 2), 3, { delay: 1 }, { retries: 5 });
    cluster.network.remove(SWITCH_A.ip);
    cluster.reduce([0, 1].map(() => Float32Array.of(1)));
    cluster.network.run(() => false, 60_000);
    expect(cluster.errors.map((e) => e.code)).toEqual(["aggregator_unreachable", "aggregator_unreachable"]);
    expect(cluster.workers[0]?.machine.wakeAt).toBe(Number.POSITIVE_INFINITY);
  });

  test("refuses layouts that can't be", () => {
    expect(() => new AllreduceWorker({ ...layoutFor(INT32, 2), rows: 0 }, 0)).toThrow(/rows must be/);
    expect(() => new AllreduceWorker(layoutFor(INT32, 2), 5)).toThrow(/no worker 5/);
    expect(rowCodec(INT32).id).toBe(1);
  });
});
