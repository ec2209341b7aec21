/** Why the traffic manager refuses a packet. */
export type QueueDropReason = "queueFull" | "priorityOutOfRange";

/** A port's speed. It is shared by all queues of the port. */
export type PortRate =
  | { readonly kind: "unlimited" }
  | { readonly kind: "packetsPerSecond"; readonly rate: number }
  | { readonly kind: "bitsPerSecond"; readonly rate: number };

export interface TrafficManagerOptions {
  /** Strict-priority queues per port; queue 0 is served last. */
  readonly queues: number;
  /** Packets that a queue holds. */
  readonly depth: number;
}

export interface QueueCounters {
  readonly enqueued: number;
  readonly dropped: Readonly<Record<QueueDropReason, number>>;
  /** Longest that the queue has been, in packets. */
  readonly highest: number;
}

/** First in, first out, without moving elements. */
class Fifo<T> {
  private items: (T | undefined)[] = new Array<T | undefined>(8).fill(undefined);
  private head = 0;
  length = 0;

  push(item: T): void {
    if (this.length === this.items.length) {
      const larger = new Array<T | undefined>(this.items.length * 2).fill(undefined);
      for (let i = 0; i < this.length; i++) larger[i] = this.items[(this.head + i) % this.items.length];
      this.items = larger;
      this.head = 0;
    }
    this.items[(this.head + this.length) % this.items.length] = item;
    this.length++;
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.items[this.head];
    this.items[this.head] = undefined;
    this.head = (this.head + 1) % this.items.length;
    this.length--;
    return item;
  }
}

class Queue<T> {
  readonly packets = new Fifo<T>();
  depth: number;
  enqueued = 0;
  full = 0;
  highest = 0;

  constructor(depth: number) {
    this.depth = depth;
  }
}

class Port<T> {
  readonly number: number;
  readonly queues: readonly Queue<T>[];
  rate: PortRate = { kind: "unlimited" };
  backlog = 0;
  /** Bytes in all queues, and how many they may be. */
  bytes = 0;
  buffer = Number.POSITIVE_INFINITY;
  /** Bytes of it that only the strongest queue may use. */
  reserved = 0;
  isActive = false;
  /** Time at which the port can send again, in microseconds. */
  freeAt = 0;
  outOfRange = 0;

  constructor(number: number, options: TrafficManagerOptions) {
    this.number = number;
    this.queues = Array.from({ length: options.queues }, () => new Queue<T>(options.depth));
  }

  /** Microseconds that a packet of `length` bytes occupies the port. */
  serviceTime(length: number): number {
    switch (this.rate.kind) {
      case "unlimited":
        return 0;
      case "packetsPerSecond":
        return 1e6 / this.rate.rate;
      case "bitsPerSecond":
        return (length * 8 * 1e6) / this.rate.rate;
    }
  }
}

/** What `dequeue` hands out. The object is reused by the next call. */
export interface Dequeued<T> {
  packet: T;
  port: number;
  queue: number;
  /** Packets left in the queue. */
  depth: number;
}

/**
 * The packet buffer between ingress and egress: per port a number of queues, served by strict priority (the greater
 * number first, as v1model's priority), at the port's rate. Ports that are ready take turns. A state machine: time comes
 * in as `now` in microseconds and nothing happens between calls.
 */
export class TrafficManager<T> {
  readonly options: TrafficManagerOptions;
  private readonly ports = new Map<number, Port<T>>();
  /** Ports with packets, in turn. */
  private readonly active = new Fifo<Port<T>>();
  private readonly lengthOf: (packet: T) => number;

  constructor(options: TrafficManagerOptions, lengthOf: (packet: T) => number) {
    this.options = options;
    this.lengthOf = lengthOf;
  }

  private port(number: number): Port<T> {
    let port = this.ports.get(number);
    if (port === undefined) {
      port = new Port(number, this.options);
      this.ports.set(number, port);
    }
    return port;
  }

  private queue(port: number, queue: number): Queue<T> | undefined {
    return this.ports.get(port)?.queues[queue];
  }

  /** Sets the rate of a port; queued packets are served at the new rate from the next one on. */
  setRate(port: number, rate: PortRate): void {
    if (rate.kind !== "unlimited" && !(rate.rate > 0))
      throw new RangeError(`port ${port}: a rate must be above 0`);
    this.port(port).rate = rate;
  }

