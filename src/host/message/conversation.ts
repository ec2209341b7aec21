import { type Addressing, newFrame, PAYLOAD_AT, writeUdpChecksum } from "../../wire/datagram.ts";
import {
  MESSAGE_VERSION,
  type MessageAckHeader,
  type MessagePacket,
  type MessagePartHeader,
  messageAckCodec,
  messagePartCodec,
  PacketKind,
} from "../../wire/message.ts";
import { Ecn } from "../../wire/trafficclass.ts";
import type { FrameSink } from "../machine.ts";
import { Arrivals } from "./arrivals.ts";
import type { CongestionControl } from "./congestion.ts";
import { type DeliveredMessage, Reassembly, type ReassemblyOptions } from "./reassembly.ts";

/** Times are in milliseconds. */
export interface ConversationOptions extends ReassemblyOptions {
  /** Bytes of a message in one packet. */
  readonly segment: number;
  /** Shortest and longest time without an acknowledgement after which packets are sent again; it doubles each time. */
  readonly minTimeout: number;
  readonly maxTimeout: number;
  /** Time-outs in a row after which the peer counts as unreachable. */
  readonly retries: number;
  /** Packets that may overtake another one before it counts as lost. */
  readonly reordering: number;
  /** Packets for one acknowledgement. What is out of turn, or the last of a message, is acknowledged at once. */
  readonly ackEvery: number;
  /** Longest time that an acknowledgement waits for more packets. */
  readonly ackDelay: number;
  /** Do packets carry a checksum? Only where the network has one of its own can they do without. */
  readonly checksum: boolean;
  /** Class of acknowledgements. */
  readonly ackDscp: number;
}

/** For a network with round trips of at most a few tens of milliseconds, and frames of 1400 bytes. */
export const DEFAULT_CONVERSATION_OPTIONS: ConversationOptions = {
  segment: 1312,
  minTimeout: 30,
  maxTimeout: 1000,
  retries: 16,
  reordering: 3,
  ackEvery: 2,
  ackDelay: 5,
  checksum: true,
  ackDscp: 0,
  maxBytes: 1 << 24,
  maxMessages: 256,
  maxBuffered: 1 << 26,
  ordered: true,
  store: true,
};

/** How the packets of a message are marked. */
export interface Marks {
  readonly dscp: number;
  /** Default: ECN-capable, so that long queues mark and do not drop. */
  readonly ecn?: number;
}

/** Which two hosts talk. */
export interface Parties {
  readonly job: number;
  readonly self: number;
  readonly peer: number;
  /** Greater after each start of this host; not 0. */
  readonly incarnation: number;
  readonly addressing: Addressing;
}

interface Outgoing {
  readonly id: number;
  readonly tag: number;
  readonly body: Uint8Array;
  readonly marks: (offset: number) => Marks;
  readonly parts: number;
  nextPart: number;
  readonly arrived: Uint8Array;
  missing: number;
}

interface Sent {
  readonly message: Outgoing;
  readonly part: number;
  readonly at: number;
  isSettled: boolean;
}

const EMPTY = new Uint8Array(0);

/**
 * One end of a reliable conversation between two hosts: messages go in parts, a window says how many packets may be under way, what is
 * lost is sent again, and each message is delivered once. A state machine: it takes packets and the time, and gives frames.
 *
 * Each packet has a number of its own, also when a part is sent again (as in QUIC), so an acknowledgement is never ambiguous. A packet is
 * lost when `reordering` later ones have arrived, or after a time-out.
 */
export class Conversation {
  readonly counters = {
    sent: 0,
    resent: 0,
    timeouts: 0,
    duplicates: 0,
    beyondWindow: 0,
    inconsistent: 0,
    stale: 0,
  };
  readonly #parties: Parties;
  readonly #options: ConversationOptions;
  readonly #control: CongestionControl;
  readonly #reassembly: Reassembly;
  readonly #arrivals = new Arrivals();

  /** Messages with parts that have not been sent, in order. */
  readonly #unsent: Outgoing[] = [];
  readonly #again: { message: Outgoing; part: number }[] = [];
  /** Packets from number `#base` on. */
  readonly #sent: Sent[] = [];
  #sentHead = 0;
  #base = 0;
  #nextNumber = 0;
  #nextMessage = 0;
  #inFlight = 0;
  #open = 0;

