import { DlcpHost } from "../../host/dlcp/host.ts";
import type { DlcpOptions } from "../../host/dlcp/job.ts";
import { type CongestionControl, Dctcp, FixedWindow } from "../../host/message/congestion.ts";
import { seededRandom } from "../../host/random.ts";
import { formatIpv4, formatMac } from "../../wire/address.ts";
import { BEST_EFFORT, trafficPlan } from "../../wire/trafficclass.ts";
import { addSwitches, plugHosts } from "../build.ts";
import { type ForwardingOptions, type ForwardingRules, ForwardingSwitch } from "../forwardingswitch.ts";
import { Lab } from "../lab.ts";
import type { LabTopology } from "../topology.ts";
import { FlowHost, type FlowRules } from "./flowhost.ts";
import { type Model, scaledDown } from "./models.ts";

/** How gradients cross the network: a protocol of the hosts, and what switches do for it. */
export type Scheme =
  | { readonly kind: "flows"; readonly rules: FlowRules; readonly switches: SwitchRules }
  | {
      readonly kind: "dlcp";
      readonly bound: number;
      readonly marks: DlcpOptions["marks"];
      readonly switches: SwitchRules;
    };

export interface SwitchRules {
  readonly rules: Omit<ForwardingRules, "routes" | "salt">;
  readonly options: ForwardingOptions;
}

/** One iteration's push: every worker sends the gradient of every array to its server, as soon as the backward pass has it. */
export interface GradientPush {
  readonly topology: LabTopology;
  readonly model: Model;
  /** Sizes are divided by this, and computing with them. */
  readonly scale: number;
  /** Values of an array that go to one server at most, before scaling. */
  readonly chunk: number;
  /** One host in this many is a server. */
  readonly serverEvery: number;
  /** Bits per second of a host's link. */
  readonly lineRate: number;
  /** Milliseconds of the backward pass, before scaling. */
  readonly backward: number;
  readonly scheme: Scheme;
  /** Loss on one cable, if one is bad. */
  readonly gray?: { readonly wires: readonly string[]; readonly loss: number };
  readonly seed: number;
}

export interface PushOutcome {
  /** Of each flow, in milliseconds. */
  readonly times: readonly number[];
  /** When the last flow was complete. */
  readonly end: number;
  readonly hops: number;
}

export interface Chunk {
  readonly size: number;
  readonly layer: number;
  readonly server: number;
  /** Milliseconds after the start of the backward pass. */
  readonly readyAt: number;
}

/** Longest time that a run may take, in virtual milliseconds. */
const DEADLINE = 60_000;

/** @throws Error when flows do not come to their end. */
export function pushGradients(push: GradientPush): PushOutcome {
  const { topology, scheme, seed } = push;
  const lab = new Lab(seededRandom(seed));
  addSwitches(lab, topology, (place) => {
    const salt = (seed * 7919 + place.ip) | 0;
    return new ForwardingSwitch(
      { ...scheme.switches.rules, routes: place.routes, salt },
      scheme.switches.options,
    );
  });
  const servers = topology.hosts.flatMap((_, i) => (i % push.serverEvery === 0 ? [i] : []));
  const workers = topology.hosts.flatMap((_, i) => (i % push.serverEvery === 0 ? [] : [i]));
  const chunks = chunksOf(push, servers);
  const started = new Map<string, number>();
  const times: number[] = [];
  const arrived = (chunk: number, worker: number): void => {
    const key = `${worker} ${chunk}`;
    const at = started.get(key);
    if (at === undefined) throw new Error(`flow ${key} has come to its end twice`);
    started.delete(key);
    times.push(lab.now - at);
  };
  const { model, lineRate } = push;
  const send = transferHosts(lab, {
    ...{ topology, layers: model.arrays.length, scheme, lineRate, seed, arrived },
    transfers: chunks.map(({ size, layer, server }) => ({
      ...{ size, layer, senders: workers, receivers: [server] },
    })),
  });
  plugHosts(lab, topology);
  if (push.gray !== undefined) for (const wire of push.gray.wires) lab.wire(wire).setLoss(push.gray.loss);
  const random = seededRandom(seed * 104_729);
  for (const worker of workers) {
    // No two computers are alike.
    const [offset, pace] = [random() * 0.05, 1 + (random() - 0.5) * 0.1];
    const backward = push.backward / push.scale;
    for (const [i, chunk] of chunks.entries())
      lab.at(offset * backward + pace * chunk.readyAt, () => {
        started.set(`${worker} ${i}`, lab.now);
        send(i, worker, chunk.server);
      });
  }
  const flows = workers.length * chunks.length;
  if (!lab.run(() => times.length === flows, DEADLINE))
    throw new Error(`${flows - times.length} of ${flows} flows have not come to their end`);
  return { times, end: lab.now, hops: lab.hops };
}

