/** How fast a port or a queue may send. */
export type PortRate =
  | { readonly kind: "unlimited" }
  | { readonly kind: "packetsPerSecond"; readonly rate: number }
  | { readonly kind: "bitsPerSecond"; readonly rate: number };

/** A length of a queue: that many packets or that many bytes, whichever is reached first; without limit where left out. */
export interface QueueLength {
  readonly packets?: number;
  readonly bytes?: number;
}

/** Settings of one queue. What is left out stays as it is. */
export interface QueueSettings {
  /** A rate of the queue's own, within the port's. */
  readonly rate?: PortRate;
  /** What it holds. */
  readonly depth?: QueueLength;
  /** Longest queue that a droppable packet may meet; `{}` drops nothing. */
  readonly drop?: QueueLength;
  /** Longest queue that an ECN-capable packet may meet without being marked; `{}` marks nothing. */
  readonly mark?: QueueLength;
}

/** Settings of one port. What is left out stays as it is. */
export interface PortSettings {
  /** Shared by all queues of the port. */
  readonly rate?: PortRate;
  /** Bytes that all its queues hold together. */
  readonly buffer?: number;
  /** Bytes of the buffer for the strongest queue alone, so that others that are full don't keep control traffic out. */
  readonly reserved?: number;
}

export const unlimited: PortRate = { kind: "unlimited" };

/** Microseconds that a packet of `bytes` bytes takes at a rate. */
export function serviceTime(rate: PortRate, bytes: number): number {
  switch (rate.kind) {
    case "unlimited":
      return 0;
    case "packetsPerSecond":
      return 1e6 / rate.rate;
    case "bitsPerSecond":
      return (bytes * 8 * 1e6) / rate.rate;
  }
}

/** @throws RangeError with `what` in front */
export function checkRate(what: string, rate: PortRate): void {
  if (rate.kind !== "unlimited" && !(rate.rate > 0 && Number.isFinite(rate.rate)))
    throw new RangeError(`${what}: a rate must be above 0`);
}

/** @throws RangeError with `what` in front */
export function checkLength(what: string, { packets, bytes }: QueueLength): void {
  for (const [value, unit] of [
    [packets, "packets"],
    [bytes, "bytes"],
  ] as const)
    if (value !== undefined && !(value >= 0))
      throw new RangeError(`${what}: a queue can't hold ${value} ${unit}`);
}
