import fc from "fast-check";
import type { WantedEntry } from "../../src/controller/wantedstate.ts";
import { baseState, jobEntries } from "../../src/controller/wantedstate.ts";
import {
  contentsOf,
  drop,
  type EcmpOptions,
  ecmp,
  type Feature,
  type FlowMember,
  flowGroup,
  groupEntries,
  hotAggregation,
  int32,
  ipv4Forwarding,
  ipv6Forwarding,
  priority,
  probe,
  program,
  telemetry,
} from "../../src/dsl/index.ts";
import type { Switch, SwitchOptions } from "../../src/switch/index.ts";
import { parseIpv4, parseMac } from "../../src/wire/address.ts";
import { newFrame, PAYLOAD_AT, parseFrame } from "../../src/wire/datagram.ts";
import { probeFrame } from "../../src/wire/probe.ts";
import { trafficPlan } from "../../src/wire/trafficclass.ts";
import {
  CHUNK,
  CPU,
  frameFrom,
  LANES,
  placements,
  ROWS,
  request,
  SWITCH,
  topology,
} from "./aggregationrequests.ts";
import { fill, insert, localSwitch, parseIpv6 } from "./localswitch.ts";

export const plan = trafficPlan();
/** Ports 0 to 5 have the hosts of the aggregation tests. */
export const MEMBERS = [
  { port: 5, mac: "02:00:00:00:01:05" },
  { port: 6, mac: "02:00:00:00:01:06" },
  { port: 7, mac: "02:00:00:00:01:07" },
];
export const GROUP = 2;
/** Sizes of ecmp. */
export const ROOM = { groups: 5, members: 4 };
/** Behind the group. */
export const FAR = "10.0.9.1";
/** Behind port 3. */
export const NEAR = "10.0.0.4";
export const NEAR_PORT = 3;
export const NEAR6 = "2001:db8::4";
export const NEAR6_MAC = "02:00:00:00:00:04";
export const FAR6 = "2001:db8:9::1";
export const SWITCH6 = "2001:db8::100";

export interface Subset {
  readonly priority: boolean;
  readonly drop: boolean;
  readonly ecmp: boolean;
  readonly aggregation: boolean;
  /** Whose packets ecmp sprays; all when left out. */
  readonly spray?: EcmpOptions["spray"];
  readonly telemetry?: boolean;
  readonly ipv6?: boolean;
  readonly probe?: boolean;
}

const both = [false, true];
export const subsets: readonly (Subset & { readonly name: string })[] = [
  ...both.flatMap((aggregation) =>
    both.flatMap((p) =>
      both.flatMap((d) =>
        both.map((e) => {
          const subset = { aggregation, priority: p, drop: d, ecmp: e };
          const names = Object.entries(subset).filter(([, has]) => has);
          return { ...subset, name: names.map(([n]) => n).join("_") || "plain" };
        }),
      ),
    ),
  ),
  ...(["gradient", "none"] as const).flatMap((spray) =>
    both.map((others) => ({
      ...{ priority: others, drop: others, aggregation: others, ecmp: true, spray },
      name: others ? `all_spray_${spray}` : `spray_${spray}`,
    })),
  ),
  ...newer(),
];

/** Each of the newer features alone, with each of the others, and all at once. */
function newer(): readonly (Subset & { readonly name: string })[] {
  const none = { aggregation: false, priority: false, drop: false, ecmp: false };
  const everything = { aggregation: true, priority: true, drop: true, ecmp: true };
  const with_ = (name: string, of: Partial<Subset>) => ({ ...none, ...of, name });
  return [
    with_("telemetry", { telemetry: true }),
    with_("ipv6", { ipv6: true }),
    with_("ipv6_telemetry_priority", { ipv6: true, telemetry: true, priority: true }),
    with_("ipv6_drop", { ipv6: true, drop: true }),
    with_("ipv6_ecmp", { ipv6: true, ecmp: true }),
    with_("ipv6_telemetry_spray_none", { ipv6: true, telemetry: true, ecmp: true, spray: "none" }),
    with_("telemetry_aggregation", { telemetry: true, aggregation: true }),
    with_("ipv6_aggregation", { ipv6: true, aggregation: true }),
    with_("telemetry_dlcp", { telemetry: true, priority: true, drop: true, ecmp: true }),
    with_("probe", { probe: true }),
    with_("probe_telemetry_priority", { probe: true, telemetry: true, priority: true }),
    with_("probe_ipv6_aggregation", { probe: true, ipv6: true, aggregation: true }),
    with_("everything", { ...everything, ipv6: true, telemetry: true, probe: true, spray: "gradient" }),
  ];
}

