import { describe, expect, test } from "vitest";
import { bestBlock, type CostQuestion, costOf } from "../../../src/host/lp/cost.ts";
import { CollectiveNode } from "../../../src/host/lp/node.ts";
import type { Algorithm, Operation } from "../../../src/host/lp/schedule.ts";
import { type PipeModel, PipeNetwork } from "../../../src/lab/pipes.ts";

/** 1 Gbit/s, 20 us a message, adding at 2 GB/s; times in milliseconds. */
const model = { latency: 0.02, perByte: 8e-6, addPerByte: 5e-7 };

interface Measured {
  /** When the last node is done. */
  readonly time: number;
  readonly messages: number;
  readonly highestBlocks: number;
}

function measure(q: CostQuestion, pipes: Partial<PipeModel> = {}, overlap = false): Measured {
  const { nodes, bytes, operation, algorithm } = q;
  const options = { block: q.block / 4, overlap, heartbeat: Number.POSITIVE_INFINITY };
  const machines = Array.from(
    { length: nodes },
    (_, node) => new CollectiveNode({ node, nodes, session: 1 }, options),
  );
  let time = Number.NaN;
  let done = 0;
  const network = new PipeNetwork({ ...model, ports: "one", ...pipes }, machines, (_, action) => {
    if (action.type !== "done") return;
    time = network.now;
    done++;
  });
  const values = new Float32Array(bytes / 4);
  for (let node = 0; node < nodes; node++)
    network.dispatch(node, { type: "start", operation, algorithm, root: 0, values });
  network.run();
  expect(done).toBe(nodes);
  const highestBlocks = Math.max(...machines.map((m) => m.highestBlocks));
  return { time, messages: network.messages, highestBlocks };
}

const algorithms: readonly Algorithm[] = ["chain", "tree", "exchange", "ring"];
const operations: readonly Operation[] = ["broadcast", "reduce", "allreduce"];

describe("the cost formulas", () => {
  test.each(algorithms.flatMap((a) => operations.map((o) => [a, o] as const)))(
    "of %s, %s give the time that the lab measures",
    (algorithm, operation) => {
      for (const nodes of [2, 4, 8, 16]) {
        const q = { operation, algorithm, nodes, bytes: 65536, block: 4096 };
        expect(measure(q).time).toBeCloseTo(costOf(model, q), 9);
      }
    },
  );

  test.each(operations)("of chain and tree, %s hold for any number of nodes", (operation) => {
    for (const algorithm of ["chain", "tree"] as const)
      for (const nodes of [1, 3, 5, 6, 7, 13]) {
        const q = { operation, algorithm, nodes, bytes: 40_000, block: 400 };
        expect(measure(q).time).toBeCloseTo(costOf(model, q), 9);
      }
  });
});

describe("linear pipelining", () => {
  test("takes exactly blocks + nodes - 2 steps", () => {
    const step = { latency: 1, perByte: 0, addPerByte: 0 };
    for (const operation of ["broadcast", "reduce"] as const)
      for (const nodes of [2, 3, 5, 8, 17])
        for (const blocks of [1, 2, 7, 50]) {
          const q = { operation, algorithm: "chain", nodes, bytes: blocks * 64, block: 64 } as const;
          const { time, messages } = measure(q, step);
          expect([time, messages]).toEqual([blocks + nodes - 2, blocks * (nodes - 1)]);
        }
  });

  test("takes blocks + 2 nodes - 3 steps there and back, when cables carry both ways at once", () => {
    const step = { latency: 1, perByte: 0, addPerByte: 0, ports: "perPeer" } as const;
    for (const nodes of [2, 3, 5, 8])
      for (const blocks of [1, 2, 7, 50]) {
        const q = {
          operation: "allreduce",
          algorithm: "chain",
          nodes,
          bytes: blocks * 64,
          block: 64,
        } as const;
        expect(measure(q, step, true).time).toBe(blocks + 2 * nodes - 3);
        expect(measure(q, step, false).time).toBe(2 * (blocks + nodes - 2));
      }
  });

  test("holds at most two blocks on each hop", () => {
    for (const nodes of [3, 8]) {
      const q = { operation: "reduce", algorithm: "chain", nodes, bytes: 65536, block: 1024 } as const;
      expect(measure(q).highestBlocks).toBe(2);
    }
  });

  test("needs nearly the same time for 2 and for 64 nodes when the message is large; the tree needs log P times as much", () => {
    const q = { operation: "reduce", bytes: 800 * 512, block: 512 } as const;
    const time = (algorithm: Algorithm, nodes: number) =>
      measure({ ...q, algorithm, nodes }, { latency: 0.0001 }).time;
    expect(time("chain", 64) / time("chain", 2)).toBeLessThan(1.1);
    expect(time("tree", 64) / time("tree", 2)).toBeCloseTo(6, 9);
  });

  test("is nearly twice as fast as bidirectional exchange for large messages", () => {
    for (const operation of ["broadcast", "reduce"] as const) {
      const q = { operation, nodes: 16, bytes: 2 ** 22 };
      const fast = { ...model, latency: 0.002 };
      const block = bestBlock(fast, operation, 16, q.bytes);
      const [chain, exchange] = (["chain", "exchange"] as const).map(
        (algorithm) => measure({ ...q, algorithm, block }, fast).time,
      );
      expect((exchange ?? 0) / (chain ?? 1)).toBeGreaterThan(1.7);
      expect((exchange ?? 0) / (chain ?? 1)).toBeLessThan(2);
    }
  });
});

describe("the best block", () => {
  test("is faster than those around it, by the formula and in the lab", () => {
    for (const operation of ["broadcast", "reduce"] as const)
      for (const nodes of [3, 8, 30]) {
        const bytes = 2 ** 20;
        const best = bestBlock(model, operation, nodes, bytes);
        const time = (block: number) => measure({ operation, algorithm: "chain", nodes, bytes, block }).time;
        for (const factor of [0.25, 0.5, 2, 4])
          expect(time(best)).toBeLessThan(time(Math.round((best * factor) / 4) * 4));
      }
  });

  test("is the whole message for two nodes, and never more than it nor less than one value", () => {
    expect(bestBlock(model, "reduce", 2, 1000)).toBe(1000);
    expect(bestBlock(model, "broadcast", 1000, 4)).toBe(4);
    expect(bestBlock(model, "allreduce", 5, 0)).toBe(4);
    expect(bestBlock({ latency: 0, perByte: 1 }, "reduce", 5, 1000)).toBe(4);
  });
});
