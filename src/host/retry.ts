/** When to send again what was not acknowledged. Times are in milliseconds. */
export interface RetryOptions {
  /** Shortest time until the first resend. */
  readonly timeout: number;
  /** Longest time between two tries; the time doubles until it is reached. */
  readonly maxTimeout: number;
  /** Resends before the peer counts as unreachable. */
  readonly retries: number;
}

/** The time to wait after the next try. */
export function backOff(timeout: number, { maxTimeout }: RetryOptions): number {
  return Math.min(timeout * 2, maxTimeout);
}

/**
 * How long to wait for the first acknowledgement of something new: twice the usual round trip, so that a slow path
 * (a software switch, say) is not flooded with resends. Only what was sent once tells the round trip; after a resend
 * the longer time stays until there is such a measurement again (Karn's rule).
 */
export class RoundTripTimer {
  readonly #options: RetryOptions;
  #smoothed: number | undefined;
  #timeout: number;

  constructor(options: RetryOptions) {
    this.#options = options;
    this.#timeout = options.timeout;
  }

  get timeout(): number {
    return this.#timeout;
  }

  /** Something that was sent once was acknowledged after this time. */
  measured(roundTrip: number): void {
    this.#smoothed = this.#smoothed === undefined ? roundTrip : (7 * this.#smoothed + roundTrip) / 8;
    const { timeout, maxTimeout } = this.#options;
    this.#timeout = Math.min(maxTimeout, Math.max(timeout, 2 * this.#smoothed));
  }

  /** Something had to be sent again, and now waits this long. */
  resent(timeout: number): void {
    this.#timeout = Math.max(this.#timeout, timeout);
  }

  /** The path has changed. */
  restart(): void {
    this.#smoothed = undefined;
    this.#timeout = this.#options.timeout;
  }
}
