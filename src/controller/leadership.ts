import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import type { Etcd3, IKeyValue } from "etcd3";
import {
  type ControllerState,
  EMPTY_STATE,
  plainText,
  StateError,
  type StateStore,
  stateOf,
  stateText,
} from "./statefile.ts";

export interface LeadershipOptions {
  /** `http://host:port` of each member of the etcd cluster. */
  readonly hosts: readonly string[];
  /** Where the keys of this network's controllers are: `gradplane`. */
  readonly prefix?: string;
  /** Seconds without etcd after which another controller may lead: 3. */
  readonly ttl?: number;
  /** Where etcd asks who one is. */
  readonly auth?: { readonly username: string; readonly password: string };
  /** Own name, for people. */
  readonly name?: string;
}

/** The time in which one controller steers the switches. */
export interface Reign {
  /**
   * 2^64 and the revision at which this controller stood for the lead: above the ids of controllers without etcd, which are times. Each leader's is above those of the leaders before, so the switches
   * themselves refuse what a former leader writes that has not heard yet of its end.
   */
  readonly electionId: bigint;
  readonly state: StateStore;
  /** Resolves with the reason when the reign is over. */
  readonly over: Promise<string>;
  /** Lets another controller lead at once. */
  resign(): Promise<void>;
}

/** Of the 128 bits of an election id, what is added to revisions: a switch that was led by a controller without etcd takes its leader, too. */
const LEADERS = 1n << 64n;
/** Milliseconds for one call of etcd. */
const TIMEOUT = 2000;
/** Milliseconds between two looks at who is first in line, beside what etcd tells by itself. */
const LOOK = 500;

/**
 * Which of several controllers leads, by etcd: each puts a key under a lease, and the oldest key leads. Beside it etcd keeps the state that
 * the next leader goes on with, and takes it only from the one who leads.
 */
export class Leadership {
  readonly #client: Etcd3;
  readonly #prefix: string;
  readonly #ttl: number;
  readonly #name: string;

  private constructor(client: Etcd3, { prefix = "gradplane", ttl = 3, name }: LeadershipOptions) {
    this.#client = client;
    this.#prefix = prefix;
    this.#ttl = ttl;
    this.#name = name ?? `${hostname()}/${process.pid}`;
  }

  /** Takes etcd's client into use, which only several controllers need. @throws StateError when etcd does not answer */
  static async open(options: LeadershipOptions): Promise<Leadership> {
    const { Etcd3 } = await import("etcd3");
    const client = new Etcd3({
      hosts: [...options.hosts],
      ...(options.auth === undefined ? {} : { auth: options.auth }),
      dialTimeout: TIMEOUT,
      defaultCallOptions: (context) => (context.isStream ? {} : { deadline: Date.now() + TIMEOUT }),
    });
    const leadership = new Leadership(client, options);
    try {
      await asked(() => client.get(`${leadership.#prefix}/state`).string());
    } catch (error) {
      client.close();
      if (!(error instanceof StateError)) throw error;
      throw new StateError(`${error.message} (${options.hosts.join(", ")})`);
    }
    return leadership;
  }

  /** Stands for the lead until it is this controller's. Resolves with undefined when it is aborted. @throws StateError */
  async campaign(signal: AbortSignal): Promise<Reign | undefined> {
    while (!signal.aborted) {
      const reign = await this.#stand(signal);
      if (reign !== "lost") return reign;
    }
    return undefined;
  }

  close(): void {
    this.#client.close();
  }