  /** Sets how many packets a queue of a port holds (all its queues if none is named). */
  setDepth(port: number, depth: number, queue?: number): void {
    if (!(depth >= 0)) throw new RangeError(`port ${port}: a queue can't hold ${depth} packets`);
    this.port(port).queues.forEach((candidate, index) => {
      if (queue === undefined || queue === index) candidate.depth = depth;
    });
  }

  /**
   * Sets how many bytes all queues of a port hold together; without a limit if never set. `reserved` of them are for the strongest queue
   * alone, so that others that are full don't keep control traffic out.
   */
  setBuffer(port: number, bytes: number, reserved = 0): void {
    if (!(bytes >= 0)) throw new RangeError(`port ${port}: queues can't hold ${bytes} bytes`);
    this.port(port).buffer = bytes;
    this.port(port).reserved = reserved;
  }

  /** True if a packet for this port may stay longer than the call that brings it. */
  isLimited(port: number): boolean {
    const found = this.ports.get(port);
    return found !== undefined && found.rate.kind !== "unlimited";
  }

  /** Packets in a queue. */
  depth(port: number, queue: number): number {
    return this.queue(port, queue)?.packets.length ?? 0;
  }

  /** Packets in all queues. */
  get backlog(): number {
    let sum = 0;
    for (const port of this.ports.values()) sum += port.backlog;
    return sum;
  }

  get isEmpty(): boolean {
    return this.active.length === 0;
  }

  /** Puts a packet into a queue, or says why not. */
  enqueue(port: number, queue: number, packet: T, now: number): QueueDropReason | undefined {
    const to = this.port(port);
    const target = to.queues[queue];
    if (target === undefined) {
      to.outOfRange++;
      return "priorityOutOfRange";
    }
    const length = this.lengthOf(packet);
    const room = queue === to.queues.length - 1 ? to.buffer : to.buffer - to.reserved;
    if (target.packets.length >= target.depth || to.bytes + length > room) {
      target.full++;
      return "queueFull";
    }
    target.packets.push(packet);
    target.enqueued++;
    to.bytes += length;
    if (target.packets.length > target.highest) target.highest = target.packets.length;
    if (to.backlog === 0 && to.freeAt < now) to.freeAt = now;
    to.backlog++;
    if (!to.isActive) {
      to.isActive = true;
      this.active.push(to);
    }
    return undefined;
  }

  /** Takes the next packet that may leave at `now` into `into`; false if there is none. */
  dequeue(now: number, into: Dequeued<T>): boolean {
    for (let tries = this.active.length; tries > 0; tries--) {
      const port = this.active.shift();
      if (port === undefined) return false;
      if (port.freeAt > now && port.rate.kind !== "unlimited") {
        this.active.push(port);
        continue;
      }
      for (let index = port.queues.length - 1; index >= 0; index--) {
        const queue = port.queues[index];
        const packet = queue?.packets.shift();
        if (queue === undefined || packet === undefined) continue;
        const length = this.lengthOf(packet);
        port.backlog--;
        port.bytes -= length;
        port.freeAt += port.serviceTime(length);
        if (port.backlog > 0) this.active.push(port);
        else port.isActive = false;
        into.packet = packet;
        into.port = port.number;
        into.queue = index;
        into.depth = queue.packets.length;
        return true;
      }
      port.isActive = false;
    }
    return false;
  }

  /** When the next packet may leave, in microseconds; undefined if all queues are empty. */
  nextWakeup(): number | undefined {
    let next: number | undefined;
    for (const port of this.ports.values()) {
      if (port.backlog > 0 && (next === undefined || port.freeAt < next)) next = port.freeAt;
    }
    return next;
  }

  counters(port: number, queue: number): QueueCounters {
    const found = this.queue(port, queue);
    return {
      enqueued: found?.enqueued ?? 0,
      dropped: { queueFull: found?.full ?? 0, priorityOutOfRange: this.ports.get(port)?.outOfRange ?? 0 },
      highest: found?.highest ?? 0,
    };
  }

  /** Ports that have been used or configured, in numeric order. */
  portNumbers(): readonly number[] {
    return [...this.ports.keys()].sort((a, b) => a - b);
  }

  /** Removes all packets and hands each to `onPacket`; rates, depths and counters stay. */
  clear(onPacket: (packet: T) => void): void {
    for (const port of this.ports.values()) {
      for (const queue of port.queues) {
        for (let packet = queue.packets.shift(); packet !== undefined; packet = queue.packets.shift())
          onPacket(packet);
      }
      port.backlog = 0;
      port.bytes = 0;
      port.isActive = false;
      port.freeAt = 0;
    }
    while (this.active.shift() !== undefined);
  }
}
