import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ControllerAction,
  type ControllerEvent,
  JobController,
  JobError,
} from "../../src/controller/failover.ts";
import type { Placement } from "../../src/controller/jobs.ts";

const GRID = { rows: 64, chunk: 16 };
const SWITCHES = ["s1", "s2", "s3"];

type Step =
  | { readonly kind: "start"; readonly job: number; readonly rows: number }
  | { readonly kind: "stop"; readonly job: number }
  /** An answer to one of the installations asked for so far, late ones included. */
  | { readonly kind: "answer"; readonly which: number; readonly ok: boolean }
  | Extract<ControllerEvent, { kind: "switchReady" | "switchLost" | "roundOpen" }>;

const job = fc.integer({ min: 1, max: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("start" as const), job, rows: fc.integer({ min: 0, max: 70 }) }),
  fc.record({ kind: fc.constant("stop" as const), job }),
  fc.record({ kind: fc.constant("answer" as const), which: fc.nat(5), ok: fc.boolean() }),
  fc.record({ kind: fc.constant("switchReady" as const), name: fc.constantFrom(...SWITCHES) }),
  fc.record({ kind: fc.constant("switchLost" as const), name: fc.constantFrom(...SWITCHES) }),
  fc.record({
    kind: fc.constant("roundOpen" as const),
    job,
    round: fc.constantFrom(1, 2, 7, 0xffff_ffff, 0),
  }),
);

/** Plays events against the controller and keeps watch over what it may do. */
class Watch {
  readonly controller = new JobController(GRID, SWITCHES);
  /** Switches that may get work: a failed installation takes a switch out until it is ready again. */
  readonly #ready = new Set<string>();
  /** Switches that may keep what they have. */
  readonly #up = new Set<string>();
  readonly #live = new Map<number, { placement: Placement; state: "installing" | "announced" }>();
  /** The last generation of each job number, of jobs that were stopped too. */
  readonly #generation = new Map<number, number>();
  readonly #asked: Placement[] = [];

  play(step: Step): void {
    switch (step.kind) {
      case "start": {
        const request = {
          job: step.job,
          workers: ["w0"],
          server: "ps",
          rows: step.rows,
          scale: 0,
          firstRound: 1,
        };
        if (this.#live.has(step.job)) {
          expect(() => this.controller.start(request)).toThrow(JobError);
          break;
        }
        const actions = this.controller.start(request);
        expect(actions).toHaveLength(1);
        this.#take(actions, undefined);
        break;
      }
      case "stop": {
        const known = this.#live.get(step.job);
        this.#live.delete(step.job);
        const actions = this.controller.stop(step.job);
        expect(actions).toEqual(known === undefined ? [] : [{ kind: "remove", placement: known.placement }]);
        break;
      }
      case "answer": {
        const asked = this.#asked[this.#asked.length - 1 - step.which];
        if (asked === undefined) break;
        const { job, generation } = asked;
        const event: ControllerEvent = step.ok
          ? { kind: "installed", job, generation }
          : { kind: "installFailed", job, generation, reason: "test" };
        const live = this.#live.get(job);
        const isCurrent = live?.state === "installing" && live.placement.generation === generation;
        if (!step.ok && isCurrent) this.#ready.delete(asked.on ?? "");
        this.#take(this.controller.handle(event), isCurrent && step.ok ? asked : undefined);
        break;
      }
      case "switchReady":
        this.#ready.add(step.name);
        this.#up.add(step.name);
        expect(this.controller.handle(step)).toEqual([]);
        break;
      case "switchLost":
        this.#ready.delete(step.name);
        this.#up.delete(step.name);
        this.#take(this.controller.handle(step), undefined);
        break;
      case "roundOpen":
        expect(this.controller.handle(step)).toEqual([]);
        break;
    }
    this.#check();
  }

  #take(actions: readonly ControllerAction[], installed: Placement | undefined): void {
    for (const action of actions) {
      const { placement } = action;
      if (action.kind === "remove") throw new Error("nothing was stopped");
      if (action.kind === "announce" && placement.on !== undefined) {
        expect(placement, "announced is what was installed").toEqual(installed);
        this.#live.set(placement.job, { placement, state: "announced" });
        continue;
      }
      const before = this.#generation.get(placement.job) ?? 0;
      expect(placement.generation, "a placement raises the generation by one").toBe((before + 1) & 0xffff);
      this.#generation.set(placement.job, placement.generation);
      if (action.kind === "install") {
        expect(this.#ready.has(placement.on ?? ""), `${placement.on} is ready`).toBe(true);
        this.#asked.push(placement);
      }
      const state = action.kind === "install" ? "installing" : "announced";
      this.#live.set(placement.job, { placement, state });
    }
  }