/** Thresholds of the tests, by class: front layers drop first. */
export const KEEP = { 0: 2, 1: 8, 5: 4, 6: 1 };

const aggregation = hotAggregation({
  workers: 4,
  lanes: LANES,
  rows: ROWS,
  chunk: CHUNK,
  mode: int32,
  result: "ps",
});

/** The features of a subset, in an order that makes no difference. */
function featuresOf(s: Subset): readonly Feature[] {
  return [
    ...(s.ecmp ? [ecmp({ ...ROOM, spray: s.spray ?? "all" })] : []),
    ...(s.drop ? [drop({ keep: KEEP })] : []),
    ...(s.aggregation ? [aggregation] : []),
    ipv4Forwarding(),
    ...(s.priority ? [priority()] : []),
    ...(s.ipv6 === true ? [ipv6Forwarding()] : []),
    ...(s.telemetry === true ? [telemetry()] : []),
    ...(s.probe === true ? [probe()] : []),
  ];
}

export function programOf(s: Subset & { readonly name?: string }) {
  return program(s.name ?? "traffic", {
    ports: 8,
    ...(s.aggregation || s.probe === true ? { cpuPort: CPU } : {}),
    ...(s.priority ? { priorityQueues: 8 } : {}),
    features: featuresOf(s),
  });
}

/** Everything that a program of the subset needs in its tables. */
export function entriesOf(s: Subset): readonly WantedEntry[] {
  const toGroup = {
    table: "forwarding.route",
    match: { dst_addr: "10.0.9.0/24" },
    action: "forwarding.to_group",
    params: { group: GROUP },
  };
  return [
    ...baseState(topology, "s1").entries,
    ...(s.ecmp ? [toGroup] : []),
    ...(s.ipv6 === true ? routes6(s) : []),
    ...(s.probe === true ? [linkPort] : []),
    ...(s.ecmp && s.spray !== "none" ? groupEntries(GROUP, MEMBERS) : []),
    ...contentsOf(programOf(s).ir),
    ...(s.aggregation ? placements.flatMap((p) => [...jobEntries(topology, aggregation, p)]) : []),
  ];
}

/** A port at which another switch is, as the tests have it. */
const linkPort: WantedEntry = {
  table: "probe.link",
  match: { port: 1 },
  action: "probe.to_controller",
  params: {},
};

function routes6(s: Subset): readonly WantedEntry[] {
  const route = (dst_addr: string, action: string, params: WantedEntry["params"]): WantedEntry => ({
    table: "forwarding6.route",
    match: { dst_addr },
    action: `forwarding6.${action}`,
    params,
  });
  return [
    route("2001:db8::/64", "no_route", {}),
    route(`${NEAR6}/128`, "to_port", { port: NEAR_PORT, dst_mac: NEAR6_MAC }),
    route(`${SWITCH6}/128`, "to_local", {}),
    ...(s.ecmp ? [route("2001:db8:9::/48", "to_group", { group: GROUP })] : []),
  ];
}

/** An embedded switch with the program of the subset, its tables filled; with another compiler's JSON if given. */
export function switchOf(s: Subset, json?: Uint8Array, options: SwitchOptions = {}): Switch {
  const { ir } = programOf(s);
  const sw = localSwitch(ir, json, options);
  fill(sw, ir, { entries: entriesOf(s), cloneSessions: baseState(topology, "s1").cloneSessions });
  if (s.ecmp && (s.spray ?? "all") !== "all") insertFlowGroup(sw, GROUP, MEMBERS);
  return sw;
}

