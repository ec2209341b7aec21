import { headerCodec } from "./codec.ts";
import { ETHERTYPE_IPV4, ethernet, ipv4, PROTOCOL_UDP, udp } from "./internet.ts";

const ethernetCodec = headerCodec(ethernet);
const ipv4Codec = headerCodec(ipv4);
const udpCodec = headerCodec(udp);

const IPV4_AT = ethernetCodec.bytes;
const UDP_AT = IPV4_AT + ipv4Codec.bytes;
/** Where the UDP payload begins in a frame without VLAN tag and IPv4 options. */
export const PAYLOAD_AT = UDP_AT + udpCodec.bytes;

/** The addresses of one UDP datagram in one Ethernet frame. MACs are 48-bit numbers, IPs unsigned 32-bit numbers. */
export interface Addressing {
  readonly srcMac: number;
  readonly dstMac: number;
  readonly srcIp: number;
  readonly dstIp: number;
  readonly srcPort: number;
  readonly dstPort: number;
  /** Traffic class, 0 when absent. */
  readonly dscp?: number;
  /** ECN bits, 0 (Non-ECT) when absent. */
  readonly ecn?: number;
}

export interface Datagram extends Addressing {
  readonly dscp: number;
  readonly ecn: number;
  /** A view of the frame, not a copy: copy what is kept. */
  readonly payload: Uint8Array;
}

/** Why a frame or packet was not accepted. */
export interface Refusal<Reason extends string> {
  readonly refused: Reason;
}

export type FrameRefusal = Refusal<
  | "frame_too_short"
  | "not_ipv4"
  | "ipv4_malformed"
  | "ipv4_checksum"
  | "ipv4_fragment"
  | "not_udp"
  | "udp_length"
  | "udp_checksum"
>;

/**
 * A new frame with its Ethernet, IPv4 and UDP headers filled in and `payloadBytes` zero bytes of payload from
 * PAYLOAD_AT on. The UDP checksum is 0 (none, RFC 768): a switch changes the payload and can't sum it again.
 */
export function newFrame(addressing: Addressing, payloadBytes: number): Uint8Array {
  const frame = new Uint8Array(PAYLOAD_AT + payloadBytes);
  writeHeaders(addressing, frame);
  return frame;
}

/** Writes the three headers of a frame whose length is final. */
export function writeHeaders(to: Addressing, frame: Uint8Array): void {
  ethernetCodec.encode({ dst_addr: to.dstMac, src_addr: to.srcMac, ether_type: ETHERTYPE_IPV4 }, frame, 0);
  ipv4Codec.encode(
    {
      version: 4,
      ihl: 5,
      diffserv: to.dscp ?? 0,
      ecn: to.ecn ?? 0,
      total_len: frame.length - IPV4_AT,
      identification: 0,
      flags: 2, // don't fragment
      frag_offset: 0,
      ttl: 64,
      protocol: PROTOCOL_UDP,
      hdr_checksum: 0,
      src_addr: to.srcIp,
      dst_addr: to.dstIp,
    },
    frame,
    IPV4_AT,
  );
  const checksum = ipv4HeaderChecksum(frame, IPV4_AT);
  frame[IPV4_AT + 10] = checksum >> 8;
  frame[IPV4_AT + 11] = checksum & 255;
  udpCodec.encode(
    { src_port: to.srcPort, dst_port: to.dstPort, length: frame.length - UDP_AT, checksum: 0 },
    frame,
    UDP_AT,
  );
}

/** Checks and opens a frame. Anything that is no sound IPv4 UDP datagram gives a refusal with its reason. */
export function parseFrame(frame: Uint8Array): Datagram | FrameRefusal {
  if (frame.length < IPV4_AT) return { refused: "frame_too_short" };
  const eth = ethernetCodec.decode(frame, 0);
  if (eth.ether_type !== ETHERTYPE_IPV4) return { refused: "not_ipv4" };
  if (frame.length < UDP_AT) return { refused: "frame_too_short" };
  const ip = ipv4Codec.decode(frame, IPV4_AT);
  // The frame may be longer than the packet: Ethernet pads to 60 bytes.
  const end = IPV4_AT + ip.total_len;
  if (ip.version !== 4 || ip.ihl !== 5 || end < UDP_AT || end > frame.length)
    return { refused: "ipv4_malformed" };
  if (ipv4HeaderChecksum(frame, IPV4_AT) !== 0) return { refused: "ipv4_checksum" };
  if (ip.frag_offset !== 0 || (ip.flags & 1) !== 0) return { refused: "ipv4_fragment" };
  if (ip.protocol !== PROTOCOL_UDP) return { refused: "not_udp" };
  if (end < PAYLOAD_AT) return { refused: "udp_length" };
  const datagram = udpCodec.decode(frame, UDP_AT);
  if (datagram.length !== end - UDP_AT) return { refused: "udp_length" };
  if (datagram.checksum !== 0 && udpChecksumSum(frame, ip.src_addr, ip.dst_addr, end) !== 0xffff)
    return { refused: "udp_checksum" };
  return {
    srcMac: eth.src_addr,
    dstMac: eth.dst_addr,
    srcIp: ip.src_addr,
    dstIp: ip.dst_addr,
    srcPort: datagram.src_port,
    dstPort: datagram.dst_port,
    dscp: ip.diffserv,
    ecn: ip.ecn,
    payload: frame.subarray(PAYLOAD_AT, end),
  };
}

/** Addressing of an answer: source and destination change places. */
export function answerTo(request: Addressing): Addressing {
  return {
    srcMac: request.dstMac,
    dstMac: request.srcMac,
    srcIp: request.dstIp,
    dstIp: request.srcIp,
    srcPort: request.dstPort,
    dstPort: request.srcPort,
  };
}

/** RFC 1071 checksum of the IPv4 header at `offset`; 0 when its checksum field is right. */
export function ipv4HeaderChecksum(bytes: Uint8Array, offset: number): number {
  return ~onesComplementSum(bytes, offset, offset + 20, 0) & 0xffff;
}

/**
 * Sums up a frame whose payload is final, for payloads that no switch changes: then receivers refuse what was damaged on the way. A sum
 * of 0 is sent as ffff (RFC 768), since 0 says that there is none.
 */
export function writeUdpChecksum(frame: Uint8Array): void {
  const at = UDP_AT + 6;
  frame[at] = 0;
  frame[at + 1] = 0;
  const { src_addr, dst_addr } = ipv4Codec.decode(frame, IPV4_AT);
  const checksum = ~udpChecksumSum(frame, src_addr, dst_addr, frame.length) & 0xffff || 0xffff;
  frame[at] = checksum >> 8;
  frame[at + 1] = checksum & 255;
}

/** Folded sum over pseudo header and datagram; 0xffff when the checksum is right. */
function udpChecksumSum(frame: Uint8Array, src: number, dst: number, end: number): number {
  const pseudo =
    (src >>> 16) + (src & 0xffff) + (dst >>> 16) + (dst & 0xffff) + PROTOCOL_UDP + (end - UDP_AT);
  return onesComplementSum(frame, UDP_AT, end, pseudo);
}

function onesComplementSum(bytes: Uint8Array, from: number, to: number, start: number): number {
  let sum = start;
  for (let i = from; i < to; i += 2) sum += ((bytes[i] ?? 0) << 8) | (i + 1 < to ? (bytes[i + 1] ?? 0) : 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return sum;
}
