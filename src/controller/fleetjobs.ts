import { setMaxListeners } from "node:events";
import type { JobLayout } from "../host/libra/layout.ts";
import type { Clock, P4RuntimeClient } from "../p4runtime/index.ts";
import { ModeId } from "../wire/aggregation.ts";
import type { Target } from "./failover.ts";
import type { Placement } from "./jobs.ts";
import { type DeskAction, type DeskOptions, JobDesk, type Joined } from "./jobservice/desk.ts";
import {
  type JobRecord,
  type JobSpec,
  type JobWay,
  layoutOf,
  type MemberId,
  type MemberRecord,
} from "./jobservice/jobrecord.ts";
import { RoundRate } from "./roundrate.ts";
import { SlotReset } from "./slotreset.ts";
import type { ControllerState } from "./statefile.ts";
import { switchNamed } from "./topology.ts";

/** What jobs need of the switches' controller. */
export interface JobSwitches {
  /** The client of a switch that is ready, and this controller its primary. */
  clientOf(name: string): P4RuntimeClient | undefined;
  /** Entries of `FleetJobs.written` have changed: resolves when a switch has them, and rejects when it is lost or refuses them. */
  settle(name: string): Promise<void>;
  /** Resolves when what is decided would survive this process; rejects when it cannot be saved now. */
  save(): Promise<void>;
  readonly clock: Clock;
}

/** What happened to jobs, for logs. */
export type JobNotice =
  | { readonly kind: "placed"; readonly placement: Placement }
  | { readonly kind: "installFailed"; readonly placement: Placement; readonly reason: string }
  | { readonly kind: "ended"; readonly job: string; readonly reason: string }
  | { readonly kind: "member"; readonly job: string; readonly member: MemberRecord }
  | { readonly kind: "saveFailed"; readonly reason: string };

/** Told to the hosts of a job. */
export type JobNews =
  | { readonly kind: "layout"; readonly layout: JobLayout; readonly way: JobWay }
  | { readonly kind: "ended"; readonly reason: string };

/** Where a job stands, for people. */
export interface JobState {
  readonly name: string;
  readonly number: number;
  /** The switch that adds; undefined: the parameter server does. */
  readonly on: string | undefined;
  readonly slotBase: number;
  readonly rows: number;
  readonly generation: number;
  readonly openRound: number;
  readonly roundsPerSecond: number | undefined;
  /** The parameter server first. */
  readonly members: readonly { readonly host: string; readonly state: string }[];
}

export interface FleetJobsOptions extends Omit<DeskOptions, "generations"> {
  readonly switches: JobSwitches;
  readonly state: ControllerState;
  readonly onNotice: (notice: JobNotice) => void;
}

/** Milliseconds until what failed is tried again. */
const RETRY = 500;

/**
 * Carries out what a `JobDesk` decides: saves it, prepares switches, and tells hosts, one after the other in the order of the decisions. So
 * what hosts and switches have heard is never ahead of what the next controller finds.
 */
export class FleetJobs {
  readonly #options: FleetJobsOptions;
  readonly #desk: JobDesk;
  readonly #stop = new AbortController();
  /** Placements whose entries are to be on their switches. */
  readonly #written = new Map<number, Placement>();
  /** What the hosts of each job were told last, by name. */
  readonly #told = new Map<string, JobNews>();
  readonly #listeners = new Map<string, Set<(news: JobNews) => void>>();
  readonly #resets = new Map<string, SlotReset>();
  /** By switch, when the entries of jobs that have gone from it are away. */
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #rates = new Map<string, RoundRate>();
  readonly #clock: Promise<void>;
  #work: Promise<void> = Promise.resolve();
  #wake: AbortController = new AbortController();

