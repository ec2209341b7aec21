import { linkName, type Topology, TopologyError } from "./topology.ts";

/** What of a topology does not work, or is not to be used. */
export interface Outage {
  /** Switches that nothing goes through. */
  readonly switches: ReadonlySet<string>;
  /** Links by `linkName`. */
  readonly links: ReadonlySet<string>;
  /** Switches that still work, but are emptied: paths avoid them where there are others. */
  readonly drained: ReadonlySet<string>;
}

export const NO_OUTAGE: Outage = { switches: new Set(), links: new Set(), drained: new Set() };

/** A neighbour on a shortest path, and how to get there. */
export interface Hop {
  readonly to: string;
  readonly port: number;
  readonly weight: number;
}

/** Shortest paths under one outage, each computed once. */
export class Paths {
  readonly topology: Topology;
  readonly outage: Outage;
  readonly #towards = new Map<string, ReadonlyMap<string, readonly Hop[]>>();
  /** The same by the set itself, for those who ask with one and the same. */
  readonly #bySet = new WeakMap<ReadonlySet<string>, ReadonlyMap<string, readonly Hop[]>>();
  readonly #edges: Edges;
  readonly #macs: ReadonlyMap<string, string>;

  constructor(topology: Topology, outage: Outage = NO_OUTAGE) {
    this.topology = topology;
    this.outage = outage;
    this.#edges = edgesOf(topology, outage);
    this.#macs = new Map(topology.switches.map(({ name, mac }) => [name, mac]));
  }

  /** The address of a switch. @throws TopologyError */
  macOf(name: string): string {
    const mac = this.#macs.get(name);
    if (mac === undefined) throw new TopologyError(`there is no switch ${name}`);
    return mac;
  }

  /** The next hops of a switch on its way to a set of switches; none where there is no way, or it is there. */
  hops(from: string, to: ReadonlySet<string>): readonly Hop[] {
    const known = this.#bySet.get(to);
    if (known !== undefined) return known.get(from) ?? [];
    const key = [...to].sort().join(" ");
    const hops = this.#towards.get(key) ?? hopsAlong(this.#edges, this.topology, this.outage, to);
    this.#towards.set(key, hops);
    this.#bySet.set(to, hops);
    return hops.get(from) ?? [];
  }
}

/** Outages whose paths are kept. */
const KEPT = 16;

/** The paths of one topology under the outages that were asked for last: whoever plans anew for the same outage need not compute them. */
export class PathCache {
  readonly #topology: Topology;
  readonly #known = new Map<string, Paths>();
  readonly whole: Paths;

  constructor(topology: Topology) {
    this.#topology = topology;
    this.whole = new Paths(topology);
  }

  under(outage: Outage): Paths {
    const key = outageKey(outage);
    if (key === NO_OUTAGE_KEY) return this.whole;
    const paths = this.#known.get(key) ?? new Paths(this.#topology, outage);
    // The one that was used last is the last to go.
    this.#known.delete(key);
    this.#known.set(key, paths);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= KEPT) break;
      this.#known.delete(oldest);
    }
    return paths;
  }
}

/** Equal texts: the same is out. */
export function outageKey({ switches, links, drained }: Outage): string {
  return [switches, links, drained].map((set) => [...set].sort().join()).join("|");
}

const NO_OUTAGE_KEY = outageKey(NO_OUTAGE);

type Edges = ReadonlyMap<string, readonly Hop[]>;

/** More than any path is long: a drained switch is the last resort. */
const DETOUR = 1_000_000;

/**
 * The next hops of all shortest paths from each switch to a set of switches; those that are in the set or cannot reach it have none. The
 * order of hops is that of the topology's links, whatever is out.
 */
export function nextHops(
  topology: Topology,
  outage: Outage,
  to: ReadonlySet<string>,
): ReadonlyMap<string, readonly Hop[]> {
  return hopsAlong(edgesOf(topology, outage), topology, outage, to);
}

function hopsAlong(
  edges: Edges,
  topology: Topology,
  outage: Outage,
  to: ReadonlySet<string>,
): ReadonlyMap<string, readonly Hop[]> {
  const distance = new Map<string, number>();
  const cost = (name: string): number => (outage.drained.has(name) ? DETOUR : 1);
  // There are few different distances: switches that are to be looked at, by theirs.
  const open = new Map<number, string[]>();
  const reach = (name: string, at: number): void => {
    distance.set(name, at);
    const others = open.get(at);
    if (others === undefined) open.set(at, [name]);
    else others.push(name);
  };
  for (const name of to) {
    if (outage.switches.has(name)) continue;
    reach(name, 0);
  }
  while (open.size > 0) {
    const at = Math.min(...open.keys());
    const nearest = open.get(at) ?? [];
    open.delete(at);
    for (const name of nearest) {
      if (distance.get(name) !== at) continue; // a shorter way was found since
      const through = at + (to.has(name) ? 1 : cost(name));
      for (const edge of edges.get(name) ?? []) {
        const known = distance.get(edge.to);
        if (known === undefined || known > through) reach(edge.to, through);
      }
    }
  }
  const hops = new Map<string, readonly Hop[]>();
  for (const { name } of topology.switches) {
    const own = distance.get(name);
    if (own === undefined || to.has(name) || outage.switches.has(name)) continue;
    const shortest = (edges.get(name) ?? []).filter((edge) => {
      const rest = distance.get(edge.to);
      return rest !== undefined && rest + (to.has(edge.to) ? 1 : cost(edge.to)) === own;
    });
    hops.set(name, shortest);
  }
  return hops;
}

function edgesOf(topology: Topology, outage: Outage): Edges {
  const edges = new Map<string, Hop[]>();
  for (const { ends, weight = 1 } of topology.links ?? []) {
    if (outage.links.has(linkName(ends)) || ends.some((end) => outage.switches.has(end.switch))) continue;
    for (const [from, to] of [ends, [ends[1], ends[0]] as const]) {
      const list = edges.get(from.switch) ?? [];
      list.push({ to: to.switch, port: from.port, weight });
      edges.set(from.switch, list);
    }
  }
  return edges;
}
