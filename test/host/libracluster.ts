import { resolveEndpoint } from "../../src/host/endpoint.ts";
import type { LinkFaults } from "../../src/host/faults.ts";
import { AggregatorNode, formatFor, frameOf } from "../../src/host/libra/aggregatornode.ts";
import type { LibraError } from "../../src/host/libra/errors.ts";
import type { JobLayout } from "../../src/host/libra/layout.ts";
import type { LibraOptions } from "../../src/host/libra/options.ts";
import { LibraServer, type ServerEvent } from "../../src/host/libra/server.ts";
import { LibraWorker, type WorkerEvent } from "../../src/host/libra/worker.ts";
import type { Random } from "../../src/host/random.ts";
import type { AggregatorFormat } from "../../src/numeric/aggregator.ts";
import type { NumericMode } from "../../src/numeric/mode.ts";
import { Kind } from "../../src/wire/aggregation.ts";
import type { AggregationMessage } from "../../src/wire/aggregationpacket.ts";
import { VirtualNetwork } from "./virtualnetwork.ts";

export const SERVER = { mac: "02:00:00:00:01:00", ip: "10.0.1.1" };
export const SWITCH_A = { mac: "02:00:00:00:02:00", ip: "10.0.2.1" };
export const SWITCH_B = { mac: "02:00:00:00:02:01", ip: "10.0.2.2" };

export const INT32: NumericMode = { name: "int32", workers: 32, fractionBits: 16 };
export const FP32: NumericMode = { name: "fp32", workers: 32, base: 110, slices: [6, 6, 6, 5] };

export function workerIp(member: number): string {
  return `10.0.0.${member + 1}`;
}

export function testLayout(
  changes: Partial<JobLayout> & { readonly members?: readonly number[] } = {},
): JobLayout {
  const { members = [0, 1, 2], ...rest } = changes;
  return {
    job: 7,
    generation: 1,
    workers: members.map((member) => ({
      member,
      mac: `02:00:00:00:00:${member.toString(16).padStart(2, "0")}`,
      ip: workerIp(member),
    })),
    slotBase: 4,
    lanes: 4,
    rows: [
      [100, 101, 102, 103],
      [200, 201, 202, 203],
      [300, 301],
    ],
    mode: INT32,
    aggregator: SWITCH_A,
    server: SERVER,
    firstRound: 1,
    ...rest,
  };
}

export interface Update {
  readonly round: number;
  readonly keys: number[];
  readonly sums: number[];
  readonly workers: number;
}

/** A job's workers, its server and golden aggregators in the switches' places. */
export class LibraCluster {
  readonly network: VirtualNetwork;
  readonly server: LibraServer;
  readonly workers = new Map<number, { readonly machine: LibraWorker; dispatch(event: WorkerEvent): void }>();
  readonly updates: Update[] = [];
  readonly finished = new Map<number, number[]>();
  readonly pulled = new Map<number, Map<number, Float32Array>>();
  readonly errors = new Map<number | "server", LibraError[]>();
  readonly left: number[] = [];
  /** Where workers that started again went on. */
  readonly resumed = new Map<number, number>();
  /** Every RESULT that an aggregator sent to the server unasked. */
  readonly results: AggregationMessage[] = [];
  readonly nodes = new Map<string, AggregatorNode>();
  readonly values = new Map<number, number>();
  readonly moveServer: (event: ServerEvent) => void;

  constructor(layout: JobLayout, random: Random, faults: LinkFaults, options: Partial<LibraOptions> = {}) {
    this.network = new VirtualNetwork(random, faults);
    const store = {
      update: (round: number, keys: Uint32Array, sums: Float32Array, workers: number) => {
        this.updates.push({ round, keys: [...keys], sums: [...sums], workers });
        keys.forEach((key, i) => {
          this.values.set(key, Math.fround((this.values.get(key) ?? 0) + (sums[i] ?? 0)));
        });
      },
      read: (keys: Uint32Array) => Float32Array.from(keys, (key) => this.values.get(key) ?? 0),
    };
    this.server = new LibraServer(layout, store, options);
    this.moveServer = this.network.addHost(layout.server.ip, this.server, (action) => {
      if (action.type === "error") this.#error("server", action.error);
    });
    for (const { member } of layout.workers) this.startWorker(layout, member, options);
    if (layout.aggregator.ip !== layout.server.ip) this.addSwitch(layout);
  }

  /** Starts a worker, or starts it again: what it knew is gone. */
  startWorker(layout: JobLayout, member: number, options: Partial<LibraOptions> = {}): void {
    const ip = layout.workers.find((worker) => worker.member === member)?.ip ?? "";
    const machine = new LibraWorker(layout, member, options);
    this.finished.set(member, []);
    this.pulled.set(member, new Map());
    const dispatch = this.network.addHost(ip, machine, (action) => {
      if (action.type === "finished") this.finished.get(member)?.push(action.round);
      else if (action.type === "pulled") this.pulled.get(member)?.set(action.request, action.values);
      else if (action.type === "left") this.left.push(member);
      else if (action.type === "resumed") this.resumed.set(member, action.round);
      else this.#error(member, action.error);
    });
    this.workers.set(member, { machine, dispatch });
  }

  /** Puts a switch on the network and the job on it. */
  addSwitch(layout: JobLayout, format: AggregatorFormat = formatFor(layout)): AggregatorNode {
    const { ip } = layout.aggregator;
    const node = this.nodes.get(ip) ?? new AggregatorNode(resolveEndpoint(layout.aggregator), format);
    node.place(layout);
    if (this.nodes.has(ip)) return node;
    this.nodes.set(ip, node);
    this.network.addNode(ip, (frame) => {
      const packets = node.receive(frame)?.packets ?? [];
      for (const packet of packets) {
        const { header } = packet.message;
        if (header.kind === Kind.RESULT && header.member !== 255) this.results.push(packet.message);
      }
      return packets.map(frameOf);
    });
    return node;
  }

  /** Gives all parties a new layout. */
  move(layout: JobLayout): void {
    this.moveServer({ type: "layout", layout });
    for (const { member } of layout.workers) this.workers.get(member)?.dispatch({ type: "layout", layout });
  }

  push(member: number, gradients: ReadonlyMap<number, number>): void {
    const keys = Uint32Array.from(gradients.keys());
    const values = Float32Array.from(gradients.values());
    this.workers.get(member)?.dispatch({ type: "push", keys, values });
  }

  #error(who: number | "server", error: LibraError): void {
    const errors = this.errors.get(who);
    if (errors === undefined) this.errors.set(who, [error]);
    else errors.push(error);
  }
}
