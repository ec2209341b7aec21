import { MAX_WORKERS } from "../wire/aggregation.ts";
import { findSlots, type Placement, type SlotGrid } from "./jobs.ts";

/** What the controller learns. `round` is the open round of a job, reported by its server. */
export type ControllerEvent =
  | { readonly kind: "switchReady"; readonly name: string }
  | { readonly kind: "switchLost"; readonly name: string }
  | { readonly kind: "roundOpen"; readonly job: number; readonly round: number }
  /** Workers have died, left, or started again. */
  | {
      readonly kind: "members";
      readonly job: number;
      readonly absent: readonly number[];
      readonly lives: readonly number[];
    }
  /** Paths have changed, or which switches are drained: jobs leave switches that they cannot use any more. */
  | { readonly kind: "paths"; readonly drained: ReadonlySet<string> }
  /** Somebody wants a job to be elsewhere: on a switch, at the server alone, or (undefined) wherever there is room. */
  | { readonly kind: "move"; readonly job: number; readonly to: Target | undefined }
  | { readonly kind: "installed"; readonly job: number; readonly generation: number }
  | {
      readonly kind: "installFailed";
      readonly job: number;
      readonly generation: number;
      readonly reason: string;
    };

/** Where a job is to run, when somebody says. */
export type Target = { readonly kind: "switch"; readonly name: string } | { readonly kind: "server" };

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

export interface JobControllerOptions {
  /** Last generation by job number, of a controller that ran before: hosts and switches refuse what is not above it. */
  readonly generations?: Readonly<Record<string, number>>;
  /** Can all hosts of a job be reached from a switch, as the network is now? Yes, when not given. */
  readonly reaches?: (name: string, placement: Placement) => boolean;
}

interface Job {
  readonly switches: readonly string[] | undefined;
  placement: Placement;
  openRound: number;
  installing: boolean;
  target: Target | undefined;
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
  readonly #reaches: (name: string, placement: Placement) => boolean;
  #drained: ReadonlySet<string> = new Set();
  readonly #jobs = new Map<number, Job>();
  /** Last generation by job number. It outlives the job: packets of one that is over must not count in the next of its number. */
  readonly #generations = new Map<number, number>();

  constructor(grid: SlotGrid, switches: readonly string[], options: JobControllerOptions = {}) {
    this.#grid = grid;
    this.#switches = switches;
    this.#reaches = options.reaches ?? (() => true);
    const { generations = {} } = options;
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

  /** Those of them that are there: the switch is prepared. What a controller that takes over goes on with. */
  get settled(): readonly Placement[] {
    return [...this.#jobs.values()].filter((job) => !job.installing).map((job) => job.placement);
  }

  /** A switch that could be used by a placement's hosts to reach each other. */
  usable(placement: Placement): string | undefined {
    return this.#switches.find((name) => this.#ready.has(name) && this.#isUsable(name, placement));
  }

  /** Would a job that no switch has find one now? One that somebody keeps at its server would not. */
  mayMove(number: number): boolean {
    const job = this.#jobs.get(number);
    return job !== undefined && job.target === undefined && this.#room(job) !== undefined;
  }

  openRoundOf(job: number): number | undefined {
    return this.#jobs.get(job)?.openRound;
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
    const job = this.#add(first, switches);
    return this.#place(job);
  }

  /** Is there room for a job on some switch that it could use now? Those are counted that are not ready, too. */
  hasRoom(request: JobRequest): boolean {
    const { switches, ...numbers } = request;
    const placement: Placement = { ...numbers, generation: 0, on: undefined, slotBase: 0 };
    return this.#switches.some((name) => {
      if (switches?.includes(name) === false || !this.#reaches(name, placement)) return false;
      return findSlots(this.#grid, this.#takenOn(name), request.rows) !== undefined;
    });
  }

  /**
   * Goes on with a job of the controller before. With a placement that was settled nothing happens; one that was under way begins anew.
   *
   * @throws JobError when its number is taken
   */
  resume(placement: Placement): readonly ControllerAction[] {
    if (this.#jobs.has(placement.job)) throw new JobError(`job ${placement.job} exists already`);
    const job = this.#add(placement, undefined);
    if (this.#generations.get(placement.job) === placement.generation) return [];
    return this.#place(job);
  }

  #add(placement: Placement, switches: readonly string[] | undefined): Job {
    const job: Job = {
      switches,
      placement,
      openRound: placement.firstRound,
      installing: false,
      target: undefined,
    };
    this.#jobs.set(placement.job, job);
    return job;
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
      case "members": {
        const job = this.#jobs.get(event.job);
        if (job === undefined) return [];
        job.placement = { ...job.placement, absent: event.absent, lives: event.lives };
        return this.#place(job);
      }
      case "paths":
        this.#drained = event.drained;
        return [...this.#jobs.values()]
          .filter(({ placement }) => placement.on !== undefined && !this.#isUsable(placement.on, placement))
          .flatMap((job) => this.#place(job));
      case "move": {
        const job = this.#jobs.get(event.job);
        if (job === undefined) return [];
        job.target = event.to;
        return this.#place(job);
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

  #takenOn(name: string, except?: Job): readonly Placement[] {
    return [...this.#jobs.values()]
      .filter((job) => job !== except && job.placement.on === name)
      .map((job) => job.placement);
  }

  /** The first switch that a job can use now, and the slots there. */
  #room(job: Job): { readonly on: string; readonly slotBase: number } | undefined {
    for (const name of this.#candidates(job)) {
      if (!this.#ready.has(name) || job.switches?.includes(name) === false) continue;
      if (!this.#isUsable(name, job.placement)) continue;
      const slotBase = findSlots(this.#grid, this.#takenOn(name, job), job.placement.rows);
      if (slotBase !== undefined) return { on: name, slotBase };
    }
    return undefined;
  }

  #isUsable(name: string, placement: Placement): boolean {
    return !this.#drained.has(name) && this.#reaches(name, placement);
  }

  /** Where it is wanted, then where it is, then the others in order. */
  #candidates({ target, placement: { on } }: Job): readonly string[] {
    if (target?.kind === "server") return [];
    const first = [...(target === undefined ? [] : [target.name]), ...(on === undefined ? [] : [on])];
    return [...new Set([...first, ...this.#switches])];
  }

  #place(job: Job): readonly ControllerAction[] {
    const number = job.placement.job;
    const generation = ((this.#generations.get(number) ?? 0) + 1) & 0xffff;
    this.#generations.set(number, generation);
    const room = this.#room(job);
    if (room !== undefined) {
      job.placement = { ...job.placement, ...room, generation, firstRound: job.openRound };
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
