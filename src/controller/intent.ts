import { type Entity, EntityBuilder, type Schema } from "../p4runtime/index.ts";
import { ackSession } from "../wire/aggregation.ts";
import { EntityPool } from "./entitypool.ts";
import type { Placement } from "./jobs.ts";
import { OWNER } from "./owner.ts";
import { type Hop, NO_OUTAGE, type Outage, PathCache, type Paths } from "./paths.ts";
import type { AggregationFeature } from "./program.ts";
import {
  flowGroups,
  type GroupRoom,
  IPV4,
  IPV6,
  portTowards,
  ROUTING_RANK,
  type RoutePart,
  routeParts,
} from "./routes.ts";
import { hostNamed, portOf, type Topology } from "./topology.ts";
import { type UserEntry, userEntity } from "./userentry.ts";
import { jobEntries, jobGroups, type PortTowards, type WantedEntry } from "./wantedstate.ts";

/** The table of feature `probe`: ports from which link probes are brought up. */
export const PROBE_TABLE = "probe.link";

/** The action selector of feature `ecmp`. */
const NEXT_HOPS = "ecmp.next_hops";

/** All that decides what should be on the switches. */
export interface Intentions {
  readonly topology: Topology;
  readonly outage?: Outage;
  /** The program's aggregation, when it has that. */
  readonly aggregation?: AggregationFeature;
  /** Groups of next hops, when the program has them. */
  readonly room?: GroupRoom;
  /** Jobs that are to run; those elsewhere change nothing on a switch. */
  readonly placements?: readonly Placement[];
  /** Entries that all switches of the program have, such as thresholds of queues: its contents. */
  readonly everywhere?: Iterable<WantedEntry>;
  /** The user's own entries, by switch. */
  readonly own?: ReadonlyMap<string, readonly UserEntry[]>;
}

/** What should be on one switch beside its program. */
export interface Intent {
  readonly entities: readonly Entity[];
  /** The same in parts; those that are as in another intent of this basis are the same arrays. */
  readonly parts: readonly (readonly Entity[])[];
  readonly tableRank: ReadonlyMap<number, number>;
}

/** What the books of one topology can share, so that the next one need not make it again. */
export class IntentBasis {
  readonly paths: PathCache;
  readonly pool = new EntityPool();
  readonly routes = new RouteMemory();

  constructor(topology: Topology) {
    this.paths = new PathCache(topology);
  }
}

interface RememberedPart {
  readonly hops: readonly Hop[];
  readonly entities: readonly Entity[];
}

/** The routes of each switch as they were computed last: an outage changes few of them. */
class RouteMemory {
  readonly #known = new WeakMap<Schema["info"], Map<string, readonly RememberedPart[]>>();

  /** @param what all that the entries depend on beside program and next hops: whose they are, families, room */
  of(
    schema: Schema,
    what: string,
    parts: readonly RoutePart[],
    make: (entry: WantedEntry) => Entity,
  ): readonly (readonly Entity[])[] {
    const known = this.#known.get(schema.info) ?? new Map<string, readonly RememberedPart[]>();
    this.#known.set(schema.info, known);
    const before = known.get(what) ?? [];
    const now = parts.map((part, i) => {
      const old = before[i];
      if (old !== undefined && haveSame(old.hops, part.hops)) return old;
      return { hops: part.hops, entities: part.entries().map(make) };
    });
    known.set(what, now);
    return now.map(({ entities }) => entities);
  }
}

function haveSame(a: readonly Hop[], b: readonly Hop[]): boolean {
  if (a === b) return true;
  return (
    a.length === b.length &&
    a.every((hop, i) => hop.port === b[i]?.port && hop.to === b[i]?.to && hop.weight === b[i]?.weight)
  );
}

/** From what is intended to what should be on each switch: a pure function, so that it can be computed again at any time by anybody. */
export class IntentBook {
  readonly #intentions: Intentions;
  readonly #whole: Paths;
  readonly #left: Paths;

  readonly #basis: IntentBasis;

  /** @param basis of the same topology */
  constructor(intentions: Intentions, basis: IntentBasis = new IntentBasis(intentions.topology)) {
    this.#intentions = intentions;
    this.#basis = basis;
    this.#whole = basis.paths.whole;
    this.#left = basis.paths.under(intentions.outage ?? NO_OUTAGE);
  }

