/**
 * What a Linux host leaves to its network card, done in software: a frame that was taken from an interface is made what a cable would carry.
 */

/** `tp_status` of `struct tpacket_auxdata` (if_packet.h). */
const csumNotReady = 1 << 3;
const vlanValid = 1 << 4;
const vlanTpidValid = 1 << 6;

/** Bytes that must be free in front of each received frame, for a tag that is put back. */
export const tagBytes = 4;

/**
 * Puts back the VLAN tag that the kernel took off, and computes the checksum that the sender left open.
 *
 * @param bytes memory with the frame at `at`, and `tagBytes` free in front of it
 * @param vlan tag control information in the upper 16 bits, EtherType in the lower
 * @returns where the frame begins now
 */
export function completeFrame(
  bytes: Uint8Array,
  at: number,
  length: number,
  status: number,
  vlan: number,
): number {
  if ((status & csumNotReady) !== 0) completeChecksum(bytes, at, at + length);
  if ((status & vlanValid) === 0) return at;
  const begin = at - tagBytes;
  bytes.copyWithin(begin, at, at + 12);
  const type = (status & vlanTpidValid) !== 0 ? vlan & 0xffff : 0x8100;
  bytes[begin + 12] = type >>> 8;
  bytes[begin + 13] = type;
  bytes[begin + 14] = vlan >>> 24;
  bytes[begin + 15] = vlan >>> 16;
  return begin;
}

/** Sets the checksum of TCP or UDP in IPv4 or IPv6 without extension headers; other frames stay as they are. */
function completeChecksum(bytes: Uint8Array, from: number, end: number): void {
  const u16 = (at: number): number => ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
  let at = from + 12;
  while ((u16(at) === 0x8100 || u16(at) === 0x88a8) && at + 4 < end) at += 4;
  const type = u16(at);
  const ip = at + 2;
  let protocol: number;
  let payload: number;
  let payloadEnd: number;
  let addresses: number;
  let addressBytes: number;
  if (type === 0x0800 && ip + 20 <= end) {
    // Only a whole datagram has a checksum that can be computed.
    if ((u16(ip + 6) & 0x3fff) !== 0) return;
    protocol = bytes[ip + 9] ?? 0;
    payload = ip + 4 * ((bytes[ip] ?? 0) & 0xf);
    payloadEnd = ip + u16(ip + 2);
    addresses = ip + 12;
    addressBytes = 8;
  } else if (type === 0x86dd && ip + 40 <= end) {
    protocol = bytes[ip + 6] ?? 0;
    payload = ip + 40;
    payloadEnd = payload + u16(ip + 4);
    addresses = ip + 8;
    addressBytes = 32;
  } else return;
  const field = protocol === 6 ? payload + 16 : protocol === 17 ? payload + 6 : undefined;
  if (field === undefined || payloadEnd > end || field + 2 > payloadEnd) return;
  bytes[field] = 0;
  bytes[field + 1] = 0;
  let sum = protocol + (payloadEnd - payload);
  for (let n = 0; n < addressBytes; n += 2) sum += u16(addresses + n);
  for (let n = payload; n < payloadEnd; n += 2)
    sum += ((bytes[n] ?? 0) << 8) | (n + 1 < payloadEnd ? (bytes[n + 1] ?? 0) : 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  let checksum = ~sum & 0xffff;
  // Zero would say that UDP has no checksum.
  if (checksum === 0 && protocol === 17) checksum = 0xffff;
  bytes[field] = checksum >>> 8;
  bytes[field + 1] = checksum;
}
