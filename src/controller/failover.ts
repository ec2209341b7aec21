import { MAX_WORKERS } from "../wire/aggregation.ts";
import { findSlots, type Placement, type SlotGrid } from "./jobs.ts";

/** What the controller learns. `round` is the open round of a job, reported by its server. */
export type ControllerEvent =
  | { readonly kind: "switchReady"; readonly name: string }
  | { readonly kind: "switchLost"; readonly name: string }
  | { readonly kind: "roundOpen"; readonly job: number; readonly round: number }
  | { readonly kind: "installed"; readonly job: number; readonly generation: number }
  | {
      readonly kind: "installFailed";
      readonly job: number;
      readonly generation: number;
      readonly reason: string;
    };

/** What it wants done. `install`: reset the slots, then write the entries; `announce`: tell the hosts. */
export type ControllerAction =
  | { readonly kind: "install"; readonly placement: Placement }
  | { readonly kind: "remove"; readonly placement: Placement }
  | { readonly kind: "announce"; readonly placement: Placement };

export interface JobRequest {
  readonly job: number;
  readonly workers: readonly string[];
  readonly server: string;
  readonly rows: number;
  readonly scale: number;
  readonly firstRound: number;
  /** Switches that reach all of its hosts; all of the network when absent. */
  readonly switches?: readonly string[];
}

interface Job {
  readonly switches: readonly string[] | undefined;
  placement: Placement;
  openRound: number;
  installing: boolean;
}

/** A job asks for something that cannot be. */
export class JobError extends Error {
  override readonly name = "JobError";
}

/**
 * Where jobs run, and where they go when a switch is lost: a pure state machine. A job moves to the first ready switch with room;
 * without one its parameter server aggregates alone. Each move raises the generation; the switch is prepared before the hosts hear of
 * it, and old packets are refused by their generation.
 */
export class JobController {
  readonly #grid: SlotGrid;
  /** In order of preference. */
  readonly #switches: readonly string[];
  readonly #ready = new Set<string>();
  readonly #jobs = new Map<number, Job>();
  /** Last generation by job number. It outlives the job: packets of one that is over must not count in the next of its number. */
  readonly #generations = new Map<number, number>();

  /** @param generations last generation by job number, of a controller that ran before: hosts and switches refuse what is not above it */
  constructor(
    grid: SlotGrid,
    switches: readonly string[],
    generations: Readonly<Record<string, number>> = {},
  ) {
    this.#grid = grid;
    this.#switches = switches;
    for (const [job, generation] of Object.entries(generations))
      this.#generations.set(Number(job), generation);
  }

  /** What the next controller must know. */
  get generations(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#generations);
  }

  /** Where the jobs run, or are to run. */
  get placements(): readonly Placement[] {
    return [...this.#jobs.values()].map((job) => job.placement);
  }

  placementOf(job: number): Placement | undefined {
    return this.#jobs.get(job)?.placement;
  }

  /** Admits a job. @throws JobError when its number is taken, or a number does not fit the packets. */
  start(request: JobRequest): readonly ControllerAction[] {
    checkRequest(request);
    if (this.#jobs.has(request.job)) throw new JobError(`job ${request.job} exists already`);
    const { switches, ...numbers } = request;
    const first: Placement = { ...numbers, generation: 0, on: undefined, slotBase: 0 };
    const job: Job = { switches, placement: first, openRound: request.firstRound, installing: false };
    this.#jobs.set(request.job, job);
    return this.#place(job);
  }

  /** Forgets a job and frees its slots. */
  stop(number: number): readonly ControllerAction[] {
    const job = this.#jobs.get(number);
    if (job === undefined) return [];
    this.#jobs.delete(number);
    return [{ kind: "remove", placement: job.placement }];
  }

  handle(event: ControllerEvent): readonly ControllerAction[] {
    switch (event.kind) {
      case "switchReady":
        this.#ready.add(event.name);
        return [];
      case "switchLost":
        this.#ready.delete(event.name);
        return [...this.#jobs.values()]
          .filter((j) => j.placement.on === event.name)
          .flatMap((j) => this.#place(j));
      case "roundOpen": {
        const job = this.#jobs.get(event.job);
        if (job !== undefined) job.openRound = event.round;
        return [];
      }
      case "installed": {
        const job = this.#current(event);
        if (job === undefined) return [];
        job.installing = false;
        return [{ kind: "announce", placement: job.placement }];
      }
      case "installFailed": {
        const job = this.#current(event);
        if (job === undefined) return [];
        if (job.placement.on !== undefined) this.#ready.delete(job.placement.on);
        return this.#place(job);
      }
    }
  }

  /** The job of an answer, unless it has moved on since. */
  #current(event: { readonly job: number; readonly generation: number }): Job | undefined {
    const job = this.#jobs.get(event.job);
    return job?.installing === true && job.placement.generation === event.generation ? job : undefined;
  }

  #place(job: Job): readonly ControllerAction[] {
    const number = job.placement.job;
    const generation = ((this.#generations.get(number) ?? 0) + 1) & 0xffff;
    this.#generations.set(number, generation);
    for (const name of this.#switches) {
      if (!this.#ready.has(name) || job.switches?.includes(name) === false) continue;
      const taken = [...this.#jobs.values()]
        .filter((j) => j !== job && j.placement.on === name)
        .map((j) => j.placement);
      const slotBase = findSlots(this.#grid, taken, job.placement.rows);
      if (slotBase === undefined) continue;
      job.placement = { ...job.placement, generation, on: name, slotBase, firstRound: job.openRound };
      job.installing = true;
      return [{ kind: "install", placement: job.placement }];
    }
    job.placement = { ...job.placement, generation, on: undefined, slotBase: 0, firstRound: job.openRound };
    job.installing = false;
    return [{ kind: "announce", placement: job.placement }];
  }
}

function checkRequest({ job, workers, rows, scale, firstRound }: JobRequest): void {
  const check = (what: string, value: number, low: number, high: number): void => {
    if (!Number.isInteger(value) || value < low || value > high)
      throw new JobError(`job ${job}: ${what} is ${value}; it may be ${low} to ${high}`);
  };
  check("its number", job, 0, 0xffff);
  check("the number of workers", workers.length, 1, MAX_WORKERS);
  check("rows", rows, 0, 0x1_0000);
  check("scale", scale, 0, 0xff);
  check("firstRound", firstRound, 0, 0xffff_ffff);
  if (new Set(workers).size !== workers.length) throw new JobError(`job ${job}: a worker is named twice`);
}
