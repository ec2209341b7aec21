import { wireHeader } from "./header.ts";

/** Ethernet II, IPv4 without options (RFC 791) and UDP (RFC 768). */
export const ethernet = wireHeader("ethernet", { dst_addr: 48, src_addr: 48, ether_type: 16 });

export const ipv4 = wireHeader("ipv4", {
  version: 4,
  ihl: 4,
  diffserv: [6, "DSCP: traffic class"],
  ecn: [2, "ECN: 0 is Non-ECT"],
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

/** The fixed part of IPv6 (RFC 8200). */
export const ipv6 = wireHeader("ipv6", {
  version: 4,
  diffserv: [6, "DSCP: traffic class"],
  ecn: [2, "ECN: 0 is Non-ECT"],
  flow_label: 20,
  payload_len: 16,
  next_header: 8,
  hop_limit: 8,
  src_addr: 128,
  dst_addr: 128,
});

export const udp = wireHeader("udp", { src_port: 16, dst_port: 16, length: 16, checksum: 16 });

/** What tells the flows of TCP apart; the rest of its header (RFC 9293) is payload to a switch. */
export const tcpPorts = wireHeader("tcp_ports", { src_port: 16, dst_port: 16 });

export const ETHERTYPE_IPV4 = 0x0800;
export const ETHERTYPE_IPV6 = 0x86dd;
export const PROTOCOL_TCP = 6;
export const PROTOCOL_UDP = 17;
