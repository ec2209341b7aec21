import { type Hop, Paths } from "./paths.ts";
import {
  type HostNode,
  portOf,
  type SwitchNode,
  switchNamed,
  type Topology,
  TopologyError,
} from "./topology.ts";
import type { WantedEntry } from "./wantedstate.ts";

/** Room for groups of next hops in a program with `ecmp`. */
export interface GroupRoom {
  readonly groups: number;
  /** Most members of a group. */
  readonly members: number;
  /** Whose packets go round robin over a group, as the program has it; the others keep to one path per flow. Default: all. */
  readonly spray?: "all" | "gradient" | "none";
}

/** A group of next hops of flows, with what the action selector holds for it. */
export interface FlowGroup {
  readonly group: number;
  /** All members that the group has in good times: they stay, whatever is out. */
  readonly members: readonly { readonly id: number; readonly port: number; readonly mac: string }[];
  /** Those that are in the group now, with their weights and the ports whose loss the switch itself sees. */
  readonly active: readonly {
    readonly member: number;
    readonly weight: number;
    readonly watchPort: number;
  }[];
}

/** A version of IP that a program forwards, and where the routes are. */
export interface RouteFamily {
  /** The control of the program; its table is `route`. */
  readonly control: "forwarding" | "forwarding6";
  readonly addressOf: (node: { readonly ipv4: string; readonly ipv6?: string }) => string | undefined;
  readonly bits: number;
}

export const IPV4: RouteFamily = { control: "forwarding", addressOf: ({ ipv4 }) => ipv4, bits: 32 };
/** Of nodes that have such an address. */
export const IPV6: RouteFamily = { control: "forwarding6", addressOf: ({ ipv6 }) => ipv6, bits: 128 };

/**
 * Where a switch sends packets for all hosts and switches of the topology, along the shortest paths: a pure function.
 *
 * Hosts behind the same switches share a group of next hops, whose number never changes: when a link or switch is lost, the members of
 * groups change and routes stay. Without groups a destination keeps to one of its paths.
 *
 * @param whole paths while everything works; @param left those that an outage leaves.
 * @param room undefined for a program that has no groups.
 * @param families what the program forwards; both versions take the same paths.
 */
export function routeEntries(
  name: string,
  whole: Paths,
  left: Paths,
  room: GroupRoom | undefined,
  families: readonly RouteFamily[] = [IPV4],
): readonly WantedEntry[] {
  return routeParts(name, whole, left, room, families).flatMap((part) => part.entries());
}

/** The entries for the destinations at one place. They are the same ones as long as their next hops are. */
export interface RoutePart {
  readonly hops: readonly Hop[];
  entries(): readonly WantedEntry[];
}

/** `routeEntries` by place, always in the same order: the first part is the switch's own address. */
export function routeParts(
  name: string,
  whole: Paths,
  left: Paths,
  room: GroupRoom | undefined,
  families: readonly RouteFamily[],
): readonly RoutePart[] {
  const { topology } = whole;
  const own = switchNamed(topology, name);
  const towards = (
    node: Parameters<RouteFamily["addressOf"]>[0],
    action: "to_local" | "to_port" | "to_group",
    params: WantedEntry["params"],
  ): readonly WantedEntry[] =>
    families.flatMap(({ control, addressOf, bits }) => {
      const address = addressOf(node);
      if (address === undefined) return [];
      const match = { dst_addr: `${address}/${bits}` };
      return [{ table: `${control}.route`, match, action: `${control}.${action}`, params }];
    });
  const parts: RoutePart[] = [{ hops: [], entries: () => towards(own, "to_local", {}) }];
  for (const [index, place] of placesOf(topology).entries()) {
    const direct = place.switches.has(name);
    const healthy = direct ? [] : whole.hops(name, place.switches);
    const hops = direct ? [] : left.hops(name, place.switches);
    const entries = (): readonly WantedEntry[] => {
      const list: WantedEntry[] = [];
      const asGroup = room !== undefined && slots(healthy).length > 1;
      if (asGroup) checkRoom(index, healthy, room);
      if (asGroup && slots(hops).length > 0 && room.spray !== "none")
        list.push(...groupOf(whole, index, remaining(healthy, hops), room));
      for (const node of place.nodes) {
        const port = "attachments" in node ? portOf(node, name) : undefined;
        if (port !== undefined) list.push(...towards(node, "to_port", { port, dst_mac: node.mac }));
        else if (asGroup && hops.length > 0) list.push(...towards(node, "to_group", { group: index }));
        else {
          const hop = chosen(hops, node.ipv4);
          if (hop !== undefined)
            list.push(...towards(node, "to_port", { port: hop.port, dst_mac: whole.macOf(hop.to) }));
        }
      }
      return list;
    };
    parts.push({ hops, entries });
  }
  return parts;
}

/**
 * The groups of next hops of flows that a switch has, for programs where some packets keep to one path per flow. Members and groups are
 * always there, so that a loss is one change of a group: the weights of the others stay as they are.
 */
