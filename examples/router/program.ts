/**
 * A plain layer-3 router with an access list. Nothing here is about training: it is written with the lower storey alone (headers, parser
 * states, tables, actions, counters), as any other switch may be.
 *
 *   gradplane build examples/router/program.ts
 */
import {
  bit,
  exactly,
  type Feature,
  inRange,
  intrinsic,
  lpm,
  type ProgramBuilder,
  program,
  type Steps,
  ternary,
  wireHeader,
} from "gradplane";

const PORTS = 32;
/** Where a Tofino has its CPU; BMv2 takes any number. */
const CPU = 192;

const ethernet = wireHeader("ethernet", { dst_addr: 48, src_addr: 48, ether_type: 16 });

const ipv4 = wireHeader("ipv4", {
  version: 4,
  ihl: 4,
  diffserv: 8,
  total_len: 16,
  identification: 16,
  flags: 3,
  frag_offset: 13,
  ttl: 8,
  protocol: 8,
  hdr_checksum: 16,
  src_addr: 32,
  dst_addr: 32,
});

const ports = wireHeader("ports", { src_port: 16, dst_port: 16 }, "TCP and UDP begin alike.");

const toController = wireHeader("to_controller", {
  ingress_port: 9,
  padding: 7,
  reason: [8, "why the packet is here"],
});

/** What became of a packet; cells of counter `router.events`. */
export const EVENTS = [
  "routed",
  "punt_self",
  "punt_ttl",
  "drop_not_ipv4",
  "drop_checksum",
  "drop_denied",
  "drop_no_route",
] as const;
type Event = (typeof EVENTS)[number];

/** Headers and metadata, and the states that read the headers. */
function stack(p: ProgramBuilder) {
  const hdr = {
    ethernet: p.header(ethernet),
    ipv4: p.header(ipv4),
    ports: p.header(ports),
    toController: p.packetIn(toController),
  };
  const etherType = p.constants("ETHERTYPE", bit(16), { IPV4: 0x0800 });
  const protocol = p.constants("PROTOCOL", bit(8), { TCP: 6, UDP: 17 });
  const parseIpv4 = p.parser.state("parse_ipv4");
  const parsePorts = p.parser.state("parse_ports");
  p.parser.state("start").extract(hdr.ethernet).select(hdr.ethernet.ether_type).on(etherType.IPV4, parseIpv4);
  // Later fragments and packets with options have no ports at a fixed place.
  parseIpv4
    .extract(hdr.ipv4)
    .select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol)
    .on([5, 0, protocol.TCP], parsePorts)
    .on([5, 0, protocol.UDP], parsePorts);
  parsePorts.extract(hdr.ports);
  p.checksum(hdr.ipv4, "hdr_checksum");
  return {
    ...hdr,
    code: p.constants("EVENT", bit(8), EVENTS, "What became of a packet."),
    cpu: p.constant("CPU_PORT", bit(9), CPU),
    event: p.metadata("event", bit(8), "what became of the packet"),
    denied: p.metadata("denied", bit(1), "1: an access list refused the packet"),
    dstPort: p.metadata("acl_port", bit(16), "TCP or UDP destination port; 0 for others"),
    nextHop: p.metadata("next_hop", bit(16), "0: none was found"),
  };
}
type Stack = ReturnType<typeof stack>;

/** Who may talk to whom. The first entry that fits decides, by priority; without one the packet may pass. */
function accessList(p: ProgramBuilder, s: Stack) {
  const c = p.control("access_list", "ingress", "Who may talk to whom.");
  const permit = c.action("permit", {}, (a) => a.set(s.denied, 0));
  const deny = c.action("deny", {}, (a) => a.set(s.denied, 1));
  const rules = c.table("rules", {
    doc: "the entry of the highest priority decides; what fits none may pass",
    key: {
      src_addr: ternary(s.ipv4.src_addr),
      dst_addr: ternary(s.ipv4.dst_addr),
      protocol: ternary(s.ipv4.protocol),
      dst_port: inRange(s.dstPort),
    },
    actions: [permit, deny],
    size: 512,
    defaultAction: permit.with({}),
    counter: "hits",
  });
  c.apply((steps) => {
    steps.if(p.valid(s.ports), (then) => then.set(s.dstPort, s.ports.dst_port));
    steps.apply(rules);
  });
  return c;
}