  #peerIncarnation = 0;
  #hasRestarted = false;
  #smoothed = Number.NaN;
  #deviation = 0;
  #backOff = 1;
  #timeouts = 0;
  #timerFrom = Number.POSITIVE_INFINITY;

  #unacknowledged = 0;
  #marked = 0;
  #ackAt = Number.POSITIVE_INFINITY;
  #signs: number[] = [];

  constructor(parties: Parties, control: CongestionControl, options: Partial<ConversationOptions> = {}) {
    this.#parties = parties;
    this.#options = { ...DEFAULT_CONVERSATION_OPTIONS, ...options };
    this.#control = control;
    this.#reassembly = new Reassembly(this.#options);
  }

  /** Has the peer not answered in the allowed number of tries? Nothing is sent from then on. */
  get hasFailed(): boolean {
    return this.#timeouts > this.#options.retries;
  }

  /** Has the peer begun anew? What was said before is lost. */
  get hasRestarted(): boolean {
    return this.#hasRestarted;
  }

  /** Is everything acknowledged? */
  get isIdle(): boolean {
    return this.#open === 0;
  }

  /** Have all parts of all messages been sent once? Then another message would not have to wait for them. */
  get isTaken(): boolean {
    return this.#unsent.length === 0;
  }

  /** Smoothed round trip, NaN before the first one. */
  get roundTrip(): number {
    return this.#smoothed;
  }

