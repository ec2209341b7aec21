/** Bytes of a piece: what may be late or early by. */
const PIECE = 16384;

/** Sends no faster than a rate, as a slow network card would: for trials on a fast machine. First come, first served. */
export class Pacer {
  readonly #rate: number;
  readonly #queue: {
    readonly bytes: Uint8Array;
    readonly write: (part: Uint8Array, isLast: boolean) => void;
  }[] = [];
  #at = 0;
  #freeAt = 0;
  #isWaiting = false;

  /** @param rate bytes per second. */
  constructor(rate: number) {
    this.#rate = rate;
  }

  send(bytes: Uint8Array, write: (part: Uint8Array, isLast: boolean) => void): void {
    this.#queue.push({ bytes, write });
    if (!this.#isWaiting) this.#run();
  }

  #run(): void {
    this.#isWaiting = false;
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      const now = performance.now();
      // Timers are late by a millisecond or so: that is made good, but an idle time is not.
      if (this.#freeAt < now - 5) this.#freeAt = now;
      if (this.#freeAt > now) {
        this.#isWaiting = true;
        setTimeout(() => this.#run(), this.#freeAt - now);
        return;
      }
      const part = next.bytes.subarray(this.#at, this.#at + PIECE);
      this.#freeAt += (part.length * 1000) / this.#rate;
      this.#at += part.length;
      const isLast = this.#at >= next.bytes.length;
      if (isLast) {
        this.#queue.shift();
        this.#at = 0;
      }
      next.write(part, isLast);
    }
  }
}
