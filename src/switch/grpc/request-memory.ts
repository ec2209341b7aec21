/** Bytes that the calls of each connection may hold together whatever others hold, so that small requests are always taken. */
const freePerConnection = 256 * 1024;

/** Bytes of requests that are held until they are answered, over all connections of a server. */
export class RequestMemory {
  readonly #most: number;
  #held = 0;

  /** @param most bytes, beside `freePerConnection` of each connection */
  constructor(most: number) {
    this.#most = most;
  }

  /** Bytes that are held, without what each connection has for nothing. */
  get held(): number {
    return this.#held;
  }

  /** The share of a new connection. */
  connection(): ConnectionMemory {
    return new ConnectionMemory((more) => {
      if (more > 0 && this.#held + more > this.#most) return false;
      this.#held += more;
      return true;
    });
  }
}

/** Bytes of requests that the calls of one connection hold. */
export class ConnectionMemory {
  readonly #take: (more: number) => boolean;
  #held = 0;

  constructor(take: (more: number) => boolean) {
    this.#take = take;
  }

  /** A call holds `after` bytes instead of `before`; false, and nothing changes, when there is no room for that. */
  change(before: number, after: number): boolean {
    const held = this.#held + after - before;
    const more = Math.max(0, held - freePerConnection) - Math.max(0, this.#held - freePerConnection);
    if (more !== 0 && !this.#take(more)) return false;
    this.#held = held;
    return true;
  }
}
