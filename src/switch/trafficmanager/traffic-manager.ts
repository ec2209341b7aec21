import type { Importance } from "./congestion.ts";
import { Fifo } from "./fifo.ts";
import { Queue, type QueueCounters, type QueueDropReason } from "./queue.ts";
import {
  checkRate,
  type PortRate,
  type PortSettings,
  type QueueSettings,
  serviceTime,
  unlimited,
} from "./settings.ts";

export interface TrafficManagerOptions {
  /** Strict-priority queues per port; queue 0 is served last. */
  readonly queues: number;
  /** Packets that a queue holds. */
  readonly depth: number;
  /**
   * What a port's rate means. `port` (the default): all its queues share it, as on a real port. `queue`: each queue has it for itself,
   * packets per second only, as in BMv2, where strong queues don't slow weak ones down.
   */
  readonly pacing?: "port" | "queue";
}

/** What the traffic manager asks about packets that meet a long queue, and does to them. */
export interface CongestionRules<T> {
  importance(packet: T): Importance;
  /** Has the packet say that it experienced congestion. */
  mark(packet: T): void;
}

/** The queue that settings are for: all ports, or all queues of them, where left out. */
export interface QueuePlace {
  readonly port?: number;
  readonly queue?: number;
}

/** v1model has 9 bits for ports. */
const usualPorts = 512;

class Port<T> {
  readonly number: number;
  readonly queues: readonly Queue<T>[];
  rate: PortRate = unlimited;
  backlog = 0;
  /** Bytes in all queues, and how many they may be. */
  bytes = 0;
  buffer = Number.POSITIVE_INFINITY;
  /** Bytes of it that only the strongest queue may use. */
  reserved = 0;
  isActive = false;
  /** True if a packet may have to wait. */
  isLimited = false;
  /** Time at which the port can send again, in microseconds. */
  freeAt = 0;
  outOfRange = 0;

  constructor(number: number, options: TrafficManagerOptions) {
    this.number = number;
    this.queues = Array.from({ length: options.queues }, () => new Queue<T>(options.depth));
  }

  setRate(rate: PortRate, now: number): void {
    this.rate = rate;
    // No credit for the time before.
    if (this.freeAt < now) this.freeAt = now;
    this.updateLimit();
  }

  updateLimit(): void {
    this.isLimited = this.rate.kind !== "unlimited" || this.queues.some((queue) => queue.isShaped);
  }

  configureLike(other: Port<T>, now: number): void {
    this.rate = other.rate;
    this.buffer = other.buffer;
    this.reserved = other.reserved;
    this.queues.forEach((queue, index) => {
      const like = other.queues[index];
      if (like !== undefined) queue.configure("", like.settings(), now);
    });
    this.updateLimit();
  }

