import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CollectiveError } from "../../../src/host/lp/errors.ts";
import { type CollectiveAction, CollectiveNode, type CollectiveOptions } from "../../../src/host/lp/node.ts";
import type { Algorithm, Operation } from "../../../src/host/lp/schedule.ts";
import { type Random, seededRandom } from "../../../src/host/random.ts";
import { type PipeModel, PipeNetwork } from "../../../src/lab/pipes.ts";
import { expectedSum } from "./serialsum.ts";

const algorithms: readonly Algorithm[] = ["chain", "tree", "exchange", "ring"];
const operations: readonly Operation[] = ["broadcast", "reduce", "allreduce"];
const model: PipeModel = { latency: 0.05, perByte: 1e-5, ports: "one" };

function group(nodes: number, options: Partial<CollectiveOptions> = {}, pipes = model) {
  const quiet = { heartbeat: Number.POSITIVE_INFINITY, ...options };
  const machines = Array.from(
    { length: nodes },
    (_, node) => new CollectiveNode({ node, nodes, session: 7 }, quiet),
  );
  const actions: { node: number; action: CollectiveAction }[] = [];
  const network = new PipeNetwork(pipes, machines, (node, action) => actions.push({ node, action }));
  for (let a = 0; a < nodes; a++)
    for (let b = 0; b < nodes; b++) if (a !== b) network.dispatch(a, { type: "connected", peer: b });
  const results = (number = 0) =>
    machines.map(
      (_, node) =>
        actions.flatMap(({ node: n, action }) =>
          n === node && action.type === "done" && action.number === number ? [action.values] : [],
        )[0],
    );
  const errors = () =>
    machines.map((_, node) =>
      actions.flatMap(({ node: n, action }) => (n === node && action.type === "error" ? [action.error] : [])),
    );
  return { machines, network, actions, results, errors };
}

/** Values of very different size, so that the order of a sum shows in its bits. */
function valuesOf(random: Random, length: number): Float32Array {
  return Float32Array.from({ length }, () => (random() - 0.5) * 2 ** Math.floor(random() * 30));
}

function perform(setting: {
  readonly nodes: number;
  readonly operation: Operation;
  readonly algorithm: Algorithm;
  readonly root: number;
  readonly x: readonly Float32Array[];
  readonly options?: Partial<CollectiveOptions>;
  readonly random?: Random;
}) {
  const { nodes, operation, algorithm, root, x, options, random } = setting;
  const made = group(nodes, options);
  for (const [node, values] of x.entries())
    made.network.at(random === undefined ? 0 : random(), () =>
      made.network.dispatch(node, { type: "start", operation, algorithm, root, values }),
    );
  made.network.run();
  return made;
}

const bits = (values: Float32Array | undefined) =>
  values === undefined ? undefined : [...new Uint32Array(values.slice().buffer)];