  #check(): void {
    const slots = new Map<string, number>();
    for (const [number, { placement }] of this.#live) {
      expect(this.controller.placementOf(number)).toEqual(placement);
      if (placement.on === undefined) continue;
      expect(this.#up.has(placement.on), `job ${number} is on ${placement.on}, which is up`).toBe(true);
      const chunks = Math.ceil(placement.rows / GRID.chunk);
      expect(placement.slotBase % GRID.chunk).toBe(0);
      expect(placement.slotBase + chunks * GRID.chunk).toBeLessThanOrEqual(GRID.rows);
      for (let c = 0; c < chunks; c++) {
        const slot = `${placement.on} ${placement.slotBase / GRID.chunk + c}`;
        expect(slots.get(slot), `chunk ${slot} is job ${number}'s alone`).toBeUndefined();
        slots.set(slot, number);
      }
    }
  }
}

describe("JobController", () => {
  test("whatever happens: generations rise by one, slots do not overlap, only ready switches get work, and hosts hear of what is installed", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const watch = new Watch();
        for (const s of steps) watch.play(s);
      }),
      { numRuns: 1500 },
    );
  });

  test("a switch that fails one job's installation gets no new work, and keeps the jobs that run on it", () => {
    const watch = new Watch();
    const steps: readonly Step[] = [
      { kind: "switchReady", name: "s1" },
      { kind: "start", job: 1, rows: 1 },
      { kind: "answer", which: 0, ok: true },
      { kind: "start", job: 2, rows: 1 },
      { kind: "answer", which: 0, ok: false },
    ];
    for (const s of steps) watch.play(s);
    expect(watch.controller.placementOf(1)?.on).toBe("s1");
    expect(watch.controller.placementOf(2)?.on).toBeUndefined();
  });

  test("the generation after 65535 is 0", () => {
    const controller = new JobController(GRID, ["s1", "s2"]);
    for (const name of ["s1", "s2"]) controller.handle({ kind: "switchReady", name });
    controller.start({ job: 1, workers: ["w0"], server: "ps", rows: 1, scale: 0, firstRound: 1 });
    const seen: (number | undefined)[] = [];
    for (let i = 0; i < 65_536; i++) {
      const name = controller.placementOf(1)?.on ?? "";
      if (i > 65_532) seen.push(controller.placementOf(1)?.generation);
      controller.handle({ kind: "switchLost", name });
      controller.handle({ kind: "switchReady", name });
    }
    expect(seen).toEqual([65_534, 65_535, 0]);
  });

  test("a job that starts again under its old number goes on with the generations, so that old packets are refused", () => {
    const controller = new JobController(GRID, ["s1"]);
    controller.handle({ kind: "switchReady", name: "s1" });
    const request = { job: 1, workers: ["w0"], server: "ps", rows: 1, scale: 0, firstRound: 1 };
    const generations = [1, 2, 3].map(() => {
      controller.start(request);
      const generation = controller.placementOf(1)?.generation;
      controller.stop(1);
      return generation;
    });
    expect(generations).toEqual([1, 2, 3]);
  });

  test.each([
    ["job 65536: its number is 65536", { job: 65_536 }],
    ["job 1: the number of workers is 0", { workers: [] }],
    ["job 1: the number of workers is 33", { workers: Array.from({ length: 33 }, (_, i) => `w${i}`) }],
    ["job 1: a worker is named twice", { workers: ["w0", "w0"] }],
    ["job 1: rows is -1", { rows: -1 }],
    ["job 1: scale is 256", { scale: 256 }],
    ["job 1: firstRound is 0.5", { firstRound: 0.5 }],
  ])("refuses what does not fit the packets: %s", (reason, changes) => {
    const controller = new JobController(GRID, ["s1"]);
    const request = { job: 1, workers: ["w0"], server: "ps", rows: 1, scale: 0, firstRound: 1, ...changes };
    expect(() => controller.start(request)).toThrow(reason);
    expect(controller.placementOf(request.job)).toBeUndefined();
  });
});
