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
  /** Probes a second, at most: 2000. With more links the interval is as much longer. */
  readonly rate?: number;
}

export type LinkEvent =
  | { readonly kind: "tick" }
  /** A probe that left at `from` came in at `at`. */
  | { readonly kind: "arrived"; readonly from: LinkEnd; readonly at: LinkEnd; readonly sequence: number }
  /** A switch has answered a question that was asked at some time. Where that is never told, nothing is expected of it. */
  | { readonly kind: "answered"; readonly name: string; readonly askedAt: number }
  | { readonly kind: "switchReady" | "switchLost"; readonly name: string };

export type LinkAction =
  | { readonly kind: "probe"; readonly from: LinkEnd; readonly sequence: number }
  /** `from` is the end whose probes are lost; with both ends, one of them. */
  | { readonly kind: "down"; readonly link: string; readonly from: LinkEnd }
  | { readonly kind: "up"; readonly link: string }
  /** Probes of this end arrive at another port than the topology says. */
  | { readonly kind: "miswired"; readonly link: string; readonly from: LinkEnd; readonly at: LinkEnd };

/**
 * What probes tell of a switch beside their links: when the latest was sent that it has taken out of the controller's stream, and the latest
 * that it has brought up. The streams keep their order, so what was sent before those and has not arrived is lost; and what was sent later
 * may still wait to be read, by a switch or by the controller, however late those are.
 */
interface Witness {
  leftAt: number;
  cameAt: number;
  /** When that was asked that it has answered last; undefined when it was never asked. */
  answeredAt: number | undefined;
  readonly links: Watched[];
}

interface Direction {
  readonly from: LinkEnd;
  readonly to: LinkEnd;
  readonly source: Witness;
  readonly target: Witness;
  sent: number;
  heard: number;
  /** When the last ones were sent, by sequence modulo `REMEMBERED`. */
  readonly sentAt: Float64Array;
  /** Of the last arrival, by the clock of the time in which the controller looked. */
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

const REMEMBERED = 32;
/** Probes that go out at once; more are spread over the interval. */
const AT_ONCE = 64;

/** Above this many failures the wait grows no more: 3 x 2^5 arrivals. */
const MOST_FLAPS = 5;

/**
 * Which links work: each end sends probes to the other through the switches' data plane, so a link is up only if both directions are. A
 * pure state machine. Links of a switch that the controller cannot reach are not judged: nobody could see their probes.
 *
 * A probe counts as lost when probes of other links that were sent later have come through both switches. Where there are no such links, or
 * they are silent, too, time decides: only that in which the controller looked. Where others could have spoken it is half as much again for
 * switches that have answered a question that was asked in that silence, and twice as much for those that may be slow.
 */
export class LinkWatch {
  readonly #links: readonly Watched[];
  readonly #byEnd = new Map<string, { readonly watched: Watched; readonly direction: Direction }>();
  readonly #ready = new Set<string>();
  readonly #witnesses = new Map<string, Witness>();
  readonly #interval: number;
  readonly #misses: number;
  readonly #arrivals: number;
  readonly #calm: number;
  #wakeAt: number;
  /** Time in which nobody looked or sent: the controller was busy, and has not read what arrived meanwhile. */
  #late = 0;
  /** Wake-ups in half an interval. */
  readonly #parts: number;
  #turn = 0;

  constructor(links: readonly LinkNode[], now: number, options: LinkWatchOptions = {}) {
    const probes = 2 * links.length;
    this.#interval = Math.max(options.interval ?? 100, (1000 * probes) / (options.rate ?? 2000));
    this.#parts = Math.max(1, Math.ceil(probes / AT_ONCE / 2));
    this.#misses = options.misses ?? 3;
    this.#arrivals = options.arrivals ?? 3;
    this.#calm = options.calm ?? 10_000;
    this.#wakeAt = now;
    const witness = (name: string): Witness => {
      const known = this.#witnesses.get(name) ?? {
        leftAt: now - 1,
        cameAt: now - 1,
        answeredAt: undefined,
        links: [],
      };
      this.#witnesses.set(name, known);
      return known;
    };
    this.#links = links.map(({ ends }) => {
      const [a, b] = ends;
      const direction = (from: LinkEnd, to: LinkEnd): Direction => ({
        from,
        to,
        source: witness(from.switch),
        target: witness(to.switch),
        sent: 0,
        heard: 0,
        sentAt: new Float64Array(REMEMBERED),
        heardAt: now,
        run: 0,
      });
      const directions = [direction(a, b), direction(b, a)] as const;
      const watched = { link: linkName(ends), directions, isUp: true, flaps: 0, changedAt: now };
      for (const d of directions) {
        d.source.links.push(watched);
        this.#byEnd.set(keyOf(d.from), { watched, direction: d });
      }
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
      case "answered": {
        const witness = this.#witnesses.get(event.name);
        if (witness !== undefined) witness.answeredAt = Math.max(witness.answeredAt ?? 0, event.askedAt);
        return [];
      }
      case "switchLost":
        this.#ready.delete(event.name);
        return [];
      case "switchReady":
        this.#ready.add(event.name);
        for (const { directions } of this.#links)
          for (const d of directions)
            if (d.from.switch === event.name || d.to.switch === event.name) {
              d.heardAt = now - this.#late;
              d.heard = d.sent;
              d.run = 0;
            }
        return [];
    }
  }

