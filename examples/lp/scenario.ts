/**
 * Linear Pipelining between processes: a broadcast, a reduce and an allreduce over TCP, by the chain and by the binomial tree (MST), at 2 nodes
 * and at more. Each node sends at a limited rate, as over a cable of its own.
 *
 *   gradplane run examples/lp/scenario.ts --nodes 8
 */
import { type HostContext, type RunningHost, type ScenarioContext, scenario } from "gradplane/cli/run";
import { type Algorithm, costOf, type Operation, TcpSeat } from "gradplane/host/lp";

interface Settings {
  readonly node: number;
  readonly nodes: number;
  readonly values: number;
  readonly block: number;
  /** Bytes per second that the node sends at most. */
  readonly rate: number;
  readonly turns: number;
  readonly works: readonly Work[];
}

interface Work {
  readonly operation: Operation;
  readonly algorithm: Algorithm;
}

/** What a node tells of one work: its times, and the bits of what it got. */
interface Told {
  readonly milliseconds: readonly number[];
  readonly result: Float32Array | undefined;
}

const OPERATIONS: readonly Operation[] = ["broadcast", "reduce", "allreduce"];
const ALGORITHMS: readonly Algorithm[] = ["chain", "tree"];
const WORKS: readonly Work[] = OPERATIONS.flatMap((operation) =>
  ALGORITHMS.map((algorithm) => ({ operation, algorithm })),
);

/** Values of a node: their sum depends on its order. */
function valuesOf(node: number, count: number): Float32Array {
  return Float32Array.from({ length: count }, (_, i) => Math.sin(i * 1.7 + node * 0.3) * 10 ** (i % 7));
}

async function node({ settings, tell, heard }: HostContext): Promise<void> {
  // The scenario below is all that starts this.
  const { node, nodes, values: count, block, rate, turns, works } = settings as Settings;
  const seat = await TcpSeat.listen({ host: "127.0.0.1", port: 0 });
  tell(seat.port);
  const ports = (await heard()) as readonly number[];
  const addresses = ports.map((port) => ({ host: "127.0.0.1", port }));
  const group = await seat.join({ node, addresses, session: nodes, options: { rate, block } });
  const values = valuesOf(node, count);
  for (const { operation, algorithm } of works) {
    const milliseconds: number[] = [];
    let result: Float32Array | undefined;
    for (let turn = 0; turn < turns; turn++) {
      // All begin together.
      await group.allreduce(new Float32Array(1));
      const start = performance.now();
      if (operation === "allreduce") result = await group.allreduce(values, { algorithm });
      else if (operation === "reduce") result = await group.reduce(values, 0, { algorithm });
      else result = await group.broadcast(values, 0, { algorithm });
      milliseconds.push(performance.now() - start);
    }
    tell({ milliseconds, result } satisfies Told);
  }
  await heard();
  await group.close();
}

/** The sum in the order that the algorithm promises (docs/linear-pipelining.md). */
function chainSum(nodes: number, count: number, operation: Operation): Float32Array {
  const order = Array.from({ length: nodes }, (_, i) => i);
  // A reduce ends at its root, which adds its own values last.
  if (operation === "reduce") order.push(order.shift() ?? 0);
  const [first = 0, ...rest] = order;
  const sum = valuesOf(first, count);
  for (const other of rest) {
    const values = valuesOf(other, count);
    for (let i = 0; i < count; i++) sum[i] = (sum[i] ?? 0) + (values[i] ?? 0);
  }
  return sum;
}

const sameBits = (a: Float32Array | undefined, b: Float32Array): boolean =>
  a !== undefined && Buffer.compare(bytesOf(a), bytesOf(b)) === 0;

const bytesOf = (values: Float32Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength);

interface Measured {
  /** Of the slowest node, the best turn. */
  readonly milliseconds: number;
  readonly isExact: boolean;
}

