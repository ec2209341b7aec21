import { Fleet, type FleetNotice, type FleetOptions } from "../controller/fleet.ts";
import { JobServer } from "../controller/jobservice/server.ts";
import { Leadership, type LeadershipOptions, type Reign } from "../controller/leadership.ts";
import { plainText } from "../controller/statefile.ts";
import { WebPage } from "../controller/webpage.ts";
import { withPort } from "../p4runtime/address.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import { loadNetwork, type Network, reportingNetwork } from "./network.ts";
import { secretOf } from "./p4rt/target.ts";
import { parse, type Verb, wholeNumber } from "./verb.ts";

export const controllerVerb: Verb = {
  help: `Usage: gradplane controller --topology FILE [--listen HOST:PORT] [options]

Keeps the switches of a topology as it says: loads the program, fills the tables, routes around switches that are lost,
takes them into use when they come back, and looks for what somebody else changed. Where the program aggregates, it
places jobs on them for hosts that ask by gRPC. Prints one JSON object for each event, and, when it steers, one line:
ready http=ADDRESS token=TOKEN jobs=ADDRESS. SIGTERM and SIGINT end it; the switches stay as they are.

  --topology FILE   switches, hosts, links and program, in YAML
  --state FILE      what is remembered over restarts; default: beside the topology
  --listen ADDR     web page, /status, /events and /metrics; default 127.0.0.1:9560
  --jobs ADDR       the job service, by gRPC; default 127.0.0.1:9561
  --etcd URLS       several controllers: one leads, by etcd, and goes on where the one before was; with commas between
  --etcd-prefix P   where this network's keys are in etcd, default gradplane
  --etcd-ttl S      seconds without a leader after which another one leads, default 3
  --token TEXT      for draining and restoring by the page; made up when it is not given
  --etcd-user NAME  with --etcd-password-file FILE, where etcd asks who one is
  --wait            for switches that are not there yet; else it ends with 2 when none can be had at the start
  --timeout MS      for that, default 2000
  --undo-drift      delete what somebody else wrote
  --inspect SECONDS between two looks at each switch, default 30

Example:
  gradplane controller --topology network.yaml --listen 127.0.0.1:9560`,
  async run(args) {
    const { values } = parse("controller", args, {
      topology: { type: "string" },
      state: { type: "string" },
      listen: { type: "string", default: "127.0.0.1:9560" },
      token: { type: "string" },
      jobs: { type: "string", default: "127.0.0.1:9561" },
      etcd: { type: "string" },
      "etcd-prefix": { type: "string", default: "gradplane" },
      "etcd-ttl": { type: "string", default: "3" },
      "etcd-user": { type: "string" },
      "etcd-password-file": { type: "string" },
      wait: { type: "boolean", default: false },
      timeout: { type: "string", default: "2000" },
      "undo-drift": { type: "boolean", default: false },
      inspect: { type: "string", default: "30" },
    });
    for (const option of ["listen", "jobs"] as const)
      if (!/^\S+:\d{1,5}$/.test(values[option]))
        throw new UserError(
          `--${option} is "${values[option]}"; write HOST:PORT, for example 127.0.0.1:9560`,
        );
    const inspect = wholeNumber("inspect", values.inspect, 1, 86_400) * 1000;
    const ttl = wholeNumber("etcd-ttl", values["etcd-ttl"], 1, 3600);
    const timeout = wholeNumber("timeout", values.timeout, 1, 600_000);
    const auth = authOf(values["etcd-user"], values["etcd-password-file"]);
    await reportingNetwork(async () => {
      const network = await loadNetwork(values.topology, "controller", values.state);
      const { listen, token, etcd, "undo-drift": undoDrift } = values;
      // Of several controllers, the one that comes next must not end because the switches are away for a moment.
      const patience = values.wait || etcd !== undefined ? undefined : timeout;
      const steering = { network, listen, token, undoDrift, inspect, patience };
      const ended = untilEnded();
      let fleet: Fleet | undefined;
      const jobs =
        network.aggregation === undefined
          ? undefined
          : await JobServer.start({ address: values.jobs, jobs: () => fleet?.jobs }).catch(
              (error: unknown) => {
                throw new EnvironmentError(error instanceof Error ? error.message : String(error));
              },
            );
      const where = jobs === undefined ? "" : ` jobs=${withPort(values.jobs, jobs.port)}`;
      /** Steers until it is to end, or somebody else leads. */
      const steer = async (reign: Pick<Reign, "state"> & Partial<Reign>): Promise<void> => {
        await whileSteering(steering, reign, where, async (steered) => {
          fleet = steered;
          await Promise.race([reign.over ?? ended.promise, ended.promise]);
          fleet = undefined;
          jobs?.dismiss();
        });
      };
      try {
        if (etcd === undefined) await steer({ state: network.state });
        else {
          const hosts = etcd.split(",");
          await whileLeading({ hosts, prefix: values["etcd-prefix"], ttl, ...auth }, ended, steer);
        }
      } finally {
        jobs?.close();
      }
    });
  },
};

