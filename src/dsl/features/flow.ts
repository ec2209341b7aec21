import { type BitType, bit } from "../../ir/index.ts";
import { tcpPorts } from "../../wire/internet.ts";
import type { ProgramBuilder } from "../program.ts";
import type { Steps } from "../steps.ts";
import type { Num } from "../value.ts";
import { internet } from "./internet.ts";
import { internet6, isForwarding6 } from "./internet6.ts";

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
  const findPorts4 = (s: Steps): void =>
    s.if(p.valid(udp), take(udp), (other) => other.if(p.valid(tcp), take(tcp)));
  if (p.find(isForwarding6) === undefined)
    return {
      keys: [ipv4.src_addr, ipv4.dst_addr, ipv4.protocol, srcPort, dstPort],
      /** To be done before the keys are used. */
      findPorts: findPorts4,
    };
  const { ipv6, ports } = p.once(internet6);
  const u32: BitType = bit(32);
  const src = p.metadata("flow_src", u32, "source address; of IPv6 the exclusive or of its words");
  const dst = p.metadata("flow_dst", u32, "destination address, likewise");
  const above = p.metadata("flow_protocol", bit(8), "protocol above IP");
  const folded = (address: Num<BitType>): Num<BitType> =>
    [95, 63, 31].reduce<Num<BitType>>(
      (sum, high) => sum.bitXor(address.slice(high, high - 31)),
      address.slice(127, 96),
    );
  return {
    keys: [src, dst, above, srcPort, dstPort],
    findPorts: (s: Steps): void =>
      s.if(
        p.valid(ipv6),
        (six) => {
          six.set(src, folded(ipv6.src_addr));
          six.set(dst, folded(ipv6.dst_addr));
          six.set(above, ipv6.next_header);
          six.if(p.valid(ports), take(ports));
        },
        (four) => {
          four.set(src, ipv4.src_addr);
          four.set(dst, ipv4.dst_addr);
          four.set(above, ipv4.protocol);
          findPorts4(four);
        },
      ),
  };
}