/** The longest prefix gives a next hop, the next hop a port and an address; many routes may share one. */
function routing(p: ProgramBuilder, s: Stack) {
  const c = p.control("routing", "ingress", "Longest prefix to next hop, next hop to port and MAC address.");
  const via = c.action("via", { next_hop: bit(16) }, (a, d) => {
    // Dropped unless the next hop is known.
    a.drop();
    a.set(s.event, s.code.drop_no_route);
    a.set(s.nextHop, d.next_hop);
  });
  const toSelf = c.action(
    "to_self",
    {},
    (a) => {
      a.set(intrinsic.egress_port, s.cpu);
      a.set(s.event, s.code.punt_self);
    },
    "for an address of the router: the controller answers",
  );
  const noRoute = c.action("no_route", {}, (a) => {
    a.drop();
    a.set(s.event, s.code.drop_no_route);
  });
  const routes = c.table("routes", {
    doc: "where addresses are",
    key: { dst_addr: lpm(s.ipv4.dst_addr) },
    actions: [via, toSelf, noRoute],
    size: 4096,
    defaultAction: noRoute.with({}),
  });
  const forward = c.action("forward", { port: bit(9), dst_mac: bit(48) }, (a, d) => {
    a.set(intrinsic.egress_port, d.port);
    a.set(s.ethernet.dst_addr, d.dst_mac);
    a.set(s.ipv4.ttl, s.ipv4.ttl.sub(1));
    a.set(s.event, s.code.routed);
  });
  const nextHops = c.table("next_hops", {
    doc: "how to reach the next router or host",
    key: { next_hop: exactly(s.nextHop) },
    actions: [forward],
    size: 1024,
    counter: "next_hop_packets",
  });
  c.apply((steps) => {
    steps.apply(routes);
    steps.if(s.nextHop.ne(0), (found) => found.apply(nextHops));
  });
  return c;
}

/** What leaves carries the MAC address of its port; what goes to the controller says where it was and why it comes. */
function departure(p: ProgramBuilder, s: Stack) {
  const c = p.control(
    "departure",
    "egress",
    "The router's own addresses, and the header for the controller.",
  );
  const from = c.action("from", { src_mac: bit(48) }, (a, d) => a.set(s.ethernet.src_addr, d.src_mac));
  const interfaces = c.table("interfaces", {
    doc: "MAC address of each port",
    key: { port: exactly(intrinsic.egress_port) },
    actions: [from],
    size: PORTS,
  });
  c.apply((steps) =>
    steps.if(
      intrinsic.egress_port.eq(s.cpu),
      (then) => {
        then.setValid(s.toController);
        then.set(s.toController.ingress_port, intrinsic.ingress_port);
        then.set(s.toController.padding, 0);
        then.set(s.toController.reason, s.event);
      },
      (then) => then.apply(interfaces),
    ),
  );
  return c;
}

const router: Feature = {
  name: "router",
  build(p) {
    const s = stack(p);
    const filter = accessList(p, s);
    const route = routing(p, s);
    const depart = departure(p, s);
    const c = p.control(
      "router",
      "ingress",
      "Each packet is routed, punted or dropped, and counted as that.",
    );
    const events = c.counter("events", EVENTS, "what became of packets");
    const refuse = (reason: Event) => (steps: Steps) => {
      steps.drop();
      steps.set(s.event, s.code[reason]);
    };
    const expired = s.ipv4.ttl.le(1);
    c.apply((steps) => {
      steps.if(p.valid(s.ipv4).not().or(s.ipv4.version.ne(4)), refuse("drop_not_ipv4"), (ip) =>
        ip.if(intrinsic.checksum_failed, refuse("drop_checksum"), (sound) => {
          sound.invoke(filter);
          sound.if(s.denied.eq(1), refuse("drop_denied"), (allowed) =>
            allowed.if(
              expired,
              (then) => {
                then.set(intrinsic.egress_port, s.cpu);
                then.set(s.event, s.code.punt_ttl);
              },
              (alive) => alive.invoke(route),
            ),
          );
        }),
      );
      steps.count(events, s.event.cast(bit(32)));
    });
    p.ingress("route", (steps) => steps.invoke(c));
    p.egress("deliver", (steps) => steps.invoke(depart));
  },
};

export default program("router", {
  doc: "A plain IPv4 router with an access list.",
  ports: PORTS,
  cpuPort: CPU,
  features: [router],
});
