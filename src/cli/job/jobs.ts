import { listJobs, moveJob } from "../../controller/jobservice/client.ts";
import { UserError } from "../exit.ts";
import { aligned } from "../p4rt/lines.ts";
import { parse, type Verb } from "../verb.ts";
import { controllersOf, reportingJob } from "./hosts.ts";

export const jobsVerb: Verb = {
  help: `Usage: gradplane jobs --controller ADDRS [--move JOB --to SWITCH|server|any] [--json]

The jobs of a controller: where each is aggregated, in which round it is, who takes part. Or moves one.

  --controller ADDRS  HOST:PORT of the job service of each controller, with commas between
  --move JOB          raise the job's generation
  --to WHERE          a switch, "server" for its parameter server alone, or "any"
  --json              one JSON object a line

Example:
  gradplane jobs --controller 10.0.0.9:9561 --move training --to server`,
  async run(args) {
    const { values } = parse("jobs", args, {
      controller: { type: "string" },
      move: { type: "string" },
      to: { type: "string" },
      json: { type: "boolean", default: false },
    });
    const { controller, move, to } = values;
    if (controller === undefined)
      throw new UserError("--controller HOST:PORT is missing; see gradplane jobs --help");
    if ((move === undefined) !== (to === undefined)) throw new UserError("--move and --to go together");
    const controllers = controllersOf(controller);
    await reportingJob(async () => {
      if (move !== undefined && to !== undefined) {
        const target = to === "server" ? { kind: "server" as const } : { kind: "switch" as const, name: to };
        await moveJob(controllers, move, to === "any" ? undefined : target);
        return;
      }
      const jobs = await listJobs(controllers);
      if (values.json) {
        for (const job of jobs) process.stdout.write(`${JSON.stringify(job)}\n`);
        return;
      }
      const rows = jobs.map((job) => [
        job.name,
        job.switch === ""
          ? "server"
          : `${job.switch} slots ${job.slotBase} to ${job.slotBase + job.rows - 1}`,
        `generation ${job.generation}`,
        `round ${job.openRound}`,
        job.members.map((m) => `${m.host} ${m.state}`).join(", "),
      ]);
      for (const line of aligned(rows)) process.stdout.write(`${line}\n`);
    });
  },
};
