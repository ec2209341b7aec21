import { type BitType, bit } from "../../ir/index.ts";
import { tcpPorts } from "../../wire/internet.ts";
import type { ProgramBuilder } from "../program.ts";
import type { Steps } from "../steps.ts";
import { internet } from "./internet.ts";

const u16: BitType = bit(16);

/**
 * What tells flows apart: addresses, protocol, and the ports of UDP and TCP; take it with `p.once(flow)`. Fragments go without ports,
 * since only the first one has them, and all should take one way.
 */
export function flow(p: ProgramBuilder) {
  const { ipv4, udp, protocol, isLast, parseIpv4 } = p.once(internet);
  const tcp = p.header(tcpPorts);
  const parseTcp = p.parser.state("parse_tcp_ports");
  parseIpv4.on([4, 5, isLast, 0, protocol.TCP], parseTcp);
  parseTcp.extract(tcp);
  const srcPort = p.metadata("flow_src_port", u16, "port of UDP or TCP, 0 where there is none");
  const dstPort = p.metadata("flow_dst_port", u16);
  const take =
    (from: { readonly src_port: typeof srcPort; readonly dst_port: typeof dstPort }) => (s: Steps) => {
      s.set(srcPort, from.src_port);
      s.set(dstPort, from.dst_port);
    };
  return {
    keys: [ipv4.src_addr, ipv4.dst_addr, ipv4.protocol, srcPort, dstPort],
    /** To be done before the keys are used. */
    findPorts(s: Steps): void {
      s.if(p.valid(udp), take(udp), (other) => other.if(p.valid(tcp), take(tcp)));
    },
  };
}
