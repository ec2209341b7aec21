import type { JobLayout } from "../host/libra/layout.ts";
import type { Fleet } from "./fleet.ts";
import type { FleetJobs } from "./fleetjobs.ts";
import type { JobSpec, JobWay, MemberId } from "./jobservice/jobrecord.ts";

export interface OwnJobOptions {
  readonly name: string;
  /** The host that is its parameter server. */
  readonly server: string;
  readonly spec: JobSpec;
  /** Where its hosts are to send from now on. Called at once, and at each move. */
  readonly onLayout: (layout: JobLayout, way: JobWay) => void;
}

/** A job whose hosts live and die with the controller's process, or are steered by it: nobody asks for it over the network. */
export class OwnJob {
  readonly #jobs: FleetJobs;
  readonly #members: readonly MemberId[];
  readonly #alive: NodeJS.Timeout;
  readonly #stop: () => void;

  private constructor(jobs: FleetJobs, members: readonly MemberId[], stop: () => void) {
    this.#jobs = jobs;
    this.#members = members;
    this.#stop = stop;
    this.#alive = setInterval(() => this.#beat(), jobs.desk.times.heartbeat);
  }

  /** Resolves when it has been announced for the first time. @throws JobRefusal; RangeError when the program does not aggregate */
  static async start(fleet: Fleet, { name, server, spec, onLayout }: OwnJobOptions): Promise<OwnJob> {
    const { jobs } = fleet;
    if (jobs === undefined) throw new RangeError("the program of the switches does not aggregate");
    const member = (host: string): MemberId => ({ job: name, host, incarnation: 1n });
    const members = [server, ...spec.workers].map(member);
    await jobs.join(member(server), spec);
    for (const worker of spec.workers) await jobs.join(member(worker), undefined);
    return new Promise((resolve, reject) => {
      let own: OwnJob | undefined;
      const stop = jobs.listen(name, (news) => {
        if (news.kind === "ended") {
          reject(new Error(`job ${name} has ended: ${news.reason}`));
          return;
        }
        onLayout(news.layout, news.way);
        // The first may be told before there is a way to stop listening.
        queueMicrotask(() => {
          own ??= new OwnJob(jobs, members, stop);
          resolve(own);
        });
      });
    });
  }

  /** The oldest round that is not finished: where a move begins. */
  roundOpen(round: number): void {
    const [server] = this.#members;
    if (server !== undefined) this.#jobs.heartbeat(server, round);
  }

  /** Ends the job; its entries go. */
  end(): void {
    const [server] = this.#members;
    this.close();
    if (server !== undefined) this.#jobs.leave(server);
  }

  /** No more signs of life, and nothing is told any more. */
  close(): void {
    clearInterval(this.#alive);
    this.#stop();
  }

  #beat(): void {
    for (const member of this.#members) this.#jobs.heartbeat(member, undefined);
  }
}
