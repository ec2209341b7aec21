import { setTimeout as sleep } from "node:timers/promises";
import type { JobLayout } from "../../host/libra/layout.ts";
import { Backoff } from "../../p4runtime/backoff.ts";
import { P4RuntimeError } from "../../p4runtime/call-error.ts";
import { Connection, type TlsOptions } from "../../p4runtime/connection.ts";
import type { Target } from "../failover.ts";
import type { Joined } from "./desk.ts";
import type { JobStatus, LayoutUpdate, Refusal } from "./generated/jobs.ts";
import type { JobSpec, JobWay, MemberId } from "./jobrecord.ts";
import { layoutFrom, refusalOf, specMessage, targetMessage } from "./messages.ts";
import { JobRefusal } from "./refusal.ts";
import { JobsService } from "./service.ts";

export interface JobMemberOptions {
  /** `host:port` of the job service of each controller; one of them steers. */
  readonly controllers: readonly string[];
  readonly tls?: TlsOptions;
  readonly job: string;
  /** Own name in the topology. */
  readonly host: string;
  /** Which start of this host it is: more than any before. The clock's milliseconds when absent. */
  readonly incarnation?: bigint;
  /** Parameter servers only: what the job is. */
  readonly spec?: JobSpec;
  /** The job's layout, and each later one. */
  readonly onLayout: (layout: JobLayout, way: JobWay) => void;
  /** The job is over, or this host's part in it. */
  readonly onEnd: (reason: Error) => void;
  /** Gives up joining. */
  readonly signal?: AbortSignal;
  /** Milliseconds to look for a controller before joining fails: 10,000. Once joined it is looked for without end. */
  readonly patience?: number;
}

/** The job is over by the controller's word. */
export class JobEnded extends Error {
  override readonly name = "JobEnded";
}

/** Milliseconds for one call. */
const TIMEOUT = 2500;
/** A stream of layouts is asked for anew after this long. */
const STREAM = 6 * 3_600_000;

/** One host in a job: joined, giving signs of life, hearing layouts; from whichever controller steers now. */
export class JobMember {
  readonly id: MemberId;
  readonly joined: Joined;
  readonly #options: JobMemberOptions;
  readonly #stop = new AbortController();
  readonly #times: { readonly heartbeat: number; readonly silence: number };
  #connection: Connection;
  #at: number;
  #generation = 0;
  #openRound = 0;
  #end: Promise<void> = Promise.resolve();

  private constructor(options: JobMemberOptions, id: MemberId, found: Found) {
    this.#options = options;
    this.id = id;
    this.joined = found.joined;
    this.#times = found;
    this.#connection = found.connection;
    this.#at = found.at;
    this.#end = Promise.all([this.#follow(), this.#beat()]).then(() => {});
  }

  /**
   * Joins a job; a worker waits until its parameter server has declared it.
   *
   * @throws JobRefusal, or P4RuntimeError when no controller answers
   */
  static async join(options: JobMemberOptions): Promise<JobMember> {
    const incarnation = options.incarnation ?? BigInt(Date.now());
    const id = { job: options.job, host: options.host, incarnation };
    const until = performance.now() + (options.patience ?? 10_000);
    const found = await look(options, id, 0, until, options.signal);
    return new JobMember(options, id, found);
  }

  /** Parameter servers: the oldest unfinished round, told with the next sign of life. */
  set openRound(round: number) {
    this.#openRound = round;
  }

  /** Leaves in order. @throws P4RuntimeError, JobRefusal */
  async leave(): Promise<void> {
    this.#stop.abort();
    const call = { timeout: TIMEOUT };
    const { refusal } = await this.#connection.unary("Leave", JobsService.Leave, { member: this.id }, call);
    await this.close();
    if (refusal !== undefined) throw refusalOf(refusal);
  }

  /** Falls silent: the others take this host for dead after a while. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#end;
    this.#connection.close();
  }

  /** Listens to layouts, and finds the controller again when it is gone. */
  async #follow(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        const request = { member: this.id };
        const call = { timeout: STREAM, signal };
        for await (const update of this.#connection.serverStream(
          "Layouts",
          JobsService.Layouts,
          request,
          call,
        ))
          if (!this.#take(update)) return;
      } catch (error) {
        if (!(error instanceof P4RuntimeError)) {
          this.#over(error);
          return;
        }
      }
      if (signal.aborted) return;
      await this.#rejoin();
    }
  }

  /** @returns whether more may come */
  #take({ update }: LayoutUpdate): boolean {
    switch (update?.case) {
      case "layout": {
        const layout = layoutFrom(update.value);
        this.#generation = layout.generation;
        const named = (name: string): string | undefined => (name === "" ? undefined : name);
        this.#options.onLayout(layout, { on: named(update.value.switch), via: named(update.value.via) });
        return true;
      }
      case "ended":
        this.#over(new JobEnded(`job ${this.id.job} is over: ${update.value.reason}`));
        return false;
      case "refusal":
        // Another controller may know better, or rejoining tells why not.
        return true;
      default:
        return true;
    }
  }

  async #rejoin(): Promise<void> {
    const { signal } = this.#stop;
    try {
      // Without the spec: a job that is over is not to be declared again by what its server still keeps.
      const { controllers, tls } = this.#options;
      const options = { controllers, ...(tls === undefined ? {} : { tls }), isBack: true };
      const found = await look(options, this.id, this.#at, Number.POSITIVE_INFINITY, signal);
      this.#connection.close();
      this.#connection = found.connection;
      this.#at = found.at;
      if (found.joined.life !== this.joined.life || found.joined.job !== this.joined.job)
        this.#over(new JobRefusal("REPLACED", `job ${this.id.job} has begun anew`));
    } catch (error) {
      this.#over(lasting(error));
    }
  }

  async #beat(): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await sleep(this.#times.heartbeat, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      const request = { member: this.id, generation: this.#generation, openRound: this.#openRound };
      const connection = this.#connection;
      try {
        const call = { timeout: Math.max(this.#times.heartbeat, this.#times.silence / 2), signal };
        const { refusal } = await connection.unary("Heartbeat", JobsService.Heartbeat, request, call);
        if (refusal !== undefined) this.#refused(refusal);
      } catch {
        // A controller that does not answer is looked for anew: its stream may hang as well.
        if (!signal.aborted && connection === this.#connection) connection.close();
      }
    }
  }

  #refused(refusal: Refusal): void {
    const error = refusalOf(refusal);
    if (error.code === "NOT_LEADER") this.#connection.close();
    else this.#over(lasting(error));
  }

  #over(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#connection.close();
    this.#options.onEnd(error instanceof Error ? error : new Error(String(error)));
  }
}

