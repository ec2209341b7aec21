import { bit } from "../../ir/index.ts";
import { ETHERTYPE_IPV4, ethernet, ipv4, PROTOCOL_TCP, PROTOCOL_UDP, udp } from "../../wire/internet.ts";
import type { ProgramBuilder } from "../program.ts";
import { masked } from "../steps.ts";

/** The protocol stack that the built-in features share: take it with `p.once(internet)`. */
export function internet(p: ProgramBuilder) {
  const eth = p.header(ethernet);
  const ip = p.header(ipv4);
  const datagram = p.header(udp);
  const start = p.parser.state("start");
  const parseEthernet = p.parser.state("parse_ethernet");
  const parseIpv4 = p.parser.state("parse_ipv4");
  const parseUdp = p.parser.state("parse_udp");
  const etherType = p.constants("ETHERTYPE", bit(16), { IPV4: ETHERTYPE_IPV4 });
  const protocol = p.constants(
    "PROTOCOL",
    bit(8),
    { TCP: PROTOCOL_TCP, UDP: PROTOCOL_UDP },
    "Protocols above IP.",
  );
  start.otherwise(parseEthernet);
  parseEthernet.extract(eth).select(eth.ether_type).on(etherType.IPV4, parseIpv4);
  // With options there is no UDP header at a fixed place, in later fragments there is none, and behind that of a first fragment the rest is
  // missing: such packets are forwarded or dropped by IPv4 alone.
  const isLast = masked(0, 1);
  parseIpv4
    .extract(ip)
    .select(ip.version, ip.ihl, ip.flags, ip.frag_offset, ip.protocol)
    .on([4, 5, isLast, 0, protocol.UDP], parseUdp);
  parseUdp.extract(datagram).select(datagram.dst_port);
  p.checksum(ip, "hdr_checksum");
  return {
    ethernet: eth,
    ipv4: ip,
    udp: datagram,
    protocol,
    isLast,
    start,
    parseEthernet,
    parseIpv4,
    parseUdp,
  };
}
