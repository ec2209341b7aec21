import { fp32Entries, fp32Format } from "../numeric/fp32.ts";
import { COLLECTOR } from "../wire/aggregation.ts";
import type { Placement } from "./jobs.ts";
import type { AggregationFeature, Mode } from "./program.ts";
import { hostNamed, portOf, switchNamed, type Topology } from "./topology.ts";

/** One table entry by name, in the forms that the P4Runtime client takes. */
export interface WantedEntry {
  readonly table: string;
  readonly match: Readonly<Record<string, string | number>>;
  readonly action: string;
  readonly params: Readonly<Record<string, string | number | bigint>>;
}

/** Everything that should be on one switch beside its program. */
export interface WantedState {
  readonly entries: readonly WantedEntry[];
  /** Clone sessions: id and the port that gets the copy. */
  readonly cloneSessions: readonly { readonly id: number; readonly port: number }[];
}

/** The clone session that sends acknowledgements out of a port; ids start at 1. */
export function ackSession(port: number): number {
  return port + 1;
}

/** What a switch needs for its hosts, before any job: routes, its own address, one clone session per used port. */
export function baseState(topology: Topology, name: string): WantedState {
  const own = switchNamed(topology, name);
  const plugged = topology.hosts.flatMap((host) => {
    const port = portOf(host, name);
    return port === undefined ? [] : [{ host, port }];
  });
  return {
    entries: [
      {
        table: "forwarding.route",
        match: { dst_addr: `${own.ipv4}/32` },
        action: "forwarding.to_local",
        params: {},
      },
      ...plugged.map(({ host, port }) => ({
        table: "forwarding.route",
        match: { dst_addr: `${host.ipv4}/32` },
        action: "forwarding.to_port",
        params: { port, dst_mac: host.mac },
      })),
    ],
    cloneSessions: plugged.map(({ port }) => ({ id: ackSession(port), port })),
  };
}

/** Contents of the lookup tables of mode fp32; nothing in the other modes. They serve all jobs and windows. */
export function* lookupEntries(program: AggregationFeature): Generator<WantedEntry> {
  const mode: Mode = program.options.mode;
  if (mode.name !== "fp32") return;
  const format = fp32Format(program.options.workers, mode.slices);
  for (let lane = 0; lane < program.options.lanes; lane++) {
    for (let slice = 0; slice < mode.slices.length; slice++) {
      const table = program.lookupTable(lane, slice);
      for (const { sign, rel, bits, part } of fp32Entries(format, slice, { omitZeros: true })) {
        yield { table, match: { sign, rel, bits }, action: `${table}_part`, params: { part: part >>> 0 } };
      }
    }
  }
}

/** Admission of a job's members on its switch: one entry per member and chunk of slots. */
export function jobEntries(
  topology: Topology,
  program: AggregationFeature,
  p: Placement,
): readonly WantedEntry[] {
  if (p.on === undefined) return [];
  const on = p.on;
  const { chunk } = program.options;
  const server = hostNamed(topology, p.server);
  const portTo = (name: string): number => {
    const port = portOf(hostNamed(topology, name), on);
    if (port === undefined) throw new RangeError(`host ${name} is not plugged into ${on}`);
    return port;
  };
  const job = {
    full_mask: 2 ** p.workers.length - 1,
    generation: p.generation,
    scale: p.scale,
    result_port: portTo(p.server),
    server_mac: server.mac,
    server_addr: server.ipv4,
  };
  const members = [
    ...p.workers.map((name, i) => ({ member: i, worker_bit: 2 ** i, port: portTo(name) })),
    { member: COLLECTOR, worker_bit: 0, port: portTo(p.server) },
  ];
  const chunks = Array.from({ length: Math.ceil(p.rows / chunk) }, (_, i) => p.slotBase / chunk + i);
  return members.flatMap(({ member, worker_bit, port }) =>
    chunks.map((c) => ({
      table: "admission.member",
      match: { job: p.job, member, chunk: c },
      action: "admission.admit",
      params: { worker_bit, ...job, ack_session: ackSession(port) },
    })),
  );
}
