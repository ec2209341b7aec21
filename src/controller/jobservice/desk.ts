import { checkLayout } from "../../host/libra/layout.ts";
import { rowCodec } from "../../numeric/mode.ts";
import {
  type ControllerAction,
  type ControllerEvent,
  JobController,
  type JobControllerOptions,
  JobError,
  type Target,
} from "../failover.ts";
import type { Placement } from "../jobs.ts";
import { Liveness, type LivenessAction } from "../liveness.ts";
import type { AggregationFeature } from "../program.ts";
import type { Topology } from "../topology.ts";
import { type JobRecord, type JobSpec, layoutOf, type MemberId, type MemberRecord } from "./jobrecord.ts";
import { JobRefusal } from "./refusal.ts";

/** Times in milliseconds. */
export interface DeskTimes {
  /** Between two signs of life of a host: 500. */
  readonly heartbeat: number;
  /** Without one after which it is dead: 3000. */
  readonly silence: number;
  /** Until a worker that was announced must have come: 60,000. */
  readonly patience: number;
}

export const DESK_TIMES: DeskTimes = { heartbeat: 500, silence: 3000, patience: 60_000 };

/** What is to be done: on the switches, or told to hosts. */
export type DeskAction =
  | ControllerAction
  /** Its hosts are to stop. */
  | { readonly kind: "ended"; readonly job: string; readonly reason: string }
  | { readonly kind: "member"; readonly job: string; readonly member: MemberRecord };

export interface Joined {
  readonly job: number;
  /** Workers only. */
  readonly member: number;
  readonly life: number;
}

/** Jobs that are over and still known. */
const REMEMBERED = 256;

interface Entry {
  record: JobRecord;
  readonly declaredAt: number;
}

export interface DeskOptions extends JobControllerOptions {
  readonly topology: Topology;
  readonly aggregation: AggregationFeature;
  readonly times?: Partial<DeskTimes>;
}

/**
 * Where jobs and their hosts report: a pure state machine. It admits jobs by free slots, knows by heartbeats which hosts live, and has
 * `JobController` place the jobs. A worker that dies is left out by a new generation; one that starts again gets its member number back in
 * a new life, by a new generation, too. A job is over when its server dies or leaves, or all workers have left.
 */
export class JobDesk {
  readonly #options: DeskOptions;
  readonly #times: DeskTimes;
  readonly #controller: JobController;
  readonly #jobs = new Map<string, Entry>();
  readonly #alive: Liveness;
  /** Why jobs are over, the last ones: for hosts that ask late. */
  readonly #over = new Map<string, string>();

  constructor(options: DeskOptions) {
    const { topology, aggregation, times } = options;
    this.#options = options;
    this.#times = { ...DESK_TIMES, ...times };
    this.#alive = new Liveness({ silence: this.#times.silence });
    const { rows, chunk } = aggregation.options;
    const names = topology.switches.map((s) => s.name);
    this.#controller = new JobController({ rows, chunk }, names, options);
  }

  get times(): DeskTimes {
    return this.#times;
  }

  /** What the next controller must know. */
  get state(): {
    readonly generations: Readonly<Record<string, number>>;
    readonly placements: readonly Placement[];
    readonly jobs: readonly JobRecord[];
  } {
    const { generations, settled } = this.#controller;
    return { generations, placements: settled, jobs: this.jobs };
  }

