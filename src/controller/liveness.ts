/** Times in milliseconds. */
export interface LivenessOptions {
  /** Silence after which a member is dead: 3000. */
  readonly silence?: number;
}

/** A member of a job, and which of its lives: a process that starts again is the same member in another life. */
export interface Life {
  readonly member: string;
  /** Grows with each start of the member. */
  readonly incarnation: number;
}

export type LivenessEvent =
  | { readonly kind: "tick" }
  | ({ readonly kind: "joined" } & Life)
  | ({ readonly kind: "heartbeat" } & Life)
  | ({ readonly kind: "left" } & Life);

export type LivenessAction =
  | ({ readonly kind: "dead" } & Life)
  /** A new life of a member whose old one was still counted as alive: its place is the same, what it knew is gone. */
  | ({ readonly kind: "restarted" } & Life)
  /** From a life that is over: it must stop. */
  | ({ readonly kind: "refused" } & Life);

interface Member {
  incarnation: number;
  heardAt: number;
  isAlive: boolean;
}

/** Which workers and servers live, by their heartbeats: a pure state machine. */
export class Liveness {
  readonly #silence: number;
  readonly #members = new Map<string, Member>();
  #lookedAt: number | undefined;

  constructor(options: LivenessOptions = {}) {
    this.#silence = options.silence ?? 3000;
  }

  /** Members that are alive. */
  get alive(): readonly string[] {
    return [...this.#members].filter(([, m]) => m.isAlive).map(([name]) => name);
  }

  /** When a member may be found dead at the earliest. */
  get wakeAt(): number {
    const times = [...this.#members.values()].filter((m) => m.isAlive).map((m) => m.heardAt + this.#silence);
    return Math.min(Number.POSITIVE_INFINITY, ...times);
  }

  handle(event: LivenessEvent, now: number): readonly LivenessAction[] {
    if (event.kind === "tick") return this.#look(now);
    const { member, incarnation } = event;
    const known = this.#members.get(member);
    if (known !== undefined && incarnation < known.incarnation)
      return [{ kind: "refused", member, incarnation }];
    switch (event.kind) {
      case "joined": {
        this.#members.set(member, { incarnation, heardAt: now, isAlive: true });
        const isNewLife = known?.isAlive === true && incarnation > known.incarnation;
        return isNewLife ? [{ kind: "restarted", member, incarnation }] : [];
      }
      case "heartbeat":
        // One that was taken for dead has to join again: its place may be another's by now.
        if (known === undefined || !known.isAlive || incarnation > known.incarnation)
          return [{ kind: "refused", member, incarnation }];
        known.heardAt = now;
        return [];
      case "left":
        if (known?.incarnation === incarnation) this.#members.delete(member);
        return [];
    }
  }

  #look(now: number): readonly LivenessAction[] {
    // Who did not look for a while has not heard either: everybody gets the time again.
    const pause = this.#lookedAt === undefined ? 0 : now - this.#lookedAt;
    this.#lookedAt = now;
    if (pause > this.#silence)
      for (const m of this.#members.values()) m.heardAt = Math.max(m.heardAt, now - this.#silence / 2);
    const dead: LivenessAction[] = [];
    for (const [member, m] of this.#members) {
      if (!m.isAlive || now - m.heardAt < this.#silence) continue;
      m.isAlive = false;
      dead.push({ kind: "dead", member, incarnation: m.incarnation });
    }
    return dead;
  }
}
