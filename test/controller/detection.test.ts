import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type LinkAction, LinkWatch } from "../../src/controller/linkwatch.ts";
import { Liveness, type LivenessAction } from "../../src/controller/liveness.ts";
import type { LinkEnd, LinkNode } from "../../src/controller/topology.ts";

const LINK: LinkNode = {
  ends: [
    { switch: "a", port: 1 },
    { switch: "b", port: 2 },
  ],
};
const NAME = "a:1 - b:2";
const INTERVAL = 100;

interface Told {
  readonly at: number;
  readonly action: LinkAction;
}

/** One link under virtual time: `passes` says whether a probe that leaves an end at a time gets through; `delay` how long it takes. */
function run(
  until: number,
  passes: (from: LinkEnd, now: number) => boolean,
  delay: (now: number) => number = () => 5,
  ticks: (due: number) => number = (due) => due,
): readonly Told[] {
  const watch = new LinkWatch([LINK], 0, { interval: INTERVAL });
  const told: Told[] = [];
  const arrivals: { readonly at: number; readonly from: LinkEnd; readonly sequence: number }[] = [];
  const take = (actions: readonly LinkAction[], now: number): void => {
    for (const action of actions)
      if (action.kind !== "probe") told.push({ at: now, action });
      else if (passes(action.from, now))
        arrivals.push({ at: now + delay(now), from: action.from, sequence: action.sequence });
  };
  for (const name of ["a", "b"]) take(watch.handle({ kind: "switchReady", name }, 0), 0);
  for (;;) {
    arrivals.sort((x, y) => x.at - y.at);
    const [next] = arrivals;
    const tickAt = ticks(watch.wakeAt);
    const now = Math.min(next?.at ?? Number.POSITIVE_INFINITY, tickAt);
    if (now > until) return told;
    if (next !== undefined && next.at <= tickAt) {
      arrivals.shift();
      const at = LINK.ends.find((end) => end.switch !== next.from.switch) ?? LINK.ends[0];
      take(watch.handle({ kind: "arrived", from: next.from, at, sequence: next.sequence }, now), now);
    } else take(watch.handle({ kind: "tick" }, now), now);
  }
}

const kinds = (told: readonly Told[]): readonly string[] => told.map((t) => t.action.kind);

describe("a link", () => {
  test("that works is never said to be down, with up to two probes lost in a row", () => {
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat(9)), (chance) => {
        const lost: [number, number] = [0, 0];
        const passes = ({ switch: name }: LinkEnd): boolean => {
          const i = name === "a" ? 0 : 1;
          lost[i] = (chance.next().value ?? 0) < 4 && lost[i] < 2 ? lost[i] + 1 : 0;
          return lost[i] === 0;
        };
        expect(run(20_000, passes, () => 1 + (chance.next().value ?? 0))).toEqual([]);
      }),
      { numRuns: 20 },
    );
  });

  test("that is cut is down within three intervals of the first probe lost, at whatever time", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1000, max: 2000 }), (cutAt) => {
        const [down, ...more] = run(10_000, (_, now) => now < cutAt);
        const firstLost = Math.ceil(cutAt / INTERVAL) * INTERVAL;
        expect(down?.action).toMatchObject({ kind: "down", link: NAME });
        expect(down?.at).toBeLessThanOrEqual(firstLost + 3 * INTERVAL);
        expect(more).toEqual([]);
      }),
    );
  });

  test("that loses one direction only is down, and the direction is named", () => {
    const told = run(5000, ({ switch: name }, now) => name === "a" || now < 1000);
    expect(told.map((t) => t.action)).toEqual([{ kind: "down", link: NAME, from: LINK.ends[1] }]);
  });

  test("is up again after three probes both ways, and not before", () => {
    const told = run(5000, (_, now) => now < 1000 || now >= 2000);
    expect(kinds(told)).toEqual(["down", "up"]);
    expect(told[1]?.at).toBeGreaterThanOrEqual(2200);
    expect(told[1]?.at).toBeLessThanOrEqual(2400);
  });

  test("that flaps is taken out more and more, not each time", () => {
    for (const period of [1000, 1500, 2500]) {
      const told = run(60_000, (_, now) => now % period < period / 2);
      const late = told.filter((t) => t.at > 30_000);
      expect(late.length).toBeLessThan((30_000 / period) * 0.7);
    }
  });

  test("is not blamed for a controller that was busy, or a switch that is slow", () => {
    let wasBusy = false;
    const busy = (due: number): number => {
      if (due < 3000 || wasBusy) return due;
      wasBusy = true;
      return due + 2000;
    };
    expect(
      run(
        10_000,
        () => true,
        () => 5,
        busy,
      ),
    ).toEqual([]);
    expect(
      run(
        10_000,
        () => true,
        // Slower by an interval and a third all of a sudden. Who has slower ones asks for longer intervals.
        (now) => (now > 3000 && now < 6000 ? 135 : 5),
      ),
    ).toEqual([]);
  });

  test("of a switch that is not reached is not judged; probes that nobody sent prove nothing", () => {
    const watch = new LinkWatch([LINK], 0, { interval: INTERVAL });
    watch.handle({ kind: "switchReady", name: "a" }, 0);
    for (let now = 0; now < 2000; now += 50) expect(watch.handle({ kind: "tick" }, now)).toEqual([]);
    watch.handle({ kind: "switchReady", name: "b" }, 2000);
    const [from, at] = LINK.ends;
    expect(watch.handle({ kind: "arrived", from, at, sequence: 99 }, 2001)).toEqual([]);
    const wrong = { switch: "b", port: 7 };
    expect(watch.handle({ kind: "arrived", from, at: wrong, sequence: 1 }, 2001)).toEqual([
      { kind: "miswired", link: NAME, from, at: wrong },
    ]);
    const actions: LinkAction[] = [];
    for (let now = 2050; now < 3000; now += 50) actions.push(...watch.handle({ kind: "tick" }, now));
    expect(actions.filter((a) => a.kind === "down")).toHaveLength(1);
    expect([...watch.down]).toEqual([NAME]);
  });
});

