import {
  CHUNK_BYTES,
  chunksOf,
  MessageKind,
  PARAMETER_SERVER_VERSION,
  type ParameterServerHeader,
  type ParameterServerPacket,
} from "../../wire/parameterserver.ts";
import { backOff, type RetryOptions, RoundTripTimer } from "../retry.ts";

/** A message that arrived whole. Each is delivered once, in the order of sending. */
export interface DeliveredMessage {
  readonly kind: number;
  readonly round: number;
  readonly body: Uint8Array;
}

export interface ChannelOptions extends RetryOptions {
  /** Chunks that may be under way at once. */
  readonly window: number;
}

/** Messages that may be under way at once: the receiver holds this many and refuses what lies beyond. */
const MESSAGE_WINDOW = 64;
/** Longest message that a receiver takes, in chunks: garbage must not make it hold more. */
const MAX_CHUNKS = 0x4000;
/** The same in bytes, about 22 million. */
export const MAX_BODY_BYTES = MAX_CHUNKS * CHUNK_BYTES;

interface OutgoingMessage {
  readonly id: number;
  readonly kind: MessageKind;
  readonly round: number;
  readonly body: Uint8Array;
  readonly chunks: number;
  nextChunk: number;
  acknowledged: number;
}

interface ChunkInFlight {
  readonly message: OutgoingMessage;
  readonly chunk: number;
  sentAt: number;
  dueAt: number;
  timeout: number;
  tries: number;
}

interface IncomingMessage {
  readonly kind: number;
  readonly round: number;
  readonly parts: (Uint8Array | undefined)[];
  missing: number;
}

/**
 * One end of a reliable conversation between a worker and its server: messages are cut into chunks, each chunk is
 * acknowledged, resent with back-off until it is, and counted once. A state machine: it takes packets and the
 * time, and gives packets.
 */
export class ReliableChannel {
  readonly counters = { resent: 0, duplicates: 0, beyondWindow: 0, inconsistent: 0 };
  readonly #job: number;
  readonly #member: number;
  readonly #options: ChannelOptions;
  readonly #timer: RoundTripTimer;
  readonly #outgoing: OutgoingMessage[] = [];
  readonly #inFlight = new Map<number, ChunkInFlight>();
  readonly #incoming = new Map<number, IncomingMessage>();
  readonly #acks: ParameterServerPacket[] = [];
  #nextId: number;
  #expectedId: number;
  #failed = false;

  /** @param life which life of the worker it is, 0..255: messages of another are far from the ones expected, so none is taken for one of this. */
  constructor(job: number, member: number, options: ChannelOptions, life = 0) {
    this.#job = job;
    this.#member = member;
    this.#options = options;
    this.#nextId = (life << 24) >>> 0;
    this.#expectedId = this.#nextId;
    this.#timer = new RoundTripTimer(options);
  }

  /** Has the peer not acknowledged some chunk in the allowed number of tries? Nothing is sent from then on. */
  get hasFailed(): boolean {
    return this.#failed;
  }

  /** Is everything that was sent acknowledged? */
  get isIdle(): boolean {
    return this.#outgoing.length === 0;
  }

