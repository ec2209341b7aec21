import { trafficPlan } from "../../wire/trafficclass.ts";
import { type Endpoint, type NetworkAddress, resolveOr } from "../endpoint.ts";
import { type CongestionControl, FixedWindow } from "../message/congestion.ts";
import type { HubOptions, HubParties } from "../message/hub.ts";
import { P3Error } from "./errors.ts";
import { cutModel, type Discipline, P3, type Slice } from "./slicing.ts";

/** One training job, the same for all its hosts. Plain data. */
export interface P3Job {
  readonly job: number;
  readonly workers: readonly Endpoint[];
  readonly servers: readonly Endpoint[];
  /** Parameters of each layer, from the front of the model. */
  readonly layers: readonly number[];
  readonly discipline?: Discipline;
}

/** Times that work takes on a host, in milliseconds: for a lab, whose machines take none. */
export interface P3Costs {
  /** Per message that is sent, or that a server takes. */
  readonly perMessage: number;
  /** Per value that a server adds. */
  readonly perValue: number;
  /** Per value of a slice of which the last gradient has been added. */
  readonly perUpdate: number;
  /** Per value that a server sends because it is asked for it. */
  readonly perAnswer: number;
}

const NO_COSTS: P3Costs = { perMessage: 0, perValue: 0, perUpdate: 0, perAnswer: 0 };

export interface P3Options extends HubOptions {
  /** Greater after each start of this host; not 0. */
  readonly incarnation: number;
  /** Do packets carry the class of their layer, for switches with priority queues? */
  readonly switchPriority: boolean;
  readonly costs: P3Costs;
  /** Packets under way to each peer, and how they are counted; `FixedWindow` of `window` packets when absent. */
  readonly control: (peer: number) => CongestionControl;
}

export const DEFAULT_P3_OPTIONS: P3Options = {
  incarnation: 1,
  heartbeat: 200,
  silence: 5000,
  switchPriority: false,
  costs: NO_COSTS,
  control: () => new FixedWindow(32),
  ackDscp: 0,
};

/** What both kinds of hosts derive from a job. */
export interface P3Layout {
  readonly discipline: Discipline;
  readonly slices: readonly Slice[];
  readonly layers: readonly number[];
  readonly workers: readonly NetworkAddress[];
  readonly servers: readonly NetworkAddress[];
}

/** @throws P3Error `job_invalid` with the reason. */
export function layoutOf(job: P3Job): P3Layout {
  const refuse = (why: string): never => {
    throw new P3Error("job_invalid", `job ${job.job}: ${why}`);
  };
  const { layers, discipline = P3 } = job;
  if (job.workers.length < 1 || job.workers.length > 0x7fff) refuse(`${job.workers.length} workers`);
  if (job.servers.length < 1 || job.servers.length > 0x7fff) refuse(`${job.servers.length} servers`);
  if (!Number.isInteger(discipline.limit) || discipline.limit < 1)
    refuse(`slices of at most ${discipline.limit} parameters`);
  for (const [layer, size] of layers.entries())
    if (!Number.isInteger(size) || size < 0) refuse(`layer ${layer} has ${size} parameters`);
  const resolve = (endpoint: Endpoint): NetworkAddress => resolveOr(endpoint, refuse);
  return {
    discipline,
    layers,
    slices: cutModel(layers, job.servers.length, discipline),
    workers: job.workers.map(resolve),
    servers: job.servers.map(resolve),
  };
}

/** Hosts of a job are numbered: workers from 0, then servers. */
export function serverNumber(layout: Pick<P3Layout, "workers">, server: number): number {
  return layout.workers.length + server;
}

export function partiesOf(job: P3Job, layout: P3Layout, self: number, incarnation: number): HubParties {
  const { workers, servers } = layout;
  const isServer = self >= workers.length;
  const address = isServer ? servers[self - workers.length] : workers[self];
  if (address === undefined) throw new P3Error("job_invalid", `job ${job.job} has no host ${self}`);
  const peers = isServer
    ? workers.map((a, i) => [i, a] as const)
    : servers.map((a, i) => [serverNumber(layout, i), a] as const);
  return { job: job.job, self, address, incarnation, peers: new Map(peers) };
}

/** Room for the longest slice, and what its header takes. */
export function messageOptions(layout: P3Layout, options: P3Options): HubOptions {
  const longest = Math.max(0, ...layout.slices.map((s) => s.count)) * 4 + 64;
  return {
    maxBytes: longest,
    maxBuffered: Math.max(longest * 4, 1 << 24),
    ordered: false,
    ackDscp: options.switchPriority ? trafficPlan().control.dscp : 0,
    ...options,
  };
}
