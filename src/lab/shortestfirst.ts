import type { Dequeued, PortRate, QueueDropReason } from "../switch/index.ts";

interface Entry<T> {
  readonly packet: T;
  readonly bytes: number;
  readonly remaining: number;
}

interface Port<T> {
  readonly number: number;
  readonly entries: Entry<T>[];
  bytes: number;
  /** Time at which the port can send again, in microseconds. */
  freeAt: number;
  microsecondsPerByte: number;
}

/** What this buffer has to know of a packet. */
export interface PacketFacts<T> {
  bytes(packet: T): number;
  /** Bytes that its flow has left to send: the fewer, the more urgent. */
  remaining(packet: T): number;
  isOfSameFlow(a: T, b: T): boolean;
}

/**
 * The packet buffer of pFabric (SIGCOMM 2013, section 4.2): a port sends the earliest packet of the flow with the least left to send, and
 * where the buffer is full the packet of the flow with the most left is dropped. Times are in microseconds.
 */
export class ShortestFirstBuffer<T> {
  readonly #facts: PacketFacts<T>;
  readonly #bytes: number;
  readonly #ports = new Map<number, Port<T>>();

  /** @param bytes that a port holds. */
  constructor(bytes: number, facts: PacketFacts<T>) {
    this.#bytes = bytes;
    this.#facts = facts;
  }

  setRate(port: number, rate: PortRate): void {
    if (rate.kind !== "bitsPerSecond") throw new RangeError("shortest first needs a rate in bits per second");
    this.#port(port).microsecondsPerByte = 8e6 / rate.rate;
  }

  depth(port: number): number {
    return this.#port(port).entries.length;
  }

  enqueue(number: number, _queue: number, packet: T, now: number): QueueDropReason | undefined {
    const port = this.#port(number);
    const { entries } = port;
    const bytes = this.#facts.bytes(packet);
    if (entries.length === 0) port.freeAt = Math.max(port.freeAt, now);
    entries.push({ packet, bytes, remaining: this.#facts.remaining(packet) });
    port.bytes += bytes;
    if (port.bytes <= this.#bytes) return undefined;
    while (port.bytes > this.#bytes) {
      const [worst] = entries.splice(leastUrgent(entries), 1);
      if (worst === undefined) break;
      port.bytes -= worst.bytes;
    }
    return "queueFull";
  }

  dequeue(now: number, into: Dequeued<T>): boolean {
    for (const port of this.#ports.values()) {
      const { entries } = port;
      if (entries.length === 0 || port.freeAt > now) continue;
      const urgent = entries[mostUrgent(entries)];
      if (urgent === undefined) continue;
      const at = entries.findIndex((e) => e === urgent || this.#facts.isOfSameFlow(e.packet, urgent.packet));
      const [entry] = entries.splice(at, 1);
      if (entry === undefined) continue;
      port.bytes -= entry.bytes;
      port.freeAt += entry.bytes * port.microsecondsPerByte;
      into.packet = entry.packet;
      into.port = port.number;
      into.queue = 0;
      into.depth = entries.length;
      return true;
    }
    return false;
  }

  nextWakeup(): number | undefined {
    let next: number | undefined;
    for (const { entries, freeAt } of this.#ports.values())
      if (entries.length > 0 && (next === undefined || freeAt < next)) next = freeAt;
    return next;
  }

  #port(number: number): Port<T> {
    let port = this.#ports.get(number);
    if (port === undefined) {
      port = { number, entries: [], bytes: 0, freeAt: 0, microsecondsPerByte: 0 };
      this.#ports.set(number, port);
    }
    return port;
  }
}

/** Of equals the first to come. */
function mostUrgent(entries: readonly { readonly remaining: number }[]): number {
  let at = 0;
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < entries.length; i++) {
    const remaining = entries[i]?.remaining ?? best;
    if (remaining < best) {
      best = remaining;
      at = i;
    }
  }
  return at;
}

/** Of equals the last to come. */
function leastUrgent(entries: readonly { readonly remaining: number }[]): number {
  let at = 0;
  let worst = -1;
  for (let i = 0; i < entries.length; i++) {
    const remaining = entries[i]?.remaining ?? worst;
    if (remaining >= worst) {
      worst = remaining;
      at = i;
    }
  }
  return at;
}