/** To a member a job that is not known any more has ended. */
function lasting(error: unknown): unknown {
  return error instanceof JobRefusal && error.code === "UNKNOWN_JOB" ? new JobEnded(error.message) : error;
}

interface Found {
  readonly connection: Connection;
  /** Its place among the controllers. */
  readonly at: number;
  readonly joined: Joined;
  readonly heartbeat: number;
  readonly silence: number;
}

/** Asks one controller after the other until one takes this host, or refuses it for good. */
async function look(
  options: Pick<JobMemberOptions, "controllers" | "tls" | "spec"> & { readonly isBack?: boolean },
  id: MemberId,
  from: number,
  until: number,
  signal: AbortSignal | undefined,
): Promise<Found> {
  const { controllers, tls, spec } = options;
  const backoff = new Backoff({ first: 50, most: 1000 }, Math.random);
  let last: Error = new JobRefusal("BAD_REQUEST", "no controller is given");
  for (let turn = from; ; turn++) {
    const address = controllers[turn % controllers.length];
    if (address === undefined) throw last;
    const connection = new Connection({ address, ...(tls === undefined ? {} : { tls }) });
    try {
      const request = { member: id, ...(spec === undefined ? {} : { spec: specMessage(spec) }) };
      const call = { timeout: TIMEOUT, ...(signal === undefined ? {} : { signal }) };
      const { outcome } = await connection.unary("Join", JobsService.Join, request, call);
      if (outcome?.case === "joined") {
        const { heartbeat, silence } = outcome.value;
        return { connection, at: turn % controllers.length, joined: outcome.value, heartbeat, silence };
      }
      last =
        outcome === undefined
          ? new JobRefusal("BAD_REQUEST", `${address} gave no answer`)
          : refusalOf(outcome.value);
    } catch (error) {
      if (!(error instanceof P4RuntimeError)) throw error;
      last = error;
    }
    connection.close();
    const mayWait =
      last instanceof P4RuntimeError || isPassing(last, spec === undefined && options.isBack !== true);
    const isRound = (turn - from + 1) % controllers.length === 0;
    if (!mayWait || signal?.aborted === true || performance.now() > until) throw last;
    if (isRound)
      await sleep(backoff.next(), undefined, { ...(signal === undefined ? {} : { signal }) }).catch(() => {});
  }
}

/** Will asking again help? A worker may be earlier than its parameter server. */
function isPassing(error: Error, mayBeEarly: boolean): boolean {
  if (!(error instanceof JobRefusal)) return false;
  return error.code === "NOT_LEADER" || (mayBeEarly && error.code === "UNKNOWN_JOB");
}

/** Asks the controllers for their jobs. @throws P4RuntimeError of the last, when none answers */
export async function listJobs(
  controllers: readonly string[],
  tls?: TlsOptions,
): Promise<readonly JobStatus[]> {
  return ask(controllers, tls, async (connection) => {
    const { jobs, refusal } = await connection.unary("List", JobsService.List, {}, { timeout: TIMEOUT });
    if (refusal !== undefined) throw refusalOf(refusal);
    return jobs;
  });
}

/** Moves a job. @throws JobRefusal, P4RuntimeError */
export async function moveJob(
  controllers: readonly string[],
  job: string,
  to: Target | undefined,
  tls?: TlsOptions,
): Promise<void> {
  await ask(controllers, tls, async (connection) => {
    const request = { job, to: targetMessage(to) };
    const { refusal } = await connection.unary("Move", JobsService.Move, request, { timeout: TIMEOUT });
    if (refusal !== undefined) throw refusalOf(refusal);
  });
}

async function ask<T>(
  controllers: readonly string[],
  tls: TlsOptions | undefined,
  question: (connection: Connection) => Promise<T>,
): Promise<T> {
  let last: unknown = new JobRefusal("BAD_REQUEST", "no controller is given");
  for (const address of controllers) {
    const connection = new Connection({ address, ...(tls === undefined ? {} : { tls }) });
    try {
      return await question(connection);
    } catch (error) {
      last = error;
      if (error instanceof JobRefusal && error.code !== "NOT_LEADER") throw error;
    } finally {
      connection.close();
    }
  }
  throw last;
}
