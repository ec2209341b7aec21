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
