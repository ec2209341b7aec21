import { type Endpoint, type NetworkAddress, resolveOr } from "../endpoint.ts";
import { DlcpError } from "./errors.ts";
import type { ImportanceRule } from "./importance.ts";
import type { RateOptions } from "./ratecontrol.ts";

/** A tensor that hosts of a job send to each other. Plain data, the same on all hosts. */
export interface TensorSpec {
  readonly elements: number;
  /** Place from the front of the model, which gives the priority. */
  readonly layer: number;
  /** Share of the values that may be missing when a transfer ends, 0 to 1 (excluded). 0: all have to arrive. */
  readonly bound: number;
  /**
   * What stands where a value is missing: `zero` (gradients: as if the worker had none), or the `last` value that this sender's tensor had
   * there (parameters: those of the last iteration; zero before the first).
   */
  readonly missing: "zero" | "last";
  readonly senders: readonly number[];
  readonly receivers: readonly number[];
}

/** One training job: what MLT's hosts tell each other once before training (NSDI 2024, section 4.1). */
export interface DlcpJob {
  readonly job: number;
  readonly hosts: readonly Endpoint[];
  /** Layers of the model. */
  readonly layers: number;
  readonly tensors: readonly TensorSpec[];
  /** Values of a packet; 350 when absent, which fills a frame of 1500 bytes. */
  readonly segment?: number;
}

export const DEFAULT_SEGMENT = 350;

/** Times are in milliseconds. */
export interface DlcpOptions {
  /** Greater after each start of this host; not 0. */
  readonly incarnation: number;
  /** Bits per second of this host's own link: all that it sends together is no faster. */
  readonly lineRate: number;
  readonly rate: RateOptions;
  /** Does a packet carry its layer's class, and is it marked by its gradients, or are all important and alike? */
  readonly marks: { readonly priority: boolean; readonly importance: ImportanceRule | "all" };
  /** Packets for one ECHO. */
  readonly echoEvery: number;
  /** Time without news after which this host wants its PROBEs answered: packets that they have overtaken are not missing. */
  readonly patience: number;
  /** Time until a PROBE without answer is sent again; it doubles up to `maxProbeTimeout`. */
  readonly probeTimeout: number;
  readonly maxProbeTimeout: number;
  /** Such resends in a row, after which the peer counts as lost, however lively it is otherwise. */
  readonly retries: number;
  /** Silence of a peer from which something is awaited, after which it counts as lost. */
  readonly silence: number;
  /** Longest time of sending that may be made up for when a host was called late: as a burst. */
  readonly credit: number;
  /** Do packets carry a checksum? Only where the network has one of its own can they do without. */
  readonly checksum: boolean;
  /** Are the values kept? Without them only the network is measured, with little memory. */
  readonly store: boolean;
}

/** For a network with round trips of at most some milliseconds. */
export const DEFAULT_DLCP_OPTIONS: DlcpOptions = {
  incarnation: 1,
  lineRate: 1e9,
  rate: { low: 0.0125, high: 0.125, increase: 40e6, decrease: 0.8, least: 10e6 },
  marks: { priority: true, importance: "medianOfValues" },
  echoEvery: 10,
  patience: 2,
  probeTimeout: 30,
  maxProbeTimeout: 1000,
  retries: 16,
  silence: 5000,
  credit: 2,
  checksum: true,
  store: true,
};

/** A job that was checked. */
export interface DlcpLayout {
  readonly job: DlcpJob;
  readonly segment: number;
  readonly addresses: readonly NetworkAddress[];
  /** By tensor. */
  readonly senders: readonly ReadonlySet<number>[];
  readonly receivers: readonly ReadonlySet<number>[];
}

/** @throws DlcpError `job_invalid` with the reason. */
export function layoutOf(job: DlcpJob): DlcpLayout {
  const refuse = (why: string): never => {
    throw new DlcpError("job_invalid", `job ${job.job}: ${why}`);
  };
  const { segment = DEFAULT_SEGMENT } = job;
  if (!Number.isInteger(segment) || segment < 1 || segment > 16_000) refuse(`segments of ${segment} values`);
  if (job.tensors.length > 0x10000) refuse(`${job.tensors.length} tensors`);
  for (const [i, t] of job.tensors.entries()) {
    if (!Number.isInteger(t.elements) || t.elements < 1 || t.elements > 0xffffffff)
      refuse(`tensor ${i} has ${t.elements} values`);
    if (!(t.bound >= 0 && t.bound < 1)) refuse(`tensor ${i} may lose a share of ${t.bound}`);
    if (!Number.isInteger(t.layer) || t.layer < 0 || t.layer >= job.layers)
      refuse(`tensor ${i} is of layer ${t.layer} of ${job.layers}`);
    for (const host of [...t.senders, ...t.receivers])
      if (job.hosts[host] === undefined) refuse(`tensor ${i} names host ${host}, which is not there`);
  }
  const resolve = (endpoint: Endpoint): NetworkAddress => resolveOr(endpoint, refuse);
  return {
    ...{ job, segment, addresses: job.hosts.map(resolve) },
    senders: job.tensors.map((t) => new Set(t.senders)),
    receivers: job.tensors.map((t) => new Set(t.receivers)),
  };
}

/** Values that have to arrive before a transfer may end. */
export function enough({ elements, bound }: Pick<TensorSpec, "elements" | "bound">): number {
  return elements - Math.floor(elements * bound);
}