async function measure(
  context: ScenarioContext<string>,
  common: Omit<Settings, "node">,
): Promise<readonly Measured[]> {
  const { nodes, values, turns } = common;
  context.progress.show(`${nodes} nodes: starting`);
  const hosts: readonly RunningHost[] = Array.from({ length: nodes }, (_, i) =>
    context.startHost("node", { ...common, node: i } satisfies Settings),
  );
  const ports = await Promise.all(hosts.map((host) => host.heard()));
  for (const host of hosts) host.tell(ports);
  const measured: Measured[] = [];
  for (const { operation, algorithm } of common.works) {
    context.progress.show(`${nodes} nodes: ${operation} by ${algorithm}`);
    const told = (await Promise.all(hosts.map((host) => host.heard()))) as readonly Told[];
    const times = Array.from({ length: turns }, (_, turn) =>
      Math.max(...told.map((t) => t.milliseconds[turn] ?? Number.POSITIVE_INFINITY)),
    );
    const wanted = operation === "broadcast" ? valuesOf(0, values) : chainSum(nodes, values, operation);
    const mine = operation === "reduce" ? told.slice(0, 1) : told;
    // The tree adds in another order, which test/host/lp claims.
    const isExact =
      algorithm === "chain" || operation === "broadcast"
        ? mine.every(({ result }) => sameBits(result, wanted))
        : mine.every(({ result }) => sameBits(result, mine[0]?.result ?? wanted));
    measured.push({ milliseconds: Math.min(...times), isExact });
  }
  for (const host of hosts) host.tell("done");
  await Promise.all(hosts.map((host) => host.stop()));
  return measured;
}

export default scenario({
  name: "lp",
  summary: "broadcast, reduce and allreduce over TCP between processes, by the chain and by the tree",
  options: {
    nodes: { help: "processes, 3 to 16; compared with 2", default: "4" },
    megabytes: { help: "megabytes of values, 1 to 64", default: "2" },
    rate: { help: "megabytes per second that a process sends at most, 1 to 1000", default: "2" },
    turns: { help: "times that each operation is done; the best counts", default: "2" },
  },
  hosts: { node },
  async run(context) {
    const nodes = context.whole("nodes", 3, 16);
    const values = context.whole("megabytes", 1, 64) * 250_000;
    const rate = context.whole("rate", 1, 1000) * 1e6;
    const turns = context.whole("turns", 1, 100);
    const block = Math.ceil(values / 64);
    const common = { values, block, rate, turns, works: WORKS };
    const few = await measure(context, { ...common, nodes: 2 });
    const many = await measure(context, { ...common, nodes });
    const rows = WORKS.map(({ operation, algorithm }, i) => {
      const [two, all] = [few[i], many[i]];
      const [a, b] = [two?.milliseconds ?? Number.NaN, all?.milliseconds ?? Number.NaN];
      const question = { operation, algorithm, bytes: values * 4, block: block * 4 };
      const formula = (n: number): number =>
        costOf({ latency: 0, perByte: 1000 / rate }, { ...question, nodes: n });
      return {
        ...{
          operation,
          algorithm,
          milliseconds: { two: a, all: b },
          ratio: b / a,
          formula: formula(nodes) / formula(2),
        },
        isExact: two?.isExact === true && all?.isExact === true,
      };
    });
    const isExact = rows.every((row) => row.isExact);
    const ratioOf = (operation: Operation, algorithm: Algorithm): number =>
      rows.find((r) => r.operation === operation && r.algorithm === algorithm)?.ratio ?? Number.NaN;
    const isFlat = OPERATIONS.every((o) => ratioOf(o, "chain") < ratioOf(o, "tree"));
    return {
      passed: isExact,
      table: rows.map((r) => [
        `${r.operation} by ${r.algorithm}`,
        `${r.milliseconds.two.toFixed(0)} ms with 2 nodes, ${r.milliseconds.all.toFixed(0)} ms with ${nodes}: ${r.ratio.toFixed(2)} times (by the formula ${r.formula.toFixed(2)})`,
      ]),
      verdict:
        `every node got ${isExact ? "" : "NOT "}the bits of the serial sum in its algorithm's order; ` +
        `from 2 to ${nodes} processes the chain's time grows ${isFlat ? "less" : "no less (is the machine busy?)"} than the tree's in all three operations`,
      data: { options: context.options, rows },
    };
  },
});
