import type { Outage } from "./paths.ts";
import { type LinkEnd, type LinkNode, linkName } from "./topology.ts";

/** Times in milliseconds. */
export interface LinkWatchOptions {
  /** Between two probes of one direction: 100. */
  readonly interval?: number;
  /**
   * Probes in a row that must be lost before a link is down: 3. One counts as lost when it has not arrived half an interval after it was sent.
   * Where one is lost the next ones follow at half the interval, so that three are lost after two and a half intervals.
   */
  readonly misses?: number;
  /** Probes in a row that must arrive before it is up again: 3; doubled each time that it goes down soon after. */
  readonly arrivals?: number;
  /** How long a link must stay up for its earlier failures to be forgotten: 10,000. */
  readonly calm?: number;
}

export type LinkEvent =
  | { readonly kind: "tick" }
  /** A probe that left at `from` came in at `at`. */
  | { readonly kind: "arrived"; readonly from: LinkEnd; readonly at: LinkEnd; readonly sequence: number }
  | { readonly kind: "switchReady" | "switchLost"; readonly name: string };

export type LinkAction =
  | { readonly kind: "probe"; readonly from: LinkEnd; readonly sequence: number }
  /** `from` is the end whose probes are lost; with both ends, one of them. */
  | { readonly kind: "down"; readonly link: string; readonly from: LinkEnd }
  | { readonly kind: "up"; readonly link: string }
  /** Probes of this end arrive at another port than the topology says. */
  | { readonly kind: "miswired"; readonly link: string; readonly from: LinkEnd; readonly at: LinkEnd };

interface Direction {
  readonly from: LinkEnd;
  readonly to: LinkEnd;
  sent: number;
  heard: number;
  heardAt: number;
  /** Arrivals without a gap, up to the last one. */
  run: number;
}

interface Watched {
  readonly link: string;
  readonly directions: readonly [Direction, Direction];
  isUp: boolean;
  /** Failures that followed soon after a recovery. */
  flaps: number;
  changedAt: number;
}

/** Above this many failures the wait grows no more: 3 x 2^5 arrivals. */
const MOST_FLAPS = 5;

/**
 * Which links work: each end sends probes to the other through the switches' data plane, so a link is up only if both directions are. A
 * pure state machine. Links of a switch that the controller cannot reach are not judged: nobody could see their probes.
 */
export class LinkWatch {
  readonly #links: readonly Watched[];
  readonly #byEnd = new Map<string, { readonly watched: Watched; readonly direction: Direction }>();
  readonly #ready = new Set<string>();
  readonly #interval: number;
  readonly #misses: number;
  readonly #arrivals: number;
  readonly #calm: number;
  #wakeAt: number;
  /** Every second wake-up sends; the ones between look, and send where one was lost. */
  #isSending = false;

