import { PriorityQueue } from "../priorityqueue.ts";
import { SilenceMeter } from "../silence.ts";
import type { Incoming } from "./incoming.ts";
import type { DlcpOptions } from "./job.ts";
import type { Outgoing } from "./outgoing.ts";
import { RateControl } from "./ratecontrol.ts";

/** What a host knows of another one. */
export interface Peer {
  readonly number: number;
  readonly control: RateControl;
  readonly silence: SilenceMeter;
  /** 0 as long as nothing was heard of it. */
  incarnation: number;
  hasFailed: boolean;
  hasLied: boolean;
  /** DATA packets sent to it. */
  sequence: number;
  /** Transfers that have segments to send, the front of the model first. */
  readonly ready: PriorityQueue<Outgoing>;
  /** The time at which its rate lets the next packet go. */
  nextAt: number;
  /** DATA packets from it since the last ECHO. */
  unechoed: number;
  /** By tensor: the transfer to it that is not over, what waits behind that, and how many have begun. */
  readonly outgoing: Map<number, Outgoing>;
  readonly waiting: Map<number, Float32Array>;
  readonly begun: Map<number, number>;
  /** By tensor: transfers from it, and the iteration that the application awaits. */
  readonly incoming: Map<number, Incoming>;
  readonly expected: Map<number, number>;
}

export function newPeer(number: number, { lineRate, rate, silence }: DlcpOptions): Peer {
  return {
    ...{ number, control: new RateControl(lineRate, rate), silence: new SilenceMeter(silence / 2) },
    ...{ incarnation: 0, hasFailed: false, hasLied: false, sequence: 0, ready: new PriorityQueue() },
    ...{ nextAt: Number.NEGATIVE_INFINITY, unechoed: 0, outgoing: new Map(), waiting: new Map() },
    ...{ begun: new Map(), incoming: new Map(), expected: new Map() },
  };
}

/** Is something to come from this peer? */
export function isAwaited({ expected, incoming, outgoing }: Peer): boolean {
  if (expected.size > 0 || outgoing.size > 0) return true;
  for (const transfer of incoming.values()) if (transfer.isOpen) return true;
  return false;
}

/** Forgets all that is under way. */
export function abandon(peer: Peer): void {
  peer.hasFailed = true;
  for (const transfer of peer.outgoing.values()) transfer.isDone = true;
  for (const transfer of peer.incoming.values()) transfer.drop();
  for (const part of [peer.outgoing, peer.waiting, peer.incoming, peer.expected, peer.ready]) part.clear();
}
