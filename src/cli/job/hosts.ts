import { JobEnded } from "../../controller/jobservice/client.ts";
import { type JobHostOptions, serveJob, workJob } from "../../controller/jobservice/jobhost.ts";
import { JobRefusal } from "../../controller/jobservice/refusal.ts";
import type { UdpAddress } from "../../host/udp.ts";
import { P4RuntimeError } from "../../p4runtime/index.ts";
import { EnvironmentError, UserError } from "../exit.ts";
import { importFile } from "../load.ts";
import { parse, type Verb, wholeNumber } from "../verb.ts";
import type { Training } from "./training.ts";

const OPTIONS = {
  controller: { type: "string" },
  host: { type: "string" },
  job: { type: "string" },
  cable: { type: "string", multiple: true },
  bind: { type: "string" },
} as const;

const OPTIONS_HELP = `  --controller ADDRS  HOST:PORT of the job service of each controller, with commas between
  --host NAME         this host's name in the topology
  --cable SW=ADDR     the UDP port of switch SW that this host is plugged into; may be repeated
  --bind ADDR         own end of the cables, HOST:PORT; any free port of 127.0.0.1 when it is not given
  --job NAME          another name for the job than the training's own`;

export const serverVerb: Verb = {
  help: `Usage: gradplane server TRAINING.ts --controller ADDRS --host NAME --workers NAMES --cable SW=ADDR [options]

The parameter server of a job: declares it to the controller of the switches, keeps its values, and ends when its workers are
done. Prints one JSON object for each event.

${OPTIONS_HELP}
  --workers NAMES     the workers' names in the topology, with commas between; a worker's number is its place
  --needs-switch      fail when no switch has room; else this server adds alone until one has

Example:
  gradplane server training.ts --controller 10.0.0.9:9561 --host ps --workers w0,w1 --cable s1=10.0.0.2:40004 --bind 0.0.0.0:40014`,
  async run(args) {
    const { values, positionals } = parse("server", args, {
      ...OPTIONS,
      workers: { type: "string" },
      "needs-switch": { type: "boolean", default: false },
    });
    const workers = (values.workers ?? "").split(",").filter((name) => name !== "");
    if (workers.length === 0)
      throw new UserError("--workers is missing: who works on the job, for example w0,w1");
    const found = await trainingOf(positionals, "server");
    const options = hostOptions(values, found, "server");
    await reportingJob(async () => {
      const store = found.store();
      const spec = { ...(await found.spec()), workers, needsSwitch: values["needs-switch"] };
      const job = await serveJob({ ...options, spec, store });
      print({ event: "joined", job: options.job, number: job.member.joined.job });
      const stop = untilEnded(() => job.member.leave());
      const reason = await job.end;
      stop();
      await job.close();
      print({
        event: "ended",
        reason: reason.message,
        rounds: job.server.openRound - 1,
        ...found.summary?.(store),
      });
      if (!(reason instanceof JobEnded)) throw reason;
    });
  },
};

export const workerVerb: Verb = {
  help: `Usage: gradplane worker TRAINING.ts --controller ADDRS --host NAME --cable SW=ADDR [options]

A worker of a job: joins when its parameter server has declared it, works, and leaves. Started again after a crash, it goes on in
its place. Prints one JSON object for each event.

${OPTIONS_HELP}
  --patience SECONDS  to wait for the controller and the parameter server, default 60

Example:
  gradplane worker training.ts --controller 10.0.0.9:9561 --host w0 --cable s1=10.0.0.2:40000 --bind 0.0.0.0:40010`,
  async run(args) {
    const { values, positionals } = parse("worker", args, {
      ...OPTIONS,
      patience: { type: "string", default: "60" },
    });
    const patience = wholeNumber("patience", values.patience, 0, 86_400) * 1000;
    const found = await trainingOf(positionals, "worker");
    const options = { ...hostOptions(values, found, "worker"), patience };
    await reportingJob(async () => {
      for (let isDone = false; !isDone; ) {
        try {
          await workJob(options, async (job) => {
            const { job: number, member, life } = job.member.joined;
            print({ event: "joined", job: options.job, number, member, life, firstRound: job.firstRound });
            await found.work(job);
          });
          isDone = true;
        } catch (error) {
          // The others have gone on: so does this one, from where they are.
          if (!(error instanceof JobRefusal) || error.code !== "DEAD") throw error;
          print({ event: "missed", reason: error.message });
        }
      }
      print({ event: "done" });
    });
  },
};