/** PIAS' thresholds for a push: between two of them lies the same share of all bytes. */
export function evenThresholds(push: Omit<GradientPush, "scheme">, levels: number): readonly number[] {
  const sizes = chunksOf(push, [0]).map((c) => c.size * 4);
  const below = (limit: number): number => sizes.reduce((sum, size) => sum + Math.min(size, limit), 0);
  const largest = Math.max(...sizes);
  const all = below(largest);
  return Array.from({ length: levels - 1 }, (_, i) => {
    let [low, high] = [0, largest];
    for (let step = 0; step < 40; step++) {
      const middle = (low + high) / 2;
      if (below(middle) < ((i + 1) / levels) * all) low = middle;
      else high = middle;
    }
    return Math.round(high);
  });
}

/** The model's arrays, cut where they are long, over the servers in turn; from the back of the model on. */
export function chunksOf(
  { model, scale, chunk: most, backward }: Omit<GradientPush, "scheme">,
  servers: readonly number[],
): readonly Chunk[] {
  const { arrays } = scaledDown(model, scale);
  const work = arrays.reduce((sum, a) => sum + a.work, 0);
  const chunks: Chunk[] = [];
  let done = 0;
  for (let layer = arrays.length - 1; layer >= 0; layer--) {
    const { size = 0, work: own = 0 } = arrays[layer] ?? {};
    done += own;
    const parts = Math.ceil(size / Math.max(1, most / scale));
    for (let part = 0; part < parts; part++) {
      const values = Math.floor(((part + 1) * size) / parts) - Math.floor((part * size) / parts);
      const server = servers[chunks.length % servers.length] ?? 0;
      chunks.push({ size: values, layer, server, readyAt: (done / work) * (backward / scale) });
    }
  }
  return chunks;
}

/** A tensor that goes from some hosts to others. */
export interface Transfer {
  readonly size: number;
  readonly layer: number;
  readonly senders: readonly number[];
  readonly receivers: readonly number[];
}

export interface TransferJob {
  readonly topology: LabTopology;
  /** Layers of the model. */
  readonly layers: number;
  readonly scheme: Scheme;
  /** Bits per second of a host's link. */
  readonly lineRate: number;
  readonly seed: number;
  readonly transfers: readonly Transfer[];
  /** A host's tensor has arrived at another one. */
  readonly arrived: (transfer: number, from: number, to: number) => void;
}

/** Sends a tensor; each one again only when it has arrived. */
export type SendTransfer = (transfer: number, from: number, to: number) => void;

/** Puts hosts of the scheme into the lab, to be plugged in by the caller. */
export function transferHosts(lab: Lab, job: TransferJob): SendTransfer {
  return (job.scheme.kind === "dlcp" ? dlcpHosts : flowHosts)(lab, job);
}

function flowHosts(lab: Lab, { topology, scheme, lineRate, transfers, arrived }: TransferJob): SendTransfer {
  if (scheme.kind !== "flows") throw new RangeError("not a scheme of flows");
  const body = new Uint8Array(Math.max(...transfers.map((t) => t.size)) * 4);
  const byIp = new Map(topology.hosts.map(({ ip }, i) => [ip, i]));
  /** Transfers of each host by its flow's number. */
  const flows = topology.hosts.map((): number[] => []);
  const hosts = topology.hosts.map((endpoint, to) =>
    lab.addHost(endpoint.name, new FlowHost(endpoint, scheme.rules, lineRate, body), (action) => {
      if (action.type === "gaveUp") throw new Error(`${endpoint.name} gave up flow ${action.flow}`);
      const from = byIp.get(action.fromIp) ?? -1;
      arrived(flows[from]?.[action.flow] ?? -1, from, to);
    }),
  );
  return (transfer, from, to) => {
    const endpoint = topology.hosts[to];
    const bytes = (transfers[transfer]?.size ?? 0) * 4;
    const flow = (flows[from]?.push(transfer) ?? 0) - 1;
    if (endpoint !== undefined) hosts[from]?.dispatch({ type: "flow", flow, to: endpoint, bytes });
  };
}

function dlcpHosts(lab: Lab, job: TransferJob): SendTransfer {
  const { topology, layers, scheme, lineRate, seed, transfers, arrived } = job;
  if (scheme.kind !== "dlcp") throw new RangeError("not DLCP");
  const dlcpJob = {
    ...{ job: 1, layers },
    tensors: transfers.map(({ size, layer, senders, receivers }) => ({
      ...{ elements: size, layer, bound: scheme.bound, missing: "zero" as const, senders, receivers },
    })),
    hosts: topology.hosts.map(({ mac, ip }) => ({ mac: formatMac(mac), ip: formatIpv4(ip) })),
  };
  const options: Partial<DlcpOptions> = {
    ...{ lineRate, marks: scheme.marks, store: false, checksum: false, credit: 0 },
    // MLT's values; it does not say how low a rate may fall. From a low one the way back, by 40 Mbit/s a step, takes longer than a transfer.
    rate: { low: 0.0125, high: 0.125, increase: 40e6, decrease: 0.8, least: lineRate / 20 },
    // Two round trips of 24 us, and as many again as an answer takes that nothing holds up: control has a class of its own.
    ...{ patience: 0.05, probeTimeout: 0.15, maxProbeTimeout: 8, retries: 1000, silence: DEADLINE },
  };
  const values = gradientLike(Math.max(...transfers.map((t) => t.size)), seed);
  const hosts = topology.hosts.map((endpoint, i) =>
    lab.addHost(endpoint.name, new DlcpHost(dlcpJob, i, options), (action) => {
      if (action.type === "error") throw action.error;
      if (action.type === "received") arrived(action.tensor, action.from, i);
    }),
  );
  return (tensor, from, to) => {
    const size = transfers[tensor]?.size ?? 0;
    hosts[from]?.dispatch({ type: "send", to, tensor, values: values.subarray(0, size) });
  };
}

