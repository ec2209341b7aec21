import { linkName, type Topology } from "./topology.ts";

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

  constructor(topology: Topology, outage: Outage = NO_OUTAGE) {
    this.topology = topology;
    this.outage = outage;
  }

  /** The next hops of a switch on its way to a set of switches; none where there is no way, or it is there. */
  hops(from: string, to: ReadonlySet<string>): readonly Hop[] {
    const key = [...to].sort().join(" ");
    let hops = this.#towards.get(key);
    if (hops === undefined) {
      hops = nextHops(this.topology, this.outage, to);
      this.#towards.set(key, hops);
    }
    return hops.get(from) ?? [];
  }
}

interface Edge extends Hop {
  readonly link: string;
}

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
  const edges = edgesOf(topology, outage);
  const distance = new Map<string, number>();
  const cost = (name: string): number => (outage.drained.has(name) ? DETOUR : 1);
  const open = new Set<string>();
  for (const name of to) {
    if (outage.switches.has(name)) continue;
    distance.set(name, 0);
    open.add(name);
  }
  while (open.size > 0) {
    let nearest: string | undefined;
    for (const name of open)
      if (nearest === undefined || (distance.get(name) ?? 0) < (distance.get(nearest) ?? 0)) nearest = name;
    if (nearest === undefined) break;
    open.delete(nearest);
    const through = (distance.get(nearest) ?? 0) + (to.has(nearest) ? 1 : cost(nearest));
    for (const edge of edges.get(nearest) ?? []) {
      const known = distance.get(edge.to);
      if (known !== undefined && known <= through) continue;
      distance.set(edge.to, through);
      open.add(edge.to);
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
    hops.set(
      name,
      shortest.map(({ to: neighbour, port, weight }) => ({ to: neighbour, port, weight })),
    );
  }
  return hops;
}

function edgesOf(topology: Topology, outage: Outage): ReadonlyMap<string, readonly Edge[]> {
  const edges = new Map<string, Edge[]>();
  for (const { ends, weight = 1 } of topology.links ?? []) {
    const link = linkName(ends);
    if (outage.links.has(link) || ends.some((end) => outage.switches.has(end.switch))) continue;
    for (const [from, to] of [ends, [ends[1], ends[0]] as const]) {
      const list = edges.get(from.switch) ?? [];
      list.push({ to: to.switch, port: from.port, weight, link });
      edges.set(from.switch, list);
    }
  }
  return edges;
}
