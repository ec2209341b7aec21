import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Placement } from "../../src/controller/jobs.ts";
import { type DeskAction, JobDesk } from "../../src/controller/jobservice/desk.ts";
import type { JobSpec, MemberId } from "../../src/controller/jobservice/jobrecord.ts";
import { JobRefusal } from "../../src/controller/jobservice/refusal.ts";
import { stateOf, stateText } from "../../src/controller/statefile.ts";
import { aggregation, CHUNK, LANES, ROWS, topologyOf } from "../abuse/network.ts";

const TOPOLOGY = topologyOf(6);
const SILENCE = 1000;

function spec(changes: Partial<JobSpec> & { readonly rowCount?: number } = {}): JobSpec {
  const { rowCount = 2, ...rest } = changes;
  return {
    workers: ["w0", "w1"],
    lanes: LANES,
    mode: { name: "int32", workers: 32, fractionBits: 16 },
    rows: Array.from({ length: rowCount }, (_, i) => [i]),
    needsSwitch: true,
    ...rest,
  };
}

const id = (host: string, incarnation = 1n, job = "a"): MemberId => ({ job, host, incarnation });

/** A desk whose switches take at once whatever they are given, under virtual time. */
class Office {
  now = 0;
  readonly desk: JobDesk;
  readonly announced: Placement[] = [];
  readonly ended: string[] = [];
  /** Entries on switches, by job. */
  readonly installed = new Map<number, Placement>();

  constructor(switches: readonly string[] = ["s1", "s2"], desk?: JobDesk) {
    this.desk =
      desk ??
      new JobDesk({
        topology: TOPOLOGY,
        aggregation,
        times: { silence: SILENCE, heartbeat: 200, patience: 5000 },
      });
    for (const name of switches) this.act(this.desk.handle({ kind: "switchReady", name }));
  }

  act(actions: readonly DeskAction[]): void {
    for (const action of actions) {
      if (action.kind === "install") {
        const { placement } = action;
        this.installed.set(placement.job, placement);
        const { job, generation } = placement;
        this.act(this.desk.handle({ kind: "installed", job, generation }));
      } else if (action.kind === "announce") this.announced.push(action.placement);
      else if (action.kind === "remove") this.installed.delete(action.placement.job);
      else if (action.kind === "ended") this.ended.push(`${action.job}: ${action.reason}`);
    }
  }

  join(who: MemberId, what?: JobSpec) {
    const { joined, actions } = this.desk.join(who, what, this.now);
    this.act(actions);
    return joined;
  }

  beat(who: MemberId, round?: number): void {
    this.act(this.desk.heartbeat(who, round, this.now));
  }

  /** Lets time pass while some hosts give signs of life. */
  pass(ms: number, ...beating: readonly MemberId[]): void {
    for (const end = this.now + ms; this.now < end; ) {
      this.now += 100;
      for (const who of beating) refused(() => this.beat(who));
      this.act(this.desk.tick(this.now));
    }
  }
}

/** The code of the refusal. */
function refused(what: () => unknown): string {
  try {
    what();
  } catch (error) {
    if (error instanceof JobRefusal) return error.code;
    throw error;
  }
  return "taken";
}

function started(): Office {
  const office = new Office();
  office.join(id("ps"), spec());
  office.join(id("w0"));
  office.join(id("w1"));
  return office;
}

