import { bitOf } from "../../wire/tensor.ts";
import { backOff, type RetryOptions } from "../retry.ts";

/** What has to be sent, and how. */
export interface Shipment {
  readonly to: number;
  readonly tensor: number;
  readonly iteration: number;
  readonly values: Float32Array;
  readonly segment: number;
  readonly dscp: number;
  /** Mean magnitude above which a packet is important; -1 when all are. */
  readonly threshold: number;
}

/**
 * One tensor on its way to one host. It is sent once as a whole, then again in rounds: each ends with a PROBE, whose answer says what is
 * missing, until the receiver has enough.
 */
export class Outgoing {
  readonly shipment: Shipment;
  readonly segments: number;
  round = 0;
  isDone = false;
  /** Is the answer to a PROBE awaited? */
  isProbing = false;
  /** PROBEs of this round that had no answer. */
  unanswered = 0;
  /** Time until the next one. */
  timeout: number;
  /** Segments of this round; in the first one all, without a list. */
  #queue: number[] | undefined;
  #next = 0;
  readonly #start: number;
  /** Segments of which the answer of this round has told, so that no answer counts twice. */
  readonly #told: Uint8Array;
  #untold = 0;
  #missing: number[] = [];

  constructor(shipment: Shipment, probeTimeout: number) {
    this.shipment = shipment;
    this.timeout = probeTimeout;
    this.segments = Math.ceil(shipment.values.length / shipment.segment);
    // Steps by the golden ratio: any few iterations in a row begin far from each other.
    this.#start = Math.floor(((shipment.iteration * 0.618033988749895) % 1) * this.segments);
    this.#told = new Uint8Array(this.segments);
  }

  get hasMore(): boolean {
    return !this.isDone && !this.isProbing && this.#next < (this.#queue?.length ?? this.segments);
  }

  /**
   * The next segment to send. The first round begins at another place in each iteration: it ends when enough has arrived, and it would be
   * the same end of the tensor every time that is missing.
   */
  take(): number {
    const at = this.#next++;
    return this.#queue?.[at] ?? (this.#start + at) % this.segments;
  }

  /** Everything of this round is on its way. */
  startProbing(probeTimeout: number): void {
    this.isProbing = true;
    this.unanswered = 0;
    this.timeout = probeTimeout;
    this.#told.fill(0);
    this.#untold = this.segments;
    this.#missing = [];
  }

  /** A PROBE had no answer in time. */
  probeAgain(options: RetryOptions): void {
    this.unanswered++;
    this.timeout = backOff(this.timeout, options);
  }

  /** Takes a part of the answer; true when it is complete and another round begins. */
  answered(round: number, first: number, count: number, bits: Uint8Array): boolean {
    if (this.isDone || !this.isProbing || round !== this.round || first + count > this.segments) return false;
    for (let i = 0; i < count; i++) {
      const segment = first + i;
      if (this.#told[segment] === 1) continue;
      this.#told[segment] = 1;
      this.#untold--;
      if (!bitOf(bits, i)) this.#missing.push(segment);
    }
    if (this.#untold > 0) return false;
    this.#queue = this.#missing.sort((a, b) => a - b);
    this.#missing = [];
    this.#next = 0;
    this.isProbing = false;
    this.round++;
    return true;
  }
}