  constructor(options: FleetJobsOptions) {
    const { state, switches } = options;
    // Each switch that is tried again later waits for its end: no leak.
    setMaxListeners(0, this.#stop.signal);
    this.#options = options;
    this.#desk = new JobDesk({ ...options, generations: state.generations });
    const { jobs = [], placements } = state;
    const known = new Set(jobs.map((record) => record.number));
    for (const placement of placements) {
      if (!known.has(placement.job)) continue;
      if (state.generations[placement.job] === placement.generation)
        this.#written.set(placement.job, placement);
    }
    this.#carryOut(this.#desk.resume(jobs, placements, switches.clock.now()));
    for (const record of jobs) {
      const placement = this.#written.get(record.number);
      if (placement !== undefined) this.#tell(record, placement);
    }
    this.#clock = this.#tick();
  }

  get desk(): JobDesk {
    return this.#desk;
  }

  /** Placements whose entries should be on the switches. */
  get written(): readonly Placement[] {
    return [...this.#written.values()];
  }

  /** Where each job stands. */
  status(): readonly JobState[] {
    return this.#desk.jobs.map(({ name, number, server, workers, spec }) => {
      const placement = this.#desk.placementOf(name);
      return {
        name,
        number,
        on: placement?.on,
        slotBase: placement?.slotBase ?? 0,
        rows: spec.rows.length,
        generation: placement?.generation ?? 0,
        openRound: this.#desk.openRoundOf(name),
        roundsPerSecond: this.#rates.get(name)?.perSecond(this.#now()),
        members: [server, ...workers].map(({ host, state }) => ({ host, state })),
      };
    });
  }

  /** Resolves when the answer may be given: it has been saved. @throws JobRefusal */
  async join(id: MemberId, spec: JobSpec | undefined): Promise<Joined> {
    const { joined, actions } = this.#desk.join(id, spec, this.#now());
    this.#carryOut(actions);
    if (actions.length > 0) await this.#saved();
    return joined;
  }

  /** @throws JobRefusal */
  heartbeat(id: MemberId, openRound: number | undefined): void {
    this.#carryOut(this.#desk.heartbeat(id, openRound, this.#now()));
    if (openRound === undefined || openRound === 0) return;
    const rate = this.#rates.get(id.job) ?? new RoundRate();
    this.#rates.set(id.job, rate);
    rate.note(openRound, this.#now());
  }

  /** @throws JobRefusal */
  leave(id: MemberId): void {
    this.#carryOut(this.#desk.leave(id, this.#now()));
  }

  /** @throws JobRefusal */
  move(job: string, to: Target | undefined): void {
    this.#carryOut(this.#desk.move(job, to));
  }

  /** Tells a host what its job has been told last, and then whatever comes. Returns how to stop that. */
  listen(job: string, listener: (news: JobNews) => void): () => void {
    const listeners = this.#listeners.get(job) ?? new Set();
    this.#listeners.set(job, listeners);
    listeners.add(listener);
    const news = this.#told.get(job);
    if (news !== undefined) listener(news);
    return () => listeners.delete(listener);
  }

  /** A switch has become ready, or is lost. */
  switched(name: string, isReady: boolean): void {
    this.#carryOut(this.#desk.handle({ kind: isReady ? "switchReady" : "switchLost", name }));
  }

  /** Links have gone or come, or switches are drained. */
  pathsChanged(drained: ReadonlySet<string>): void {
    this.#carryOut(this.#desk.handle({ kind: "paths", drained }));
  }

  /** Takes a packet that a switch brought up if it is the echo of a reset. */
  packetIn(name: string, frame: Uint8Array): boolean {
    return this.#resets.get(name)?.echo(frame) ?? false;
  }

  /** Nobody hears anything any more; the switches stay as they are. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#wake.abort();
    await this.#clock;
    await this.#settled();
  }

  #now(): number {
    return this.#options.switches.clock.now();
  }

  #sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
    return this.#options.switches.clock.sleep(milliseconds, signal);
  }

  async #tick(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const wait = Math.min(this.#desk.wakeAt - this.#now(), 60_000);
      await this.#sleep(Math.max(1, wait), this.#wake.signal);
      if (this.#stop.signal.aborted) return;
      if (this.#wake.signal.aborted) this.#wake = new AbortController();
      this.#add(this.#desk.tick(this.#now()));
    }
  }

  #carryOut(actions: readonly DeskAction[]): void {
    this.#add(actions);
    // Members that came may be due before those that the clock knows.
    this.#wake.abort();
  }

  #add(actions: readonly DeskAction[]): void {
    for (const action of actions) this.#work = this.#work.then(() => this.#perform(action));
  }

  async #settled(): Promise<void> {
    for (let work: Promise<void> | undefined; work !== this.#work; ) {
      work = this.#work;
      await work;
    }
  }

  /** What cannot be saved must not be done, so it waits. */
  async #saved(): Promise<void> {
    const { signal } = this.#stop;
    for (;;) {
      try {
        await this.#options.switches.save();
        return;
      } catch (error) {
        if (signal.aborted) return;
        this.#options.onNotice({ kind: "saveFailed", reason: text(error) });
        await this.#sleep(RETRY, signal);
      }
    }
  }