describe("the desk", () => {
  test("places a job when its server declares it, and gives each worker the number of its place", () => {
    const office = new Office();
    expect(office.join(id("ps"), spec())).toEqual({ job: 1, member: 0, life: 0 });
    expect(office.join(id("w1"))).toEqual({ job: 1, member: 1, life: 0 });
    expect(office.announced).toMatchObject([{ job: 1, generation: 1, on: "s1", slotBase: 0, rows: 2 }]);
  });

  test("answers the same to who asks again, and raises no generation for it", () => {
    const office = started();
    expect(office.join(id("w1"))).toEqual({ job: 1, member: 1, life: 0 });
    expect(office.join(id("ps"), spec())).toEqual({ job: 1, member: 0, life: 0 });
    expect(office.join(id("ps"))).toEqual({ job: 1, member: 0, life: 0 });
    expect(office.announced).toHaveLength(1);
  });

  test("refuses with a code that says why", () => {
    const office = started();
    expect(refused(() => office.join(id("w0", 1n, "b")))).toBe("UNKNOWN_JOB");
    expect(refused(() => office.join(id("x"), spec()))).toBe("UNKNOWN_HOST");
    expect(refused(() => office.join(id("w5")))).toBe("NOT_INVITED");
    expect(refused(() => office.join(id("w5"), spec()))).toBe("JOB_EXISTS");
    expect(refused(() => office.join(id("w0", 0n)))).toBe("REPLACED");
    expect(refused(() => office.beat(id("w0", 0n)))).toBe("REPLACED");
    expect(refused(() => office.beat(id("w0", 2n)))).toBe("NOT_JOINED");
    expect(refused(() => office.desk.move("b", undefined))).toBe("UNKNOWN_JOB");
    expect(refused(() => office.desk.move("a", { kind: "switch", name: "s9" }))).toBe("UNKNOWN_SWITCH");
    const other = (changes: Partial<JobSpec>) => refused(() => office.join(id("w4", 1n, "b"), spec(changes)));
    expect(other({ lanes: LANES + 1 })).toBe("DOES_NOT_FIT");
    expect(other({ mode: { name: "block", workers: 32, exponent: 9 } })).toBe("DOES_NOT_FIT");
    expect(other({ workers: Array.from({ length: 33 }, (_, i) => `w${i}`) })).toBe("DOES_NOT_FIT");
    expect(other({ workers: ["w0", "w0"] })).toBe("BAD_REQUEST");
    expect(other({ workers: ["w4"] })).toBe("BAD_REQUEST");
    expect(other({ workers: ["nobody"] })).toBe("UNKNOWN_HOST");
    expect(other({ workers: [] })).toBe("BAD_REQUEST");
    expect(other({ rows: [[1, 1]] })).toBe("BAD_REQUEST");
    expect(other({ rows: [Array.from({ length: LANES + 1 }, (_, i) => i)] })).toBe("BAD_REQUEST");
    expect(office.desk.jobs).toHaveLength(1);
  });

  test("admits jobs by free slots: what would not fit is refused, or left to its server when it may be", () => {
    const office = new Office();
    office.join(id("w2", 1n, "b"), spec({ rowCount: ROWS - CHUNK }));
    office.join(id("w3", 1n, "c"), spec({ rowCount: ROWS }));
    expect(refused(() => office.join(id("w4", 1n, "d"), spec({ rowCount: CHUNK + 1 })))).toBe("NO_SLOTS");
    office.join(id("w4", 1n, "d"), spec({ rowCount: CHUNK }));
    expect(refused(() => office.join(id("w5", 1n, "e"), spec({ rowCount: 1 })))).toBe("NO_SLOTS");
    office.join(id("w5", 1n, "e"), spec({ rowCount: 1, needsSwitch: false }));
    expect(office.announced.map((p) => p.on)).toEqual(["s1", "s2", "s1", undefined]);
    office.act(office.desk.leave(id("w3", 1n, "c"), 0));
    office.join(id("ps", 1n, "f"), spec({ rowCount: ROWS, workers: ["w1"] }));
    expect(office.announced.at(-1)?.on).toBe("s2");
  });

  test("goes on without a worker that is silent, and gives it its number back in a new life", () => {
    const office = started();
    office.pass(3000, id("ps"), id("w0"));
    expect(office.announced.at(-1)).toMatchObject({ generation: 2, absent: [1], lives: [0, 0] });
    expect(refused(() => office.beat(id("w1")))).toBe("DEAD");
    expect(refused(() => office.join(id("w1")))).toBe("DEAD");
    expect(office.join(id("w1", 2n))).toEqual({ job: 1, member: 1, life: 1 });
    expect(office.announced.at(-1)).toMatchObject({ generation: 3, absent: [], lives: [0, 1] });
    office.pass(3000, id("ps"), id("w0"), id("w1", 2n));
    expect(office.announced).toHaveLength(3);
  });

  test("takes a worker that starts again before it was missed by a new generation", () => {
    const office = started();
    expect(office.join(id("w1", 2n)).life).toBe(1);
    expect(office.announced.at(-1)).toMatchObject({ generation: 2, absent: [], lives: [0, 1] });
    expect(refused(() => office.beat(id("w1", 1n)))).toBe("REPLACED");
  });

  test("lets a job wait whose workers are all dead, until one comes back", () => {
    const office = started();
    office.pass(3000, id("ps"));
    expect(office.ended).toEqual([]);
    expect(office.join(id("w1", 2n)).life).toBe(1);
    expect(office.announced.at(-1)).toMatchObject({ absent: [0], lives: [0, 1] });
  });

  test("waits for workers that were announced, but not without end", () => {
    const office = new Office();
    office.join(id("ps"), spec());
    office.join(id("w0"));
    office.pass(4900, id("ps"), id("w0"));
    expect(office.announced).toHaveLength(1);
    office.pass(200, id("ps"), id("w0"));
    expect(office.announced.at(-1)).toMatchObject({ absent: [1] });
  });

  test("removes a job cleanly when its server dies, leaves or starts again, and when all workers are done", () => {
    const dead = started();
    dead.pass(3000, id("w0"), id("w1"));
    expect(dead.ended).toEqual(["a: its parameter server is dead"]);
    const left = started();
    left.act(left.desk.leave(id("ps"), 0));
    const done = started();
    done.act(done.desk.leave(id("w0"), 0));
    expect(done.announced.at(-1)).toMatchObject({ absent: [0] });
    done.act(done.desk.leave(id("w1"), 0));
    for (const office of [dead, left, done]) {
      expect(office.installed.size).toBe(0);
      expect(office.desk.jobs).toEqual([]);
      expect(office.desk.wakeAt).toBe(Number.POSITIVE_INFINITY);
      expect(refused(() => office.beat(id("w0")))).toBe("UNKNOWN_JOB");
    }
    const again = started();
    again.join(id("ps", 2n), spec());
    expect(again.ended).toEqual(["a: its parameter server has started again"]);
    // The same number, and packets of the job before are refused.
    expect(again.announced.at(-1)).toMatchObject({ job: 1, generation: 2 });
  });

  test("moves a job where somebody wants it, to its server alone, and back", () => {
    const office = started();
    office.act(office.desk.move("a", { kind: "switch", name: "s2" }));
    expect(office.announced.at(-1)).toMatchObject({ generation: 2, on: "s2" });
    office.act(office.desk.move("a", { kind: "server" }));
    office.act(office.desk.handle({ kind: "switchReady", name: "s1" }));
    expect(office.announced.at(-1)).toMatchObject({ generation: 3, on: undefined });
    office.act(office.desk.move("a", undefined));
    expect(office.announced.at(-1)).toMatchObject({ generation: 4, on: "s1" });
  });

  test("moves a job off a lost switch, and a job that found no switch onto the first that is ready", () => {
    const office = new Office([]);
    office.join(id("ps"), spec());
    expect(office.announced.at(-1)?.on).toBeUndefined();
    for (const name of ["s2", "s1"]) office.act(office.desk.handle({ kind: "switchReady", name }));
    expect(office.announced.at(-1)?.on).toBe("s2");
    office.act(office.desk.handle({ kind: "switchLost", name: "s2" }));
    expect(office.announced.at(-1)?.on).toBe("s1");
    office.act(office.desk.handle({ kind: "switchLost", name: "s1" }));
    expect(office.announced.at(-1)?.on).toBeUndefined();
  });

  test("empties a switch that is drained", () => {
    const office = started();
    office.act(office.desk.handle({ kind: "paths", drained: new Set(["s1"]) }));
    expect(office.announced.at(-1)?.on).toBe("s2");
    office.act(office.desk.handle({ kind: "paths", drained: new Set(["s1"]) }));
    expect(office.announced).toHaveLength(2);
  });

  test("is fooled neither by signs of life that come late, in bursts or seldom, nor by answers that are lost", () => {
    const office = started();
    // The last within the silence, three at once, one direction lost: what counts is what arrives.
    for (let i = 0; i < 20; i++) {
      office.pass(SILENCE - 100);
      for (const who of [id("ps"), id("w0"), id("w1")]) for (let n = 0; n < 3; n++) office.beat(who);
    }
    expect(office.announced).toHaveLength(1);
  });

  test("finds out within the silence and one look, whenever a worker dies", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 40 }), (at) => {
        const office = started();
        office.pass(at * 100, id("ps"), id("w0"), id("w1"));
        const died = office.now;
        while (office.announced.length === 1) office.pass(100, id("ps"), id("w0"));
        expect(office.now - died).toBeLessThanOrEqual(SILENCE + 100);
      }),
    );
  });

  test("a worker that flaps costs one generation for each of its deaths and each of its starts, no more", () => {
    const office = started();
    for (let start = 2n; start < 6n; start++) {
      office.pass(SILENCE + 200, id("ps"), id("w0"));
      office.join(id("w1", start));
      office.pass(500, id("ps"), id("w0"), id("w1", start));
    }
    expect(office.announced.at(-1)).toMatchObject({ generation: 1 + 2 * 4, lives: [0, 4] });
  });

  test("the next controller goes on: what was settled stays, what was under way begins anew, and hosts get their time", () => {
    const office = started();
    office.pass(500, id("ps"), id("w0"), id("w1"));
    const saved = stateOf(JSON.parse(stateText({ ...office.desk.state, drained: [] })));
    expect(saved.jobs).toEqual(office.desk.jobs);
    const desk = new JobDesk({
      topology: TOPOLOGY,
      aggregation,
      times: { silence: SILENCE },
      generations: saved.generations,
    });
    expect(desk.resume(saved.jobs ?? [], saved.placements, 0)).toEqual([]);
    const next = new Office(["s1", "s2"], desk);
    next.pass(900);
    next.beat(id("w0"));
    next.beat(id("ps"));
    next.pass(900, id("ps"), id("w0"));
    expect(next.announced).toMatchObject([{ on: "s1", absent: [1], generation: 2 }]);

    // Broken off between the decision and its end.
    const torn = new JobDesk({ topology: TOPOLOGY, aggregation, generations: { 1: 2 } });
    const again = new Office([], torn);
    again.act(torn.resume(saved.jobs ?? [], [], 0));
    expect(again.announced).toMatchObject([{ generation: 3, on: undefined }]);
  });

  test("whatever happens, no two jobs share slots, and nobody is installed whom the desk does not know", () => {
    const step = fc.record({
      what: fc.constantFrom("declare", "join", "leave", "end", "lose", "ready", "pass", "move"),
      job: fc.constantFrom("a", "b", "c", "d"),
      host: fc.constantFrom("w0", "w1", "w2", "w3", "w4", "w5", "ps"),
      rows: fc.integer({ min: 1, max: ROWS }),
      on: fc.constantFrom("s1", "s2"),
      incarnation: fc.bigInt({ min: 1n, max: 3n }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const office = new Office();
        for (const { what, job, host, rows, on, incarnation } of steps) {
          const who = id(host, incarnation, job);
          refused(() => {
            if (what === "declare") office.join(who, spec({ rowCount: rows, needsSwitch: rows % 2 === 0 }));
            else if (what === "join") office.join(who);
            else if (what === "leave") office.act(office.desk.leave(who, office.now));
            else if (what === "end") office.act(office.desk.end(job, "asked", office.now));
            else if (what === "lose") office.act(office.desk.handle({ kind: "switchLost", name: on }));
            else if (what === "ready") office.act(office.desk.handle({ kind: "switchReady", name: on }));
            else if (what === "move") office.act(office.desk.move(job, { kind: "switch", name: on }));
            else office.pass(700);
          });
          const known = new Set(office.desk.jobs.map((record) => record.number));
          const used = new Set<string>();
          for (const placement of office.desk.state.placements) {
            expect(known).toContain(placement.job);
            if (placement.on === undefined) continue;
            for (let chunk = 0; chunk < Math.ceil(placement.rows / CHUNK); chunk++) {
              const key = `${placement.on} ${placement.slotBase / CHUNK + chunk}`;
              expect(used).not.toContain(key);
              used.add(key);
            }
            expect(placement.slotBase + placement.rows).toBeLessThanOrEqual(ROWS);
          }
          for (const number of office.installed.keys()) expect(known).toContain(number);
        }
      }),
      { numRuns: 300 },
    );
  });
});
