import type { FleetJobs } from "../../controller/fleetjobs.ts";
import type { JobSpec, MemberId } from "../../controller/jobservice/jobrecord.ts";
import { JobRefusal } from "../../controller/jobservice/refusal.ts";
import type { JobLayout } from "../../host/libra/layout.ts";
import type { Clock } from "../../p4runtime/index.ts";
import { CONTROL } from "./network.ts";

/** Milliseconds between two attempts to find the controller. */
const LOOK = 100;

export interface LabMemberOptions {
  readonly clock: Clock;
  /** The job service of the controller that lives now. */
  readonly jobs: () => FleetJobs | undefined;
  readonly id: MemberId;
  readonly spec?: JobSpec;
  readonly onLayout: (layout: JobLayout) => void;
  readonly openRound?: () => number;
}

/** One host of a job towards the job service, as `JobMember` is it over gRPC: joins, gives signs of life, hears layouts, finds the next controller. */
export class LabMember {
  readonly #options: LabMemberOptions;
  #isDead = false;
  #generation = -1;

  constructor(options: LabMemberOptions) {
    this.#options = options;
    void this.#run();
  }

  /** It falls silent. */
  crash(): void {
    this.#isDead = true;
  }

  async #run(): Promise<void> {
    const { clock, jobs, id, spec, openRound } = this.#options;
    while (!this.#isDead) {
      const service = jobs();
      if (service === undefined) {
        await clock.sleep(LOOK);
        continue;
      }
      let stop: () => void = () => {};
      try {
        await clock.sleep(CONTROL);
        await service.join(id, spec);
        stop = service.listen(id.job, (news) => {
          if (news.kind === "layout") void this.#hear(news.layout);
        });
        while (!this.#isDead && service === jobs()) {
          await clock.sleep(service.desk.times.heartbeat);
          if (!this.#isDead && service === jobs()) service.heartbeat(id, openRound?.());
        }
      } catch (error) {
        if (!(error instanceof JobRefusal)) throw error;
        await clock.sleep(LOOK);
      } finally {
        stop();
      }
    }
  }

  async #hear(layout: JobLayout): Promise<void> {
    await this.#options.clock.sleep(CONTROL);
    // Told again by the next controller, or out of order.
    if (this.#isDead || layout.generation <= this.#generation) return;
    this.#generation = layout.generation;
    this.#options.onLayout(layout);
  }
}
