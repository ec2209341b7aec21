/**
 * One job that uses everything, on one switch that runs the program beside this file. Each worker and the parameter server are processes. In every round
 * - the sparse gradients of an embedding go by Libra: hot keys are summed by the switch, the others by the server;
 * - the dense layers go by P3, slice by slice, the front of the model first, each in the class of its layer;
 * - one large tensor goes by DLCP: up to a tenth of it may be missing, small gradients first;
 * - the workers sum their statistics up by Linear Pipelining, over TCP.
 * All is compared with what a serial run gives.
 *
 *   gradplane run examples/all-in-one/scenario.ts --workers 3 --loss 0.02
 */
import { contentsOf, isAggregation } from "gradplane";
import { generate, loadableOf } from "gradplane/backends";
import { type HostContext, scenario } from "gradplane/cli/run";
import { Fleet, type HostNode, OwnJob, type Placement, type Topology } from "gradplane/controller";
import {
  type DlcpAction,
  type DlcpEvent,
  DlcpHost,
  type DlcpJob,
  type DlcpOptions,
} from "gradplane/host/dlcp";
import {
  type JobLayout,
  KVServer,
  KVWorker,
  LibraServer,
  LibraWorker,
  type ServerEvent,
  seededRandom,
  type WorkerEvent,
} from "gradplane/host/libra";
import { TcpSeat } from "gradplane/host/lp";
import {
  cutModel,
  FixedWindow,
  type HostMachine,
  meanDescent,
  P3,
  type P3Job,
  P3Server,
  type P3ServerEvent,
  P3Worker,
  type P3WorkerEvent,
  SharedHost,
  UdpHost,
} from "gradplane/host/p3";
import type { NumericMode } from "gradplane/numeric";
import { layoutOf } from "../libra/job.ts";
import { endpointOf, Failures, nowhere } from "../star.ts";
import program from "./program.ts";

/** Keys of the embedding: the first are hot, every worker has some of them in each round. */
const HOT_ROWS = 8;
const COLD_KEYS = 100;
/** Parameters of the dense layers, from the front. */
const LAYER_SIZES = [300, 600, 2000, 400];
/** Values of the tensor that may lose some, of a packet of it, and the share that may be missing. */
const LOSSY = 8000;
const SEGMENT = 100;
const BOUND = 0.1;
const STATISTICS = 500;
const DISCIPLINE = { ...P3, limit: 250 };
const RATE = 0.1;
/** For processes that a busy machine may let wait: patient, and with few packets under way. */
const P3_OPTIONS = {
  ...{ minTimeout: 50, maxTimeout: 2000, retries: 60, silence: 60_000, switchPriority: true },
  control: () => new FixedWindow(8),
};
const LIBRA_OPTIONS = { timeout: 50, maxTimeout: 1000, retries: 120, collectAfter: 150 };
const DLCP_OPTIONS = {
  ...{ patience: 20, probeTimeout: 50, maxProbeTimeout: 2000, retries: 60, silence: 60_000 },
  ...{ lineRate: 2e8, marks: { priority: true, importance: "medianOfMeans" } },
} satisfies Partial<DlcpOptions>;
/** Gradients are multiples of this, so that sums in binary32 are exact in any order. */
const GRAIN = 2 ** -10;

interface Settings {
  /** Workers from 0; the parameter server comes after them. */
  readonly host: number;
  readonly workers: number;
  readonly rounds: number;
  readonly loss: number;
  readonly seed: number;
  readonly mode: NumericMode;
  /** Where the job is before the switch has it. */
  readonly layout: JobLayout;
}

interface Plugged {
  readonly remote: typeof nowhere;
  readonly layout: JobLayout;
  /** TCP ports of the workers. */
  readonly tcp: readonly number[];
}

/** What the server tells in the end. */
interface Told {
  readonly embedding: ReadonlyMap<number, number>;
  readonly slices: readonly { readonly number: number; readonly parameters: Float32Array }[];
  readonly lossy: { readonly transfers: number; readonly worst: number; readonly wrong: number };
}

// What the workers compute: made up, and the same in every run.