export function flowGroups(
  name: string,
  whole: Paths,
  left: Paths,
  room: GroupRoom | undefined,
): readonly FlowGroup[] {
  if (room === undefined || (room.spray ?? "all") === "all") return [];
  const { topology } = whole;
  return [...placesOf(topology).entries()].flatMap(([group, place]): readonly FlowGroup[] => {
    const healthy = place.switches.has(name) ? [] : whole.hops(name, place.switches);
    if (slots(healthy).length <= 1) return [];
    checkRoom(group, healthy, room);
    const hops = left.hops(name, place.switches);
    // Detours take part as long as they are the shortest paths there are.
    const all = [...healthy, ...hops.filter((hop) => !healthy.some((h) => h.port === hop.port))];
    // 0 is no number of a member; ports tell the members of a group apart.
    const first = group * room.members + 1;
    const ids = new Map(all.map((hop, i) => [hop.port, first + i]));
    const active = hops.slice(0, room.members).map(({ port, weight }) => ({
      member: ids.get(port) ?? first,
      weight,
      watchPort: port,
    }));
    const members = all.slice(0, room.members).map((hop) => ({
      id: ids.get(hop.port) ?? first,
      port: hop.port,
      mac: whole.macOf(hop.to),
    }));
    return [{ group, members, active: active.filter(({ member }) => members.some((m) => m.id === member)) }];
  });
}

function checkRoom(group: number, hops: readonly Hop[], room: GroupRoom): void {
  const turns = slots(hops).length;
  if (group >= room.groups)
    throw new TopologyError(`the topology needs group ${group} of next hops; the program has ${room.groups}`);
  if (turns > room.members)
    throw new TopologyError(
      `group ${group} has ${turns} next hops, weights counted; the program takes ${room.members}`,
    );
}

/**
 * Has the program room for all groups of next hops that the topology needs while everything works? What an outage leaves always fits then.
 *
 * @throws TopologyError that says what is too small.
 */
export function checkGroups(
  topology: Topology,
  room: GroupRoom | undefined,
  whole = new Paths(topology),
): void {
  if (room === undefined) return;
  const places = placesOf(topology);
  for (const { name } of topology.switches) {
    for (const [group, place] of places.entries()) {
      const healthy = place.switches.has(name) ? [] : whole.hops(name, place.switches);
      if (slots(healthy).length > 1) checkRoom(group, healthy, room);
    }
  }
}

/** The port by which a switch reaches a host: its own, or the first hop of a shortest path. */
export function portTowards(paths: Paths, on: string, host: HostNode): number | undefined {
  const places = new Set(host.attachments.map((a) => a.switch));
  return portOf(host, on) ?? chosen(paths.hops(on, places), host.ipv4)?.port;
}

/** Tables in the order in which their entries lead to each other: members, groups, routes. */
export const ROUTING_RANK: Readonly<Record<string, number>> = {
  "ecmp.member": 0,
  "ecmp.group": 1,
  "forwarding.route": 2,
  "forwarding6.route": 2,
};

interface Place {
  readonly switches: ReadonlySet<string>;
  readonly nodes: readonly (HostNode | SwitchNode)[];
}

const PLACES = new WeakMap<Topology, readonly Place[]>();

/** Destinations by the switches that they are plugged into, in an order that no outage changes. */
function placesOf(topology: Topology): readonly Place[] {
  const places = PLACES.get(topology) ?? newPlaces(topology);
  PLACES.set(topology, places);
  return places;
}

function newPlaces(topology: Topology): readonly Place[] {
  const places = new Map<string, { switches: Set<string>; nodes: Place["nodes"][number][] }>();
  const add = (switches: readonly string[], node: Place["nodes"][number]): void => {
    const key = [...switches].sort().join(" ");
    const place = places.get(key) ?? { switches: new Set(switches), nodes: [] };
    place.nodes.push(node);
    places.set(key, place);
  };
  for (const node of topology.switches) if ((topology.links ?? []).length > 0) add([node.name], node);
  for (const host of topology.hosts)
    add(
      host.attachments.map((a) => a.switch),
      host,
    );
  // The own address of a switch is no destination of its own routes.
  return [...places.values()];
}

/** @param hops one for each turn; a detour may have more than the best way had: as many as fit are enough. */
function groupOf(paths: Paths, group: number, hops: readonly Hop[], room: GroupRoom): readonly WantedEntry[] {
  const turns = hops.slice(0, room.members);
  const members = turns.map((hop, index) => ({
    table: "ecmp.member",
    match: { group, index },
    action: "ecmp.to_member",
    params: { port: hop.port, dst_mac: paths.macOf(hop.to) },
  }));
  return [
    ...members,
    { table: "ecmp.group", match: { group }, action: "ecmp.spray", params: { last: turns.length - 1 } },
  ];
}

/**
 * The turns that an outage leaves, with as few of them changed as can be: where a hop is gone, the last one that is left takes its turn. New
 * ways have an order of their own.
 */
function remaining(healthy: readonly Hop[], hops: readonly Hop[]): readonly Hop[] {
  const left = new Set(hops.map(({ port }) => port));
  const known = new Set(healthy.map(({ port }) => port));
  if (hops.some(({ port }) => !known.has(port))) return slots(hops);
  const turns = [...slots(healthy)];
  const isLeft = ({ port }: Hop): boolean => left.has(port);
  for (let i = 0; i < turns.length; i++) {
    for (let last = turns.at(-1); last !== undefined && !isLeft(last); last = turns.at(-1)) turns.pop();
    const own = turns[i];
    if (own === undefined || isLeft(own)) continue;
    const last = turns.pop();
    if (last !== undefined) turns[i] = last;
  }
  return turns;
}

/** Each hop as often as its weight says, spread out: 2:1 is a, b, a. */
function slots(hops: readonly Hop[]): readonly Hop[] {
  const most = Math.max(0, ...hops.map((hop) => hop.weight));
  return Array.from({ length: most }, (_, round) => hops.filter((hop) => hop.weight > round)).flat();
}

/** One of the paths, the same for one destination at all times: by its address. */
function chosen(hops: readonly Hop[], ipv4: string): Hop | undefined {
  const turns = slots(hops);
  const last = ipv4.split(".").reduce((sum, part) => sum * 31 + Number(part), 0);
  return turns[last % Math.max(1, turns.length)];
}
