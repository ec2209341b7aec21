/** Rates are in bits per second, times in milliseconds. */
export interface RateOptions {
  /** Round trip below which the rate rises. */
  readonly low: number;
  /** Round trip above which it falls. */
  readonly high: number;
  readonly increase: number;
  /** Greatest share by which it falls. */
  readonly decrease: number;
  readonly least: number;
}

/**
 * MLT's minimal rate control (NSDI 2024, section 4.3): from the line rate on, up by a constant when the round trip is short or falls, down
 * in proportion to the excess when it is long. Loss does not matter to it.
 */
export class RateControl {
  rate: number;
  readonly #most: number;
  readonly #options: RateOptions;
  #last = Number.POSITIVE_INFINITY;

  constructor(lineRate: number, options: RateOptions) {
    this.rate = lineRate;
    this.#most = lineRate;
    this.#options = options;
  }

  /** The latest round trip; NaN before the first. */
  get roundTrip(): number {
    return Number.isFinite(this.#last) ? this.#last : Number.NaN;
  }

  measured(roundTrip: number): void {
    const { low, high, increase, decrease, least } = this.#options;
    if (roundTrip > high) this.rate = Math.max(least, this.rate * (1 - decrease * (1 - high / roundTrip)));
    else if (roundTrip < low || roundTrip < this.#last)
      this.rate = Math.min(this.#most, this.rate + increase);
    this.#last = roundTrip;
  }
}
