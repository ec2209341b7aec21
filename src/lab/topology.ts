import type { ForwardingRoute, NextHop } from "./forwardingswitch.ts";
import type { LinkOptions } from "./link.ts";

export interface LabEndpoint {
  readonly name: string;
  /** 48 bits. */
  readonly mac: number;
  /** Unsigned 32 bits. */
  readonly ip: number;
}

export interface SwitchPlace extends LabEndpoint {
  readonly ports: number;
  readonly routes: readonly ForwardingRoute[];
}

export interface CablePlan {
  /** A host's name, or a switch's with a port: `h0`, `leaf1:16`. */
  readonly a: string;
  readonly b: string;
  readonly options: LinkOptions;
}

/** A network as plain data: who is there, what is plugged into what, and where each switch sends what. */
export interface LabTopology {
  readonly name: string;
  readonly hosts: readonly LabEndpoint[];
  readonly switches: readonly SwitchPlace[];
  readonly cables: readonly CablePlan[];
}

/** Addresses of host and switch number i: 10.0.0.1 on and 10.1.0.1 on. */
export function hostEndpoint(i: number, name = `h${i}`): LabEndpoint {
  return { name, mac: 0x020000000001 + i, ip: 0x0a000001 + i };
}

function switchEndpoint(i: number, name: string): LabEndpoint {
  return { name, mac: 0x020100000001 + i, ip: 0x0a010001 + i };
}

/** One switch, a host on each port. */
export function star(hosts: number, link: LinkOptions = {}): LabTopology {
  const all = Array.from({ length: hosts }, (_, i) => hostEndpoint(i));
  const routes = all.map(({ ip, mac }, port) => ({ prefix: ip, length: 32, hops: [{ port, mac }] }));
  return {
    name: `star of ${hosts}`,
    hosts: all,
    switches: [{ ...switchEndpoint(0, "s0"), ports: hosts, routes }],
    cables: all.map(({ name }, port) => ({ a: name, b: `s0:${port}`, options: link })),
  };
}

export interface LeafSpineOptions {
  readonly leaves: number;
  readonly spines: number;
  readonly hostsPerLeaf: number;
  readonly hostLink?: LinkOptions;
  readonly uplink?: LinkOptions;
}

/** Leaves with hosts, each joined to every spine by one cable. Ports of a leaf: its hosts, then the spines. */
export function leafSpine(o: LeafSpineOptions): LabTopology {
  const { leaves, spines, hostsPerLeaf, hostLink = {}, uplink = {} } = o;
  const hosts = Array.from({ length: leaves * hostsPerLeaf }, (_, i) => hostEndpoint(i));
  const leafAt = (i: number) => switchEndpoint(i, `leaf${i}`);
  const spineAt = (i: number) => switchEndpoint(leaves + i, `spine${i}`);
  const toSpines: readonly NextHop[] = Array.from({ length: spines }, (_, s) => ({
    port: hostsPerLeaf + s,
    mac: spineAt(s).mac,
  }));
  const leafOf = (host: number): number => Math.floor(host / hostsPerLeaf);
  const leafSwitches = Array.from({ length: leaves }, (_, l) => ({
    ...leafAt(l),
    ports: hostsPerLeaf + spines,
    routes: hosts.map(({ ip, mac }, i) => ({
      prefix: ip,
      length: 32,
      hops: leafOf(i) === l ? [{ port: i % hostsPerLeaf, mac }] : toSpines,
    })),
  }));
  const spineSwitches = Array.from({ length: spines }, (_, s) => ({
    ...spineAt(s),
    ports: leaves,
    routes: hosts.map(({ ip }, i) => ({
      prefix: ip,
      length: 32,
      hops: [{ port: leafOf(i), mac: leafAt(leafOf(i)).mac }],
    })),
  }));
  return {
    name: `${leaves} leaves, ${spines} spines, ${hosts.length} hosts`,
    hosts,
    switches: [...leafSwitches, ...spineSwitches],
    cables: [
      ...hosts.map(({ name }, i) => ({
        a: name,
        b: `leaf${leafOf(i)}:${i % hostsPerLeaf}`,
        options: hostLink,
      })),
      ...leafSwitches.flatMap((_, l) =>
        spineSwitches.map((_, s) => ({
          a: `leaf${l}:${hostsPerLeaf + s}`,
          b: `spine${s}:${l}`,
          options: uplink,
        })),
      ),
    ],
  };
}