function sparseOf(worker: number, round: number, lanes: number) {
  const random = seededRandom(worker * 977 + round);
  const hot = Array.from({ length: HOT_ROWS * lanes }, (_, key) => key).filter(() => random() < 0.5);
  const cold = Array.from({ length: COLD_KEYS }, (_, i) => HOT_ROWS * lanes + i).filter(() => random() < 0.1);
  const keys = Uint32Array.from([...hot, ...cold]);
  return { keys, values: Float32Array.from(keys, () => Math.round((random() - 0.5) / GRAIN) * GRAIN) };
}

function denseOf(worker: number, round: number, what: number, size: number): Float32Array {
  const random = seededRandom(worker * 7919 + round * 101 + what);
  let magnitude = 1;
  return Float32Array.from({ length: size }, (_, i) => {
    if (i % SEGMENT === 0) magnitude = 10 ** (random() * 3 - 3);
    return (random() + 0.01) * magnitude;
  });
}

const lossyOf = (worker: number, round: number): Float32Array => denseOf(worker, round, 50, LOSSY);
const statisticsOf = (worker: number, round: number): Float32Array => denseOf(worker, round, 60, STATISTICS);

function p3Job(workers: number): P3Job {
  const endpoints = Array.from({ length: workers + 1 }, (_, i) => endpointOf(i));
  return {
    ...{ job: 2, workers: endpoints.slice(0, workers), servers: endpoints.slice(workers) },
    ...{ layers: LAYER_SIZES, discipline: DISCIPLINE },
  };
}

function dlcpJob(workers: number): DlcpJob {
  const numbers = Array.from({ length: workers }, (_, w) => w);
  return {
    ...{
      job: 3,
      layers: LAYER_SIZES.length + 1,
      segment: SEGMENT,
      hosts: [...numbers, workers].map(endpointOf),
    },
    tensors: [
      {
        ...{ elements: LOSSY, layer: LAYER_SIZES.length, bound: BOUND, missing: "zero" },
        ...{ senders: numbers, receivers: [workers] },
      },
    ],
  };
}

/** A machine whose actions go to whom they concern, so that several kinds of machines can share a host. */
function tapped<Event extends { readonly type: string }, Action extends { readonly type: string }>(
  machine: HostMachine<Event, Action>,
  onAction: (action: Action) => void,
): HostMachine<Event, never> {
  return {
    get wakeAt() {
      return machine.wakeAt;
    },
    handle(event, now) {
      return machine.handle(event, now).flatMap((action) => {
        if (isSend(action)) return [action];
        onAction(action);
        return [];
      });
    },
  };
}

type Send = Extract<ReturnType<HostMachine<never, never>["handle"]>[number], { type: "send" }>;

function isSend<Action extends { readonly type: string }>(action: Action | Send): action is Send {
  return action.type === "send";
}

interface Link {
  /** For machine `number` on this host. */
  dispatch(number: number, event: AnyEvent): void;
  readonly port: number;
  plug(remote: typeof nowhere): void;
  close(): Promise<void>;
}

type AnyEvent = WorkerEvent | ServerEvent | P3WorkerEvent | P3ServerEvent | DlcpEvent;

async function linkOf(
  { host, loss, seed }: Settings,
  machines: readonly HostMachine<AnyEvent, never>[],
  failures: Failures,
): Promise<Link> {
  const udp = await UdpHost.open(new SharedHost<AnyEvent, never>(endpointOf(host).number, machines), {
    remote: nowhere,
    faults: { loss, random: seededRandom(seed * 1000 + host) },
    onAction: () => {},
    onError: failures.fail,
  });
  return {
    dispatch: (machine, what) => udp.dispatch({ type: "of", machine, what }),
    port: udp.local.port,
    plug: (remote) => udp.plug(remote),
    close: () => udp.close(),
  };
}