describe("a member", () => {
  const life = (incarnation: number) => ({ member: "w0", incarnation });

  test("that is silent is dead, once, and has to join again", () => {
    const live = new Liveness({ silence: 1000 });
    live.handle({ kind: "joined", ...life(1) }, 0);
    expect(live.handle({ kind: "heartbeat", ...life(1) }, 900)).toEqual([]);
    expect(live.wakeAt).toBe(1900);
    live.handle({ kind: "tick" }, 1000);
    expect(live.handle({ kind: "tick" }, 1900)).toEqual([{ kind: "dead", ...life(1) }]);
    expect(live.handle({ kind: "tick" }, 2500)).toEqual([]);
    expect(live.handle({ kind: "heartbeat", ...life(1) }, 2500)).toMatchObject([{ kind: "refused" }]);
    expect(live.handle({ kind: "joined", ...life(1) }, 2600)).toEqual([]);
    expect(live.alive).toEqual(["w0"]);
  });

  test("that starts again keeps its place, and its former life is refused", () => {
    const live = new Liveness({ silence: 1000 });
    live.handle({ kind: "joined", ...life(1) }, 0);
    expect(live.handle({ kind: "joined", ...life(2) }, 10)).toEqual([{ kind: "restarted", ...life(2) }]);
    expect(live.handle({ kind: "heartbeat", ...life(1) }, 20)).toEqual([{ kind: "refused", ...life(1) }]);
    expect(live.handle({ kind: "left", ...life(1) }, 20)).toEqual([{ kind: "refused", ...life(1) }]);
    expect(live.alive).toEqual(["w0"]);
    live.handle({ kind: "left", ...life(2) }, 30);
    expect(live.alive).toEqual([]);
  });

  test("is not dead because the controller did not look for a while", () => {
    const live = new Liveness({ silence: 1000 });
    live.handle({ kind: "joined", ...life(1) }, 0);
    live.handle({ kind: "tick" }, 500);
    expect(live.handle({ kind: "tick" }, 60_000)).toEqual([]);
    expect(live.handle({ kind: "tick" }, 60_500)).toEqual([{ kind: "dead", ...life(1) }]);
  });

  test("whatever happens: each death is told once, and only of who was alive", () => {
    const event = fc.record({
      kind: fc.constantFrom("joined" as const, "heartbeat" as const, "left" as const),
      member: fc.constantFrom("w0", "w1"),
      incarnation: fc.integer({ min: 1, max: 3 }),
      wait: fc.nat(1500),
    });
    fc.assert(
      fc.property(fc.array(event), (events) => {
        const live = new Liveness({ silence: 1000 });
        let now = 0;
        for (const { wait, ...what } of events) {
          now += wait;
          const before = new Set(live.alive);
          const actions: readonly LivenessAction[] = live.handle({ kind: "tick" }, now);
          for (const { kind, member } of actions) {
            expect(kind).toBe("dead");
            expect(before.has(member)).toBe(true);
            expect(live.alive).not.toContain(member);
          }
          live.handle(what, now);
        }
      }),
    );
  });
});