  constructor(links: readonly LinkNode[], now: number, options: LinkWatchOptions = {}) {
    this.#interval = options.interval ?? 100;
    this.#misses = options.misses ?? 3;
    this.#arrivals = options.arrivals ?? 3;
    this.#calm = options.calm ?? 10_000;
    this.#wakeAt = now;
    this.#links = links.map(({ ends }) => {
      const [a, b] = ends;
      const direction = (from: LinkEnd, to: LinkEnd): Direction => ({
        from,
        to,
        sent: 0,
        heard: 0,
        heardAt: now,
        run: 0,
      });
      const directions = [direction(a, b), direction(b, a)] as const;
      const watched = { link: linkName(ends), directions, isUp: true, flaps: 0, changedAt: now };
      for (const d of directions) this.#byEnd.set(keyOf(d.from), { watched, direction: d });
      return watched;
    });
  }

  get wakeAt(): number {
    return this.#links.length === 0 ? Number.POSITIVE_INFINITY : this.#wakeAt;
  }

  /** Links that are down, by `linkName`. */
  get down(): Outage["links"] {
    return new Set(this.#links.filter((l) => !l.isUp).map((l) => l.link));
  }

  handle(event: LinkEvent, now: number): readonly LinkAction[] {
    switch (event.kind) {
      case "tick":
        return this.#tick(now);
      case "arrived":
        return this.#arrived(event, now);
      case "switchLost":
        this.#ready.delete(event.name);
        return [];
      case "switchReady":
        this.#ready.add(event.name);
        for (const { directions } of this.#links)
          for (const d of directions)
            if (d.from.switch === event.name || d.to.switch === event.name) {
              d.heardAt = now;
              d.run = 0;
            }
        return [];
    }
  }

  #tick(now: number): readonly LinkAction[] {
    if (now < this.#wakeAt) return [];
    // A controller that was busy has not read what arrived meanwhile: that is not the links' fault.
    const late = now - this.#wakeAt;
    if (late > this.#interval / 2)
      for (const { directions } of this.#links) for (const d of directions) d.heardAt += late;
    this.#wakeAt = now + this.#interval / 2;
    const actions: LinkAction[] = [];
    for (const watched of this.#links) {
      if (!this.#isWatched(watched)) continue;
      for (const direction of watched.directions) {
        const silence = now - direction.heardAt;
        // The first lost one was sent an interval after the last that arrived, the others half an interval apart.
        if (silence > (this.#misses / 2 + 0.75) * this.#interval) {
          direction.run = 0;
          if (watched.isUp) actions.push(this.#goesDown(watched, direction, now));
        }
      }
      if (watched.isUp && watched.flaps > 0 && now - watched.changedAt >= this.#calm) watched.flaps = 0;
    }
    return [...actions, ...this.#probes(now)];
  }

  #probes(now: number): readonly LinkAction[] {
    this.#isSending = !this.#isSending;
    const actions: LinkAction[] = [];
    for (const watched of this.#links) {
      if (!this.#isWatched(watched)) continue;
      for (const direction of watched.directions) {
        const isSuspect = watched.isUp && now - direction.heardAt > 1.25 * this.#interval;
        if (!this.#isSending && !isSuspect) continue;
        direction.sent++;
        actions.push({ kind: "probe", from: direction.from, sequence: direction.sent });
      }
    }
    return actions;
  }

  #goesDown(watched: Watched, direction: Direction, now: number): LinkAction {
    const wasShort = now - watched.changedAt < this.#calm;
    if (wasShort && watched.changedAt > 0) watched.flaps = Math.min(MOST_FLAPS, watched.flaps + 1);
    watched.isUp = false;
    watched.changedAt = now;
    return { kind: "down", link: watched.link, from: direction.from };
  }

  #arrived(
    { from, at, sequence }: Extract<LinkEvent, { readonly kind: "arrived" }>,
    now: number,
  ): readonly LinkAction[] {
    const found = this.#byEnd.get(keyOf(from));
    if (found === undefined) return [];
    const { watched, direction } = found;
    if (keyOf(direction.to) !== keyOf(at)) return [{ kind: "miswired", link: watched.link, from, at }];
    // Late, doubled or invented ones are no sign of life.
    if (sequence <= direction.heard || sequence > direction.sent) return [];
    direction.run = sequence === direction.heard + 1 ? direction.run + 1 : 1;
    direction.heard = sequence;
    direction.heardAt = now;
    if (watched.isUp || !this.#isWatched(watched)) return [];
    const needed = this.#arrivals * 2 ** watched.flaps;
    if (watched.directions.some((d) => d.run < needed)) return [];
    watched.isUp = true;
    watched.changedAt = now;
    return [{ kind: "up", link: watched.link }];
  }

  #isWatched({ directions: [{ from, to }] }: Watched): boolean {
    return this.#ready.has(from.switch) && this.#ready.has(to.switch);
  }
}

function keyOf(end: LinkEnd): string {
  return `${end.switch}:${end.port}`;
}