async function worker({ settings, tell, heard }: HostContext): Promise<void> {
  // The scenario below is all that starts this.
  const own = settings as Settings;
  const { host, workers, rounds, layout } = own;
  const failures = new Failures();
  const { fail } = failures;
  const updated: (() => void)[] = [];
  let isSent = (): void => {};
  const libra = tapped(new LibraWorker(layout, host, LIBRA_OPTIONS), (action) => client.notice(action));
  const p3 = tapped(new P3Worker(p3Job(workers), host, P3_OPTIONS), (action) => {
    if (action.type === "error") fail(action.error);
    else if (action.type === "updated") updated[action.layer]?.();
  });
  const dlcp = tapped(new DlcpHost(dlcpJob(workers), host, DLCP_OPTIONS), (action) => {
    if (action.type === "error") fail(action.error);
    else if (action.type === "sent") isSent();
  });
  const machines: readonly HostMachine<AnyEvent, never>[] = [libra, p3, dlcp];
  const link = await linkOf(own, machines, failures);
  const client: KVWorker = new KVWorker({ dispatch: (event) => link.dispatch(0, event) });
  const seat = await TcpSeat.listen({ host: "127.0.0.1", port: 0 });
  tell({ udp: link.port, tcp: seat.port });
  const { remote, layout: placed, tcp } = (await heard()) as Plugged;
  link.plug(remote);
  client.move(placed);
  const addresses = tcp.map((port) => ({ host: "127.0.0.1", port }));
  const group = await seat.join({ node: host, addresses, session: 1 });
  let wrongSums = 0;
  for (let round = 1; round <= rounds; round++) {
    const sparse = sparseOf(host, round, placed.lanes);
    const pushed = client.wait(client.push(sparse.keys, sparse.values));
    const lossy = new Promise<void>((resolve) => {
      isSent = resolve;
    });
    link.dispatch(2, { type: "send", to: workers, tensor: 0, values: lossyOf(host, round) });
    const dense = LAYER_SIZES.map(
      (_, layer) =>
        new Promise<void>((resolve) => {
          updated[layer] = resolve;
        }),
    );
    // Backward: the last layer's gradient comes first.
    for (let layer = LAYER_SIZES.length - 1; layer >= 0; layer--)
      link.dispatch(1, {
        ...{ type: "gradient", layer },
        values: denseOf(host, round, layer, LAYER_SIZES[layer] ?? 0),
      });
    const sum = await group.allreduce(statisticsOf(host, round), { algorithm: "chain" });
    const wanted = serialSum(workers, (other) => statisticsOf(other, round));
    if (!sum.every((v, i) => Object.is(v, wanted[i]))) wrongSums++;
    await failures.during(Promise.all([pushed, lossy, ...dense]));
  }
  await failures.during(client.leave());
  tell({ wrongSums });
  // Others may still want to hear what they have heard.
  await heard();
  await group.close();
  await link.close();
}

/** In the order of the chain, in binary32. */
function serialSum(workers: number, of: (worker: number) => Float32Array): Float32Array {
  const sum = of(0);
  for (let other = 1; other < workers; other++)
    for (const [i, v] of of(other).entries()) sum[i] = (sum[i] ?? 0) + v;
  return sum;
}

async function server({ settings, tell, heard }: HostContext): Promise<void> {
  // The scenario below is all that starts this.
  const own = settings as Settings;
  const { host, workers, layout } = own;
  const failures = new Failures();
  const { fail } = failures;
  const store = new KVServer((values) => (_, keys, sums) => {
    keys.forEach((key, i) => {
      values.set(key, (values.get(key) ?? 0) + (sums[i] ?? 0));
    });
  });
  const lossy = { transfers: 0, worst: 0, wrong: 0 };
  const initial = LAYER_SIZES.map((n) => new Float32Array(n));
  const p3 = new P3Server(p3Job(workers), 0, initial, meanDescent(RATE), P3_OPTIONS);
  const machines: readonly HostMachine<AnyEvent, never>[] = [
    tapped(new LibraServer(layout, store, LIBRA_OPTIONS), (action) => {
      if (action.type === "error") fail(action.error);
    }),
    tapped(p3, (action) => {
      if (action.type === "error") fail(action.error);
    }),
    tapped(new DlcpHost(dlcpJob(workers), host, DLCP_OPTIONS), (action) => {
      if (action.type === "error") fail(action.error);
      else if (action.type === "received") checkLossy(action, lossy);
    }),
  ];
  const link = await linkOf(own, machines, failures);
  tell({ udp: link.port });
  const { remote, layout: placed } = (await heard()) as Plugged;
  link.plug(remote);
  link.dispatch(0, { type: "layout", layout: placed });
  // All workers are done.
  await failures.during(heard());
  const slices = cutModel(LAYER_SIZES, 1, DISCIPLINE).flatMap(({ number }) => {
    const parameters = p3.parametersOf(number);
    return parameters === undefined ? [] : [{ number, parameters }];
  });
  tell({ embedding: new Map(store.values), slices, lossy } satisfies Told);
  await heard();
  await link.close();
}

