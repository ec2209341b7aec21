import { ModeId } from "../wire/aggregation.ts";
import { type ControllerAction, type ControllerEvent, JobController, type JobRequest } from "./failover.ts";
import type { Placement } from "./jobs.ts";
import type { AggregationFeature } from "./program.ts";
import { SlotReset } from "./slotreset.ts";
import { type LoadableProgram, SwitchSession } from "./switchsession.ts";
import { checkTopology, type SwitchNode, switchNamed, type Topology } from "./topology.ts";
import { baseState, jobEntries, lookupEntries } from "./wantedstate.ts";

export interface ControllerOptions {
  readonly topology: Topology;
  readonly program: LoadableProgram;
  readonly aggregation: AggregationFeature;
  /** Tells the job's hosts where it runs from now on. */
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
      readonly kind: "installFailed";
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
  /** Placement whose entries are on a switch, by job. */
  readonly #installed = new Map<number, Placement>();
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
    try {
      await Promise.all(options.topology.switches.map((node) => controller.#prepare(node)));
    } catch (error) {
      await controller.close();
      throw error;
    }
    return controller;
  }

  /** Starts a job; resolves when its hosts have been told. */
  async startJob(request: JobRequest): Promise<void> {
    this.#carryOut(this.#jobs.start(request));
    await this.#settled();
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

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((s) => s.close()));
    await this.#settled();
  }

  async #prepare(node: SwitchNode): Promise<void> {
    const { heartbeat, silence } = this.#options;
    const session = await SwitchSession.open(node, this.#options.program, {
      ...(heartbeat === undefined ? {} : { heartbeat }),
      ...(silence === undefined ? {} : { silence }),
      onLost: (reason) => {
        this.#notice({ kind: "switchLost", name: node.name, reason, at: performance.now() });
        this.#handle({ kind: "switchLost", name: node.name });
      },
    });
    this.#sessions.set(node.name, session);
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
    const { placement } = action;
    switch (action.kind) {
      case "announce":
        this.#notice({ kind: "placed", placement, at: performance.now() });
        this.#options.onPlacement(placement);
        return;
      case "remove":
        await this.#removeOld(placement.job).catch((error: unknown) => {
          this.#notice({ kind: "installFailed", placement, reason: text(error), at: performance.now() });
        });
        return;
      case "install": {
        const { job, generation } = placement;
        try {
          await this.#install(placement);
        } catch (error) {
          const reason = text(error);
          this.#notice({ kind: "installFailed", placement, reason, at: performance.now() });
          await this.#follow({ kind: "installFailed", job, generation, reason });
          return;
        }
        await this.#follow({ kind: "installed", job, generation });
      }
    }
  }

  /** Carries out what an event leads to at once, so that whoever waits for the work waits for this, too. */
  async #follow(event: ControllerEvent): Promise<void> {
    for (const action of this.#jobs.handle(event)) await this.#perform(action);
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
    await session.insertAll(jobEntries(topology, aggregation, placement));
    this.#installed.set(placement.job, placement);
  }

  /** Old packets must be refused before the slots start anew. */
  async #removeOld(job: number): Promise<void> {
    const old = this.#installed.get(job);
    this.#installed.delete(job);
    const session = this.session(old?.on ?? "");
    if (old === undefined || session === undefined) return;
    await session.removeAll(jobEntries(this.#options.topology, this.#options.aggregation, old));
  }

  #notice(notice: Notice): void {
    this.#options.onNotice?.(notice);
  }
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
