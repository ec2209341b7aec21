import { type FrameRefusal, parseFrame } from "../../wire/datagram.ts";
import { decodeMessage, MESSAGE_PORT, type MessageRefusal } from "../../wire/message.ts";
import { Counters } from "../counters.ts";
import { addressingBetween, type NetworkAddress } from "../endpoint.ts";
import type { FrameSink } from "../machine.ts";
import { SilenceMeter } from "../silence.ts";
import type { CongestionControl } from "./congestion.ts";
import { Conversation, type ConversationOptions, type Marks } from "./conversation.ts";
import type { DeliveredMessage } from "./reassembly.ts";

export interface HubParties {
  readonly job: number;
  /** This host's number in the job. */
  readonly self: number;
  readonly address: NetworkAddress;
  /** Greater after each start of this host; not 0. */
  readonly incarnation: number;
  /** The hosts that it talks to, by number. */
  readonly peers: ReadonlyMap<number, NetworkAddress>;
}

export interface HubOptions extends Partial<ConversationOptions> {
  /** Milliseconds between two signs of life. */
  readonly heartbeat: number;
  /** Milliseconds of silence after which a peer counts as lost. */
  readonly silence: number;
}

export type HubCounter =
  | FrameRefusal["refused"]
  | MessageRefusal["refused"]
  | "other_address"
  | "other_port"
  | "other_job"
  | "unknown_peer";

export interface HubMessage extends DeliveredMessage {
  readonly from: number;
}

/** Why a peer counts as lost. */
export interface PeerFailure {
  readonly peer: number;
  readonly reason: "silent" | "unreachable" | "restarted";
}

/**
 * All conversations of one host: sorts what arrives, sends what is due, and notices peers that fall silent. A part of a host's
 * state machine: it has no clock of its own.
 */
export class MessageHub {
  readonly counters = new Counters<HubCounter>();
  readonly #parties: HubParties;
  readonly #options: HubOptions;
  readonly #conversations = new Map<number, Conversation>();
  readonly #watched = new Map<number, SilenceMeter>();
  readonly #failed = new Set<number>();
  #heartbeatAt = Number.POSITIVE_INFINITY;

  constructor(parties: HubParties, control: (peer: number) => CongestionControl, options: HubOptions) {
    this.#parties = parties;
    this.#options = options;
    const { job, self, incarnation, address } = parties;
    for (const [peer, to] of parties.peers) {
      const addressing = addressingBetween(address, to, MESSAGE_PORT);
      const ends = { job, self, peer, incarnation, addressing };
      this.#conversations.set(peer, new Conversation(ends, control(peer), options));
    }
  }

  get wakeAt(): number {
    let at = this.#heartbeatAt;
    for (const c of this.#conversations.values()) {
      const wake = c.wakeAt;
      if (wake < at) at = wake;
    }
    return at;
  }

  /** @throws RangeError for a peer that is not in the job. */
  conversation(peer: number): Conversation {
    const found = this.#conversations.get(peer);
    if (found === undefined) throw new RangeError(`host ${peer} is not in the job`);
    return found;
  }

  /** Have all parts of all messages to this peer been sent once? A peer that is gone holds nothing up. */
  isTaken(peer: number): boolean {
    return this.#failed.has(peer) || this.conversation(peer).isTaken;
  }

  /** What goes to a peer that has been forgotten, or is lost, goes nowhere. */
  send(to: number, tag: number, body: Uint8Array, marks: Marks | ((offset: number) => Marks)): void {
    if (!this.#failed.has(to)) this.conversation(to).send(tag, body, marks);
  }

  /** From now on the peer has to show signs of life. */
  watch(peer: number, now: number): void {
    const meter = new SilenceMeter(this.#options.silence / 2);
    meter.look(now);
    this.#watched.set(peer, meter);
    if (this.#heartbeatAt === Number.POSITIVE_INFINITY) this.#heartbeatAt = now;
  }

  /** Is everything acknowledged that was sent to peers that are there? */
  get isIdle(): boolean {
    for (const conversation of this.#conversations.values()) if (!conversation.isIdle) return false;
    return true;
  }

  /** The peer may be silent; the conversation goes on. */
  forgive(peer: number): void {
    this.#watched.delete(peer);
    if (this.#watched.size === 0) this.#heartbeatAt = Number.POSITIVE_INFINITY;
  }

  forgetAll(): void {
    for (const peer of [...this.#conversations.keys()]) this.forget(peer);
  }

  /** The peer may be silent, and what it has not acknowledged is no matter. */
  forget(peer: number): void {
    this.forgive(peer);
    this.#conversations.delete(peer);
    this.#failed.add(peer);
  }

  /** Takes a frame; says from whom it was, or undefined when it was refused. What is complete goes to `delivered`. */
  receive(frame: Uint8Array, now: number, delivered: HubMessage[]): number | undefined {
    const datagram = parseFrame(frame);
    if ("refused" in datagram) return this.#refuse(datagram.refused);
    if (datagram.dstIp !== this.#parties.address.ip) return this.#refuse("other_address");
    if (datagram.dstPort !== MESSAGE_PORT) return this.#refuse("other_port");
    const packet = decodeMessage(datagram.payload);
    if ("refused" in packet) return this.#refuse(packet.refused);
    const { job, sender, receiver } = packet.header;
    if (job !== this.#parties.job || receiver !== this.#parties.self) return this.#refuse("other_job");
    const peer = this.#parties.peers.get(sender);
    const conversation = this.#conversations.get(sender);
    if (conversation === undefined || peer?.ip !== datagram.srcIp) return this.#refuse("unknown_peer");
    this.#watched.get(sender)?.heard();
    const messages: DeliveredMessage[] = [];
    conversation.receive(packet, datagram.ecn, now, messages);
    for (const message of messages) delivered.push({ from: sender, ...message });
    return sender;
  }

  /** Adds the frames to send now. `failures` gets peers that are lost, each once. */
  poll(now: number, out: FrameSink, failures: PeerFailure[]): void {
    if (now >= this.#heartbeatAt) this.#beat(now, failures);
    for (const [peer, conversation] of this.#conversations) {
      conversation.poll(now, out);
      if (conversation.hasFailed) this.#fail(peer, "unreachable", failures);
      else if (conversation.hasRestarted) this.#fail(peer, "restarted", failures);
    }
  }

  #beat(now: number, failures: PeerFailure[]): void {
    this.#heartbeatAt = now + this.#options.heartbeat;
    for (const [peer, meter] of this.#watched) {
      if (meter.look(now) > this.#options.silence) this.#fail(peer, "silent", failures);
      else this.#conversations.get(peer)?.ping();
    }
  }

  #fail(peer: number, reason: PeerFailure["reason"], failures: PeerFailure[]): void {
    this.forget(peer);
    failures.push({ peer, reason });
  }

  #refuse(reason: HubCounter): undefined {
    this.counters.add(reason);
    return undefined;
  }
}
