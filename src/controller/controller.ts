import { setTimeout as sleep } from "node:timers/promises";
import { Backoff } from "../p4runtime/index.ts";
import { ModeId } from "../wire/aggregation.ts";
import {
  type ControllerAction,
  type ControllerEvent,
  JobController,
  JobError,
  type JobRequest,
} from "./failover.ts";
import type { Placement } from "./jobs.ts";
import type { AggregationFeature } from "./program.ts";
import { SlotReset } from "./slotreset.ts";
import { type ControllerState, EMPTY_STATE, type StateStore } from "./statefile.ts";
import { type LoadableProgram, SwitchSession } from "./switchsession.ts";
import { checkTopology, hostNamed, portOf, type SwitchNode, switchNamed, type Topology } from "./topology.ts";
import { baseState, jobEntries, jobGroups, type WantedEntry } from "./wantedstate.ts";

export interface ControllerOptions {
  readonly topology: Topology;
  readonly program: LoadableProgram;
  readonly aggregation: AggregationFeature;
  /** Entries that all switches of the program have: its contents. */
  readonly everywhere: Iterable<WantedEntry>;
  /** Tells the job's hosts where it runs from now on. What it throws is noted, and thrown by `startJob`. */
  readonly onPlacement: (placement: Placement) => void;
  readonly onNotice?: (notice: Notice) => void;
  readonly heartbeat?: number;
  readonly silence?: number;
  /** Where generations are kept. Without it a controller that starts again is not heard by the hosts of the one before. */
  readonly state?: StateStore;
  /** Milliseconds until a lost switch is tried again, and one that failed to take a job; doubled at each failure: 500. */
  readonly retry?: number;
}

/** What happened, for logs and for figures. Times are milliseconds of the process's clock. */
export type Notice =
  | { readonly kind: "switchReady"; readonly name: string; readonly entries: number; readonly at: number }
  | { readonly kind: "lookups"; readonly name: string; readonly written: number; readonly at: number }
  | { readonly kind: "switchLost"; readonly name: string; readonly reason: string; readonly at: number }
  | { readonly kind: "saveFailed"; readonly reason: string; readonly at: number }
  | { readonly kind: "placed"; readonly placement: Placement; readonly at: number }
  | {
      readonly kind: "installFailed" | "removeFailed" | "announceFailed";
      readonly placement: Placement;
      readonly reason: string;
      readonly at: number;
    };

/**
 * One process that steers the switches of a topology: loads the program, fills the tables, places jobs, and moves them when a switch
 * is lost. The decisions are `JobController`'s; this class carries them out.
 */
export class Controller {
  readonly #options: ControllerOptions;
  readonly #jobs: JobController;
  readonly #sessions = new Map<string, SwitchSession>();
  /** Placement whose entries, or some of them, are on a switch, by job. */
  readonly #installed = new Map<number, Placement>();
  /** Why the hosts of a job do not know its last placement. */
  readonly #untold = new Map<number, unknown>();
  readonly #stop = new AbortController();
  /** Switches that have been made ready, and are not lost. */
  readonly #prepared = new Set<string>();
  /** Switches that another controller has taken; they are left to it. */
  readonly #deposed = new Set<string>();
  /** One for the whole life: a controller that came later keeps the switches that it took. */
  readonly #electionId = BigInt(Date.now());
  /** Attempts to win back switches, under way. */
  readonly #returning = new Set<Promise<void>>();
  readonly #drained: readonly string[];
  #work: Promise<void> = Promise.resolve();