describe.each(algorithms)("%s", (algorithm) => {
  test.each(operations)("%s gives every node the bits that its order of summation gives", (operation) => {
    fc.assert(
      fc.property(
        fc.record({
          nodes: fc.integer({ min: 1, max: 13 }),
          root: fc.nat(12),
          length: fc.oneof(fc.constantFrom(0, 1, 2), fc.integer({ min: 0, max: 90 })),
          block: fc.integer({ min: 1, max: 100 }),
          overlap: fc.boolean(),
          seed: fc.integer(),
        }),
        ({ nodes, root: anyRoot, length, block, overlap, seed }) => {
          const root = anyRoot % nodes;
          const random = seededRandom(seed);
          const x = Array.from({ length: nodes }, () => valuesOf(random, length));
          const before = x.map(bits);
          const { results, errors } = perform({
            ...{ nodes, operation, algorithm, root, x, random },
            options: { block, overlap },
          });
          const sum = bits(operation === "broadcast" ? x[root] : expectedSum(algorithm, operation, root, x));
          const isGiven = (node: number) => operation !== "reduce" || node === root;
          expect(errors().flat()).toEqual([]);
          expect(results().map(bits)).toEqual(x.map((_, node) => (isGiven(node) ? sum : undefined)));
          expect(x.map(bits)).toEqual(before);
        },
      ),
      { numRuns: 50 },
    );
  });

  test("a sum is within the bound of binary32 of the float64 sum", () => {
    const random = seededRandom(11);
    const [nodes, length] = [9, 500];
    const x = Array.from({ length: nodes }, () => valuesOf(random, length));
    const { results } = perform({ nodes, operation: "allreduce", algorithm, root: 0, x });
    for (let i = 0; i < length; i++) {
      const terms = x.map((v) => v[i] ?? 0);
      const exact = terms.reduce((a, b) => a + b, 0);
      // nodes - 1 roundings, each of at most half a unit of the greatest partial sum.
      const bound = (nodes - 1) * 2 ** -24 * terms.reduce((a, b) => a + Math.abs(b), 0) * 1.001;
      expect(Math.abs((results()[0]?.[i] ?? Number.NaN) - exact)).toBeLessThanOrEqual(bound);
    }
  });

  test("infinities, NaN and zeros go through as IEEE 754 says", () => {
    const special = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, -0, 0, 2 ** -149];
    const x = [Float32Array.from(special), Float32Array.from(special), Float32Array.from(special)];
    const { results } = perform({ nodes: 3, operation: "allreduce", algorithm, root: 0, x });
    const sum = [
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
      Number.NaN,
      -0,
      0,
      Math.fround(3 * 2 ** -149),
    ];
    for (const result of results()) expect([...(result ?? [])]).toEqual(sum);
  });

  test("operations follow each other without meeting, in any mix and however late a node starts", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ operation: fc.constantFrom(...operations), root: fc.nat(4), length: fc.nat(20) }),
          {
            minLength: 1,
            maxLength: 6,
          },
        ),
        fc.integer(),
        (list, seed) => {
          const random = seededRandom(seed);
          const nodes = 5;
          const { network, results, errors } = group(nodes, { block: 4 });
          const inputs = list.map(({ length }) =>
            Array.from({ length: nodes }, () => valuesOf(random, length)),
          );
          for (let node = 0; node < nodes; node++) {
            let at = random() * 3;
            for (const [k, { operation, root }] of list.entries()) {
              const values = inputs[k]?.[node] ?? new Float32Array(0);
              network.at(at, () =>
                network.dispatch(node, { type: "start", operation, algorithm, root, values }),
              );
              at += random();
            }
          }
          network.run();
          expect(errors().flat()).toEqual([]);
          for (const [k, { operation, root }] of list.entries()) {
            const x = inputs[k] ?? [];
            const sum = operation === "broadcast" ? x[root] : expectedSum(algorithm, operation, root, x);
            expect(bits(results(k)[root])).toEqual(bits(sum));
          }
        },
      ),
      { numRuns: 20 },
    );
  });

  test("nodes that disagree about length, root, block or operation are named, and nobody gets values", () => {
    const start = { type: "start", operation: "allreduce", algorithm, root: 0 } as const;
    const others: readonly (typeof start | object)[] = [
      { ...start, values: new Float32Array(11) },
      { ...start, operation: "reduce", values: new Float32Array(10) },
      { ...start, root: 1, values: new Float32Array(10) },
      ...(algorithm === "chain" ? [{ ...start, values: new Float32Array(10), options: { block: 3 } }] : []),
    ];
    for (const other of others) {
      const { network, results, errors } = group(4, { block: 4 });
      for (const node of [0, 1, 2, 3])
        network.dispatch(node, {
          ...start,
          values: new Float32Array(10),
          ...(node === 2 ? other : {}),
        });
      network.run();
      const found = errors().flat();
      expect(found).toHaveLength(4);
      expect(new Set(found.map((e) => e.code))).toEqual(new Set(["node_disagrees"]));
      expect(results().filter((r) => r !== undefined)).toEqual([]);
    }
  });
});

