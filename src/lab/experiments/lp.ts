import { CollectiveNode } from "../../host/lp/node.ts";
import type { Algorithm, Operation } from "../../host/lp/schedule.ts";
import { seededRandom } from "../../host/random.ts";
import { PipeNetwork } from "../pipes.ts";
import type { Comparison, Experiment, Points } from "./experiment.ts";

/** PCIe of the paper's machine, about 12 GB/s, with 1 us for each message; times in milliseconds. */
const LATENCY = 0.001;
const PER_BYTE = 1 / 12e6;
/** Blocks of 64 KB, and 800 of them: a message of 52 MB. */
const BLOCK = 65_536;
const BLOCKS = 800;
/** Bytes are divided by this and take as much longer, which leaves all times as they are. */
const SCALE = 128;

const NODES = [2, 4, 8, 16, 32, 64];
const ALGORITHMS: readonly (readonly [string, Algorithm])[] = [
  ["linear pipelining", "chain"],
  ["binomial tree (MST)", "tree"],
  ["bidirectional exchange", "exchange"],
  ["ring", "ring"],
];

/** Time until the last node is done. */
function measure(operation: Operation, algorithm: Algorithm, nodes: number): number {
  const block = BLOCK / SCALE / 4;
  const random = seededRandom(nodes);
  const x = Array.from({ length: nodes }, () =>
    Float32Array.from({ length: block * BLOCKS }, () => random() - 0.5),
  );
  const machines = x.map(
    (_, node) =>
      new CollectiveNode(
        { node, nodes, session: 1 },
        // Without overlap, as the formulas have it.
        { block, overlap: false, heartbeat: Number.POSITIVE_INFINITY },
      ),
  );
  let time = Number.NaN;
  let sum: Float32Array | undefined;
  const pipes = { latency: LATENCY, perByte: PER_BYTE * SCALE, ports: "one" } as const;
  const network = new PipeNetwork(pipes, machines, (node, action) => {
    if (action.type === "error") throw action.error;
    if (action.type === "done") time = network.now;
    if (action.type === "done" && node === 0) sum = action.values;
  });
  for (const [node, values] of x.entries())
    network.dispatch(node, { type: "start", operation, algorithm, root: 0, values });
  network.run();
  if (operation === "reduce" && algorithm === "chain") checkSum(sum, x);
  return time;
}

/** The chain's sum has the bits of adding one after the other, the root last. */
function checkSum(sum: Float32Array | undefined, [root, ...others]: readonly Float32Array[]): void {
  const serial = [...others, ...(root === undefined ? [] : [root])].reduce((a, b) =>
    a.map((v, i) => v + (b[i] ?? 0)),
  );
  if (sum === undefined || !serial.every((v, i) => v === sum?.[i]))
    throw new Error("a chain's sum is not the serial sum");
}

const PAPER_TREE = "grows with log P";

function comparisons(operation: Operation, points: Points): readonly Comparison[] {
  const ratio = (series: string): number => points.mean(series, 64) / points.mean(series, 2);
  const against = points.mean("bidirectional exchange", 64) / points.mean("linear pipelining", 64);
  const steps = operation === "allreduce" ? 2 * (BLOCKS + 62) : BLOCKS + 62;
  const perStep = LATENCY + BLOCK * PER_BYTE;
  return [
    {
      what: `${operation}: time with 64 nodes to time with 2, linear pipelining`,
      paper: "nearly constant for large messages",
      ours: ratio("linear pipelining").toFixed(2),
      reason: "",
    },
    {
      what: `${operation}: steps with 64 nodes`,
      paper: `blocks + P - 2${operation === "allreduce" ? ", twice" : ""} = ${steps}`,
      ours: (points.mean("linear pipelining", 64) / perStep).toFixed(2),
      reason: "",
    },
    {
      what: `${operation}: time with 64 nodes to time with 2, tree`,
      paper: PAPER_TREE,
      ours: ratio("binomial tree (MST)").toFixed(2),
      reason: "",
    },
    {
      what: `${operation}: bidirectional exchange to linear pipelining, 64 nodes`,
      paper: "up to 2",
      ours: against.toFixed(2),
      reason:
        operation === "allreduce"
          ? "Both send each value twice where a node has one port each way: a chain has no advantage there (docs/linear-pipelining.md)."
          : "Each of the chain's blocks costs 1 us on top of the 5.5 us that its bytes take; with longer blocks the ratio comes closer to 2.",
    },
  ];
}

function collective(operation: Operation): Experiment {
  return {
    name: `lp-${operation}`,
    title: `Linear Pipelining: ${operation} over the number of nodes`,
    setting:
      `${operation} of ${((BLOCK * BLOCKS) / 1e6).toFixed(0)} MB in ${BLOCKS} blocks of 64 KB between nodes with one port each way (12 GB/s, 1 us per message), by the state machines that run over TCP. ` +
      `Adding takes no time. ${operation === "reduce" ? "The chain's sum is compared bit by bit with the serial one. " : ""}Nothing is random, so one seed says all.`,
    x: { label: "nodes", scale: "log" },
    y: { label: "milliseconds", scale: "linear" },
    seeds: 1,
    run(_seed, progress) {
      return NODES.flatMap((nodes) => {
        progress(`${nodes} nodes`);
        return ALGORITHMS.map(([series, algorithm]) => ({
          ...{ series, x: nodes, y: measure(operation, algorithm, nodes) },
        }));
      });
    },
    compare: (points) => comparisons(operation, points),
  };
}

export const LP_EXPERIMENTS: readonly Experiment[] = [
  collective("broadcast"),
  collective("reduce"),
  collective("allreduce"),
];
