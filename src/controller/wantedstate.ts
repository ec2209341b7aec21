import { ackSession, COLLECTOR, replicaOf, workersGroup } from "../wire/aggregation.ts";
import { membersOf, type Placement } from "./jobs.ts";
import type { AggregationFeature } from "./program.ts";
import { type HostNode, hostNamed, portOf, switchNamed, type Topology } from "./topology.ts";

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

/** A multicast group: one copy for each replica, which its instance tells apart in egress. */
export interface WantedGroup {
  readonly id: number;
  readonly replicas: readonly { readonly port: number; readonly instance: number }[];
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

/**
 * What a job needs in the tables of its switch: admission of its members, one entry per member and chunk of slots; with result
 * `allreduce` also the addresses of the RESULT's copies. The job's group (`jobGroups`) is to be there before these.
 *
 * @param towards the port by which the switch reaches a host; undefined leaves the host out. Without it all must be plugged in there.
 */
export function jobEntries(
  topology: Topology,
  program: AggregationFeature,
  p: Placement,
  towards?: PortTowards,
): readonly WantedEntry[] {
  if (p.on === undefined) return [];
  const { chunk, result } = program.options;
  const portTo = portsOn(topology, p.on, towards);
  const members = membersOf(p);
  const full_mask = members.reduce((mask, { member }) => mask + 2 ** member, 0);
  const job = { full_mask, generation: p.generation, scale: p.scale };
  const chunks = Array.from({ length: Math.ceil(p.rows / chunk) }, (_, i) => p.slotBase / chunk + i);
  const admit = (member: number, params: WantedEntry["params"]): readonly WantedEntry[] =>
    chunks.map((c) => ({
      table: "admission.member",
      match: { job: p.job, member, chunk: c },
      action: "admission.admit",
      params: { ...job, ...params },
    }));
  const bit = (member: number): number => 2 ** member;
  if (result === "allreduce") {
    const workers_group = groupOf(program, p);
    return [
      ...members.map(({ name, member }): WantedEntry => {
        const { mac, ipv4 } = hostNamed(topology, name);
        return {
          table: "copies.worker",
          match: { group: workers_group, replica: replicaOf(member) },
          action: "copies.to_worker",
          params: { worker_mac: mac, worker_addr: ipv4 },
        };
      }),
      ...members.flatMap(({ member }) => admit(member, { worker_bit: bit(member), workers_group })),
    ];
  }
  const server = hostNamed(topology, p.server);
  const result_port = portTo(p.server);
  if (result_port === undefined) return [];
  const target = { result_port, server_mac: server.mac, server_addr: server.ipv4 };
  return [
    ...members.flatMap(({ name, member }) => {
      const port = portTo(name);
      if (port === undefined) return [];
      return admit(member, { worker_bit: bit(member), ...target, ack_session: ackSession(port) });
    }),
    ...admit(COLLECTOR, { worker_bit: 0, ...target, ack_session: ackSession(result_port) }),
  ];
}

/** The multicast group of a job with result `allreduce`: a copy for each worker. None for other jobs. */
export function jobGroups(
  topology: Topology,
  program: AggregationFeature,
  p: Placement,
  towards?: PortTowards,
): readonly WantedGroup[] {
  if (p.on === undefined || program.options.result !== "allreduce") return [];
  const portTo = portsOn(topology, p.on, towards);
  const replicas = membersOf(p).flatMap(({ name, member }) => {
    const port = portTo(name);
    return port === undefined ? [] : [{ port, instance: replicaOf(member) }];
  });
  return [{ id: groupOf(program, p), replicas }];
}

function groupOf({ options }: AggregationFeature, p: Placement): number {
  const id = workersGroup(p.slotBase, options.chunk);
  if (id > 0xffff)
    throw new RangeError(`job ${p.job}: there is no multicast group ${id}; take larger chunks`);
  return id;
}

/** The port by which a switch reaches a host, if it does. */
export type PortTowards = (on: string, host: HostNode) => number | undefined;

function portsOn(
  topology: Topology,
  on: string,
  towards: PortTowards | undefined,
): (host: string) => number | undefined {
  return (name) => {
    if (towards !== undefined) return towards(on, hostNamed(topology, name));
    const port = portOf(hostNamed(topology, name), on);
    if (port === undefined) throw new RangeError(`host ${name} is not plugged into ${on}`);
    return port;
  };
}
