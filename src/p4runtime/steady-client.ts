import { Backoff, type BackoffOptions } from "./backoff.ts";
import { type ClientOptions, P4RuntimeClient } from "./client.ts";
import { type Clock, machineClock } from "./clock.ts";
import type { ArbitrationState } from "./session.ts";

/** Where a steady client stands. */
export type SteadyState =
  | { readonly kind: "connecting"; readonly attempt: number }
  | { readonly kind: "ready"; readonly isPrimary: boolean }
  /** `retryIn` milliseconds until the next attempt. */
  | { readonly kind: "waiting"; readonly reason: Error; readonly retryIn: number }
  | { readonly kind: "closed" };

export interface SteadyOptions extends Omit<ClientOptions, "onDisconnect"> {
  /** The election id of each new connection; undefined stays a backup. Asked each time, since an id may have been overtaken. */
  readonly electionId: () => bigint | undefined;
  /**
   * Prepares a new connection, as primary or backup: the place to compare the cookie, push a pipeline and repair the entries. While it runs
   * the client is not `ready`; what it throws ends the connection, and the next attempt follows.
   */
  readonly prepare?: (client: P4RuntimeClient, signal: AbortSignal) => Promise<void>;
  readonly onState?: (state: SteadyState) => void;
  readonly backoff?: BackoffOptions;
  /** Milliseconds in which a switch has to answer the first calls, for the attempt not to have failed: 10,000. */
  readonly patience?: number;
  readonly clock?: Clock;
  /** Numbers from 0 to 1, for the jitter. */
  readonly random?: () => number;
}

/**
 * A client that connects again when the connection breaks, with growing waits and jitter, until it is closed.
 *
 * ```ts
 * const steady = SteadyClient.open({ address, electionId: () => BigInt(Date.now()), prepare: (client) => repair(client) });
 * const client = await steady.ready();
 * ```
 */
export class SteadyClient {
  readonly #options: SteadyOptions;
  readonly #backoff: Backoff;
  readonly #clock: Clock;
  readonly #stop = new AbortController();
  readonly #end: Promise<void>;
  #client: P4RuntimeClient | undefined;
  #state: SteadyState = { kind: "connecting", attempt: 1 };
  #waiters: ((client: P4RuntimeClient) => void)[] = [];
  #connects = 0;
  #onDisconnect: (error: Error) => void = () => {};

  private constructor(options: SteadyOptions) {
    this.#options = options;
    this.#clock = options.clock ?? machineClock;
    this.#backoff = new Backoff(options.backoff ?? {}, options.random ?? Math.random);
    this.#end = this.#run();
  }

  /** Begins to connect. Never fails: what is wrong is told by `onState`. */
  static open(options: SteadyOptions): SteadyClient {
    return new SteadyClient(options);
  }

  get state(): SteadyState {
    return this.#state;
  }

  /** The client of the connection that is ready; undefined while there is none. */
  get client(): P4RuntimeClient | undefined {
    return this.#state.kind === "ready" ? this.#client : undefined;
  }

  /** Connections that have come about. */
  get connects(): number {
    return this.#connects;
  }

  /** Waits for a connection that is ready. @throws the signal's reason, or an Error when the client is closed first */
  async ready(signal?: AbortSignal): Promise<P4RuntimeClient> {
    if (this.client !== undefined) return this.client;
    return new Promise((resolve, reject) => {
      const stop = AbortSignal.any([this.#stop.signal, ...(signal === undefined ? [] : [signal])]);
      const abort = (): void => {
        this.#waiters = this.#waiters.filter((waiter) => waiter !== done);
        reject(stop.reason);
      };
      const done = (client: P4RuntimeClient): void => {
        stop.removeEventListener("abort", abort);
        resolve(client);
      };
      if (stop.aborted) {
        reject(stop.reason);
        return;
      }
      this.#waiters.push(done);
      stop.addEventListener("abort", abort, { once: true });
    });
  }

  /** Ends the connection and stops to try. */
  async close(): Promise<void> {
    this.#stop.abort(new Error(`the client of ${this.#options.address} is closed`));
    await this.#end;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      let readyAt: number | undefined;
      let reason: Error;
      try {
        this.#tell({ kind: "connecting", attempt: this.#backoff.failures + 1 });
        reason = await this.#attempt(() => {
          readyAt = this.#clock.now();
        });
      } catch (error) {
        reason = error instanceof Error ? error : new Error(String(error));
      }
      await this.#client?.close();
      this.#client = undefined;
      if (signal.aborted) break;
      const retryIn = this.#backoff.next(readyAt === undefined ? 0 : this.#clock.now() - readyAt);
      this.#tell({ kind: "waiting", reason, retryIn });
      await this.#clock.sleep(retryIn, signal);
    }
    this.#tell({ kind: "closed" });
  }

  /** One connection from its beginning to its end; resolves with the reason of the end. */
  async #attempt(onReady: () => void): Promise<Error> {
    const { signal } = this.#stop;
    const broken = new AbortController();
    const lost = new Promise<Error>((resolve) => {
      const end = (error: Error): void => {
        resolve(error);
        broken.abort(error);
      };
      signal.addEventListener("abort", () => end(signal.reason), { once: true, signal: broken.signal });
      this.#onDisconnect = end;
    });
    try {
      const isReady = await this.#connect(AbortSignal.any([signal, broken.signal]));
      if (broken.signal.aborted || !isReady) return broken.signal.reason;
      onReady();
      return await lost;
    } finally {
      // Nothing of a connection that did not come about goes on listening.
      broken.abort();
    }
  }

  /** Connects, and prepares the connection. @returns whether it is ready */
  async #connect(signal: AbortSignal): Promise<boolean> {
    const { electionId, prepare, patience, ...options } = this.#options;
    // One that is busy gets more time at each attempt.
    const timely =
      patience === undefined ? {} : { timeout: patience * 2 ** Math.min(this.#backoff.failures, 4) };
    this.#client = await P4RuntimeClient.connect(
      {
        ...options,
        onDisconnect: (error) => this.#onDisconnect(error),
        onArbitration: (state) => this.#arbitrated(state),
      },
      { signal, ...timely },
    );
    const client = this.#client;
    await client.arbitrate(electionId(), { signal, ...timely });
    await prepare?.(client, signal);
    if (signal.aborted) return false;
    this.#connects++;
    this.#tell({ kind: "ready", isPrimary: client.isPrimary });
    for (const waiter of this.#waiters.splice(0)) waiter(client);
    return true;
  }

  #arbitrated(state: ArbitrationState): void {
    this.#options.onArbitration?.(state);
    if (this.#state.kind === "ready" && this.#state.isPrimary !== state.isPrimary)
      this.#tell({ kind: "ready", isPrimary: state.isPrimary });
  }

  #tell(state: SteadyState): void {
    this.#state = state;
    this.#options.onState?.(state);
  }
}
