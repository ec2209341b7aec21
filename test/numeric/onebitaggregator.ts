/**
 * The slot of an aggregator that tells rounds apart by one bit, as p4app-switchML does (bitmap_checker.p4): two
 * sets of one bitmap each; a packet for one set clears its worker's bit in the other. One lane, for comparison.
 */
export class OneBitAggregator {
  readonly #full: number;
  readonly #bitmaps = [0, 0];
  readonly #sums = [0, 0];

  constructor(workers: number) {
    this.#full = 2 ** workers - 1;
  }

  /** The sum when the contribution makes its set complete. */
  contribute(member: number, round: number, value: number): number | undefined {
    const set = round & 1;
    const bit = 1 << member;
    const before = this.#bitmaps[set] ?? 0;
    this.#bitmaps[1 - set] = (this.#bitmaps[1 - set] ?? 0) & ~bit;
    if ((before & bit) !== 0) return undefined;
    this.#bitmaps[set] = before | bit;
    this.#sums[set] = before === 0 ? value : (this.#sums[set] ?? 0) + value;
    return this.#bitmaps[set] === this.#full ? this.#sums[set] : undefined;
  }
}
