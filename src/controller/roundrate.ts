/** Milliseconds over which a rate is taken. */
const SPAN = 10_000;

/** How many rounds a job finishes in a second, from what its server tells of the round that is open. */
export class RoundRate {
  readonly #told: { readonly round: number; readonly at: number }[] = [];

  note(round: number, now: number): void {
    this.#told.push({ round, at: now });
    while ((this.#told[0]?.at ?? now) < now - SPAN) this.#told.shift();
  }

  /** Rounds per second; undefined before the second word of it, and when nothing has been told for a while. */
  perSecond(now: number): number | undefined {
    const [first, last] = [this.#told[0], this.#told.at(-1)];
    if (first === undefined || last === undefined || last.at <= first.at || last.at < now - SPAN)
      return undefined;
    // Rounds are serial numbers of 32 bits.
    return (((last.round - first.round) >>> 0) * 1000) / (last.at - first.at);
  }
}