  /** When the next packet may leave; only with a backlog. */
  get nextAt(): number {
    const free = this.rate.kind === "unlimited" ? 0 : this.freeAt;
    let ready = Number.POSITIVE_INFINITY;
    for (const queue of this.queues) {
      if (queue.packets.length === 0) continue;
      if (!queue.isShaped) return free;
      if (queue.readyAt < ready) ready = queue.readyAt;
    }
    return Math.max(free, ready);
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
  /** The same by number, as far as numbers are usual: it is asked several times for each packet. */
  private readonly usual: (Port<T> | undefined)[] = new Array<Port<T> | undefined>(usualPorts).fill(
    undefined,
  );
  /** Ports with packets, in turn. */
  private readonly active = new Fifo<Port<T>>();
  private readonly lengthOf: (packet: T) => number;
  private readonly congestion: CongestionRules<T> | undefined;
  /** Settings of ports that are still to come. */
  private readonly defaults: Port<T>;
  /** The time that was last heard of. */
  private clock = 0;

  /** Without `congestion` no packet is droppable or marked. */
  constructor(
    options: TrafficManagerOptions,
    lengthOf: (packet: T) => number,
    congestion?: CongestionRules<T>,
  ) {
    this.options = options;
    this.defaults = new Port(-1, options);
    this.lengthOf = lengthOf;
    this.congestion = congestion;
  }

  private find(number: number): Port<T> | undefined {
    return number < usualPorts ? this.usual[number] : this.ports.get(number);
  }

  private port(number: number): Port<T> {
    let port = this.find(number);
    if (port === undefined) {
      port = new Port(number, this.options);
      port.configureLike(this.defaults, this.clock);
      this.ports.set(number, port);
      if (number < usualPorts) this.usual[number] = port;
    }
    return port;
  }

  private queue(port: number, queue: number): Queue<T> | undefined {
    return this.find(port)?.queues[queue];
  }

  // ---------------------------------------------------------------- settings

  /** One port, or all that are there and what those to come begin with. */
  private chosen(port: number | undefined): readonly Port<T>[] {
    return port === undefined ? [this.defaults, ...this.ports.values()] : [this.port(port)];
  }

  /**
   * Sets what is given of some queues; what waits in them stays, and is served at a new rate from the next packet on.
   *
   * @throws RangeError for values that make no sense and queues that are not there; nothing has changed then
   */
  configureQueues(place: QueuePlace, settings: QueueSettings): void {
    const { port, queue } = place;
    if (queue !== undefined && !(Number.isInteger(queue) && queue >= 0 && queue < this.options.queues))
      throw new RangeError(`there is no queue ${queue}; they are 0 to ${this.options.queues - 1}`);
    const what = port === undefined ? "all ports" : `port ${port}`;
    if (this.options.pacing === "queue" && settings.rate?.kind === "bitsPerSecond")
      throw new RangeError(`${what}: queues are paced by packets per second, as in BMv2`);
    for (const chosen of this.chosen(port)) {
      chosen.queues.forEach((candidate, index) => {
        if (queue === undefined || queue === index) candidate.configure(what, settings, this.clock);
      });
      chosen.updateLimit();
    }
  }

  /**
   * Sets what is given of a port, or with undefined of all ports.
   *
   * @throws RangeError for values that make no sense; nothing has changed then
   */
  configurePort(port: number | undefined, { rate, buffer, reserved }: PortSettings): void {
    const what = port === undefined ? "all ports" : `port ${port}`;
    if (rate !== undefined) checkRate(what, rate);
    for (const bytes of [buffer, reserved])
      if (bytes !== undefined && !(bytes >= 0))
        throw new RangeError(`${what}: queues can't hold ${bytes} bytes`);
    if (rate !== undefined && this.options.pacing === "queue")
      this.configureQueues(port === undefined ? {} : { port }, { rate });
    for (const chosen of this.chosen(port)) {
      if (rate !== undefined && this.options.pacing !== "queue") chosen.setRate(rate, this.clock);
      if (buffer !== undefined) chosen.buffer = buffer;
      if (reserved !== undefined) chosen.reserved = reserved;
    }
  }

  /** Sets the rate of a port; queued packets are served at the new rate from the next one on. */
  setRate(port: number, rate: PortRate): void {
    this.configurePort(port, { rate });
  }

  /** Sets how many packets a queue of a port holds (all its queues if none is named). */
  setDepth(port: number, packets: number, queue?: number): void {
    this.configureQueues({ port, ...(queue === undefined ? {} : { queue }) }, { depth: { packets } });
  }

  /**
   * Sets how many bytes all queues of a port hold together; without a limit if never set. `reserved` of them are for the strongest queue
   * alone, so that others that are full don't keep control traffic out.
   */
  setBuffer(port: number, bytes: number, reserved = 0): void {
    this.configurePort(port, { buffer: bytes, reserved });
  }

  /** Settings of a port, or with undefined of ports to come; `buffer` is Infinity without a limit. */
  portSettings(port: number | undefined): Required<PortSettings> {
    const { rate, buffer, reserved } = this.settingsOf(port);
    return { rate, buffer, reserved };
  }

  /** Settings of a queue; undefined if there is none of this number. */
  queueSettings(port: number | undefined, queue: number): Required<QueueSettings> | undefined {
    return this.settingsOf(port).queues[queue]?.settings();
  }

  private settingsOf(port: number | undefined): Port<T> {
    return port === undefined ? this.defaults : (this.find(port) ?? this.defaults);
  }

  // ---------------------------------------------------------------- state

  /** True if a packet for this port may stay longer than the call that brings it. */
  isLimited(port: number): boolean {
    return (this.find(port) ?? this.defaults).isLimited;
  }

  /** Packets in a queue. */
  depth(port: number, queue: number): number {
    return this.queue(port, queue)?.packets.length ?? 0;
  }

  /** Bytes in a queue. */
  depthBytes(port: number, queue: number): number {
    return this.queue(port, queue)?.bytes ?? 0;
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

  counters(port: number, queue: number): QueueCounters {
    const found = this.queue(port, queue);
    return {
      enqueued: found?.enqueued ?? 0,
      enqueuedBytes: found?.enqueuedBytes ?? 0,
      dropped: {
        queueFull: found?.full ?? 0,
        bufferFull: found?.bufferFull ?? 0,
        selectiveDrop: found?.selective ?? 0,
        priorityOutOfRange: this.find(port)?.outOfRange ?? 0,
      },
      droppedBytes: found?.droppedBytes ?? 0,
      marked: found?.marked ?? 0,
      highest: found?.highest ?? 0,
      highestBytes: found?.highestBytes ?? 0,
    };
  }

  /** Lets the watermarks of all queues, or of one port's, begin anew at what waits now. */
  resetWatermarks(port?: number): void {
    for (const chosen of this.ports.values())
      if (port === undefined || chosen.number === port)
        for (const queue of chosen.queues) {
          queue.highest = queue.packets.length;
          queue.highestBytes = queue.bytes;
        }
  }

  /** Ports that have been used or configured, in numeric order. */
  portNumbers(): readonly number[] {
    return [...this.ports.keys()].sort((a, b) => a - b);
  }

  // ---------------------------------------------------------------- packets

  /** Puts a packet into a queue, or says why not. */
  enqueue(port: number, queue: number, packet: T, now: number): QueueDropReason | undefined {
    this.clock = now;
    const to = this.port(port);
    const target = to.queues[queue];
    if (target === undefined) {
      to.outOfRange++;
      return "priorityOutOfRange";
    }
    const length = this.lengthOf(packet);
    const refused = this.refusal(to, target, packet, length);
    if (refused !== undefined) {
      target.droppedBytes += length;
      return refused;
    }
    target.push(packet, length, now);
    to.bytes += length;
    if (to.backlog === 0 && to.freeAt < now) to.freeAt = now;
    to.backlog++;
    if (!to.isActive) {
      to.isActive = true;
      this.active.push(to);
    }
    return undefined;
  }

  /** Why a packet finds no place, counted; marks it if it finds one in a queue that is long. */
  private refusal(to: Port<T>, target: Queue<T>, packet: T, length: number): QueueDropReason | undefined {
    const { congestion } = this;
    const importance = congestion === undefined || !target.isLong ? undefined : congestion.importance(packet);
    if (importance === "droppable" && target.isTooLongForDroppable) {
      target.selective++;
      return "selectiveDrop";
    }
    if (target.packets.length >= target.depth || target.bytes + length > target.depthBytes) {
      target.full++;
      return "queueFull";
    }
    const room = target === to.queues[to.queues.length - 1] ? to.buffer : to.buffer - to.reserved;
    if (to.bytes + length > room) {
      target.bufferFull++;
      return "bufferFull";
    }
    if (importance === "ecnCapable" && target.isMarking) {
      target.marked++;
      congestion?.mark(packet);
    }
    return undefined;
  }

  /** Takes the next packet that may leave at `now` into `into`; false if there is none. */
  dequeue(now: number, into: Dequeued<T>): boolean {
    this.clock = now;
    for (let tries = this.active.length; tries > 0; tries--) {
      const port = this.active.shift();
      if (port === undefined) return false;
      if (this.take(port, now, into)) {
        if (port.backlog > 0) this.active.push(port);
        else port.isActive = false;
        return true;
      }
      this.active.push(port);
    }
    return false;
  }

  private take(port: Port<T>, now: number, into: Dequeued<T>): boolean {
    if (port.freeAt > now && port.rate.kind !== "unlimited") return false;
    for (let index = port.queues.length - 1; index >= 0; index--) {
      const queue = port.queues[index];
      if (queue === undefined || (queue.isShaped && queue.readyAt > now)) continue;
      const packet = queue.packets.shift();
      if (packet === undefined) continue;
      const length = this.lengthOf(packet);
      port.backlog--;
      port.bytes -= length;
      queue.bytes -= length;
      if (queue.isShaped) {
        // From the time at which it could have left: a caller that comes late does not slow the queue down.
        const start = Math.max(queue.readyAt, port.rate.kind === "unlimited" ? 0 : port.freeAt);
        queue.readyAt = start + serviceTime(queue.rate, length);
        port.freeAt = start + serviceTime(port.rate, length);
      } else port.freeAt += serviceTime(port.rate, length);
      into.packet = packet;
      into.port = port.number;
      into.queue = index;
      into.depth = queue.packets.length;
      return true;
    }
    return false;
  }

  /** When the next packet may leave, in microseconds; undefined if all queues are empty. */
  nextWakeup(): number | undefined {
    if (this.active.length === 0) return undefined;
    let next: number | undefined;
    for (const port of this.ports.values()) {
      if (port.backlog === 0) continue;
      const at = port.nextAt;
      if (next === undefined || at < next) next = at;
    }
    return next;
  }

  /** Removes all packets and hands each to `onPacket`; rates, depths and counters stay. */
  clear(onPacket: (packet: T) => void): void {
    for (const port of this.ports.values()) {
      for (const queue of port.queues) {
        for (let packet = queue.packets.shift(); packet !== undefined; packet = queue.packets.shift())
          onPacket(packet);
        queue.bytes = 0;
        queue.readyAt = 0;
      }
      port.backlog = 0;
      port.bytes = 0;
      port.isActive = false;
      port.freeAt = 0;
    }
    while (this.active.shift() !== undefined);
  }
}
