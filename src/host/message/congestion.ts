/** How many packets may be under way: what a conversation asks, and what it tells. */
export interface CongestionControl {
  /** Packets that may be under way; at least 1. */
  readonly window: number;
  /** Packets have arrived for the first time. `marked` of them had met a long queue. */
  acknowledged(packets: number, marked: number, isWindowUsed: boolean): void;
  /** A packet was lost. `number` is its place in the order of sending, `last` that of the latest packet. */
  lost(number: number, last: number): void;
  /** Nothing has been heard for too long. */
  timedOut(): void;
}

/** Always the same number of packets, as for a network of one's own. */
export class FixedWindow implements CongestionControl {
  readonly window: number;

  constructor(packets: number) {
    this.window = Math.max(1, packets);
  }

  acknowledged(): void {}
  lost(): void {}
  timedOut(): void {}
}

export interface DctcpOptions {
  /** Packets at the start. */
  readonly initialWindow: number;
  readonly maxWindow: number;
  /** Weight of the newest window's share of marks; 1/16 as in RFC 8257. */
  readonly gain?: number;
}

/**
 * DCTCP (RFC 8257): the window shrinks by half the smoothed share of marked packets once per window, by half when a packet is
 * lost, to one packet on a time-out; slow start and additive increase as in TCP (RFC 5681).
 */
export class Dctcp implements CongestionControl {
  readonly #gain: number;
  readonly #maxWindow: number;
  #window: number;
  #threshold = Number.POSITIVE_INFINITY;
  /** Smoothed share of marked packets. */
  #alpha = 1;
  #acked = 0;
  #marked = 0;
  /** Packets until the present window is over. */
  #left: number;
  /** Losses of packets up to this one belong to a loss that has been answered. */
  #recovering: number | undefined;

  constructor({ initialWindow, maxWindow, gain = 1 / 16 }: DctcpOptions) {
    this.#window = initialWindow;
    this.#maxWindow = maxWindow;
    this.#gain = gain;
    this.#left = initialWindow;
  }

  get window(): number {
    return Math.max(1, Math.floor(this.#window));
  }

  acknowledged(packets: number, marked: number, isWindowUsed: boolean): void {
    this.#acked += packets;
    this.#marked += marked;
    this.#left -= packets;
    if (isWindowUsed && marked === 0) this.#grow(packets);
    if (this.#left > 0) return;
    const share = this.#acked === 0 ? 0 : Math.min(1, this.#marked / this.#acked);
    this.#alpha = (1 - this.#gain) * this.#alpha + this.#gain * share;
    if (this.#marked > 0) this.#shrink(1 - this.#alpha / 2);
    this.#acked = 0;
    this.#marked = 0;
    this.#left = this.window;
  }

  lost(number: number, last: number): void {
    if (this.#recovering !== undefined && ((number - this.#recovering) | 0) <= 0) return;
    this.#recovering = last;
    this.#shrink(0.5);
  }

  timedOut(): void {
    this.#threshold = Math.max(2, this.#window / 2);
    this.#window = 1;
    this.#left = 1;
    this.#recovering = undefined;
  }

  #grow(packets: number): void {
    const isSlowStart = this.#window < this.#threshold;
    this.#window = Math.min(this.#maxWindow, this.#window + (isSlowStart ? packets : packets / this.#window));
  }

  #shrink(factor: number): void {
    this.#window = Math.max(1, this.#window * factor);
    this.#threshold = Math.max(2, this.#window);
  }
}
