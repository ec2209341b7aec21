import { Fifo } from "./fifo.ts";
import { checkLength, checkRate, type PortRate, type QueueSettings, unlimited } from "./settings.ts";

/** Why the traffic manager refuses a packet. */
export const queueDropReasons = ["queueFull", "bufferFull", "selectiveDrop", "priorityOutOfRange"] as const;
export type QueueDropReason = (typeof queueDropReasons)[number];

export interface QueueCounters {
  readonly enqueued: number;
  readonly enqueuedBytes: number;
  /** Packets refused: the queue was full, the port's buffer was, or the queue was too long for a droppable packet. */
  readonly dropped: Readonly<Record<QueueDropReason, number>>;
  readonly droppedBytes: number;
  /** Packets that were marked with congestion experienced. */
  readonly marked: number;
  /** Longest that the queue has been, in packets and in bytes. */
  readonly highest: number;
  readonly highestBytes: number;
}

/** One queue of a port, with its settings and counters. Limits are `Infinity` where there is none. */
export class Queue<T> {
  readonly packets = new Fifo<T>();
  bytes = 0;

  rate: PortRate = unlimited;
  depth: number;
  depthBytes = Number.POSITIVE_INFINITY;
  dropAbove = Number.POSITIVE_INFINITY;
  dropAboveBytes = Number.POSITIVE_INFINITY;
  markAbove = Number.POSITIVE_INFINITY;
  markAboveBytes = Number.POSITIVE_INFINITY;
  /** The smallest of the four, so that one comparison of each unit is all that a short queue costs. */
  firstThreshold = Number.POSITIVE_INFINITY;
  firstThresholdBytes = Number.POSITIVE_INFINITY;
  isShaped = false;
  /** Time at which the queue's own rate lets the next packet go, in microseconds. */
  readyAt = 0;

  enqueued = 0;
  enqueuedBytes = 0;
  full = 0;
  bufferFull = 0;
  selective = 0;
  droppedBytes = 0;
  marked = 0;
  highest = 0;
  highestBytes = 0;

  constructor(depth: number) {
    this.depth = depth;
  }

  /** @throws RangeError, with nothing changed */
  configure(what: string, { rate, depth, drop, mark }: QueueSettings, now: number): void {
    if (rate !== undefined) checkRate(what, rate);
    for (const length of [depth, drop, mark]) if (length !== undefined) checkLength(what, length);
    const none = Number.POSITIVE_INFINITY;
    if (rate !== undefined) {
      this.rate = rate;
      this.isShaped = rate.kind !== "unlimited";
      // No credit for the time before.
      if (this.readyAt < now) this.readyAt = now;
    }
    if (depth !== undefined) {
      this.depth = depth.packets ?? none;
      this.depthBytes = depth.bytes ?? none;
    }
    if (drop !== undefined) {
      this.dropAbove = drop.packets ?? none;
      this.dropAboveBytes = drop.bytes ?? none;
    }
    if (mark !== undefined) {
      this.markAbove = mark.packets ?? none;
      this.markAboveBytes = mark.bytes ?? none;
    }
    this.firstThreshold = Math.min(this.dropAbove, this.markAbove);
    this.firstThresholdBytes = Math.min(this.dropAboveBytes, this.markAboveBytes);
  }

  settings(): Required<QueueSettings> {
    const length = (packets: number, bytes: number) => ({
      ...(packets === Number.POSITIVE_INFINITY ? {} : { packets }),
      ...(bytes === Number.POSITIVE_INFINITY ? {} : { bytes }),
    });
    return {
      rate: this.rate,
      depth: length(this.depth, this.depthBytes),
      drop: length(this.dropAbove, this.dropAboveBytes),
      mark: length(this.markAbove, this.markAboveBytes),
    };
  }

  /** True if the next packet meets a queue longer than one of its thresholds. */
  get isLong(): boolean {
    return this.packets.length > this.firstThreshold || this.bytes > this.firstThresholdBytes;
  }

  get isTooLongForDroppable(): boolean {
    return this.packets.length > this.dropAbove || this.bytes > this.dropAboveBytes;
  }

  get isMarking(): boolean {
    return this.packets.length > this.markAbove || this.bytes > this.markAboveBytes;
  }

  push(packet: T, bytes: number, now: number): void {
    if (this.packets.length === 0 && this.readyAt < now) this.readyAt = now;
    this.packets.push(packet);
    this.bytes += bytes;
    this.enqueued++;
    this.enqueuedBytes += bytes;
    if (this.packets.length > this.highest) this.highest = this.packets.length;
    if (this.bytes > this.highestBytes) this.highestBytes = this.bytes;
  }
}