  /** When `poll` has to be called at the latest. */
  get wakeAt(): number {
    if (this.#acks.length > 0) return Number.NEGATIVE_INFINITY;
    if (this.#failed) return Number.POSITIVE_INFINITY;
    let at = Number.POSITIVE_INFINITY;
    for (const chunk of this.#inFlight.values()) at = Math.min(at, chunk.dueAt);
    return at;
  }

  /**
   * Puts a message into the queue; `poll` sends it.
   *
   * @throws RangeError when it is longer than MAX_BODY_BYTES.
   */
  send(kind: MessageKind, round: number, body: Uint8Array): void {
    const chunks = chunksOf(body.length);
    if (body.length > MAX_BODY_BYTES)
      throw new RangeError(`a message of ${body.length} bytes is too long: at most ${MAX_BODY_BYTES}`);
    const id = this.#nextId;
    this.#nextId = (id + 1) >>> 0;
    this.#outgoing.push({ id, kind, round, body, chunks, nextChunk: 0, acknowledged: 0 });
  }

  /** Forgets all that was to be sent: the peer is gone. */
  abandon(): void {
    this.#outgoing.length = 0;
    this.#inFlight.clear();
  }

  /** The path to the peer has changed: try everything again at once, with fresh counts. */
  retry(now: number): void {
    this.#failed = false;
    this.#timer.restart();
    for (const chunk of this.#inFlight.values()) {
      chunk.dueAt = now;
      chunk.timeout = this.#options.timeout;
      chunk.tries = 0;
    }
  }

  /** Takes one packet of this conversation. Gives the messages that are whole and next in order. */
  receive({ header, body }: ParameterServerPacket, now: number): DeliveredMessage[] {
    if (header.kind === MessageKind.ACK) {
      this.#acknowledged(header, now);
      return [];
    }
    const ahead = (header.message - this.#expectedId) | 0;
    if (ahead >= MESSAGE_WINDOW || header.chunks > MAX_CHUNKS) {
      this.counters.beyondWindow++;
      return [];
    }
    if (ahead < 0) {
      this.counters.duplicates++;
      this.#acknowledge(header);
      return [];
    }
    let message = this.#incoming.get(header.message);
    if (message === undefined) {
      const parts = new Array<Uint8Array | undefined>(header.chunks).fill(undefined);
      message = { kind: header.kind, round: header.round, parts, missing: header.chunks };
      this.#incoming.set(header.message, message);
    }
    if (
      message.parts.length !== header.chunks ||
      message.kind !== header.kind ||
      message.round !== header.round
    ) {
      this.counters.inconsistent++;
      return [];
    }
    this.#acknowledge(header);
    if (message.parts[header.chunk] !== undefined) {
      this.counters.duplicates++;
      return [];
    }
    message.parts[header.chunk] = body.slice(); // the packet's buffer is not ours
    message.missing--;
    return this.#deliver();
  }

  /** The packets to send now: acknowledgements, what is due again, and what the window has room for. */
  poll(now: number): ParameterServerPacket[] {
    const packets = this.#acks.splice(0);
    if (this.#failed) return packets;
    for (const chunk of this.#inFlight.values()) {
      if (chunk.dueAt > now) continue;
      if (chunk.tries > this.#options.retries) {
        this.#failed = true;
        return packets;
      }
      if (chunk.tries > 0) this.counters.resent++;
      this.#transmit(chunk, now, packets);
    }
    const oldest = this.#outgoing[0]?.id ?? 0;
    for (const message of this.#outgoing) {
      if (((message.id - oldest) | 0) >= MESSAGE_WINDOW) break;
      while (message.nextChunk < message.chunks && this.#inFlight.size < this.#options.window) {
        const chunk = {
          message,
          chunk: message.nextChunk++,
          sentAt: now,
          dueAt: now,
          timeout: this.#timer.timeout,
          tries: 0,
        };
        this.#inFlight.set(chunkKey(message.id, chunk.chunk), chunk);
        this.#transmit(chunk, now, packets);
      }
    }
    return packets;
  }

  #transmit(flight: ChunkInFlight, now: number, packets: ParameterServerPacket[]): void {
    const { message, chunk } = flight;
    const { id, kind, round, chunks } = message;
    flight.tries++;
    flight.sentAt = now;
    flight.dueAt = now + flight.timeout;
    if (flight.tries > 1) this.#timer.resent(flight.timeout);
    flight.timeout = backOff(flight.timeout, this.#options);
    const body = message.body.subarray(chunk * CHUNK_BYTES, (chunk + 1) * CHUNK_BYTES);
    packets.push({ header: this.#header(kind, round, id, chunk, chunks), body });
  }

  #acknowledged({ message, chunk }: ParameterServerHeader, now: number): void {
    const flight = this.#inFlight.get(chunkKey(message, chunk));
    if (flight === undefined) return;
    if (flight.tries === 1) this.#timer.measured(now - flight.sentAt);
    this.#inFlight.delete(chunkKey(message, chunk));
    flight.message.acknowledged++;
    while (this.#outgoing[0] !== undefined && this.#outgoing[0].acknowledged === this.#outgoing[0].chunks)
      this.#outgoing.shift();
  }

  #acknowledge({ message, chunk, chunks, round }: ParameterServerHeader): void {
    this.#acks.push({ header: this.#header(MessageKind.ACK, round, message, chunk, chunks), body: NOTHING });
  }

  #deliver(): DeliveredMessage[] {
    const delivered: DeliveredMessage[] = [];
    for (;;) {
      const next = this.#incoming.get(this.#expectedId);
      if (next === undefined || next.missing > 0) return delivered;
      this.#incoming.delete(this.#expectedId);
      this.#expectedId = (this.#expectedId + 1) >>> 0;
      delivered.push({ kind: next.kind, round: next.round, body: join(next.parts) });
    }
  }

  #header(
    kind: MessageKind,
    round: number,
    message: number,
    chunk: number,
    chunks: number,
  ): ParameterServerHeader {
    return {
      version: PARAMETER_SERVER_VERSION,
      kind,
      member: this.#member,
      job: this.#job,
      round,
      message,
      chunk,
      chunks,
    };
  }
}

const NOTHING = new Uint8Array(0);

function chunkKey(message: number, chunk: number): number {
  return message * 65536 + chunk;
}

function join(parts: readonly (Uint8Array | undefined)[]): Uint8Array {
  const bytes = parts.reduce((sum, part) => sum + (part?.length ?? 0), 0);
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const part of parts) {
    if (part === undefined) continue;
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
