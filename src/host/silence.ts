/**
 * How long a peer has been silent, counting only time in which it could have been heard: when this process itself
 * was stopped or busy between two looks, the gap counts as one short step.
 */
export class SilenceMeter {
  readonly #step: number;
  #silentFor = 0;
  #lookedAt: number | undefined;

  /** @param step longest time between two looks that counts in full. */
  constructor(step: number) {
    this.#step = step;
  }

  /** The peer was heard. */
  heard(): void {
    this.#silentFor = 0;
  }

  /** The time since the peer was heard last. */
  look(now: number): number {
    this.#silentFor += Math.min(now - (this.#lookedAt ?? now), this.#step);
    this.#lookedAt = now;
    return this.#silentFor;
  }
}