describe("a group that loses a node", () => {
  test("tells every survivor which one, whatever it was doing", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...algorithms),
        fc.integer({ min: 2, max: 9 }),
        fc.nat(8),
        fc.double({ min: 0, max: 2, noNaN: true }),
        (algorithm, nodes, anyDead, at) => {
          const dead = anyDead % nodes;
          const { network, errors, results } = group(nodes, { block: 100 });
          const values = new Float32Array(20_000);
          network.at(at, () => network.kill(dead, 5));
          for (let node = 0; node < nodes; node++)
            network.dispatch(node, { type: "start", operation: "allreduce", algorithm, root: 0, values });
          network.run();
          expect(network.now).toBeLessThan(2000);
          for (const [node, found] of errors().entries()) {
            if (node === dead || results()[node] !== undefined) continue;
            expect(found.map((e) => [e.code, e.node])).toEqual([["node_lost", dead]]);
          }
        },
      ),
    );
  });

  test("does no operation any more", () => {
    const { network, machines } = group(3);
    network.kill(1, 0);
    network.run();
    const start = { type: "start", operation: "reduce", algorithm: "chain", root: 0 } as const;
    const values = new Float32Array(1);
    for (const node of [0, 2])
      expect(() => machines[node]?.handle({ ...start, values }, 0)).toThrow(CollectiveError);
  });

  test("a silent node is lost after the time allowed, one that only waits is not", () => {
    const node = new CollectiveNode({ node: 0, nodes: 2, session: 1 }, { heartbeat: 100, silence: 1000 });
    node.handle({ type: "connected", peer: 1 }, 0);
    const values = new Float32Array(1);
    node.handle({ type: "start", operation: "reduce", algorithm: "chain", root: 0, values }, 0);
    const found: CollectiveAction[] = [];
    const heartbeat = node.handle({ type: "tick" }, 100)[0];
    for (let now = 200; now <= 5000; now += 100) {
      if (now < 3000 && heartbeat?.type === "message")
        node.handle({ type: "message", from: 1, message: heartbeat.message }, now);
      found.push(...node.handle({ type: "tick" }, now).filter((a) => a.type === "error"));
      if (now === 3700) expect(found).toEqual([]);
    }
    expect(found).toMatchObject([{ error: { code: "node_lost", node: 1 } }]);
  });

  test("time in which this process itself stood still does not count as silence", () => {
    const node = new CollectiveNode({ node: 0, nodes: 2, session: 1 }, { heartbeat: 100, silence: 1000 });
    node.handle({ type: "connected", peer: 1 }, 0);
    expect(node.handle({ type: "tick" }, 60_000).filter((a) => a.type === "error")).toEqual([]);
  });

  test("who leaves when all is done is no failure; who is still needed is", () => {
    const start = { type: "start", operation: "reduce", algorithm: "chain", root: 2 } as const;
    const values = new Float32Array(4);
    const { network, results, errors } = group(3);
    network.dispatch(0, { ...start, values });
    network.run();
    network.dispatch(0, { type: "leave" });
    network.dispatch(1, { ...start, values });
    network.dispatch(2, { ...start, values });
    network.run();
    expect(results()[2]).toEqual(values);
    expect(errors().flat()).toEqual([]);
    for (const node of [1, 2]) network.dispatch(node, { ...start, root: 0, values });
    network.run();
    expect(errors().flat()).toMatchObject([
      { code: "node_left", node: 0 },
      { code: "node_left", node: 0 },
    ]);
  });
});

test("wrong calls are refused before anything is sent", () => {
  const values = new Float32Array(3);
  const node = new CollectiveNode({ node: 0, nodes: 2, session: 1 });
  const start = { type: "start", operation: "reduce", algorithm: "chain", root: 0, values } as const;
  expect(() => node.handle({ ...start, root: 2 }, 0)).toThrow("root 2 is not in a group of 2");
  expect(() => node.handle({ ...start, options: { block: 0 } }, 0)).toThrow("a block has at least 1 value");
  expect(() => new CollectiveNode({ node: 3, nodes: 3, session: 1 })).toThrow(
    "node 3 is not in a group of 3",
  );
  node.handle({ type: "leave" }, 0);
  expect(() => node.handle(start, 0)).toThrow("has left");
});