/** A group of next hops of flows, as the control plane writes it. */
export function insertFlowGroup(sw: Switch, number: number, hops: readonly FlowMember[]): void {
  const { profile, members, group, entry } = flowGroup({ ...ROOM, spray: "none" }, number, hops);
  const selector = sw.profile(profile);
  for (const { id, action, params } of members)
    selector.insertMember(id, {
      action,
      parameters: [BigInt(params.port), BigInt(parseMac(params.dst_mac))],
    });
  selector.insertGroup(group.id, group.members);
  const match = [{ kind: "exact" as const, value: BigInt(entry.match.group) }];
  sw.table(entry.table).insert(match, { kind: "group", group: entry.group });
}

/** For updates at run time. */
export function insertInto(sw: Switch, s: Subset, entry: WantedEntry): void {
  insert(sw, programOf(s).ir, entry);
}

export interface Sent {
  readonly to?: string;
  readonly dscp?: number;
  readonly ecn?: number;
  /** Comes out at the other end. */
  readonly id?: number;
  /** Source port of UDP: another flow. */
  readonly flow?: number;
  readonly ttl?: number;
}

export function frame({ to = NEAR, dscp = 0, ecn = 0, id = 0, ttl = 64, flow = 1000 }: Sent): Uint8Array {
  const made = newFrame(
    {
      srcMac: parseMac("02:00:00:00:00:01"),
      dstMac: parseMac(SWITCH.mac),
      srcIp: parseIpv4("10.0.0.1"),
      dstIp: parseIpv4(to),
      srcPort: flow,
      dstPort: 2000,
      dscp,
      ecn,
    },
    4,
  );
  new DataView(made.buffer).setUint32(PAYLOAD_AT, id);
  if (ttl !== 64) {
    // Time to live is the high byte of its checksum word: the sum falls by what the checksum gains (RFC 1624).
    made[22] = ttl;
    const at = 24;
    let sum = (((made[at] ?? 0) << 8) | (made[at + 1] ?? 0)) + ((64 - ttl) << 8);
    while (sum > 0xffff || sum < 0) sum = sum < 0 ? sum + 0xffff : (sum & 0xffff) + (sum >>> 16);
    made[at] = sum >> 8;
    made[at + 1] = sum & 255;
  }
  return made;
}

export interface Sent6 extends Sent {
  readonly from?: string;
  readonly nextHeader?: number;
  readonly version?: number;
}

/** The same over IPv6: 8 bytes of UDP and the id behind it. */
export function frame6({
  to = NEAR6,
  from = "2001:db8::1",
  dscp = 0,
  ecn = 0,
  id = 0,
  ttl = 64,
  flow = 1000,
  nextHeader = 17,
  version = 6,
}: Sent6): Uint8Array {
  const made = new Uint8Array(14 + 40 + 12);
  const view = new DataView(made.buffer);
  const address = (at: number, text: string): void => {
    const bits = parseIpv6(text);
    view.setBigUint64(at, bits >> 64n);
    view.setBigUint64(at + 8, bits & 0xffff_ffff_ffff_ffffn);
  };
  made.set(frame({}).subarray(0, 12));
  view.setUint16(12, 0x86dd);
  view.setUint32(14, ((version << 28) | (dscp << 22) | (ecn << 20)) >>> 0);
  view.setUint16(18, 12);
  made[20] = nextHeader;
  made[21] = ttl;
  address(22, from);
  address(38, to);
  view.setUint16(54, flow);
  view.setUint16(56, 2000);
  view.setUint16(58, 12);
  view.setUint32(62, id);
  return made;
}

export interface Arrived {
  readonly port: number;
  readonly id: number;
  readonly dscp: number;
  readonly ecn: number;
  readonly ttl: number;
  readonly dstMac: number;
}