  get jobs(): readonly JobRecord[] {
    return [...this.#jobs.values()].map(({ record }) => record);
  }

  placementOf(job: string): Placement | undefined {
    const number = this.#jobs.get(job)?.record.number;
    return number === undefined ? undefined : this.#controller.placementOf(number);
  }

  /** The switch by which a job's hosts are to send. */
  viaOf(placement: Placement): string | undefined {
    return placement.on ?? this.#controller.usable(placement);
  }

  openRoundOf(job: string): number {
    return this.#controller.openRoundOf(this.#jobs.get(job)?.record.number ?? -1) ?? 0;
  }

  /** The job of a number. */
  jobNumbered(number: number): JobRecord | undefined {
    return this.jobs.find((record) => record.number === number);
  }

  /** When a tick is due. */
  get wakeAt(): number {
    let at = this.#alive.wakeAt;
    for (const { record, declaredAt } of this.#jobs.values())
      if (record.workers.some((w) => w.state === "awaited"))
        at = Math.min(at, declaredAt + this.#times.patience);
    return at;
  }

  /** Goes on with the jobs of the controller before. Their hosts get the whole silence to find this one. */
  resume(jobs: readonly JobRecord[], placements: readonly Placement[], now: number): readonly DeskAction[] {
    return jobs.flatMap((record) => {
      this.#jobs.set(record.name, { record, declaredAt: now });
      for (const member of [record.server, ...record.workers])
        if (member.state === "present")
          this.#alive.handle({ kind: "joined", ...lifeOf(record.name, member) }, now);
      const placement =
        placements.find((p) => p.job === record.number) ??
        firstPlacement(record.number, record.spec, record.server.host);
      const actions = this.#controller.resume(placement);
      return [...actions, ...(actions.length === 0 ? this.#changed(record, placement) : [])];
    });
  }

  /**
   * Takes a host into a job.
   *
   * @param spec from the job's parameter server, which declares the job by it
   * @throws JobRefusal
   */
  join(
    id: MemberId,
    spec: JobSpec | undefined,
    now: number,
  ): { readonly joined: Joined; readonly actions: readonly DeskAction[] } {
    if (!this.#options.topology.hosts.some((host) => host.name === id.host))
      throw new JobRefusal("UNKNOWN_HOST", `${id.host} is not a host of the topology`);
    if (id.job === "" || id.job.length > 200)
      throw new JobRefusal("BAD_REQUEST", "a job's name has 1 to 200 characters");
    return spec === undefined ? this.#joinWorker(id, now) : this.#joinServer(id, spec, now);
  }

  /**
   * A sign of life.
   *
   * @param openRound the oldest unfinished round, from a parameter server that knows it
   * @throws JobRefusal
   */
  heartbeat(id: MemberId, openRound: number | undefined, now: number): readonly DeskAction[] {
    const { record, member } = this.#member(id);
    if (id.incarnation < member.incarnation) throw replaced(id);
    if (id.incarnation > member.incarnation)
      throw new JobRefusal("NOT_JOINED", `this start of ${id.host} has not joined job ${id.job}`);
    const [refused] = this.#alive.handle({ kind: "heartbeat", ...livesOf(id) }, now);
    if (refused !== undefined) throw dead(id);
    if (openRound === undefined || member !== record.server) return [];
    return this.#controller.handle({ kind: "roundOpen", job: record.number, round: openRound >>> 0 });
  }

  /** Leaves in order. Doing so twice does no harm. @throws JobRefusal */
  leave(id: MemberId, now: number): readonly DeskAction[] {
    const { record, member } = this.#member(id);
    if (member.incarnation !== id.incarnation) throw replaced(id);
    this.#alive.handle({ kind: "left", ...livesOf(id) }, now);
    if (member === record.server) return this.#end(record, "its parameter server has left", now);
    return this.#gone(record, member, "left", now);
  }

  /** @throws JobRefusal */
  move(job: string, to: Target | undefined): readonly DeskAction[] {
    const { record } = this.#entry(job);
    const isKnown = to?.kind !== "switch" || this.#options.topology.switches.some((s) => s.name === to.name);
    if (!isKnown) throw new JobRefusal("UNKNOWN_SWITCH", `${to.name} is not a switch of the topology`);
    return this.#controller.handle({ kind: "move", job: record.number, to });
  }

  /** Ends a job that nobody may end any more. @throws JobRefusal */
  end(job: string, reason: string, now: number): readonly DeskAction[] {
    return this.#end(this.#entry(job).record, reason, now);
  }

  /** Something happened on the switches. */
  handle(event: ControllerEvent): readonly DeskAction[] {
    const actions = this.#controller.handle(event);
    // Hosts that send by a switch which is lost have to be told of another.
    if (event.kind === "switchLost")
      return [
        ...actions,
        ...this.#controller.settled
          .filter((p) => p.on === undefined && !actions.some((a) => a.placement === p))
          .map((placement): DeskAction => ({ kind: "announce", placement })),
      ];
    if (event.kind !== "switchReady") return actions;
    // Jobs that nobody keeps off the switches, and that found no room before.
    const waiting = this.#controller.placements.filter(
      (p) => p.on === undefined && this.#controller.mayMove(p.job),
    );
    return [
      ...actions,
      ...waiting.flatMap(({ job }) => this.#controller.handle({ kind: "move", job, to: undefined })),
    ];
  }

  tick(now: number): readonly DeskAction[] {
    const actions: DeskAction[] = this.#alive
      .handle({ kind: "tick" }, now)
      .flatMap((a) => this.#died(a, now));
    for (const { record, declaredAt } of [...this.#jobs.values()]) {
      if (now < declaredAt + this.#times.patience) continue;
      for (const worker of record.workers)
        if (worker.state === "awaited")
          actions.push(...this.#gone(this.#entry(record.name).record, worker, "dead", now));
    }
    return actions;
  }

  #joinServer(id: MemberId, spec: JobSpec, now: number): ReturnType<JobDesk["join"]> {
    const known = this.#jobs.get(id.job)?.record;
    const actions: DeskAction[] = [];
    if (known !== undefined) {
      if (known.server.host !== id.host)
        throw new JobRefusal(
          "JOB_EXISTS",
          `job ${id.job} runs already; its parameter server is ${known.server.host}`,
        );
      if (id.incarnation < known.server.incarnation) throw replaced(id);
      if (id.incarnation === known.server.incarnation) {
        this.#alive.handle({ kind: "joined", ...livesOf(id) }, now);
        return { joined: { job: known.number, member: 0, life: 0 }, actions };
      }
    }
    this.#check(id, spec);
    // What it knew is gone, so the job that it kept is over.
    if (known !== undefined) actions.push(...this.#end(known, "its parameter server has started again", now));
    const number = this.#freeNumber();
    const member = (host: string): MemberRecord => ({ host, state: "awaited", life: 0, incarnation: 0n });
    const record: JobRecord = {
      name: id.job,
      number,
      spec,
      server: { ...member(id.host), state: "present", incarnation: id.incarnation },
      workers: spec.workers.map(member),
    };
    const first = firstPlacement(record.number, record.spec, record.server.host);
    if (spec.needsSwitch && !this.#controller.hasRoom(first)) {
      const { rows } = this.#options.aggregation.options;
      throw new JobRefusal(
        "NO_SLOTS",
        `job ${id.job} needs ${spec.rows.length} rows; no switch that reaches all of its hosts has as many of its ${rows} free`,
      );
    }
    this.#jobs.set(id.job, { record, declaredAt: now });
    this.#alive.handle({ kind: "joined", ...livesOf(id) }, now);
    const { generation: _, on: __, slotBase: ___, ...request } = first;
    try {
      actions.push(...this.#controller.start(request));
    } catch (error) {
      this.#jobs.delete(id.job);
      if (error instanceof JobError) throw new JobRefusal("BAD_REQUEST", error.message);
      throw error;
    }
    actions.push({ kind: "member", job: id.job, member: record.server });
    return { joined: { job: number, member: 0, life: 0 }, actions };
  }

  #joinWorker(id: MemberId, now: number): ReturnType<JobDesk["join"]> {
    const { record, member } = this.#member(id);
    const number = record.workers.indexOf(member);
    if (id.incarnation < member.incarnation) throw replaced(id);
    if (number < 0) {
      // Its parameter server, back from a broken connection.
      if (id.incarnation > member.incarnation)
        throw new JobRefusal(
          "BAD_REQUEST",
          `${id.host} is the parameter server of job ${id.job}: it is to say what the job is`,
        );
      this.#alive.handle({ kind: "joined", ...livesOf(id) }, now);
      return { joined: { job: record.number, member: 0, life: 0 }, actions: [] };
    }
    const isSame = id.incarnation === member.incarnation;
    if (isSame && member.state !== "present") throw dead(id);
    this.#alive.handle({ kind: "joined", ...livesOf(id) }, now);
    const joined = (life: number): Joined => ({ job: record.number, member: number, life });
    if (isSame) return { joined: joined(member.life), actions: [] };
    const isFirst = member.state === "awaited";
    const life = isFirst ? member.life : (member.life + 1) & 0xff;
    const now_ = { ...member, state: "present" as const, life, incarnation: id.incarnation };
    const changed = this.#replace(record, now_);
    const actions: DeskAction[] = [{ kind: "member", job: id.job, member: now_ }];
    if (!isFirst) actions.push(...this.#membersChanged(changed));
    return { joined: joined(life), actions };
  }

  #died(action: LivenessAction, now: number): readonly DeskAction[] {
    if (action.kind !== "dead") return [];
    const at = action.member.lastIndexOf("/");
    const record = this.#jobs.get(action.member.slice(0, at))?.record;
    const host = action.member.slice(at + 1);
    if (record === undefined) return [];
    if (record.server.host === host) return this.#end(record, "its parameter server is dead", now);
    const worker = record.workers.find((w) => w.host === host);
    return worker === undefined ? [] : this.#gone(record, worker, "dead", now);
  }

  #gone(record: JobRecord, worker: MemberRecord, state: "dead" | "left", now: number): readonly DeskAction[] {
    if (worker.state === state) return [];
    const member = { ...worker, state };
    const changed = this.#replace(record, member);
    const told: DeskAction = { kind: "member", job: record.name, member };
    if (changed.workers.every((w) => w.state === "left"))
      return [told, ...this.#end(changed, "all workers are done", now)];
    return [told, ...this.#membersChanged(changed)];
  }

  /** With nobody left the job waits where it is: there is nothing to add, and somebody may come back. */
  #membersChanged(record: JobRecord): readonly DeskAction[] {
    const absent = absentOf(record);
    if (absent.length === record.workers.length) return [];
    const lives = record.workers.map((w) => w.life);
    return this.#controller.handle({ kind: "members", job: record.number, absent, lives });
  }

  /** What a takeover found may be older than the record: members that changed while the controller before died. */
  #changed(record: JobRecord, placement: Placement): readonly DeskAction[] {
    const lives = record.workers.map((w) => w.life);
    const isSame =
      absentOf(record).join() === (placement.absent ?? []).join() &&
      lives.every((life, i) => life === (placement.lives?.[i] ?? 0));
    return isSame ? [] : this.#membersChanged(record);
  }

  #end(record: JobRecord, reason: string, now: number): readonly DeskAction[] {
    this.#jobs.delete(record.name);
    this.#over.delete(record.name);
    this.#over.set(record.name, reason);
    for (const [oldest] of this.#over) if (this.#over.size > REMEMBERED) this.#over.delete(oldest);
    for (const member of [record.server, ...record.workers])
      this.#alive.handle({ kind: "left", ...lifeOf(record.name, member) }, now);
    return [...this.#controller.stop(record.number), { kind: "ended", job: record.name, reason }];
  }

  #replace(record: JobRecord, worker: MemberRecord): JobRecord {
    const workers = record.workers.map((w) => (w.host === worker.host ? worker : w));
    const changed = { ...record, workers };
    const entry = this.#entry(record.name);
    entry.record = changed;
    return changed;
  }

  #entry(job: string): Entry {
    const entry = this.#jobs.get(job);
    if (entry === undefined) {
      const reason = this.#over.get(job);
      const what = reason === undefined ? `there is no job ${job}` : `job ${job} is over: ${reason}`;
      throw new JobRefusal("UNKNOWN_JOB", what);
    }
    return entry;
  }

  #member({ job, host }: MemberId): { readonly record: JobRecord; readonly member: MemberRecord } {
    const { record } = this.#entry(job);
    const member = [record.server, ...record.workers].find((m) => m.host === host);
    if (member === undefined) throw new JobRefusal("NOT_INVITED", `job ${job} was declared without ${host}`);
    return { record, member };
  }

  #freeNumber(): number {
    const taken = new Set(this.jobs.map((record) => record.number));
    for (let number = 1; number <= 0xffff; number++) if (!taken.has(number)) return number;
    throw new JobRefusal("NO_SLOTS", "there are 65535 jobs");
  }

  /** Everything that hosts and switches would find fault with later. */
  #check({ job, host }: MemberId, spec: JobSpec): void {
    const { topology, aggregation } = this.#options;
    const { lanes, workers, mode, result } = aggregation.options;
    const misfit = (why: string): never => {
      throw new JobRefusal("DOES_NOT_FIT", `job ${job}: ${why}`);
    };
    if (spec.lanes !== lanes)
      misfit(`its rows have ${spec.lanes} lanes; those of the switches' program have ${lanes}`);
    if (spec.mode.name !== mode.name)
      misfit(`its mode is ${spec.mode.name}; that of the switches' program is ${mode.name}`);
    if (spec.workers.length > workers)
      misfit(`it has ${spec.workers.length} workers; the switches' program takes ${workers}`);
    if (result !== "ps")
      misfit(
        "the switches' program sends results to the workers; jobs with a parameter server need result: ps",
      );
    if (new Set([...spec.workers, host]).size !== spec.workers.length + 1)
      throw new JobRefusal("BAD_REQUEST", `job ${job}: a host is named twice`);
    for (const name of spec.workers)
      if (!topology.hosts.some((h) => h.name === name))
        throw new JobRefusal("UNKNOWN_HOST", `job ${job}: ${name} is not a host of the topology`);
    try {
      checkLayout(layoutOf(topology, { spec }, firstPlacement(1, spec, host)));
    } catch (error) {
      throw new JobRefusal(
        "BAD_REQUEST",
        `job ${job}: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  }
}

/** Where a job begins: at its server, before any switch is asked. */
function firstPlacement(number: number, spec: JobSpec, server: string): Placement {
  return {
    job: number,
    generation: 0,
    workers: spec.workers,
    server,
    on: undefined,
    slotBase: 0,
    rows: spec.rows.length,
    scale: rowCodec(spec.mode).scale,
    firstRound: 1,
  };
}

function absentOf({ workers }: JobRecord): readonly number[] {
  return workers.flatMap((w, i) => (w.state === "dead" || w.state === "left" ? [i] : []));
}

function livesOf({ job, host, incarnation }: MemberId) {
  return { member: `${job}/${host}`, incarnation: Number(incarnation) };
}

function lifeOf(job: string, { host, incarnation }: MemberRecord) {
  return livesOf({ job, host, incarnation });
}

function replaced({ job, host }: MemberId): JobRefusal {
  return new JobRefusal("REPLACED", `a later start of ${host} has joined job ${job}`);
}

function dead({ job, host }: MemberId): JobRefusal {
  return new JobRefusal(
    "DEAD",
    `${host} was silent for too long, and job ${job} goes on without it; it may join again by a new start`,
  );
}
