/**
 * DLCP between processes: workers send the gradients of a small model to a server, and the server the parameters back, on one switch that runs the
 * program beside this file. Links lose frames; each transfer ends when all but a bounded share of its values has arrived. What stands for the
 * others is what was agreed on: zero for gradients, the last value for parameters.
 *
 *   gradplane run examples/dlcp/scenario.ts --loss 0.03 --bound 0.1
 */
import { type HostContext, scenario } from "gradplane/cli/run";
import { type DlcpAction, type DlcpEvent, DlcpHost, type DlcpJob, UdpHost } from "gradplane/host/dlcp";
import { seededRandom } from "gradplane/host/libra";
import { endpointOf, Failures, nowhere, star } from "../star.ts";
import dlcpProgram from "./program.ts";

/** Values of each layer, from the front. */
const LAYER_SIZES = [2000, 4000, 16_000, 3000];
/** Values of a packet. */
const SEGMENT = 100;
/** For processes that a busy machine may let wait. */
const TIMES = { patience: 20, probeTimeout: 50, maxProbeTimeout: 2000, retries: 60, silence: 60_000 };

interface Settings {
  /** Workers from 0; the server comes after them. */
  readonly host: number;
  readonly workers: number;
  readonly rounds: number;
  readonly bound: number;
  readonly loss: number;
  readonly seed: number;
}

/** What a host tells in the end. */
interface Told {
  readonly transfers: number;
  readonly values: number;
  readonly missing: number;
  /** Greatest share that a transfer lacked. */
  readonly worst: number;
  /** Values that are neither the sender's nor what was agreed on. */
  readonly wrong: number;
  readonly counters: Readonly<Record<string, number>>;
  readonly milliseconds: number;
}

type Received = Extract<DlcpAction, { type: "received" }>;

function jobOf({ workers, bound }: Settings): DlcpJob {
  const numbers = Array.from({ length: workers }, (_, w) => w);
  const layers = LAYER_SIZES.length;
  return {
    ...{ job: 1, layers, segment: SEGMENT },
    hosts: [...numbers, workers].map(endpointOf),
    tensors: [
      ...LAYER_SIZES.map((elements, layer) => ({
        ...{ elements, layer, bound, missing: "zero" as const, senders: numbers, receivers: [workers] },
      })),
      ...LAYER_SIZES.map((elements, layer) => ({
        ...{ elements, layer, bound, missing: "last" as const, senders: [workers], receivers: numbers },
      })),
    ],
  };
}

/** What a host sends: never zero, of magnitudes that differ from packet to packet. */
function valuesOf(host: number, tensor: number, round: number): Float32Array {
  const random = seededRandom(host * 7919 + tensor * 101 + round);
  let size = 1;
  return Float32Array.from({ length: LAYER_SIZES[tensor % LAYER_SIZES.length] ?? 0 }, (_, i) => {
    if (i % SEGMENT === 0) size = 10 ** (random() * 3 - 3);
    return (random() + 0.01) * size;
  });
}