  get wakeAt(): number {
    if (this.#signs.length > 0) return Number.NEGATIVE_INFINITY;
    const timer = this.hasFailed ? Number.POSITIVE_INFINITY : this.#timerFrom + this.#timeout;
    return Math.min(this.#ackAt, timer);
  }

  get #timeout(): number {
    const { minTimeout, maxTimeout } = this.#options;
    const base = Number.isNaN(this.#smoothed) ? minTimeout : this.#smoothed + 4 * this.#deviation;
    return Math.min(maxTimeout, Math.max(minTimeout, base) * this.#backOff);
  }

  /**
   * Puts a message into the queue; `poll` sends it. The body is not to be changed until it is acknowledged. `marks` may differ from part to
   * part, by the part's first byte.
   *
   * @throws RangeError when it is longer than `maxBytes`.
   */
  send(tag: number, body: Uint8Array, marks: Marks | ((offset: number) => Marks)): void {
    const { maxBytes, segment } = this.#options;
    if (body.length > maxBytes)
      throw new RangeError(`a message of ${body.length} bytes is too long: at most ${maxBytes}`);
    const parts = Math.max(1, Math.ceil(body.length / segment));
    const marksOf = typeof marks === "function" ? marks : () => marks;
    const id = this.#nextMessage;
    this.#nextMessage = (id + 1) >>> 0;
    this.#open++;
    const arrived = new Uint8Array(parts);
    this.#unsent.push({ id, tag, body, marks: marksOf, parts, nextPart: 0, arrived, missing: parts });
  }

  /** Asks the peer for a sign of life. */
  ping(): void {
    this.#signs.push(PacketKind.PING);
  }

  /** Takes a packet of this conversation. Messages that are complete are added to `delivered`. */
  receive(packet: MessagePacket, ecn: number, now: number, delivered: DeliveredMessage[]): void {
    const { incarnation, peer_incarnation: known } = packet.header;
    if (known !== 0 && known !== this.#parties.incarnation) {
      this.counters.stale++;
      return;
    }
    if (this.#peerIncarnation === 0) this.#peerIncarnation = incarnation;
    if (incarnation !== this.#peerIncarnation) {
      if (((incarnation - this.#peerIncarnation) | 0) > 0) this.#hasRestarted = true;
      this.counters.stale++;
      return;
    }
    if (packet.kind === "ack") this.#acknowledged(packet.header, now);
    else if (packet.header.kind === PacketKind.DATA)
      this.#part(packet.header, packet.body, ecn, now, delivered);
    else if (packet.header.kind === PacketKind.PING) this.#signs.push(PacketKind.PONG);
  }

  /** Adds the frames to send now to `out`: acknowledgements, what was lost, and what the window has room for. */
  poll(now: number, out: FrameSink): void {
    if (this.#unacknowledged > 0 && now >= this.#ackAt) out.push({ type: "send", frame: this.#ackFrame() });
    for (const kind of this.#signs.splice(0)) out.push({ type: "send", frame: this.#signFrame(kind) });
    if (this.hasFailed || this.#hasRestarted) return;
    if (now >= this.#timerFrom + this.#timeout) this.#timedOut(now);
    while (this.#inFlight < this.#control.window) {
      const next = this.#nextToSend();
      if (next === undefined) break;
      out.push({ type: "send", frame: this.#transmit(next.message, next.part, now) });
    }
  }

  #nextToSend(): { message: Outgoing; part: number } | undefined {
    for (let lost = this.#again.shift(); lost !== undefined; lost = this.#again.shift()) {
      if (lost.message.arrived[lost.part] === 1) continue; // it was late, not lost
      this.counters.resent++;
      return lost;
    }
    const message = this.#unsent[0];
    if (message === undefined) return undefined;
    const part = message.nextPart++;
    if (message.nextPart === message.parts) this.#unsent.shift();
    return { message, part };
  }

  #transmit(message: Outgoing, part: number, now: number): Uint8Array {
    const { segment } = this.#options;
    const offset = part * segment;
    const body = message.body.subarray(offset, offset + segment);
    const { dscp, ecn = Ecn.ECT_0 } = message.marks(offset);
    const header = this.#header(PacketKind.DATA, {
      number: this.#nextNumber,
      message: message.id,
      bytes: message.body.length,
      offset,
      segment,
      tag: message.tag,
    });
    this.#nextNumber = (this.#nextNumber + 1) >>> 0;
    this.#sent.push({ message, part, at: now, isSettled: false });
    this.counters.sent++;
    if (this.#inFlight++ === 0) this.#timerFrom = now;
    return this.#frame(header, body, dscp, ecn);
  }

  #part(
    header: MessagePartHeader,
    body: Uint8Array,
    ecn: number,
    now: number,
    delivered: DeliveredMessage[],
  ): void {
    const before = delivered.length;
    const fate = this.#reassembly.take(header, body, delivered);
    if (fate === "duplicate") this.counters.duplicates++;
    else if (fate !== "taken") {
      this.counters[fate]++;
      return;
    }
    const isInTurn = this.#arrivals.add(header.number);
    if (ecn === Ecn.CE) this.#marked++;
    this.#unacknowledged++;
    const isUrgent = !isInTurn || fate === "duplicate" || header.offset + body.length === header.bytes;
    const { ackEvery, ackDelay } = this.#options;
    const isDue = isUrgent || this.#unacknowledged >= ackEvery || delivered.length > before;
    this.#ackAt = isDue ? Number.NEGATIVE_INFINITY : Math.min(this.#ackAt, now + ackDelay);
  }

  #acknowledged({ highest, arrived_low, arrived_high, marked }: MessageAckHeader, now: number): void {
    const count = this.#sent.length - this.#sentHead;
    const last = (highest - this.#base) | 0;
    if (last >= count) return; // of a packet that was never sent
    const isWindowUsed = this.#inFlight >= this.#control.window - 1;
    let news = 0;
    for (let behind = 0; behind < 64 && behind <= last; behind++) {
      const bit = behind < 32 ? (arrived_low >>> behind) & 1 : (arrived_high >>> (behind - 32)) & 1;
      const sent = bit === 1 ? this.#sent[this.#sentHead + last - behind] : undefined;
      if (sent === undefined || sent.isSettled) continue;
      news++;
      if (behind === 0) this.#measured(now - sent.at);
      this.#settle(sent);
      this.#arrived(sent.message, sent.part);
    }
    if (news === 0) return;
    this.#backOff = 1;
    this.#timeouts = 0;
    this.#control.acknowledged(news, Math.min(marked, news), isWindowUsed);
    this.#findLost(last);
    this.#forgetSettled();
    this.#timerFrom = this.#inFlight > 0 ? now : Number.POSITIVE_INFINITY;
  }

  #findLost(last: number): void {
    for (let i = 0; i <= last - this.#options.reordering; i++) {
      const sent = this.#sent[this.#sentHead + i];
      if (sent === undefined || sent.isSettled) continue;
      this.#control.lost((this.#base + i) >>> 0, (this.#nextNumber - 1) >>> 0);
      this.#settle(sent);
      this.#again.push(sent);
    }
  }

  #timedOut(now: number): void {
    this.counters.timeouts++;
    this.#timeouts++;
    this.#control.timedOut();
    for (let i = this.#sentHead; i < this.#sent.length; i++) {
      const sent = this.#sent[i];
      if (sent === undefined || sent.isSettled) continue;
      this.#settle(sent);
      this.#again.push(sent);
    }
    this.#forgetSettled();
    this.#backOff *= 2;
    this.#timerFrom = now;
  }

  #settle(sent: Sent): void {
    sent.isSettled = true;
    this.#inFlight--;
  }

  #arrived(message: Outgoing, part: number): void {
    if (message.arrived[part] === 1) return;
    message.arrived[part] = 1;
    message.missing--;
    if (message.missing === 0) this.#open--;
  }

  #forgetSettled(): void {
    while (this.#sentHead < this.#sent.length && this.#sent[this.#sentHead]?.isSettled === true) {
      this.#sentHead++;
      this.#base = (this.#base + 1) >>> 0;
    }
    if (this.#sentHead > 1024 && this.#sentHead * 2 > this.#sent.length) {
      this.#sent.splice(0, this.#sentHead);
      this.#sentHead = 0;
    }
  }

  #measured(roundTrip: number): void {
    if (Number.isNaN(this.#smoothed)) {
      this.#smoothed = roundTrip;
      this.#deviation = roundTrip / 2;
      return;
    }
    this.#deviation = 0.75 * this.#deviation + 0.25 * Math.abs(this.#smoothed - roundTrip);
    this.#smoothed = 0.875 * this.#smoothed + 0.125 * roundTrip;
  }

  #header(kind: number, fields: Partial<MessagePartHeader>): MessagePartHeader {
    const { job, self, peer, incarnation } = this.#parties;
    // Field by field: this is made for every packet.
    return {
      version: MESSAGE_VERSION,
      kind,
      reserved: 0,
      job,
      sender: self,
      receiver: peer,
      incarnation,
      peer_incarnation: this.#peerIncarnation,
      number: fields.number ?? 0,
      message: fields.message ?? 0,
      bytes: fields.bytes ?? 0,
      offset: fields.offset ?? 0,
      segment: fields.segment ?? 0,
      tag: fields.tag ?? 0,
    };
  }

  #frame(header: MessagePartHeader, body: Uint8Array, dscp: number, ecn: number): Uint8Array {
    const at = PAYLOAD_AT + messagePartCodec.bytes;
    const frame = newFrame({ ...this.#parties.addressing, dscp, ecn }, messagePartCodec.bytes + body.length);
    messagePartCodec.encode(header, frame, PAYLOAD_AT);
    frame.set(body, at);
    return this.#summed(frame);
  }

  #signFrame(kind: number): Uint8Array {
    return this.#frame(this.#header(kind, {}), EMPTY, this.#options.ackDscp, Ecn.ECT_0);
  }

  #ackFrame(): Uint8Array {
    const { job, self, peer, incarnation, addressing } = this.#parties;
    const { highest, low, high } = this.#arrivals;
    const frame = newFrame(
      { ...addressing, dscp: this.#options.ackDscp, ecn: Ecn.ECT_0 },
      messageAckCodec.bytes,
    );
    const header = {
      version: MESSAGE_VERSION,
      kind: PacketKind.ACK,
      marked: Math.min(255, this.#marked),
      job,
      sender: self,
      receiver: peer,
      incarnation,
      peer_incarnation: this.#peerIncarnation,
      highest,
      arrived_high: high,
      arrived_low: low,
    };
    messageAckCodec.encode(header, frame, PAYLOAD_AT);
    this.#marked = 0;
    this.#unacknowledged = 0;
    this.#ackAt = Number.POSITIVE_INFINITY;
    return this.#summed(frame);
  }

  #summed(frame: Uint8Array): Uint8Array {
    if (this.#options.checksum) writeUdpChecksum(frame);
    return frame;
  }
}