  async #stand(signal: AbortSignal): Promise<Reign | "lost" | undefined> {
    const lease = this.#client.lease(this.#ttl);
    let isLost = false;
    let lost: (reason: string) => void = () => {};
    const over = new Promise<string>((resolve) => {
      lost = (reason) => {
        isLost = true;
        resolve(reason);
      };
    });
    let heardAt = Date.now();
    lease.on("keepaliveSucceeded", () => {
      heardAt = Date.now();
    });
    lease.on("lost", (error) => lost(`the lease is lost: ${error.message}`));
    // The library waits longer than etcd does: who has not been heard for the whole time does not lead any more.
    const dog = setInterval(() => {
      if (Date.now() - heardAt > this.#ttl * 1000) lost(`etcd has not answered for ${this.#ttl} s`);
    }, 100);
    void over.then(() => clearInterval(dog));
    const resign = async (): Promise<void> => {
      lost("it resigned");
      await lease.revoke().catch(() => {});
    };
    try {
      const id = await asked(() => lease.grant());
      const key = `${this.#prefix}/candidates/${id}`;
      const put = await asked(() =>
        this.#client
          .if(key, "Create", "==", 0)
          .then(this.#client.put(key).value(this.#name).lease(id))
          .commit(),
      );
      const revision = put.header.revision;
      while (!signal.aborted && !isLost) {
        const first = await this.#first();
        if (first === undefined) break;
        if (first.key.toString() === key) {
          void this.#watch(key, over, lost);
          const guard = { key, revision };
          return {
            electionId: LEADERS + BigInt(revision),
            state: new EtcdState(this.#client, this.#prefix, guard),
            over,
            resign,
          };
        }
        await this.#gone(first.key.toString(), signal);
      }
    } catch (error) {
      await resign();
      throw error;
    }
    await resign();
    return signal.aborted ? undefined : "lost";
  }

  /** The candidate that leads. */
  async #first(): Promise<IKeyValue | undefined> {
    const { kvs } = await asked(() =>
      this.#client.getAll().prefix(`${this.#prefix}/candidates/`).sort("Create", "Ascend").limit(1).exec(),
    );
    return kvs[0];
  }

  /** Waits until a candidate has gone, or for a while. */
  async #gone(key: string, signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const abort = (): void => stop.abort();
    signal.addEventListener("abort", abort, { once: true });
    try {
      const watcher = await asked(() => this.#client.watch().key(key).create());
      watcher.on("delete", abort);
      await sleep(LOOK, undefined, { signal: stop.signal }).catch(() => {});
      await watcher.cancel().catch(() => {});
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  /** Somebody may take the lead away by deleting the key. */
  async #watch(key: string, over: Promise<string>, lost: (reason: string) => void): Promise<void> {
    try {
      const watcher = await this.#client.watch().key(key).create();
      watcher.on("delete", () => lost("its key in etcd is gone"));
      await over;
      await watcher.cancel();
    } catch {
      // The lease tells when etcd is gone.
    }
  }
}

/** Calls etcd. @throws StateError that says what is wrong */
async function asked<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    throw new StateError(`etcd: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** Updates of one transaction; etcd takes 128 unless it is told otherwise. */
const TRANSACTION = 100;

/** The state in etcd: one key for each job, and one for the rest. Only what has changed is written, and only while its writer leads. */
class EtcdState implements StateStore {
  readonly #client: Etcd3;
  readonly #prefix: string;
  readonly #guard: { readonly key: string; readonly revision: string };
  readonly #saved = new Map<string, string>();
  #writing: Promise<void> = Promise.resolve();

  constructor(client: Etcd3, prefix: string, guard: { readonly key: string; readonly revision: string }) {
    this.#client = client;
    this.#prefix = prefix;
    this.#guard = guard;
  }

  async load(): Promise<ControllerState> {
    const [rest, jobs] = await asked(() =>
      Promise.all([
        this.#client.get(`${this.#prefix}/state`).string(),
        this.#client.getAll().prefix(`${this.#prefix}/jobs/`).strings(),
      ]),
    );
    if (rest !== null) this.#saved.set(`${this.#prefix}/state`, rest);
    for (const [key, text] of Object.entries(jobs)) this.#saved.set(key, text);
    const state: object = rest === null ? EMPTY_STATE : JSON.parse(rest);
    return stateOf({ ...state, jobs: Object.values(jobs).map((text) => JSON.parse(text)) });
  }

  /** @throws StateError, also when this controller does not lead any more */
  save(state: ControllerState): Promise<void> {
    const { jobs = [], ...rest } = state;
    const wanted = new Map([[`${this.#prefix}/state`, stateText(rest)]]);
    for (const job of jobs) wanted.set(`${this.#prefix}/jobs/${job.name}`, plainText(job));
    // One after the other: an older state must not come to lie over a newer one.
    const writing = this.#writing.then(() => this.#write(wanted));
    this.#writing = writing.catch(() => {});
    return writing;
  }

  async #write(wanted: ReadonlyMap<string, string>): Promise<void> {
    const changed = [...wanted].filter(([key, text]) => this.#saved.get(key) !== text);
    const gone = [...this.#saved.keys()].filter((key) => !wanted.has(key));
    const writes = [
      ...changed.map(([key, text]) => ({ key, text, write: this.#client.put(key).value(text) })),
      ...gone.map((key) => ({ key, text: undefined, write: this.#client.delete().key(key) })),
    ];
    const { key, revision } = this.#guard;
    for (let at = 0; at < writes.length; at += TRANSACTION) {
      const some = writes.slice(at, at + TRANSACTION);
      const { succeeded } = await asked(() =>
        this.#client
          .if(key, "Create", "==", revision)
          .then(...some.map(({ write }) => write))
          .commit(),
      );
      if (!succeeded) throw new StateError("etcd: another controller leads");
      for (const { key: saved, text } of some)
        if (text === undefined) this.#saved.delete(saved);
        else this.#saved.set(saved, text);
    }
  }
}