  /** Each link has a turn in every interval in which its probes are sent, and half an interval later one in which they follow if one was lost. */
  #tick(now: number): readonly LinkAction[] {
    if (now < this.#wakeAt) return [];
    const late = now - this.#wakeAt;
    const step = this.#interval / 2 / this.#parts;
    const isLate = late > step / 2;
    // What was not sent in time does not arrive in time.
    if (isLate) this.#late += late;
    this.#wakeAt = isLate ? now + step : this.#wakeAt + step;
    const actions: LinkAction[] = [];
    const turns = 2 * this.#parts;
    const { length } = this.#links;
    const sending = this.#turn;
    const looking = (this.#turn + this.#parts) % turns;
    this.#turn = (this.#turn + 1) % turns;
    for (const [part, isSending] of [
      [sending, true],
      [looking, false],
    ] as const) {
      const [first, end] = this.#partOf(part, length);
      for (let i = first; i < end; i++) {
        const watched = this.#links[i];
        if (watched !== undefined && this.#isWatched(watched)) this.#look(watched, isSending, now, actions);
      }
    }
    return actions;
  }

  /** Links whose probes are sent in a turn; few links have all the same. */
  #partOf(turn: number, length: number): readonly [number, number] {
    if (this.#parts === 1) return turn === 0 ? [0, length] : [0, 0];
    const turns = 2 * this.#parts;
    return [Math.floor((turn * length) / turns), Math.floor(((turn + 1) * length) / turns)];
  }

  #look(watched: Watched, isSending: boolean, now: number, actions: LinkAction[]): void {
    for (const direction of watched.directions)
      if (this.#isLost(watched, direction, now)) {
        direction.run = 0;
        if (watched.isUp) actions.push(this.#goesDown(watched, direction, now));
      }
    if (watched.isUp && watched.flaps > 0 && now - watched.changedAt >= this.#calm) watched.flaps = 0;
    for (const direction of watched.directions) {
      const isSuspect = watched.isUp && !isSending && this.#missed(direction, 1, now);
      if (!isSending && !isSuspect) continue;
      direction.sent++;
      direction.sentAt[direction.sent % REMEMBERED] = now;
      actions.push({ kind: "probe", from: direction.from, sequence: direction.sent });
    }
  }

  #isLost(watched: Watched, direction: Direction, now: number): boolean {
    if (this.#hasWitnesses(watched) && this.#missed(direction, this.#misses, now)) return true;
    // The first lost one was sent an interval after the last that arrived, the others half an interval apart.
    const patience = (this.#misses / 2 + 0.75) * this.#interval;
    const silence = now - this.#late - direction.heardAt;
    if (silence <= patience) return false;
    if (silence > 2 * patience || !this.#hasWitnesses(watched)) return true;
    // A switch that is slow has not answered either what it was asked meanwhile: it gets the whole time.
    const since = direction.heardAt + this.#late + patience / 2;
    const haveAnswered = [direction.source, direction.target].every((end) => (end.answeredAt ?? 0) >= since);
    return silence > 1.5 * patience && haveAnswered;
  }

  /** Were so many probes sent in vain, as far as others tell? Where there are none, after half an interval without looking away. */
  #missed(direction: Direction, count: number, now: number): boolean {
    const { heard, sent, sentAt, source, target, heardAt } = direction;
    if (sent - heard < count) return false;
    const remembered = Math.max(heard, sent - REMEMBERED + 1);
    const at = sentAt[Math.min(sent, remembered + count) % REMEMBERED] ?? now;
    if (now - at < this.#interval / 4) return false;
    const isCovered = at <= source.leftAt && at <= target.cameAt;
    return isCovered || (count === 1 && now - this.#late - heardAt > 1.25 * this.#interval);
  }

  /** Do both switches have other links by which they could show that they work? */
  #hasWitnesses(watched: Watched): boolean {
    const [{ source, target }] = watched.directions;
    const isOther = (other: Watched): boolean => other !== watched && other.isUp && this.#isWatched(other);
    return source.links.some(isOther) && target.links.some(isOther);
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
    direction.heardAt = now - this.#late;
    if (direction.sent - sequence < REMEMBERED) {
      const at = direction.sentAt[sequence % REMEMBERED] ?? 0;
      if (at > direction.source.leftAt) direction.source.leftAt = at;
      if (at > direction.target.cameAt) direction.target.cameAt = at;
    }
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