/** The simulated network of MLT (NSDI 2024, section 6): 144 hosts under 9 leaves, 4 spines, 100 Gbit/s everywhere, round trip 24 us. */
export function mltNetwork(): LabTopology {
  // Four cables each way between two racks: 24 us of delay in all, and 0.12 us per hop for a frame of 1500 bytes on top.
  const link = { rate: 100e9, delay: 0.003 };
  return leafSpine({ leaves: 9, spines: 4, hostsPerLeaf: 16, hostLink: link, uplink: link });
}

/** Bytes of buffer behind each port of that network. */
export const MLT_PORT_BUFFER = 512 * 1024;

/**
 * A fat tree of k-port switches (k even): k pods of k/2 edge and k/2 aggregation switches, (k/2)^2 cores, k^3/4 hosts. Ports of edge
 * and aggregation switches: k/2 down, then k/2 up.
 */
export function fatTree(k: number, link: LinkOptions = {}): LabTopology {
  if (!Number.isInteger(k) || k < 2 || k % 2 !== 0)
    throw new RangeError(`a fat tree has an even number of ports, not ${k}`);
  const half = k / 2;
  const perPod = half * half;
  const hosts = Array.from({ length: k * perPod }, (_, i) => hostEndpoint(i));
  const edgeAt = (pod: number, i: number) => switchEndpoint(pod * half + i, `edge${pod}.${i}`);
  const middleAt = (pod: number, i: number) => switchEndpoint(k * half + pod * half + i, `agg${pod}.${i}`);
  const coreAt = (i: number, j: number) => switchEndpoint(2 * k * half + i * half + j, `core${i}.${j}`);
  const range = (n: number) => Array.from({ length: n }, (_, i) => i);
  const podOf = (host: number): number => Math.floor(host / perPod);
  const edgeOf = (host: number): number => Math.floor((host % perPod) / half);
  const routes = (hops: (host: number, mac: number) => readonly NextHop[]): readonly ForwardingRoute[] =>
    hosts.map(({ ip, mac }, i) => ({ prefix: ip, length: 32, hops: hops(i, mac) }));
  const up = (macs: readonly number[]): readonly NextHop[] => macs.map((mac, i) => ({ port: half + i, mac }));
  const edges = range(k).flatMap((pod) =>
    range(half).map((e) => ({
      ...edgeAt(pod, e),
      ports: k,
      routes: routes((host, mac) =>
        podOf(host) === pod && edgeOf(host) === e
          ? [{ port: host % half, mac }]
          : up(range(half).map((m) => middleAt(pod, m).mac)),
      ),
    })),
  );
  const middles = range(k).flatMap((pod) =>
    range(half).map((m) => ({
      ...middleAt(pod, m),
      ports: k,
      routes: routes((host) =>
        podOf(host) === pod
          ? [{ port: edgeOf(host), mac: edgeAt(pod, edgeOf(host)).mac }]
          : up(range(half).map((j) => coreAt(m, j).mac)),
      ),
    })),
  );
  const cores = range(half).flatMap((m) =>
    range(half).map((j) => ({
      ...coreAt(m, j),
      ports: k,
      routes: routes((host) => [{ port: podOf(host), mac: middleAt(podOf(host), m).mac }]),
    })),
  );
  return {
    name: `fat tree of ${k}-port switches, ${hosts.length} hosts`,
    hosts,
    switches: [...edges, ...middles, ...cores],
    cables: [
      ...hosts.map(({ name }, i) => ({
        a: name,
        b: `edge${podOf(i)}.${edgeOf(i)}:${i % half}`,
        options: link,
      })),
      ...range(k).flatMap((pod) =>
        range(half).flatMap((e) =>
          range(half).map((m) => ({
            a: `edge${pod}.${e}:${half + m}`,
            b: `agg${pod}.${m}:${e}`,
            options: link,
          })),
        ),
      ),
      ...range(k).flatMap((pod) =>
        range(half).flatMap((m) =>
          range(half).map((j) => ({
            a: `agg${pod}.${m}:${half + j}`,
            b: `core${m}.${j}:${pod}`,
            options: link,
          })),
        ),
      ),
    ],
  };
}