/** A frame that left the switch; fails the test when hosts would refuse it, for its checksum say. */
export function arrived(port: number, data: Uint8Array): Arrived {
  const open = parseFrame(data);
  if ("refused" in open) throw new Error(`the switch sent a frame that hosts refuse: ${open.refused}`);
  const { payload, dscp, ecn, dstMac } = open;
  const id = new DataView(payload.buffer, payload.byteOffset).getUint32(0);
  return { port, id, dscp, ecn, ttl: data[22] ?? 0, dstMac };
}

/** Sends packets at one moment to a switch with paced ports, and waits until all have left. */
export function burst(sw: Switch, packets: readonly Sent[], now = 0): readonly Arrived[] {
  const out: Arrived[] = [];
  const sink: Parameters<Switch["handle"]>[2] = (action) => {
    if (action.kind === "transmit") out.push(arrived(action.port, action.data));
  };
  for (const packet of packets) sw.handle({ kind: "packet", port: 0, data: frame(packet) }, now, sink);
  for (let at = sw.nextWakeup(); at !== undefined; at = sw.nextWakeup()) sw.tick(at, sink);
  return out;
}

export function counts(
  sw: Switch,
  counter: string,
  cells: readonly string[],
): Readonly<Record<string, number>> {
  return Object.fromEntries(cells.map((name, i) => [name, Number(sw.counter(counter).read(i).packets)]));
}

/** Link probes, from links and from hosts. */
export const probes = fc
  .record({ port: fc.nat(4), sequence: fc.nat(0xffff), length: fc.constantFrom(60, 60, 60, 20, 13) })
  .map(({ port, sequence, length }) => ({
    port,
    data: probeFrame({ device: 9n, port: 4, session: 1, sequence }, parseMac("02:00:00:00:00:07")).slice(
      0,
      length,
    ),
  }));

const someDscp = fc.constantFrom(0, 10, 63, plan.control.dscp, ...plan.gradients.map((g) => g.dscp));

/** The same over IPv6, with some that go no further than their link. */
export const traffic6 = fc
  .record({
    port: fc.nat(4),
    to: fc.constantFrom(
      NEAR6,
      NEAR6,
      FAR6,
      FAR6,
      SWITCH6,
      "2001:db8::7",
      "ff02::1",
      "fe80::1",
      "2001:db9::1",
    ),
    from: fc.constantFrom("2001:db8::1", "2001:db8::1", "2001:db8::2", "fe80::2"),
    dscp: someDscp,
    ecn: fc.nat(3),
    id: fc.nat(0xffff),
    flow: fc.integer({ min: 1000, max: 1020 }),
    ttl: fc.constantFrom(64, 64, 64, 1, 0),
    nextHeader: fc.constantFrom(17, 17, 6, 44, 58),
    version: fc.constantFrom(6, 6, 6, 6, 6, 4),
    length: fc.constantFrom(66, 66, 66, 66, 55, 50, 30),
  })
  .map(({ port, length, ...sent }) => ({ port, data: frame6(sent).slice(0, length) }));

/** Ordinary packets of all classes, to both places and nowhere, and aggregation requests among them. */
export const traffic: fc.Arbitrary<{ readonly port: number; readonly data: Uint8Array }> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .record({
        port: fc.nat(4),
        to: fc.constantFrom(NEAR, NEAR, FAR, FAR, "10.0.0.2", "10.7.7.7", SWITCH.ipv4),
        dscp: someDscp,
        ecn: fc.nat(3),
        id: fc.nat(0xffff),
        flow: fc.integer({ min: 1000, max: 1020 }),
        ttl: fc.constantFrom(64, 64, 64, 1, 0),
      })
      .map((r) => ({ port: r.port, data: frame(r) })),
  },
  {
    weight: 2,
    arbitrary: request({ mode: int32, result: "ps" })
      .filter(({ port }) => port !== CPU)
      .map(({ port, message }) => ({ port, data: frameFrom(port, message) })),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 60 }).map((data) => ({ port: 0, data })) },
);
