/** What a frame says about its importance, and how congestion is written into it: the ECN bits of IPv4 and IPv6 (RFC 3168). */

/** What may be done to a packet that meets a long queue. */
export type Importance =
  /** It may be dropped. */
  | "droppable"
  /** It may be marked instead. */
  | "ecnCapable"
  /** Neither: no IP packet, or one of the switch's own. */
  | "exempt";

const ipv4 = 0x0800;
const ipv6 = 0x86dd;

/** Where the IP header begins, behind Ethernet and VLAN tags; -1 if there is none. */
function ipHeader(frame: Uint8Array): number {
  let at = 12;
  let type = u16(frame, at);
  while ((type === 0x8100 || type === 0x88a8) && at + 6 <= frame.length) {
    at += 4;
    type = u16(frame, at);
  }
  const ip = at + 2;
  const version = (frame[ip] ?? 0) >> 4;
  if (type === ipv4 && version === 4 && ip + 20 <= frame.length) return ip;
  if (type === ipv6 && version === 6 && ip + 40 <= frame.length) return ip;
  return -1;
}

function u16(frame: Uint8Array, at: number): number {
  return ((frame[at] ?? 0) << 8) | (frame[at + 1] ?? 0);
}

/** DSCP and ECN: the byte that both versions have, in IPv6 not at a byte's edge. */
function trafficField(frame: Uint8Array, ip: number): number {
  return (frame[ip] ?? 0) >> 4 === 4 ? (frame[ip + 1] ?? 0) : (u16(frame, ip) >> 4) & 0xff;
}

/**
 * A packet that is not ECN-capable is droppable, as the drop feature has it (arXiv 2008.08445: the small gradients). Where `droppable` names
 * code points (as assured forwarding does), those are droppable, and others without ECN are left alone.
 */
export function importanceOf(frame: Uint8Array, droppable?: ReadonlySet<number>): Importance {
  const ip = ipHeader(frame);
  if (ip < 0) return "exempt";
  const field = trafficField(frame, ip);
  if (droppable?.has(field >> 2) === true) return "droppable";
  if ((field & 3) !== 0) return "ecnCapable";
  return droppable === undefined ? "droppable" : "exempt";
}

/** Writes congestion experienced into an ECN-capable packet, and mends the checksum (RFC 1624). Other frames stay as they are. */
export function markCongestion(frame: Uint8Array): void {
  const ip = ipHeader(frame);
  if (ip < 0 || (trafficField(frame, ip) & 3) === 0) return;
  if ((frame[ip] ?? 0) >> 4 === 6) {
    frame[ip + 1] = (frame[ip + 1] ?? 0) | 0x30;
    return;
  }
  const before = u16(frame, ip);
  frame[ip + 1] = (frame[ip + 1] ?? 0) | 3;
  let sum = (~u16(frame, ip + 10) & 0xffff) + (~before & 0xffff) + u16(frame, ip);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  frame[ip + 10] = (~sum >> 8) & 0xff;
  frame[ip + 11] = ~sum & 0xff;
}