  /** Can a switch send to all hosts of a job as the network is now? */
  reaches(name: string, { workers, server }: Placement): boolean {
    const { topology, outage } = this.#intentions;
    if (outage?.switches.has(name) === true) return false;
    return [...workers, server].every((hostName) => {
      const host = hostNamed(topology, hostName);
      // One that is cut off from everything is out of reach from anywhere: it decides nothing.
      const isCutOff = host.attachments.every((a) => outage?.switches.has(a.switch) === true);
      return isCutOff || portTowards(this.#left, name, host) !== undefined;
    });
  }

  /** @param apiVersion of the switch's server. @throws EntityError, TopologyError */
  intentOf(name: string, schema: Schema, apiVersion?: string): Intent {
    const { topology, aggregation, room, placements = [], everywhere = [], own } = this.#intentions;
    const entities = new EntityBuilder(schema, apiVersion);
    const { pool, routes } = this.#basis;
    const parts: (readonly Entity[])[] = [];
    const wanted: Entity[] = [];
    const add = (entry: WantedEntry): void => {
      wanted.push(
        entities.tableEntry(entry.table, entry.match, entry.action, entry.params, { metadata: OWNER }),
      );
    };
    const share = (entry: WantedEntry): void => {
      wanted.push(pool.entry(entities, entry));
    };
    const families = [IPV4, IPV6].filter((f) => schema.tables.find(`${f.control}.route`) !== undefined);
    if (families.length > 0) {
      const what = `${name} ${families.map((f) => f.control).join()} ${room?.groups} ${room?.members} ${room?.spray}`;
      const own = routeParts(name, this.#whole, this.#left, room, families);
      parts.push(...routes.of(schema, what, own, (entry) => pool.entry(entities, entry)));
    }
    for (const { group, members, active } of flowGroups(name, this.#whole, this.#left, room)) {
      for (const { id, port, mac } of members)
        wanted.push(entities.member(NEXT_HOPS, id, "ecmp.to_next_hop", { port, dst_mac: mac }));
      wanted.push(
        entities.group(NEXT_HOPS, group + 1, active),
        entities.tableEntry("ecmp.flow", { group }, { group: group + 1 }, {}, { metadata: OWNER }),
      );
    }
    if (schema.tables.find(PROBE_TABLE) !== undefined)
      for (const port of linkPorts(topology, name))
        share({ table: PROBE_TABLE, match: { port }, action: "probe.to_controller", params: {} });
    for (const entry of everywhere) share(entry);
    if (aggregation !== undefined) {
      for (const port of aggregation.options.result === "ps" ? portsOf(topology, name) : [])
        wanted.push(entities.cloneSession(ackSession(port), [{ port, instance: 1 }]));
      for (const placement of placements) {
        if (placement.on !== name) continue;
        const towards: PortTowards = (on, host) => portTowards(this.#left, on, host);
        for (const { id, replicas } of jobGroups(topology, aggregation, placement, towards))
          wanted.push(entities.multicastGroup(id, replicas));
        for (const entry of jobEntries(topology, aggregation, placement, towards)) add(entry);
      }
    }
    for (const entry of own?.get(name) ?? []) wanted.push(userEntity(entities, entry, OWNER));
    parts.push(wanted);
    return { entities: parts.flat(), parts, tableRank: rankOf(schema) };
  }
}

/** Ports by which answers leave: those of hosts, and of links. */
function portsOf(topology: Topology, name: string): readonly number[] {
  const ports = new Set<number>();
  for (const host of topology.hosts) {
    const port = portOf(host, name);
    if (port !== undefined) ports.add(port);
  }
  for (const port of linkPorts(topology, name)) ports.add(port);
  return [...ports].sort((a, b) => a - b);
}

function linkPorts(topology: Topology, name: string): readonly number[] {
  return (topology.links ?? []).flatMap(({ ends }) =>
    ends.flatMap((end) => (end.switch === name ? [end.port] : [])),
  );
}

function rankOf(schema: Schema): ReadonlyMap<number, number> {
  const ranks = new Map<number, number>();
  for (const [table, rank] of Object.entries({
    ...ROUTING_RANK,
    "admission.member": 3,
    "copies.worker": 3,
  })) {
    const found = schema.tables.find(table);
    if (found !== undefined) ranks.set(found.id, rank);
  }
  return ranks;
}
