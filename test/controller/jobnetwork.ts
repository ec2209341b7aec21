import { onTestFinished } from "vitest";
import { freePort } from "../../src/cli/freeport.ts";
import { Fleet, type FleetNotice, type FleetOptions } from "../../src/controller/fleet.ts";
import { type JobHostOptions, serveJob, workJob } from "../../src/controller/jobservice/jobhost.ts";
import type { JobSpec } from "../../src/controller/jobservice/jobrecord.ts";
import { JobServer } from "../../src/controller/jobservice/server.ts";
import type { Topology } from "../../src/controller/topology.ts";
import type { UdpAddress } from "../../src/host/udp.ts";
import { p4infoFromBinary } from "../../src/p4runtime/index.ts";
import { UdpPort } from "../../src/switch/ports/udp-port.ts";
import { aggregation, generated, LANES, topologyOf } from "../abuse/network.ts";
import { type SteeredSwitch, startSwitch } from "../abuse/switches.ts";

export const program = {
  p4info: p4infoFromBinary(generated("p4info.bin")),
  deviceConfig: generated("attacked.json"),
};

export const WAIT = { timeout: 60_000, interval: 20 };

/** Two switches that run, with a UDP port for each host of a topology. */
export interface JobNetwork {
  readonly topology: Topology;
  readonly switches: ReadonlyMap<string, SteeredSwitch>;
  /** Both ends of a host's cables. */
  plugsOf(host: string): Pick<JobHostOptions, "cables" | "local">;
}

export async function jobNetwork(workers: number): Promise<JobNetwork> {
  const names = ["s1", "s2"];
  const started = await Promise.all(names.map((_, i) => startSwitch(i + 1)));
  const switches = new Map(names.map((name, i) => [name, started[i] ?? fail(name)]));
  const topology = topologyOf(
    workers,
    started.map((s) => s.cable.address),
  );
  const cables = new Map<string, Map<string, UdpAddress>>();
  const own = new Map<string, number>();
  for (const { name, attachments } of topology.hosts) {
    const local = await freePort();
    own.set(name, local);
    for (const { switch: on, port } of attachments) {
      const udp = await UdpPort.open(`${on}:${port}`, { peer: { port: local } });
      switches.get(on)?.runner.attach(port, udp);
      const ends = cables.get(name) ?? new Map();
      cables.set(name, ends.set(on, { address: "127.0.0.1", port: udp.localPort }));
    }
  }
  return {
    topology,
    switches,
    plugsOf: (host) => ({ cables: cables.get(host) ?? new Map(), local: { port: own.get(host) ?? 0 } }),
  };
}

function fail(name: string): never {
  throw new Error(`no ${name}`);
}

export interface Steering {
  readonly fleet: Fleet;
  readonly server: JobServer;
  readonly address: string;
  readonly notices: FleetNotice[];
}

/** A controller with its job service. */
export async function steer(
  { topology }: JobNetwork,
  changes: Partial<FleetOptions> & { readonly address?: string } = {},
): Promise<Steering> {
  const notices: FleetNotice[] = [];
  const { address = "127.0.0.1:0", ...options } = changes;
  const fleet = await Fleet.start({
    topology,
    program,
    aggregation,
    backoff: { first: 20, most: 100 },
    jobTimes: { heartbeat: 100, silence: 3000 },
    onNotice: (notice) => notices.push(notice),
    ...options,
  });
  const server = await JobServer.start({ address, jobs: () => fleet.jobs });
  onTestFinished(async () => {
    server.close();
    await fleet.close();
  });
  return { fleet, server, address: `127.0.0.1:${server.port}`, notices };
}

export const GRID = {
  lanes: LANES,
  rows: [
    [10, 11, 12, 13],
    [20, 21, 22, 23],
    [30, 31],
  ],
};
const HOT = GRID.rows.flat();
const COLD = [1, 2];
export const KEYS = Uint32Array.from([...HOT, ...COLD]);

export function specOf(workers: readonly string[], changes: Partial<JobSpec> = {}): JobSpec {
  return {
    workers,
    ...GRID,
    mode: { name: "int32", workers: 32, fractionBits: 16 },
    needsSwitch: true,
    ...changes,
  };
}

/** What a job's server has been given: for each round the sums by key. */
export type Updates = Map<number, readonly number[]>;

export async function serving(
  network: JobNetwork,
  controllers: readonly string[],
  spec: JobSpec,
  changes: Partial<JobHostOptions> = {},
) {
  const updates: Updates = new Map();
  const host = changes.host ?? "ps";
  const job = await serveJob({
    controllers,
    job: "training",
    host,
    ...network.plugsOf(host),
    spec,
    store: {
      update: (round, keys, sums) => {
        const byKey = new Map([...keys].map((key, i) => [key, sums[i] ?? 0]));
        updates.set(
          round,
          [...KEYS].map((key) => byKey.get(key) ?? 0),
        );
      },
      read: (keys) => new Float32Array(keys.length),
    },
    ...changes,
  });
  onTestFinished(() => job.close());
  return { ...job, updates };
}

/** The gradient of a worker's round: for a member and round always the same. */
export const shareOf = (member: number, round: number): number => (round % 7) + 1 + member * 8;

/** Works through rounds up to the last; `gate` may hold a round back. */
export function working(
  network: JobNetwork,
  controllers: readonly string[],
  host: string,
  rounds: number,
  changes: Partial<JobHostOptions> & {
    readonly gate?: (round: number) => Promise<void>;
    /** Told where it begins, and how to end it as a loss of power would. */
    readonly onStart?: (round: number, crash: () => void) => void;
  } = {},
): Promise<void> {
  const { gate = () => Promise.resolve(), onStart, ...options } = changes;
  return workJob(
    { controllers, job: "training", host, ...network.plugsOf(host), ...options },
    async ({ kv, member, firstRound }) => {
      let crash = (_: Error): void => {};
      const crashed = new Promise<never>((_, reject) => {
        crash = reject;
      });
      crashed.catch(() => {});
      onStart?.(firstRound, () => crash(new Error("the power went")));
      for (let round = firstRound; round <= rounds; round++) {
        await Promise.race([crashed, gate(round)]);
        const value = shareOf(member.joined.member, round);
        await Promise.race([
          crashed,
          kv.wait(
            kv.push(
              KEYS,
              Float32Array.from(KEYS, () => value),
            ),
          ),
        ]);
      }
    },
  );
}