describe("links of many switches", () => {
  /** Two spines and many leaves under virtual time; a probe arrives 1 ms after it was sent, unless it is lost or waits somewhere. */
  function fabricRun(
    leaves: number,
    until: number,
    {
      passes = (): boolean => true,
      wait = (): number => 0,
      pause = (due: number): number => due,
      heartbeat = 0,
    }: {
      readonly passes?: (from: LinkEnd, to: LinkEnd, now: number) => boolean;
      /** How long what leaves a switch at a time waits in its stream. */
      readonly wait?: (name: string, now: number) => number;
      readonly pause?: (due: number) => number;
      readonly heartbeat?: number;
    },
  ) {
    const links: LinkNode[] = Array.from({ length: 2 * leaves }, (_, i) => ({
      ends: [
        { switch: `leaf${i >> 1}`, port: i & 1 },
        { switch: `spine${i & 1}`, port: i >> 1 },
      ],
    }));
    const far = new Map<string, LinkEnd>();
    for (const { ends } of links) {
      far.set(`${ends[0].switch}:${ends[0].port}`, ends[1]);
      far.set(`${ends[1].switch}:${ends[1].port}`, ends[0]);
    }
    const watch = new LinkWatch(links, 0, { interval: INTERVAL });
    const told: Told[] = [];
    const arrivals: { readonly at: number; readonly from: LinkEnd; readonly sequence: number }[] = [];
    let probes = 0;
    const take = (actions: readonly LinkAction[], now: number): void => {
      for (const action of actions) {
        if (action.kind !== "probe") {
          told.push({ at: now, action });
          continue;
        }
        probes++;
        const to = far.get(`${action.from.switch}:${action.from.port}`) ?? action.from;
        if (passes(action.from, to, now))
          arrivals.push({
            at: now + 1 + wait(action.from.switch, now) + wait(to.switch, now),
            from: action.from,
            sequence: action.sequence,
          });
      }
    };
    const names = [...new Set(links.flatMap(({ ends }) => ends.map((end) => end.switch)))];
    for (const name of names) take(watch.handle({ kind: "switchReady", name }, 0), 0);
    let beatAt = heartbeat > 0 ? heartbeat : Number.POSITIVE_INFINITY;
    for (let now = 0; now <= until; ) {
      const tickAt = pause(watch.wakeAt);
      // What has arrived while nobody looked is read after the tick that was due.
      arrivals.sort((x, y) => x.at - y.at);
      const [next] = arrivals;
      const at = Math.max(now, Math.min(tickAt, next?.at ?? Number.POSITIVE_INFINITY, beatAt));
      now = at;
      if (tickAt <= at) take(watch.handle({ kind: "tick" }, now), now);
      else if (beatAt <= at) {
        for (const name of names)
          if (wait(name, now) === 0) watch.handle({ kind: "answered", name, askedAt: now }, now);
        beatAt += heartbeat;
      } else if (next !== undefined) {
        arrivals.shift();
        const to = far.get(`${next.from.switch}:${next.from.port}`) ?? next.from;
        take(watch.handle({ kind: "arrived", from: next.from, at: to, sequence: next.sequence }, now), now);
      }
    }
    return { told, probes, interval: Math.max(INTERVAL, links.length) };
  }

  test("share 2000 probes a second, spread over the interval", () => {
    const { told, probes } = fabricRun(400, 8000, {});
    expect(told).toEqual([]);
    expect(probes / 8).toBeGreaterThan(1900);
    expect(probes / 8).toBeLessThan(2100);
  });

  test("are down in one direction within three intervals where others show that both switches work", () => {
    const cutAt = 3000;
    const { told, interval } = fabricRun(100, 8000, {
      passes: (from, to, now) => now < cutAt || from.switch !== "leaf7" || to.switch !== "spine1",
    });
    expect(told.map(({ action }) => action)).toEqual([
      { kind: "down", link: "leaf7:1 - spine1:7", from: { switch: "leaf7", port: 1 } },
    ]);
    expect(told[0]?.at ?? 0).toBeLessThan(cutAt + 4 * interval);
  });

  test("are not blamed for a controller that is late all the time, nor for a switch whose stream stands still", () => {
    const late = fabricRun(100, 60_000, { pause: (due) => Math.ceil(due / 170) * 170 });
    expect(late.told).toEqual([]);
    const standing = fabricRun(100, 20_000, {
      heartbeat: 500,
      wait: (name, now) => (name === "spine1" && now > 4000 && now < 4800 ? 4800 - now : 0),
    });
    expect(standing.told).toEqual([]);
  });

  test("are all down when a switch that answers brings nothing up any more", () => {
    const { told } = fabricRun(100, 12_000, {
      heartbeat: 500,
      passes: (from, to, now) => now < 3000 || (from.switch !== "spine1" && to.switch !== "spine1"),
    });
    expect(new Set(told.map(({ action }) => action.kind))).toEqual(new Set(["down"]));
    expect(told).toHaveLength(100);
  });
});
