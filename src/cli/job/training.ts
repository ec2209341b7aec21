import type { WorkingJob } from "../../controller/jobservice/jobhost.ts";
import type { JobSpec } from "../../controller/jobservice/jobrecord.ts";
import type { ParameterStore } from "../../host/libra/server.ts";

/** What `gradplane server` and `gradplane worker` run: both are given the same file. */
export interface Training {
  /** The job's name, unless the command line has another. */
  readonly name: string;
  /** What the job is; the command line says who works on it. Called by the parameter server. */
  spec(): Omit<JobSpec, "workers" | "needsSwitch"> | Promise<Omit<JobSpec, "workers" | "needsSwitch">>;
  /** The values that the parameter server keeps. */
  store(): ParameterStore;
  /**
   * One worker's work, from `job.firstRound` on: 1, or where the job has come to when the worker starts again. Called anew when the worker
   * was taken for dead.
   */
  work(job: WorkingJob): Promise<void>;
  /** What the parameter server prints when the job is done. */
  summary?(store: ParameterStore): Readonly<Record<string, unknown>>;
}

/** Declares a training; only there for its types. */
export function training(definition: Training): Training {
  return definition;
}
