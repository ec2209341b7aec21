import type { TensorKind } from "../../wire/tensor.ts";
import { Counters } from "../counters.ts";
import type { SendAction } from "../machine.ts";
import { PriorityQueue } from "../priorityqueue.ts";
import { DlcpError } from "./errors.ts";
import type { DlcpAction, DlcpCounter } from "./events.ts";
import {
  DEFAULT_DLCP_OPTIONS,
  type DlcpJob,
  type DlcpLayout,
  type DlcpOptions,
  layoutOf,
  type TensorSpec,
} from "./job.ts";
import { type PacketFields, PacketMaker } from "./packets.ts";
import { abandon, newPeer, type Peer } from "./peer.ts";

/** What the sending and the receiving half of a host share. */
export class Desk {
  readonly self: number;
  readonly counters = new Counters<DlcpCounter>();
  readonly layout: DlcpLayout;
  readonly options: DlcpOptions;
  readonly packets: PacketMaker;
  readonly peers = new Map<number, Peer>();
  /** What is to be done, and when. What is no longer wanted does nothing when its time comes. */
  readonly timers = new PriorityQueue<(now: number) => void>();
  #actions: (DlcpAction | SendAction)[] = [];
  #watch: (now: number) => void = () => {};

  /** @throws DlcpError `job_invalid`. */
  constructor(job: DlcpJob, self: number, options: Partial<DlcpOptions>) {
    this.self = self;
    this.layout = layoutOf(job);
    this.options = { ...DEFAULT_DLCP_OPTIONS, ...options };
    const address = this.layout.addresses[self];
    if (address === undefined) throw new DlcpError("job_invalid", `job ${job.job} has no host ${self}`);
    this.packets = new PacketMaker(this.layout, self, address, this.options);
  }

  /** @throws DlcpError `wrong_use` for a tensor that the job has not. */
  specOf(tensor: number): TensorSpec {
    const spec = this.layout.job.tensors[tensor];
    if (spec === undefined) throw new DlcpError("wrong_use", `the job has no tensor ${tensor}`);
    return spec;
  }

  /** Does the tensor go from this host to that one? */
  goes(tensor: number, from: number, to: number): boolean {
    const { senders, receivers } = this.layout;
    return from !== to && senders[tensor]?.has(from) === true && receivers[tensor]?.has(to) === true;
  }

  peer(number: number): Peer {
    const found = this.peers.get(number);
    if (found !== undefined) return found;
    const peer = newPeer(number, this.options);
    this.peers.set(number, peer);
    return peer;
  }

  act(action: DlcpAction | SendAction): void {
    this.#actions.push(action);
  }

  /** What is to be done now; it is not given twice. */
  takeActions(): readonly (DlcpAction | SendAction)[] {
    const actions = this.#actions;
    this.#actions = [];
    return actions;
  }

  control(peer: Peer, kind: TensorKind, fields: PacketFields, body?: Uint8Array): void {
    this.act({ type: "send", frame: this.packets.control(peer, kind, fields, body) });
  }

  /** Gives a peer up, and says so once. */
  fail(peer: Peer, code: "peer_lost" | "peer_restarted", message: string): void {
    abandon(peer);
    this.report(code, message, { peer: peer.number });
  }

  report(
    code: DlcpError["code"],
    message: string,
    about: { readonly peer: number; readonly tensor?: number },
  ): void {
    this.act({ type: "error", error: new DlcpError(code, message, about) });
  }

  /** Something is awaited from a peer: silence has to be noticed from now on. */
  watch(now: number): void {
    this.#watch(now);
  }

  onWatch(watch: (now: number) => void): void {
    this.#watch = watch;
  }

  runTimers(now: number): void {
    while (this.timers.firstPriority <= now) this.timers.take()?.(now);
  }
}
