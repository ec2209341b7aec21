import type { JobLayout } from "../../host/libra/layout.ts";
import type { LibraOptions } from "../../host/libra/options.ts";
import { LibraServer, type ParameterStore, type ServerAction } from "../../host/libra/server.ts";
import { LibraWorker, type WorkerAction, type WorkerEvent } from "../../host/libra/worker.ts";
import { KVWorker } from "../../host/ps/kvworker.ts";
import { type UdpAddress, UdpHost } from "../../host/udp.ts";
import { JobMember, type JobMemberOptions } from "./client.ts";
import type { JobSpec, JobWay } from "./jobrecord.ts";

export interface JobHostOptions extends Omit<JobMemberOptions, "onLayout" | "onEnd" | "spec"> {
  /** Where the host's cable to each switch ends: a UDP port of the switch. */
  readonly cables: ReadonlyMap<string, UdpAddress>;
  /** Own end of the cables. */
  readonly local?: Partial<UdpAddress>;
  readonly times?: Partial<LibraOptions>;
  /** Takes what is no end of the job: a peer that does not answer for a while. */
  readonly onError?: (error: unknown) => void;
  /** The job runs elsewhere from now on. */
  readonly onPlaced?: (layout: JobLayout, way: JobWay) => void;
}

/** It is the job service that finds out who is dead, and it needs its time; until then hosts try again. */
export const JOB_HOST_TIMES: Partial<LibraOptions> = {
  timeout: 15,
  maxTimeout: 100,
  retries: 1000,
  collectAfter: 40,
  silence: 60_000,
};

/** The first layout that knows this host, and what becomes of later ones. */
class Layouts {
  readonly first: Promise<JobLayout>;
  way: JobWay = { on: undefined, via: undefined };
  next: (layout: JobLayout, way: JobWay) => void = () => {};
  #resolve: (layout: JobLayout) => void = () => {};
  #reject: (error: Error) => void = () => {};
  #waiting: JobLayout | undefined;

  constructor() {
    this.first = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.first.catch(() => {});
  }

  take(layout: JobLayout, way: JobWay, isMine: boolean): void {
    this.way = way;
    if (this.#waiting === undefined && isMine) {
      this.#waiting = layout;
      this.#resolve(layout);
    } else if (this.#waiting !== undefined) this.next(layout, way);
  }

  fail(error: Error): void {
    this.#reject(error);
  }
}

/** A parameter server at work. */
export interface ServingJob {
  readonly member: JobMember;
  readonly server: LibraServer;
  /** Why the job is over: a `JobEnded` with the controller's reason, or a refusal. */
  readonly end: Promise<Error>;
  close(): Promise<void>;
}

/**
 * Declares a job and keeps its values until it is over.
 *
 * @throws JobRefusal, P4RuntimeError when no controller answers
 */
export async function serveJob(
  options: JobHostOptions & { readonly spec: JobSpec; readonly store: ParameterStore },
): Promise<ServingJob> {
  const layouts = new Layouts();
  let ended: (reason: Error) => void = () => {};
  const end = new Promise<Error>((resolve) => {
    ended = resolve;
  });
  const member = await JobMember.join({
    ...options,
    onLayout: (layout, way) => layouts.take(layout, way, true),
    onEnd: (reason) => {
      layouts.fail(reason);
      ended(reason);
    },
  });
  try {
    const layout = await layouts.first;
    const server = new LibraServer(layout, options.store, { ...JOB_HOST_TIMES, ...options.times });
    const host = await UdpHost.open(server, {
      remote: remoteOf(options, layouts.way),
      ...(options.local === undefined ? {} : { local: options.local }),
      onError: (error) => options.onError?.(error),
      onAction: (action: ServerAction) => {
        if (action.type === "error") options.onError?.(action.error);
        else member.openRound = server.openRound;
      },
    });
    options.onPlaced?.(layout, layouts.way);
    layouts.next = (next, way) => {
      host.plug(remoteOf(options, way));
      host.dispatch({ type: "layout", layout: next });
      options.onPlaced?.(next, way);
    };
    const close = async (): Promise<void> => {
      await member.close();
      await host.close();
    };
    return { member, server, end, close };
  } catch (error) {
    await member.close();
    throw error;
  }
}

/** A worker at work. */
export interface WorkingJob {
  readonly member: JobMember;
  readonly machine: LibraWorker;
  readonly kv: KVWorker;
  /** The first round of this start of the worker: 1, or where the job has come to. */
  readonly firstRound: number;
  readonly layout: JobLayout;
}

/**
 * Takes part in a job as a worker, while `body` runs; then leaves in order. When the job ends early, what `body` waits for is rejected with
 * the reason.
 *
 * @throws JobRefusal, P4RuntimeError when no controller answers, JobEnded, and what `body` throws
 */
export async function workJob(
  options: JobHostOptions,
  body: (job: WorkingJob) => Promise<void>,
): Promise<void> {
  const running = await startWorker(options);
  try {
    await body(running);
    // The controller tells the others: who left by itself would be missed by them until they hear of it.
    await running.member.leave();
  } finally {
    await running.close();
  }
}

async function startWorker(options: JobHostOptions): Promise<WorkingJob & { close(): Promise<void> }> {
  const layouts = new Layouts();
  // Before the answer to the request is here it is not known which layout is the first for this start.
  const early: (() => void)[] = [];
  let joined: JobMember["joined"] | undefined;
  let kv: KVWorker | undefined;
  let failed: (error: Error) => void = () => {};
  const isMine = (layout: JobLayout): boolean =>
    layout.workers.some((w) => w.member === joined?.member && (w.life ?? 0) === joined.life);
  const member = await JobMember.join({
    ...options,
    onLayout: (layout, way) => {
      const take = (): void => layouts.take(layout, way, isMine(layout));
      if (joined === undefined) early.push(take);
      else take();
    },
    onEnd: (reason) => {
      layouts.fail(reason);
      kv?.fail(reason);
      failed(reason);
    },
  });
  let close = (): Promise<void> => member.close();
  joined = member.joined;
  for (const take of early) take();
  try {
    const layout = await layouts.first;
    const machine = new LibraWorker(layout, member.joined.member, { ...JOB_HOST_TIMES, ...options.times });
    let resumed: (round: number) => void = () => {};
    const round = new Promise<number>((resolve, reject) => {
      resumed = resolve;
      failed = reject;
    });
    round.catch(() => {});
    const host: UdpHost<WorkerEvent, WorkerAction> = await UdpHost.open(machine, {
      remote: remoteOf(options, layouts.way),
      ...(options.local === undefined ? {} : { local: options.local }),
      onError: (error) => options.onError?.(error),
      onAction: (action: WorkerAction) => {
        if (action.type === "resumed") resumed(action.round);
        else if (action.type === "error") options.onError?.(action.error);
        client.notice(action);
      },
    });
    const client: KVWorker = new KVWorker(host);
    kv = client;
    layouts.next = (next, way) => {
      host.plug(remoteOf(options, way));
      client.move(next);
      options.onPlaced?.(next, way);
    };
    options.onPlaced?.(layout, layouts.way);
    if (member.joined.life === 0) resumed(layout.firstRound);
    close = async (): Promise<void> => {
      await member.close();
      await host.close();
    };
    return { member, machine, kv: client, firstRound: await round, layout, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The end of the cable by which to send. */
function remoteOf({ cables, host }: JobHostOptions, { via }: JobWay): UdpAddress {
  const remote = cables.get(via ?? "") ?? [...cables.values()][0];
  if (remote === undefined) throw new RangeError(`${host} has no cable`);
  return remote;
}
