/** How long to wait between attempts. Times in milliseconds. */
export interface BackoffOptions {
  /** After the first failure: 200. */
  readonly first?: number;
  /** At most: 10,000. */
  readonly most?: number;
  /** By how much each wait is longer than the one before: 2. */
  readonly factor?: number;
  /** Share of a wait that is left to chance, so that many clients do not come back at once: 0.5. */
  readonly jitter?: number;
  /** How long something must have worked for the next failure to count as the first again: 5000. */
  readonly steady?: number;
}

/** Waits that grow with each failure, with jitter. It has no clock and no chance of its own. */
export class Backoff {
  readonly #options: Required<BackoffOptions>;
  readonly #random: () => number;
  #failures = 0;

  /** @param random numbers from 0 to 1 */
  constructor(options: BackoffOptions, random: () => number) {
    this.#options = { first: 200, most: 10_000, factor: 2, jitter: 0.5, steady: 5000, ...options };
    this.#random = random;
  }

  /** Failures in a row. */
  get failures(): number {
    return this.#failures;
  }

  /**
   * The wait before the next attempt.
   *
   * @param worked milliseconds for which the last attempt worked before it failed; 0 when it did not work at all.
   */
  next(worked = 0): number {
    const { first, most, factor, jitter, steady } = this.#options;
    if (worked >= steady) this.#failures = 0;
    const whole = Math.min(most, first * factor ** Math.min(this.#failures, 64));
    this.#failures++;
    return whole * (1 - jitter * this.#random());
  }
}
