/** Named counters: what a host dropped and why, what it sent again. Each can be read at any time. */
export class Counters<Name extends string> {
  readonly #values = new Map<Name, number>();

  add(name: Name, count = 1): void {
    this.#values.set(name, (this.#values.get(name) ?? 0) + count);
  }

  get(name: Name): number {
    return this.#values.get(name) ?? 0;
  }

  /** All counters that are not 0, by name. */
  snapshot(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#values].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
