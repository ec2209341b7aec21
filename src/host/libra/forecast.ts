/** Rounds that a row's forecast remembers. */
const MEMORY = 8;
/** Binades above the largest remembered exponent. */
const MARGIN = 1;

/**
 * What a worker expects of its rows' exponents in mode `block`. It has to announce them two rounds ahead and cannot know
 * them, so it takes the largest of the last rounds in which the row had gradients, and a margin. Too low a forecast costs a row's
 * way by the parameter server, too high a forecast one bit of accuracy per binade.
 */
export class ExponentForecast {
  readonly #first: number;
  readonly #remembered: Uint8Array;
  readonly #seen: Uint32Array;

  /** @param first what to expect of rows that have had no gradients yet. */
  constructor(rows: number, first: number) {
    this.#first = first;
    this.#remembered = new Uint8Array(rows * MEMORY);
    this.#seen = new Uint32Array(rows);
  }

  /** The row had gradients with this exponent, 0..254. */
  observe(row: number, exponent: number): void {
    const seen = this.#seen[row] ?? 0;
    this.#remembered[row * MEMORY + (seen % MEMORY)] = exponent;
    this.#seen[row] = seen + 1;
  }

  /** The exponent that the row's next gradients should not exceed, 0..254. */
  expect(row: number): number {
    const seen = Math.min(MEMORY, this.#seen[row] ?? 0);
    if (seen === 0) return this.#first;
    let largest = 0;
    for (let i = row * MEMORY; i < row * MEMORY + seen; i++)
      largest = Math.max(largest, this.#remembered[i] ?? 0);
    return Math.min(254, largest + MARGIN);
  }
}
