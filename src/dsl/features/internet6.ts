import { type BitType, bit } from "../../ir/index.ts";
import { ETHERTYPE_IPV6, ipv6, tcpPorts } from "../../wire/internet.ts";
import type { Feature, ProgramBuilder } from "../program.ts";
import type { Steps } from "../steps.ts";
import type { Bool, Variable } from "../value.ts";
import { internet } from "./internet.ts";

export function isForwarding6(feature: Feature): feature is Feature {
  return feature.name === "ipv6Forwarding";
}

/**
 * IPv6 (RFC 8200) beside the stack of `internet`: take it with `p.once(internet6)`. Ports are read where UDP or TCP follows at once:
 * behind extension headers there are none, nor in fragments, which have such a header.
 */
export function internet6(p: ProgramBuilder) {
  const { parseEthernet, protocol } = p.once(internet);
  const header = p.header(ipv6);
  const ports = p.header(tcpPorts, "ipv6_ports");
  const etherType = p.constants("ETHERTYPE", bit(16), { IPV6: ETHERTYPE_IPV6 });
  const parseIpv6 = p.parser.state("parse_ipv6").extract(header);
  const parsePorts = p.parser.state("parse_ipv6_ports").extract(ports);
  parseEthernet.on(etherType.IPV6, parseIpv6);
  parseIpv6
    .select(header.version, header.next_header)
    .on([6, protocol.UDP], parsePorts)
    .on([6, protocol.TCP], parsePorts);
  return { ipv6: header, ports };
}

/** What both versions of IP have in common, for features that treat them alike: take it with `p.once(anyIp)`. */
export function anyIp(p: ProgramBuilder) {
  const { ipv4 } = p.once(internet);
  if (p.find(isForwarding6) === undefined)
    return {
      isIp: p.valid(ipv4),
      dscp: ipv4.diffserv,
      ecn: ipv4.ecn,
      find: undefined,
      ipv4,
      ipv6: undefined,
    };
  const { ipv6 } = p.once(internet6);
  const dscp: Variable<BitType> = p.metadata("ip_dscp", bit(6), "DSCP of either version of IP");
  const ecn: Variable<BitType> = p.metadata("ip_ecn", bit(2), "ECN bits of either version of IP");
  const take = (from: { readonly diffserv: typeof dscp; readonly ecn: typeof ecn }) => (s: Steps) => {
    s.set(dscp, from.diffserv);
    s.set(ecn, from.ecn);
  };
  const isIp: Bool = p.valid(ipv4).or(p.valid(ipv6));
  return {
    isIp,
    dscp,
    ecn,
    /** To be done before the fields are used. */
    find: (s: Steps): void => s.if(p.valid(ipv4), take(ipv4), (other) => other.if(p.valid(ipv6), take(ipv6))),
    ipv4,
    ipv6,
  };
}
