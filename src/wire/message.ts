import { headerCodec } from "./codec.ts";
import type { Refusal } from "./datagram.ts";
import { type HeaderValues, wireHeader } from "./header.ts";

/** UDP port of messages between hosts, whatever they are about. */
export const MESSAGE_PORT = 0x4752;

export const MESSAGE_VERSION = 1;

export const PacketKind = {
  /** A part of a message. */
  DATA: 1,
  /** What has arrived. */
  ACK: 2,
  /** Is the peer alive? */
  PING: 3,
  /** It is. */
  PONG: 4,
} as const;

/** Header of DATA, PING and PONG, after Ethernet, IPv4 and UDP; the part follows. 40 bytes. */
export const messagePart = wireHeader(
  "message_part",
  {
    version: 4,
    kind: [4, "PacketKind"],
    reserved: 8,
    job: 16,
    sender: [16, "host, numbered within the job"],
    receiver: [16, "host, numbered within the job"],
    incarnation: [32, "the sender's: greater after each of its starts"],
    peer_incarnation: [32, "the receiver's, as far as the sender knows; 0 if it does not"],
    number: [32, "of the packet, a serial number; another one each time that a part is sent again"],
    message: [32, "of the message, a serial number from 0"],
    bytes: [32, "of the whole message"],
    offset: [32, "first byte of this part, a multiple of the segment"],
    segment: [16, "bytes of every part but the last"],
    tag: [16, "application's own: what the message is about"],
  },
  "One part of a message that is delivered reliably, or a sign of life.",
);

/** Header of ACK, the same in its first 16 bytes. 28 bytes. */
export const messageAck = wireHeader(
  "message_ack",
  {
    version: 4,
    kind: [4, "PacketKind"],
    marked: [8, "packets that came with congestion experienced (CE) since the last ACK"],
    job: 16,
    sender: 16,
    receiver: 16,
    incarnation: 32,
    peer_incarnation: 32,
    highest: [32, "greatest number of a packet that has arrived"],
    arrived_high: [32, "packets highest - 32 to highest - 63, from the lowest bit on"],
    arrived_low: [32, "packets highest to highest - 31, from the lowest bit on"],
  },
  "Which packets have arrived.",
);

export type MessagePartHeader = HeaderValues<typeof messagePart>;
export type MessageAckHeader = HeaderValues<typeof messageAck>;

export const messagePartCodec = headerCodec(messagePart);
export const messageAckCodec = headerCodec(messageAck);

export type MessageRefusal = Refusal<
  "part_too_short" | "part_version" | "part_kind" | "part_length" | "part_place"
>;

export type MessagePacket =
  | { readonly kind: "ack"; readonly header: MessageAckHeader }
  /** DATA, PING or PONG; the body is a view. */
  | { readonly kind: "part"; readonly header: MessagePartHeader; readonly body: Uint8Array };

/** Opens a UDP payload. */
export function decodeMessage(payload: Uint8Array): MessagePacket | MessageRefusal {
  if (payload.length < messageAckCodec.bytes) return { refused: "part_too_short" };
  const first = payload[0] ?? 0;
  if (first >> 4 !== MESSAGE_VERSION) return { refused: "part_version" };
  const kind = first & 15;
  if (kind < PacketKind.DATA || kind > PacketKind.PONG) return { refused: "part_kind" };
  if (kind === PacketKind.ACK) {
    if (payload.length !== messageAckCodec.bytes) return { refused: "part_length" };
    return { kind: "ack", header: messageAckCodec.decode(payload, 0) };
  }
  if (payload.length < messagePartCodec.bytes) return { refused: "part_too_short" };
  const header = messagePartCodec.decode(payload, 0);
  const body = payload.subarray(messagePartCodec.bytes);
  if (kind !== PacketKind.DATA)
    return body.length === 0 ? { kind: "part", header, body } : { refused: "part_length" };
  const { bytes, offset, segment } = header;
  if (segment === 0 || offset % segment !== 0 || (offset >= bytes && offset > 0))
    return { refused: "part_place" };
  if (body.length !== Math.min(segment, bytes - offset)) return { refused: "part_length" };
  return { kind: "part", header, body };
}