interface Steering {
  readonly network: Network;
  readonly listen: string;
  readonly token: string | undefined;
  readonly undoDrift: boolean;
  readonly inspect: number;
  /** Milliseconds in which a switch must be reached; for ever when absent. */
  readonly patience: number | undefined;
}

/** Who one is for etcd. */
function authOf(username: string | undefined, file: string | undefined): Pick<LeadershipOptions, "auth"> {
  if (username === undefined && file === undefined) return {};
  if (username === undefined || file === undefined)
    throw new UserError("--etcd-user and --etcd-password-file go together");
  return { auth: { username, password: secretOf(file) } };
}

/** @throws EnvironmentError when no switch can be steered from the start */
async function reached(fleet: Fleet, patience: number): Promise<void> {
  const failures = await fleet.firstLook(patience);
  if (failures === undefined) return;
  const lines = [...failures].map(([name, reason]) => `${name}: ${reason}`);
  throw new EnvironmentError(
    `no switch can be steered (with --wait, the controller waits for them)\n${lines.join("\n")}`,
  );
}

const NEVER = new Promise<never>(() => {});

/** One time of steering: the fleet and its page. */
async function whileSteering(
  { network, listen, token, undoDrift, inspect, patience }: Steering,
  reign: Pick<Reign, "state"> & Partial<Reign>,
  where: string,
  work: (fleet: Fleet) => Promise<void>,
): Promise<void> {
  const { topology, aggregation, room, everywhere, own } = network;
  let page: WebPage | undefined;
  const onNotice = (notice: FleetNotice): void => {
    page?.notice(notice);
    print(notice);
  };
  const options: FleetOptions = {
    topology,
    program: network.loadable,
    everywhere,
    own,
    state: reign.state,
    undoDrift,
    inspect,
    onNotice,
    ...(reign.electionId === undefined ? {} : { electionId: reign.electionId }),
    ...(aggregation === undefined ? {} : { aggregation }),
    ...(room === undefined ? {} : { room }),
  };
  const fleet = await Fleet.start(options);
  try {
    page = await WebPage.start({
      fleet,
      topology,
      address: listen,
      ...(token === undefined ? {} : { token }),
    });
    process.stdout.write(`ready http=${withPort(listen, page.port)} token=${page.token}${where}\n`);
    const isHopeless = patience === undefined ? NEVER : reached(fleet, patience).then(() => NEVER);
    await Promise.race([work(fleet), isHopeless]);
  } catch (error) {
    if (error instanceof Error && "syscall" in error) throw new EnvironmentError(error.message);
    throw error;
  } finally {
    await page?.close();
    await fleet.close();
  }
}

/** Stands for the lead again and again, and steers while it leads. */
async function whileLeading(
  options: LeadershipOptions,
  ended: Ended,
  steer: (reign: Reign) => Promise<void>,
): Promise<void> {
  const leadership = await Leadership.open(options);
  try {
    while (!ended.signal.aborted) {
      print({ kind: "standby" });
      const reign = await leadership.campaign(ended.signal);
      if (reign === undefined) return;
      print({ kind: "leading", electionId: `${reign.electionId}` });
      void reign.over.then((reason) => print({ kind: "reignOver", reason }));
      try {
        await steer(reign);
      } finally {
        await reign.resign();
      }
    }
  } finally {
    leadership.close();
  }
}

function print(
  event: FleetNotice | { readonly kind: string; readonly electionId?: string; readonly reason?: string },
): void {
  const time = new Date().toISOString();
  process.stdout.write(`${plainText({ time, ...event })}\n`);
}

interface Ended {
  readonly promise: Promise<void>;
  readonly signal: AbortSignal;
}

function untilEnded(): Ended {
  const stop = new AbortController();
  const promise = new Promise<void>((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const)
      process.once(signal, () => {
        stop.abort();
        resolve();
      });
  });
  return { promise, signal: stop.signal };
}