  async #perform(action: DeskAction): Promise<void> {
    if (this.#stop.signal.aborted) return;
    await this.#saved();
    if (this.#stop.signal.aborted) return;
    switch (action.kind) {
      case "member":
        this.#options.onNotice(action);
        return;
      case "ended":
        this.#options.onNotice(action);
        this.#news(action.job, action);
        this.#listeners.delete(action.job);
        this.#rates.delete(action.job);
        this.#told.delete(action.job);
        return;
      case "announce":
        await this.#announce(action.placement);
        return;
      case "remove":
        this.#remove(action.placement.job);
        return;
      case "install":
        await this.#install(action.placement);
    }
  }

  async #announce(placement: Placement): Promise<void> {
    // A job that has gone to its server leaves nothing behind on its switch.
    if (placement.on === undefined) this.#remove(placement.job);
    const record = this.#desk.jobNumbered(placement.job);
    if (record === undefined) return;
    this.#options.onNotice({ kind: "placed", placement });
    this.#tell(record, placement);
  }

  #tell(record: JobRecord, placement: Placement): void {
    const layout = layoutOf(this.#options.topology, record, placement);
    const way = { on: placement.on, via: this.#desk.viaOf(placement) };
    this.#news(record.name, { kind: "layout", layout, way });
  }

  #news(job: string, news: JobNews): void {
    this.#told.set(job, news);
    for (const listener of this.#listeners.get(job) ?? []) listener(news);
  }

  async #install(placement: Placement): Promise<void> {
    const { job, generation, on } = placement;
    if (on === undefined || this.#desk.jobNumbered(job) === undefined) return;
    try {
      // Old packets are refused before slots start anew: those of this job, and of jobs that had the slots before. Elsewhere their generation
      // sees to that, so another switch, which may be silent, is not waited for.
      this.#remove(job);
      await this.#leaving.get(on);
      await this.#reset(placement, on);
      this.#written.set(job, placement);
      await this.#options.switches.settle(on);
    } catch (error) {
      this.#written.delete(job);
      if (this.#stop.signal.aborted) return;
      this.#options.onNotice({ kind: "installFailed", placement, reason: text(error) });
      this.#carryOut(this.#desk.handle({ kind: "installFailed", job, generation, reason: text(error) }));
      void this.#forgive(on);
      return;
    }
    this.#carryOut(this.#desk.handle({ kind: "installed", job, generation }));
  }

  async #reset(placement: Placement, on: string): Promise<void> {
    const { topology, aggregation, switches } = this.#options;
    const { lanes, mode } = aggregation.options;
    const reset = new SlotReset(placement, switchNamed(topology, on), { lanes, mode: ModeId[mode.name] });
    this.#resets.set(on, reset);
    try {
      while (!reset.isDone) {
        const client = switches.clientOf(on);
        if (client === undefined) throw new Error(`${on} is not connected`);
        if (reset.hasFailed) throw new Error(`${on} does not answer the reset of slots`);
        for (const frame of reset.poll(this.#now())) client.sendPacket(frame, { egress_port: 0, submit: 1 });
        await switches.clock.sleep(1, this.#stop.signal);
        this.#stop.signal.throwIfAborted();
      }
    } finally {
      this.#resets.delete(on);
    }
  }

  /** Begins to take a job's entries off its switch. */
  #remove(job: number): void {
    const on = this.#written.get(job)?.on;
    this.#written.delete(job);
    if (on === undefined) return;
    // Of several, the last to be settled has seen all.
    const gone = this.#options.switches.settle(on).catch(() => {});
    this.#leaving.set(on, gone);
  }

  /** A switch that failed to take a job may take the next, after a while. */
  async #forgive(name: string): Promise<void> {
    const { signal } = this.#stop;
    await this.#sleep(RETRY, signal);
    if (!signal.aborted && this.#options.switches.clientOf(name) !== undefined) this.switched(name, true);
  }
}

function text(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
