/** Work in pieces of well under a millisecond: at each `yield` others may be let in. */
export type Steps<T> = Generator<undefined, T, undefined>;

/** Where long work gives way to others. */
export interface Turns {
  /** Milliseconds, from any beginning. */
  now(): number;
  /** Go on when others had their turn. */
  later(work: () => void): void;
}

/** The event loop's: between two turns it takes in packets and what clients send. */
export const eventLoopTurns: Turns = {
  now: () => performance.now(),
  later: (work) => {
    setImmediate(work);
  },
};

/** Milliseconds that work goes on without giving way. */
const turnLength = 2;
/** Milliseconds of one read when several share a turn. */
const shareLength = 0.5;

export interface AccessCall {
  /** Nobody waits for the end any more. */
  readonly isEnded: boolean;
}

interface Access {
  readonly kind: "read" | "write";
  readonly call: AccessCall;
  readonly steps: Steps<unknown>;
  hasBegun: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Reads beside each other and writes alone, in the order in which they came, as P4Runtime specification 12.2 and 13.4 ask: a read sees each
 * write wholly or not at all, and no write sees a part of another. What takes long gives way to everything else that the process does, packets
 * above all.
 *
 * Without `turns` everything is carried out at once, as simulations need it.
 */
export class AccessQueue {
  readonly #turns: Turns | undefined;
  /** Under way: any number of reads, or one write. */
  #active: Access[] = [];
  #waiting: Access[] = [];
  #isScheduled = false;

  constructor(turns: Turns | undefined) {
    this.#turns = turns;
  }

  /**
   * Carry out the steps, at once if nothing is in front and they are few. A write that was begun is brought to its end; for a read,
   * and for what has not begun, `call` is asked whether somebody still wants it. If not, the promise stays open for ever.
   *
   * @throws what the steps throw, or rejects with it
   */
  run<T>(kind: "read" | "write", call: AccessCall, steps: Steps<T>): T | Promise<T> {
    const turns = this.#turns;
    const isFree = this.#active.length === 0 && this.#waiting.length === 0;
    if (turns === undefined || isFree) {
      const end = turns === undefined ? Number.POSITIVE_INFINITY : turns.now() + turnLength;
      for (;;) {
        const { done, value } = steps.next();
        if (done === true) return value;
        if (turns !== undefined && turns.now() >= end) break;
      }
    }
    return new Promise<T>((resolve, reject) => {
      const access: Access = {
        kind,
        call,
        steps,
        hasBegun: isFree,
        // What the steps of this access return, which is T.
        resolve: resolve as (value: unknown) => void,
        reject,
      };
      // What nobody waits for any more would keep its request for as long as something long is in front.
      this.#waiting = this.#waiting.filter(({ call: waiting }) => !waiting.isEnded);
      (isFree ? this.#active : this.#waiting).push(access);
      this.#schedule();
    });
  }

  /** Forgets everything that is under way and waits. */
  stop(): void {
    this.#active = [];
    this.#waiting = [];
  }

  #schedule(): void {
    if (this.#isScheduled || this.#turns === undefined) return;
    this.#isScheduled = true;
    this.#turns.later(() => {
      this.#isScheduled = false;
      this.#turn(this.#turns ?? eventLoopTurns);
    });
  }

  #turn(turns: Turns): void {
    const end = turns.now() + turnLength;
    do {
      this.#admit();
      const access = this.#active.shift();
      if (access === undefined) return;
      const others = this.#active.length > 0;
      const until = others ? Math.min(end, turns.now() + shareLength) : end;
      if (!this.#advance(access, turns, until)) this.#active.push(access);
    } while (turns.now() < end);
    if (this.#active.length > 0 || this.#waiting.length > 0) this.#schedule();
  }

  /** Lets in what may run beside that which is under way. */
  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const [first] = this.#active;
      if (first !== undefined && (first.kind === "write" || next.kind === "write")) return;
      this.#waiting.shift();
      this.#active.push(next);
    }
  }

  /** Goes on until a time; true if that was the end. */
  #advance(access: Access, turns: Turns, until: number): boolean {
    const { kind, call, steps } = access;
    const isWanted = (kind === "write" && access.hasBegun) || !call.isEnded;
    if (!isWanted) {
      steps.return(undefined);
      return true;
    }
    access.hasBegun = true;
    try {
      do {
        const { done, value } = steps.next();
        if (done !== true) continue;
        access.resolve(value);
        return true;
      } while (turns.now() < until);
      return false;
    } catch (error) {
      access.reject(error);
      return true;
    }
  }
}
