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
import { type LoadableProgram, SwitchSession } from "./switchsession.ts";
import { checkTopology, hostNamed, portOf, type SwitchNode, switchNamed, type Topology } from "./topology.ts";
import { baseState, jobEntries, lookupEntries } from "./wantedstate.ts";

export interface ControllerOptions {
  readonly topology: Topology;
  readonly program: LoadableProgram;
  readonly aggregation: AggregationFeature;
  /** Tells the job's hosts where it runs from now on. What it throws is noted, and thrown by `startJob`. */
  readonly onPlacement: (placement: Placement) => void;
  readonly onNotice?: (notice: Notice) => void;
  readonly heartbeat?: number;
  readonly silence?: number;
}

/** What happened, for logs and for figures. Times are milliseconds of the process's clock. */
export type Notice =
  | { readonly kind: "switchReady"; readonly name: string; readonly entries: number; readonly at: number }
  | { readonly kind: "lookups"; readonly name: string; readonly written: number; readonly at: number }
  | { readonly kind: "switchLost"; readonly name: string; readonly reason: string; readonly at: number }
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
  #work: Promise<void> = Promise.resolve();

  private constructor(options: ControllerOptions) {
    this.#options = options;
    const { rows, chunk } = options.aggregation.options;
    this.#jobs = new JobController(
      { rows, chunk },
      options.topology.switches.map((s) => s.name),
    );
  }

  /**
   * Connects to all switches and prepares them, in parallel.
   * @throws TopologyError; P4RuntimeError with the address of the first switch that fails.
   */
  static async start(options: ControllerOptions): Promise<Controller> {
    checkTopology(options.topology);
    const controller = new Controller(options);
    const preparing = options.topology.switches.map((node) => controller.#prepare(node));
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
  }

  async #prepare(node: SwitchNode): Promise<void> {
    const { heartbeat, silence } = this.#options;
    const { signal } = this.#stop;
    const session = await SwitchSession.open(node, this.#options.program, {
      signal,
      ...(heartbeat === undefined ? {} : { heartbeat }),
      ...(silence === undefined ? {} : { silence }),
      onLost: (reason) => {
        this.#notice({ kind: "switchLost", name: node.name, reason, at: performance.now() });
        this.#handle({ kind: "switchLost", name: node.name });
      },
    });
    this.#sessions.set(node.name, session);
    if (signal.aborted) await session.close();
    const base = baseState(this.#options.topology, node.name);
    await session.apply(base);
    const lookups = await session.insertAll(lookupEntries(this.#options.aggregation), (written) =>
      this.#notice({ kind: "lookups", name: node.name, written, at: performance.now() }),
    );
    const entries = base.entries.length + lookups;
    this.#notice({ kind: "switchReady", name: node.name, entries, at: performance.now() });
    this.#handle({ kind: "switchReady", name: node.name });
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
    await session.insertAll(jobEntries(topology, aggregation, placement));
  }

  /** Old packets must be refused before the slots start anew. Elsewhere their generation sees to that, so a failure is only noted. */
  async #removeOld(job: number): Promise<void> {
    const old = this.#installed.get(job);
    this.#installed.delete(job);
    const session = this.session(old?.on ?? "");
    if (old === undefined || session === undefined) return;
    try {
      await session.removeAll(jobEntries(this.#options.topology, this.#options.aggregation, old));
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