  private constructor(options: ControllerOptions, state: ControllerState) {
    this.#options = options;
    const { rows, chunk } = options.aggregation.options;
    this.#drained = state.drained;
    this.#jobs = new JobController(
      { rows, chunk },
      options.topology.switches.map((s) => s.name),
      { generations: state.generations },
    );
  }

  /**
   * Connects to all switches and prepares them, in parallel.
   * @throws TopologyError; StateError; P4RuntimeError with the address of the first switch that fails.
   */
  static async start(options: ControllerOptions): Promise<Controller> {
    checkTopology(options.topology);
    const controller = new Controller(options, (await options.state?.load()) ?? EMPTY_STATE);
    const preparing = options.topology.switches.map(async (node) => {
      if (!(await controller.#prepare(node))) controller.#inBackground(() => controller.#winBack(node));
    });
    try {
      await Promise.all(preparing);
    } catch (error) {
      // The others stop at once, and nothing of them is left when the caller hears of it.
      await controller.close();
      await Promise.allSettled(preparing);
      throw error;
    }
    return controller;
  }

  /**
   * Starts a job; resolves when its hosts have been told.
   *
   * @throws JobError, or TopologyError when it has a host that is not in the topology; then no switch has been touched.
   */
  async startJob(request: Omit<JobRequest, "switches">): Promise<void> {
    const { topology, aggregation } = this.#options;
    const most = aggregation.options.workers;
    if (request.workers.length > most)
      throw new JobError(
        `job ${request.job} has ${request.workers.length} workers; the switch program takes ${most}`,
      );
    const members = [...request.workers, request.server].map((name) => hostNamed(topology, name));
    const switches = topology.switches
      .map((s) => s.name)
      .filter((name) => members.every((host) => portOf(host, name) !== undefined));
    this.#carryOut(this.#jobs.start({ ...request, switches }));
    await this.#settled();
    if (this.#untold.has(request.job)) throw this.#untold.get(request.job);
  }

  /** The job's server has opened a round: where a move would begin. */
  roundOpen(job: number, round: number): void {
    this.#jobs.handle({ kind: "roundOpen", job, round });
  }

  /** Ends a job and removes its entries. */
  async stopJob(job: number): Promise<void> {
    this.#carryOut(this.#jobs.stop(job));
    await this.#settled();
  }

  /** The session of a switch that is up. */
  session(name: string): SwitchSession | undefined {
    const session = this.#sessions.get(name);
    return session?.isLost === false ? session : undefined;
  }

  /** Leaves the switches as they are. Hosts hear nothing any more. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#sessions.values()].map((s) => s.close()));
    await this.#settled();
    await Promise.all(this.#returning);
  }

  /** @returns whether the switch is ready; it may have been lost at the last moment. */
  async #prepare(node: SwitchNode): Promise<boolean> {
    const { heartbeat, silence } = this.#options;
    const { signal } = this.#stop;
    const session = await SwitchSession.open(node, this.#options.program, {
      signal,
      electionId: this.#electionId,
      ...(heartbeat === undefined ? {} : { heartbeat }),
      ...(silence === undefined ? {} : { silence }),
      onLost: (reason, isDeposed) => {
        this.#notice({ kind: "switchLost", name: node.name, reason, at: performance.now() });
        this.#handle({ kind: "switchLost", name: node.name });
        if (isDeposed) this.#deposed.add(node.name);
        // Of one that was never ready, who prepares it hears by itself.
        if (this.#prepared.delete(node.name)) this.#inBackground(() => this.#winBack(node));
      },
    });
    this.#sessions.set(node.name, session);
    if (signal.aborted) await session.close();
    const base = baseState(this.#options.topology, node.name);
    await session.apply(base);
    const lookups = await session.insertAll(this.#options.everywhere, (written) =>
      this.#notice({ kind: "lookups", name: node.name, written, at: performance.now() }),
    );
    const entries = base.entries.length + lookups;
    if (session.isLost) return false;
    this.#prepared.add(node.name);
    this.#notice({ kind: "switchReady", name: node.name, entries, at: performance.now() });
    this.#handle({ kind: "switchReady", name: node.name });
    return true;
  }

  #inBackground(work: () => Promise<void>): void {
    const running = work().finally(() => this.#returning.delete(running));
    this.#returning.add(running);
  }

  /** Prepares a lost switch again as soon as it can be had. Its jobs stay where they are now; the next may go to it. */
  async #winBack(node: SwitchNode): Promise<void> {
    const { signal } = this.#stop;
    const backoff = new Backoff({ first: this.#options.retry ?? 500, most: 10_000 }, Math.random);
    for (;;) {
      await sleep(backoff.next(), undefined, { signal }).catch(() => {});
      if (signal.aborted || this.#deposed.has(node.name)) return;
      try {
        if (await this.#prepare(node)) return;
      } catch {
        // Not there yet, or not any more.
        await this.#sessions.get(node.name)?.close();
      }
    }
  }

  /** A switch that failed to take a job may take the next, after a while. */
  async #forgive(name: string): Promise<void> {
    const { signal } = this.#stop;
    await sleep(this.#options.retry ?? 500, undefined, { signal }).catch(() => {});
    if (!signal.aborted && this.session(name) !== undefined) this.#handle({ kind: "switchReady", name });
  }

  /** Before anybody acts on a decision: what is saved is never behind what hosts and switches have heard. */
  async #save(): Promise<void> {
    const { generations, placements } = this.#jobs;
    try {
      await this.#options.state?.save({ generations, placements, drained: this.#drained });
    } catch (error) {
      this.#notice({ kind: "saveFailed", reason: text(error), at: performance.now() });
    }
  }

  #handle(event: ControllerEvent): void {
    this.#carryOut(this.#jobs.handle(event));
  }

  /** Actions are carried out one after the other, in the order of the decisions. */
  #carryOut(actions: readonly ControllerAction[]): void {
    for (const action of actions) this.#work = this.#work.then(() => this.#perform(action));
  }

  /** Resolves when nothing is left to carry out, what was added meanwhile included. */
  async #settled(): Promise<void> {
    for (let work: Promise<void> | undefined; work !== this.#work; ) {
      work = this.#work;
      await work;
    }
  }

  async #perform(action: ControllerAction): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const { placement } = action;
    await this.#save();
    switch (action.kind) {
      case "announce":
        this.#announce(placement);
        return;
      case "remove":
        await this.#removeOld(placement.job);
        return;
      case "install": {
        const { job, generation } = placement;
        try {
          await this.#install(placement);
        } catch (error) {
          if (this.#stop.signal.aborted) return;
          this.#failed("installFailed", placement, error);
          const { on } = placement;
          if (on !== undefined) this.#inBackground(() => this.#forgive(on));
          this.#follow({ kind: "installFailed", job, generation, reason: text(error) });
          return;
        }
        this.#follow({ kind: "installed", job, generation });
      }
    }
  }

  /** Hosts are told at once. All else waits its turn: what was decided before, such as the end of another job, comes first. */
  #follow(event: ControllerEvent): void {
    for (const action of this.#jobs.handle(event)) {
      if (action.kind === "announce") this.#announce(action.placement);
      else this.#carryOut([action]);
    }
  }

  #announce(placement: Placement): void {
    if (this.#stop.signal.aborted) return;
    this.#notice({ kind: "placed", placement, at: performance.now() });
    this.#untold.delete(placement.job);
    try {
      this.#options.onPlacement(placement);
    } catch (error) {
      this.#untold.set(placement.job, error);
      this.#failed("announceFailed", placement, error);
    }
  }

  async #install(placement: Placement): Promise<void> {
    const { aggregation, topology } = this.#options;
    const name = placement.on ?? "";
    const session = this.session(name);
    if (session === undefined) throw new Error(`${name} is not connected`);
    await this.#removeOld(placement.job);
    const { lanes, mode } = aggregation.options;
    const format = { lanes, mode: ModeId[mode.name] };
    await session.reset(new SlotReset(placement, switchNamed(topology, name), format));
    this.#installed.set(placement.job, placement);
    await session.insertGroups(jobGroups(topology, aggregation, placement));
    await session.insertAll(jobEntries(topology, aggregation, placement));
  }

  /** Old packets must be refused before the slots start anew. Elsewhere their generation sees to that, so a failure is only noted. */
  async #removeOld(job: number): Promise<void> {
    const old = this.#installed.get(job);
    this.#installed.delete(job);
    const session = this.session(old?.on ?? "");
    if (old === undefined || session === undefined) return;
    try {
      const { topology, aggregation } = this.#options;
      await session.removeAll(jobEntries(topology, aggregation, old), jobGroups(topology, aggregation, old));
    } catch (error) {
      if (!this.#stop.signal.aborted) this.#failed("removeFailed", old, error);
    }
  }

  #failed(
    kind: "installFailed" | "removeFailed" | "announceFailed",
    placement: Placement,
    error: unknown,
  ): void {
    this.#notice({ kind, placement, reason: text(error), at: performance.now() });
  }

  #notice(notice: Notice): void {
    this.#options.onNotice?.(notice);
  }
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