async function host({ settings, tell, heard }: HostContext): Promise<void> {
  // The scenario below is all that starts this.
  const own = settings as Settings;
  const job = jobOf(own);
  const failures = new Failures();
  const inbox: Received[] = [];
  let isThere = (): void => {};
  const machine = new DlcpHost(job, own.host, {
    ...{ ...TIMES, lineRate: 2e8, marks: { priority: true, importance: "medianOfMeans" } },
  });
  const udp: UdpHost<DlcpEvent, DlcpAction> = await UdpHost.open(machine, {
    remote: nowhere,
    faults: { loss: own.loss, random: seededRandom(own.seed * 1000 + own.host) },
    onError: failures.fail,
    onAction: (action) => {
      if (action.type === "error") failures.fail(action.error);
      if (action.type === "received") inbox.push(action);
      isThere();
    },
  });
  tell(udp.local.port);
  udp.plug((await heard()) as typeof nowhere);
  const start = performance.now();
  const isServer = own.host === own.workers;
  const layers = LAYER_SIZES.length;
  const found = { transfers: 0, values: 0, missing: 0, worst: 0, wrong: 0 };
  const last = new Map<string, Float32Array>();
  /** The next transfers, so many. */
  const receive = async (count: number): Promise<readonly Received[]> => {
    while (inbox.length < count)
      await failures.during(
        new Promise<void>((resolve) => {
          isThere = resolve;
        }),
      );
    return inbox.splice(0, count);
  };
  const check = ({ from, tensor, iteration, values, lost }: Received): void => {
    const sent = valuesOf(from, tensor, iteration);
    const isMissing = new Uint8Array(values.length);
    for (const { offset, count } of lost) isMissing.fill(1, offset, offset + count);
    const missing = isMissing.reduce((sum, m) => sum + m, 0);
    const before = last.get(`${from} ${tensor}`);
    for (const [i, v] of values.entries())
      if (v !== (isMissing[i] === 1 ? (tensor < layers ? 0 : (before?.[i] ?? 0)) : sent[i])) found.wrong++;
    last.set(`${from} ${tensor}`, values);
    found.transfers++;
    found.values += values.length;
    found.missing += missing;
    found.worst = Math.max(found.worst, missing / values.length);
  };
  const send = (to: number, tensor: number, round: number): void =>
    udp.dispatch({ type: "send", to, tensor, values: valuesOf(own.host, tensor, round) });
  for (let round = 1; round <= own.rounds; round++) {
    // Backward: the last layer's gradient comes first.
    if (!isServer) for (let layer = layers - 1; layer >= 0; layer--) send(own.workers, layer, round);
    for (const transfer of await receive(isServer ? layers * own.workers : layers)) check(transfer);
    if (isServer)
      for (let worker = 0; worker < own.workers; worker++)
        for (let layer = 0; layer < layers; layer++) send(worker, layers + layer, round);
  }
  const counters = Object.fromEntries(
    (["segments", "segments_again", "segments_droppable", "probes", "bitmaps"] as const).map((name) => [
      name,
      machine.counters.get(name),
    ]),
  );
  tell({ ...found, counters, milliseconds: performance.now() - start } satisfies Told);
  // Others may not have heard the end of their last transfer.
  await heard();
  await udp.close();
}

export default scenario({
  name: "dlcp",
  summary: "gradients and parameters with a bound on what may be lost, marked and dropped by importance",
  options: {
    workers: { help: "workers, 1 to 16", default: "3" },
    rounds: { help: "rounds of gradients up and parameters down, 1 to 1000", default: "5" },
    bound: { help: "share of a tensor that may be missing", default: "0.1" },
    loss: { help: "probability that a frame is lost on a link", default: "0.02" },
    seed: { help: "seed of the faults", default: "1" },
  },
  hosts: { host },
  async run(context) {
    const workers = context.whole("workers", 1, 16);
    const rounds = context.whole("rounds", 1, 1000);
    const [bound, loss] = [context.fraction("bound"), context.fraction("loss")];
    const seed = context.whole("seed", 0, 2 ** 31 - 1);
    context.progress.show("starting the hosts and the switch");
    const hosts = Array.from({ length: workers + 1 }, (_, i) =>
      context.startHost("host", { ...{ host: i, workers, rounds, bound, loss, seed } } satisfies Settings),
    );
    const fleet = await star(context, dlcpProgram, hosts);
    context.progress.show(`${rounds} rounds`);
    const told = (await Promise.all(hosts.map((h) => h.heard()))) as readonly Told[];
    for (const h of hosts) h.tell("done");
    await fleet.close();
    const sum = (of: (t: Told) => number): number => told.reduce((total, t) => total + of(t), 0);
    const [transfers, values, missing, wrong] = [
      sum((t) => t.transfers),
      sum((t) => t.values),
      sum((t) => t.missing),
      sum((t) => t.wrong),
    ];
    const worst = Math.max(...told.map((t) => t.worst));
    const isWithin = worst <= bound && wrong === 0 && transfers === 2 * workers * rounds * LAYER_SIZES.length;
    const count = (name: string): number => sum((t) => t.counters[name] ?? 0);
    return {
      passed: isWithin,
      table: [
        [
          "transfers",
          `${transfers} of ${values} values in ${Math.max(...told.map((t) => t.milliseconds)).toFixed(0)} ms`,
        ],
        [
          "missing",
          `${((missing / values) * 100).toFixed(2)} % of all values, at most ${(worst * 100).toFixed(2)} % of a transfer`,
        ],
        [
          "packets",
          `${count("segments")}, ${count("segments_again")} sent again, ${count("segments_droppable")} droppable`,
        ],
        ["probes", `${count("probes")}, answered by ${count("bitmaps")} bitmaps or by STOP`],
      ],
      verdict: `every transfer lacks ${worst <= bound ? "at most" : "MORE THAN"} ${bound * 100} % of its values, and ${wrong === 0 ? "no value is" : `${wrong} values are`} other than the sender's or what was agreed on`,
      data: { options: context.options, transfers, values, missing, worst, wrong },
    };
  },
});