function checkLossy(
  { from, iteration, values, lost }: Extract<DlcpAction, { type: "received" }>,
  found: { transfers: number; worst: number; wrong: number },
): void {
  const wanted = lossyOf(from, iteration);
  for (const { offset, count } of lost) wanted.fill(0, offset, offset + count);
  found.wrong += values.filter((v, i) => v !== wanted[i]).length;
  found.transfers++;
  found.worst = Math.max(found.worst, lost.reduce((sum, { count }) => sum + count, 0) / values.length);
}

const CPU_PORT = 64;
const JOB = 1;

export default scenario({
  name: "all-in-one",
  summary: "one job with Libra, P3, DLCP and Linear Pipelining on one switch",
  options: {
    workers: { help: "workers, 2 to 8", default: "3" },
    rounds: { help: "rounds, 1 to 1000", default: "4" },
    loss: { help: "probability that a frame is lost on a link", default: "0.01" },
    seed: { help: "seed of the faults", default: "1" },
  },
  hosts: { worker, server },
  async run(context) {
    const workers = context.whole("workers", 2, 8);
    const rounds = context.whole("rounds", 1, 1000);
    const loss = context.fraction("loss");
    const seed = context.whole("seed", 0, 2 ** 31 - 1);
    const aggregation = program.features.find(isAggregation);
    if (aggregation === undefined) throw new Error("the program does not aggregate");
    const { lanes } = aggregation.options;
    const nodes: readonly HostNode[] = Array.from({ length: workers + 1 }, (_, i) => ({
      ...{ name: i < workers ? `w${i}` : "ps", mac: endpointOf(i).mac, ipv4: endpointOf(i).ip },
      attachments: [{ switch: "s1", port: i }],
    }));
    const mode: NumericMode = { name: "int32", workers: aggregation.options.workers, fractionBits: 16 };
    const rows = Array.from({ length: HOT_ROWS }, (_, r) =>
      Array.from({ length: lanes }, (_, l) => r * lanes + l),
    );
    const grid = { rows, lanes, mode };
    const start: Placement = {
      ...{ job: JOB, generation: 0, workers: nodes.slice(0, workers).map((n) => n.name), server: "ps" },
      ...{ on: undefined, slotBase: 0, rows: HOT_ROWS, scale: mode.fractionBits, firstRound: 1 },
    };
    const before = layoutOf({ hosts: nodes, switches: [] }, start, grid);
    context.progress.show("starting the hosts");
    const hosts = nodes.map((node, i) =>
      context.startHost(node.name === "ps" ? "server" : "worker", {
        ...{ host: i, workers, rounds, loss, seed, mode, layout: before },
      } satisfies Settings),
    );
    const ports = (await Promise.all(hosts.map((h) => h.heard()))) as readonly { udp: number; tcp: number }[];
    const running = await context.startSwitch({
      ...{ name: "s1", deviceId: 1n, cpuPort: CPU_PORT },
      ports: new Map(ports.map(({ udp }, i) => [i, udp])),
    });
    const topology: Topology = {
      hosts: nodes,
      switches: [
        {
          ...{ name: "s1", target: running.grpc, deviceId: 1n },
          ...{ mac: "02:00:00:00:01:01", ipv4: "10.0.1.1" },
        },
      ],
    };
    const tcp = ports.slice(0, workers).map((p) => p.tcp);
    const fleet = await Fleet.start({
      topology,
      program: loadableOf(generate(program.ir, { targets: ["v1model"] }), program.name),
      aggregation,
      everywhere: contentsOf(program.ir),
    });
    let job: OwnJob | undefined;
    try {
      await fleet.ready();
      job = await OwnJob.start(fleet, {
        name: "all-in-one",
        server: "ps",
        spec: { workers: start.workers, ...grid, needsSwitch: false },
        onLayout: (layout) => {
          for (const [i, h] of hosts.entries()) {
            const remote = { address: "127.0.0.1", port: running.ports.get(i) ?? nowhere.port };
            h.tell({ remote, layout, tcp } satisfies Plugged);
          }
        },
      });
      context.progress.show(`${rounds} rounds`);
      const begun = performance.now();
      const [ps, ...others] = [...hosts].reverse();
      if (ps === undefined) throw new Error("there is no server");
      const heard = (await Promise.all(others.map((h) => h.heard()))) as readonly { wrongSums: number }[];
      const milliseconds = performance.now() - begun;
      ps.tell("done");
      const told = (await ps.heard()) as Told;
      const client = fleet.clientOf("s1");
      const events = (await client?.readAll([client.entities.counter("answer.events")])) ?? [];
      for (const h of hosts) h.tell("done");

      // ---- what a serial run gives
      const embedding = new Map<number, number>();
      const parameters = LAYER_SIZES.map((n) => new Float32Array(n));
      for (let round = 1; round <= rounds; round++) {
        for (let w = 0; w < workers; w++) {
          const { keys, values } = sparseOf(w, round, lanes);
          for (const [i, key] of keys.entries())
            embedding.set(key, (embedding.get(key) ?? 0) + (values[i] ?? 0));
        }
        for (const [layer, values] of parameters.entries()) {
          const sum = serialSum(workers, (w) => denseOf(w, round, layer, values.length));
          const slice = { number: 0, layer, offset: 0, count: values.length, server: 0 };
          meanDescent(RATE)(values, sum, { slice, iteration: round, workers });
        }
      }
      const wrongKeys = [...embedding].filter(([key, v]) => (told.embedding.get(key) ?? 0) !== v).length;
      const wrongSlices = cutModel(LAYER_SIZES, 1, DISCIPLINE).filter(({ number, layer, offset, count }) => {
        const values = told.slices.find((s) => s.number === number)?.parameters;
        return !parameters[layer]
          ?.subarray(offset, offset + count)
          .every((v, i) => Object.is(v, values?.[i]));
      }).length;
      const wrongSums = heard.reduce((sum, h) => sum + h.wrongSums, 0);
      const { transfers, worst, wrong } = told.lossy;
      const answers = events.reduce(
        (sum, { entity }) =>
          sum + Number(entity?.case === "counterEntry" ? (entity.value.data?.packetCount ?? 0n) : 0n),
        0,
      );
      const isComplete = transfers === workers * rounds;
      const isExact = wrongKeys + wrongSlices + wrongSums + wrong === 0;
      return {
        passed: isExact && isComplete && worst <= BOUND && answers > 0,
        table: [
          ["rounds", `${rounds} with ${workers} workers in ${milliseconds.toFixed(0)} ms`],
          [
            "Libra",
            `${embedding.size} keys, ${wrongKeys} of them wrong; ${answers} events at the switch's slots`,
          ],
          ["P3", `${parameters.length} layers, ${wrongSlices} slices of them wrong`],
          [
            "DLCP",
            `${transfers} transfers, which lack at most ${(worst * 100).toFixed(1)} % of their values; ${wrong} values wrong`,
          ],
          ["Linear Pipelining", `${workers * rounds} sums, ${wrongSums} of them wrong`],
        ],
        verdict: `the embedding, the dense layers and the statistics are ${isExact ? "bit-identical to" : "NOT"} those of a serial run, and the large tensor lacks ${worst <= BOUND ? "no more" : "MORE"} than ${BOUND * 100} %`,
        data: {
          ...{ options: context.options, milliseconds, wrongKeys, wrongSlices, wrongSums },
          ...{ switchEvents: answers, lossy: told.lossy },
        },
      };
    } finally {
      job?.close();
      await fleet.close();
    }
  },
});