/** Values whose magnitude differs from place to place by orders, as gradients of different filters do. */
function gradientLike(length: number, seed: number): Float32Array {
  const random = seededRandom(seed);
  let size = 1;
  return Float32Array.from({ length }, (_, i) => {
    if (i % 200 === 0) size = 10 ** (random() * 3 - 3);
    return (random() - 0.5) * size;
  });
}

// The schemes, with their published rules.

const plan = trafficPlan();

/** Bytes of a message in a frame of 1500 bytes. */
const SEGMENT = 1432;

/** A queue that only the port's buffer limits. */
const DEEP = 1 << 20;

/** Bytes at each port for control and acknowledgements, where they have a class of their own. */
const RESERVE = 16 * 1024;

function conversation(timeout: number) {
  return {
    ...{ segment: SEGMENT, minTimeout: timeout, maxTimeout: timeout * 64, retries: 1000, ackDelay: 0.1 },
    ...{ checksum: false, store: false, ordered: false, maxBuffered: Number.POSITIVE_INFINITY },
  };
}

const initialWindow = (packets: number) => (): CongestionControl =>
  new Dctcp({ initialWindow: packets, maxWindow: 2000 });

/** DCTCP as MLT simulates it: initial window 10, marks from 65 packets on, each flow on one path. */
export function dctcp(portBuffer: number, timeout: number): Scheme {
  return {
    kind: "flows",
    rules: {
      ...{ control: initialWindow(10), marks: () => ({ dscp: 0 }), order: "turns" },
      conversation: conversation(timeout),
    },
    switches: {
      rules: { priority: false, balance: "flow", dropAt: "enqueue", keep: { [BEST_EFFORT]: 65 } },
      options: { queueDepth: DEEP, portBuffer },
    },
  };
}

/** PIAS (NSDI 2015): DCTCP whose flows fall from class to class as they send, each class having its share of all bytes. */
export function pias(portBuffer: number, timeout: number, thresholds: readonly number[]): Scheme {
  const classes = [...plan.gradients.map((g) => g.dscp), 0];
  const dscpAt = (sent: number): number => {
    const level = thresholds.findIndex((t) => sent < t);
    return classes[level < 0 ? classes.length - 1 : level] ?? 0;
  };
  const keep = Object.fromEntries([BEST_EFFORT, ...plan.gradients.map((g) => g.class)].map((c) => [c, 65]));
  return {
    kind: "flows",
    rules: {
      ...{ control: initialWindow(10), order: "turns" },
      marks: (_, offset) => ({ dscp: dscpAt(offset) }),
      conversation: { ...conversation(timeout), ackDscp: plan.control.dscp },
    },
    switches: {
      rules: { priority: true, balance: "flow", dropAt: "enqueue", keep },
      options: { queueDepth: DEEP, portBuffer, portReserve: RESERVE },
    },
  };
}

/** pFabric (SIGCOMM 2013): a window of one bandwidth-delay product, time-outs of three round trips as published, switches that serve the shortest. */
export function pfabric(portBuffer: number, window: number, timeout: number): Scheme {
  return {
    kind: "flows",
    rules: {
      ...{ control: () => new FixedWindow(window), order: "shortestFirst" },
      marks: () => ({ dscp: 0 }),
      conversation: { ...conversation(timeout), reordering: 1 << 20 },
    },
    switches: {
      rules: { priority: false, balance: "spray" },
      options: { order: "shortestFirst", portBuffer },
    },
  };
}

/** Which parts of DLCP are used. */
export interface DlcpParts {
  /** Share of a tensor that may be missing; 0: all has to arrive. */
  readonly bound: number;
  /** Classes by layer, and small gradients dropped first? */
  readonly gradientAware: boolean;
  /** Packet by packet over all paths, or each pair of hosts on one? */
  readonly spray: boolean;
}

/** Packets from which a class drops what is droppable: fewer for front layers, which bear more loss. MLT gives no numbers. */
const KEEP = { 1: 64, 2: 56, 3: 48, 4: 40, 5: 32, 6: 24 };

export function dlcp(portBuffer: number, { bound, gradientAware, spray }: DlcpParts): Scheme {
  return {
    kind: "dlcp",
    bound,
    // By the median of values nearly all packets would be important: see `ImportanceRule`.
    marks: gradientAware
      ? { priority: true, importance: "medianOfMeans" }
      : { priority: false, importance: "all" },
    switches: {
      rules: {
        ...{ priority: gradientAware, balance: spray ? "spray" : "flow", dropAt: "enqueue" },
        keep: gradientAware ? KEEP : {},
      },
      options: { queueDepth: DEEP, portBuffer, portReserve: RESERVE },
    },
  };
}