async function trainingOf(positionals: readonly string[], verb: string): Promise<Training> {
  const [file, ...more] = positionals;
  if (file === undefined || more.length > 0)
    throw new UserError(`name one training: gradplane ${verb} TRAINING.ts`);
  const found = (await importFile(file)).default;
  if (isTraining(found)) return found;
  throw new UserError(`${file} has no training: write "export default training({ ... })"`);
}

function isTraining(value: unknown): value is Training {
  return (
    typeof value === "object" && value !== null && "spec" in value && "store" in value && "work" in value
  );
}

function hostOptions(
  values: {
    readonly controller?: string | undefined;
    readonly host?: string | undefined;
    readonly job?: string | undefined;
    readonly cable?: readonly string[] | undefined;
    readonly bind?: string | undefined;
  },
  found: Training,
  verb: string,
): JobHostOptions {
  const { controller, host, bind } = values;
  if (controller === undefined || host === undefined)
    throw new UserError(`--controller and --host are needed; see gradplane ${verb} --help`);
  const cables = new Map((values.cable ?? []).map(cableOf));
  if (cables.size === 0)
    throw new UserError("--cable is missing: write SWITCH=HOST:PORT, for example s1=10.0.0.2:40000");
  return {
    controllers: controllersOf(controller),
    host,
    job: values.job ?? found.name,
    cables,
    ...(bind === undefined ? {} : { local: addressOf(bind, "--bind") }),
    onError: (error) =>
      print({ event: "error", reason: error instanceof Error ? error.message : String(error) }),
    onPlaced: ({ generation, workers }, { on }) =>
      print({ event: "placed", on: on ?? "server", generation, workers: workers.map((w) => w.member) }),
  };
}

/** `HOST:PORT,HOST:PORT` */
export function controllersOf(text: string): readonly string[] {
  const addresses = text.split(",");
  for (const address of addresses) addressOf(address, "--controller");
  return addresses;
}

function cableOf(text: string): readonly [string, UdpAddress] {
  const at = text.indexOf("=");
  if (at <= 0) throw new UserError(`--cable is "${text}"; write SWITCH=HOST:PORT`);
  return [text.slice(0, at), addressOf(text.slice(at + 1), "--cable")];
}

function addressOf(text: string, option: string): UdpAddress {
  const parts = /^(\S+):(\d{1,5})$/.exec(text);
  if (parts?.[1] === undefined || Number(parts[2]) > 65_535)
    throw new UserError(`${option} is "${text}"; write HOST:PORT, for example 10.0.0.2:40000`);
  return { address: parts[1], port: Number(parts[2]) };
}

function print(event: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), ...event })}\n`);
}

/** SIGTERM and SIGINT end a job in order. */
function untilEnded(leave: () => Promise<void>): () => void {
  const end = (): void =>
    void leave().then(
      () => process.exit(0),
      () => process.exit(2),
    );
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, end);
  return () => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.off(signal, end);
  };
}

/** Names what goes wrong with a job: what was asked, or the environment. */
export async function reportingJob(work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof JobRefusal) {
      if (error.code === "NOT_LEADER") throw new EnvironmentError(error.message);
      throw new UserError(`${error.code}: ${error.message}`);
    }
    if (error instanceof JobEnded || error instanceof P4RuntimeError)
      throw new EnvironmentError(error.message);
    if (error instanceof Error && "syscall" in error) throw new EnvironmentError(error.message);
    throw error;
  }
}
