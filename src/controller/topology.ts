import type { TlsOptions } from "../p4runtime/index.ts";

/** A switch that the controller steers. */
export interface SwitchNode {
  readonly name: string;
  /** host:port of its P4Runtime server. */
  readonly target: string;
  readonly deviceId: bigint;
  /** Its own address: where aggregation requests go. */
  readonly mac: string;
  readonly ipv4: string;
  /** For programs that forward IPv6, too. */
  readonly ipv6?: string;
  /** Plain text unless given. */
  readonly tls?: TlsOptions;
}

/** A cable between two switches. */
export interface LinkNode {
  readonly ends: readonly [LinkEnd, LinkEnd];
  /** Share of traffic among equal paths, a whole number: 1. */
  readonly weight?: number;
}

export interface LinkEnd {
  readonly switch: string;
  readonly port: number;
}

/** An end host; `attachments` tells at which port of which switch it is plugged in. */
export interface HostNode {
  readonly name: string;
  readonly mac: string;
  readonly ipv4: string;
  /** For programs that forward IPv6, too. */
  readonly ipv6?: string;
  readonly attachments: readonly { readonly switch: string; readonly port: number }[];
}

export interface Topology {
  readonly switches: readonly SwitchNode[];
  readonly hosts: readonly HostNode[];
  readonly links?: readonly LinkNode[];
}

/** A topology that contradicts itself. */
export class TopologyError extends Error {
  override readonly name = "TopologyError";
}

/** Finds names, addresses and devices used twice, hosts plugged into nothing, two hosts on one port. */
export function checkTopology(t: Topology): void {
  const names = new Set<string>();
  const addresses = new Map<string, string>();
  for (const { name, ipv4, ipv6 } of [...t.switches, ...t.hosts]) {
    if (names.has(name)) throw new TopologyError(`two nodes are named ${name}`);
    names.add(name);
    for (const address of ipv6 === undefined ? [ipv4] : [ipv4, ipv6]) {
      const other = addresses.get(address);
      if (other !== undefined)
        throw new TopologyError(`${other} and ${name} have the same address ${address}`);
      addresses.set(address, name);
    }
  }
  const devices = new Map<string, string>();
  for (const { name, target, deviceId } of t.switches) {
    const device = `device ${deviceId} at ${target}`;
    const other = devices.get(device);
    if (other !== undefined) throw new TopologyError(`${other} and ${name} are both ${device}`);
    devices.set(device, name);
  }
  const ports = new Map<string, string>();
  for (const host of t.hosts) {
    for (const { switch: name, port } of host.attachments) {
      if (!t.switches.some((s) => s.name === name)) {
        throw new TopologyError(
          `host ${host.name} is plugged into ${name}, which is not a switch of the topology`,
        );
      }
      const key = `${name} port ${port}`;
      const other = ports.get(key);
      if (other !== undefined)
        throw new TopologyError(`${host.name} and ${other} are both plugged into ${key}`);
      ports.set(key, host.name);
    }
  }
  for (const { ends, weight = 1 } of t.links ?? []) {
    const name = linkName(ends);
    if (ends[0].switch === ends[1].switch) throw new TopologyError(`link ${name} joins a switch to itself`);
    if (!Number.isInteger(weight) || weight < 1 || weight > 16)
      throw new TopologyError(`link ${name} has the weight ${weight}; it may be 1 to 16`);
    for (const end of ends) {
      if (!t.switches.some((s) => s.name === end.switch))
        throw new TopologyError(`link ${name} ends at ${end.switch}, which is not a switch of the topology`);
      const key = `${end.switch} port ${end.port}`;
      const other = ports.get(key);
      if (other !== undefined) throw new TopologyError(`${name} and ${other} are both plugged into ${key}`);
      ports.set(key, `link ${name}`);
    }
  }
}

/** How a link is spoken of: `leaf1:4 - spine1:0`. */
export function linkName([a, b]: LinkNode["ends"]): string {
  return `${a.switch}:${a.port} - ${b.switch}:${b.port}`;
}

export function hostNamed(t: Topology, name: string): HostNode {
  const host = t.hosts.find((h) => h.name === name);
  if (host === undefined) throw new TopologyError(`there is no host ${name}`);
  return host;
}

export function switchNamed(t: Topology, name: string): SwitchNode {
  const node = t.switches.find((s) => s.name === name);
  if (node === undefined) throw new TopologyError(`there is no switch ${name}`);
  return node;
}

/** The port of a switch at which a host is plugged in. */
export function portOf(host: HostNode, switchName: string): number | undefined {
  return host.attachments.find((a) => a.switch === switchName)?.port;
}
