import type { JobLayout } from "../../host/libra/layout.ts";
import type { NumericMode } from "../../numeric/mode.ts";
import { membersOf, type Placement } from "../jobs.ts";
import { hostNamed, switchNamed, type Topology } from "../topology.ts";

/** What a job is, as its parameter server declares it. */
export interface JobSpec {
  /** Names of hosts; a worker's member number is its place. */
  readonly workers: readonly string[];
  readonly lanes: number;
  readonly mode: NumericMode;
  /** Hot keys, row by row. */
  readonly rows: readonly (readonly number[])[];
  /** Refuse it when no switch has room. */
  readonly needsSwitch: boolean;
}

/** One process of a job: a host, and which start of it. */
export interface MemberId {
  readonly job: string;
  readonly host: string;
  readonly incarnation: bigint;
}

export const memberStates = ["awaited", "present", "dead", "left"] as const;
export type MemberState = (typeof memberStates)[number];

export interface MemberRecord {
  readonly host: string;
  readonly state: MemberState;
  /** How often it has started again, modulo 256. */
  readonly life: number;
  readonly incarnation: bigint;
}

/** A job as the next controller must know it. Plain data but for the big integers. */
export interface JobRecord {
  readonly name: string;
  /** In packets. */
  readonly number: number;
  readonly spec: JobSpec;
  readonly server: MemberRecord;
  readonly workers: readonly MemberRecord[];
}

/** By which switches a job goes. */
export interface JobWay {
  /** The switch that adds; undefined: the parameter server does. */
  readonly on: string | undefined;
  /** The switch by which hosts that are plugged into several are to send; undefined: it makes no difference. */
  readonly via: string | undefined;
}

/** What a job's hosts are told of a placement. */
export function layoutOf(topology: Topology, { spec }: Pick<JobRecord, "spec">, p: Placement): JobLayout {
  const host = (name: string) => {
    const { mac, ipv4 } = hostNamed(topology, name);
    return { mac, ip: ipv4 };
  };
  const server = host(p.server);
  const on = p.on === undefined ? undefined : switchNamed(topology, p.on);
  return {
    job: p.job,
    generation: p.generation,
    workers: membersOf(p).map(({ member, name, life }) => ({ member, life, ...host(name) })),
    slotBase: p.slotBase,
    lanes: spec.lanes,
    rows: spec.rows,
    mode: spec.mode,
    aggregator: on === undefined ? server : { mac: on.mac, ip: on.ipv4 },
    server,
    firstRound: p.firstRound,
  };
}
