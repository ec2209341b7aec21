import type { Init } from "../../p4info/message/descriptor.ts";
import type { PacketIn, PacketMetadata, PacketOut } from "../../p4runtime/proto/generated/p4runtime.ts";
import type { PacketHeaderSchema } from "../../p4runtime/schema.ts";
import { bytesOf, decodeValue } from "../../p4runtime/values.ts";
import { invalidArgument } from "./status.ts";

/**
 * Put the packet_out header in front of a packet: its fields one after the other, most significant bit first (P4Runtime specification 16.1).
 *
 * Every field of the header must be given once, padding too. Without a header in the P4Info the packet goes as it is.
 *
 * @throws StatusError or EntityError
 */
export function encodePacketOut(header: PacketHeaderSchema | undefined, message: PacketOut): Uint8Array {
  if (header === undefined) {
    if (message.metadata.length > 0)
      throw invalidArgument("the program has no packet_out header, so there is no metadata");
    return message.payload;
  }
  const values = metadataValues(header, message.metadata);
  let bits = 0n;
  for (const field of header.metadata.all) {
    const value = values.get(field.id);
    if (value === undefined) throw invalidArgument(`${field.where} is missing`);
    bits = (bits << BigInt(field.bitwidth)) | value;
  }
  const width = header.metadata.all.reduce((sum, field) => sum + field.bitwidth, 0);
  bits <<= BigInt(header.byteLength * 8 - width);
  const packet = new Uint8Array(header.byteLength + message.payload.length);
  const bytes = bytesOf(bits);
  // Zero takes one byte even for an empty header.
  if (header.byteLength > 0) packet.set(bytes, header.byteLength - bytes.length);
  packet.set(message.payload, header.byteLength);
  return packet;
}

function metadataValues(
  header: PacketHeaderSchema,
  metadata: readonly PacketMetadata[],
): Map<number, bigint> {
  const values = new Map<number, bigint>();
  for (const { metadataId, value } of metadata) {
    const field = header.metadata.byId(metadataId);
    if (values.has(metadataId)) throw invalidArgument(`${field.where} is given twice`);
    values.set(metadataId, decodeValue(value, field));
  }
  return values;
}

/**
 * Take the packet_in header off a packet. Undefined when the packet is shorter than the header.
 *
 * The payload is a view of the packet.
 */
export function decodePacketIn(
  header: PacketHeaderSchema | undefined,
  packet: Uint8Array,
): Init<PacketIn> | undefined {
  if (header === undefined) return { payload: packet };
  if (packet.length < header.byteLength) return undefined;
  let bits = 0n;
  for (let at = 0; at < header.byteLength; at++) bits = (bits << 8n) | BigInt(packet[at] ?? 0);
  let left = BigInt(header.byteLength * 8);
  const metadata = header.metadata.all.map((field) => {
    left -= BigInt(field.bitwidth);
    return { metadataId: field.id, value: bytesOf(BigInt.asUintN(field.bitwidth, bits >> left)) };
  });
  return { metadata, payload: packet.subarray(header.byteLength) };
}
