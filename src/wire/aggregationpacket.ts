import {
  AGGREGATION_VERSION,
  type AggregationHeader,
  aggregation,
  type BlockExponents,
  blockExponents,
  carriesExponents,
  Kind,
  valueBits,
} from "./aggregation.ts";
import { headerCodec } from "./codec.ts";
import { type Addressing, newFrame, PAYLOAD_AT, type Refusal } from "./datagram.ts";

/**
 * One decoded aggregation packet. `lanes` holds the values after the header, empty when nothing follows; 16-bit codes are unsigned
 * there. `exponents` is there in mode `block`, and in no other.
 */
export interface AggregationMessage {
  readonly header: AggregationHeader;
  readonly exponents?: BlockExponents | undefined;
  readonly lanes: Int32Array;
}

export type AggregationRefusal = Refusal<
  "aggregation_too_short" | "aggregation_version" | "aggregation_kind" | "aggregation_length"
>;

export const aggregationCodec = headerCodec(aggregation);
const exponentsCodec = headerCodec(blockExponents);

/** Does this kind of packet carry the lanes of a row? */
export function carriesLanes(kind: number): boolean {
  return kind === Kind.CONTRIBUTION || kind === Kind.RESULT;
}

/** Lanes of packets that carry none. */
export const NO_LANES = new Int32Array(0);

/** Bytes in front of the lanes. */
export function headBytes(mode: number): number {
  return aggregationCodec.bytes + (carriesExponents(mode) ? exponentsCodec.bytes : 0);
}

/** The frame of one aggregation packet. */
export function aggregationFrame(
  to: Addressing,
  { header, exponents, lanes }: AggregationMessage,
): Uint8Array {
  const { kind, mode } = header;
  const head = aggregationCodec.bytes + (exponents === undefined ? 0 : exponentsCodec.bytes);
  const isHalf = valueBits(kind, mode) === 16;
  const frame = newFrame(to, head + lanes.length * (isHalf ? 2 : 4));
  aggregationCodec.encode(header, frame, PAYLOAD_AT);
  if (exponents !== undefined) exponentsCodec.encode(exponents, frame, PAYLOAD_AT + aggregationCodec.bytes);
  let at = PAYLOAD_AT + head;
  for (let i = 0; i < lanes.length; i++) {
    const word = lanes[i] ?? 0;
    if (!isHalf) {
      frame[at++] = word >> 24;
      frame[at++] = word >> 16;
    }
    frame[at++] = word >> 8;
    frame[at++] = word;
  }
  return frame;
}

/** Opens a UDP payload. The lanes are copied, so the message stays when the frame's buffer is used again. */
export function decodeAggregation(payload: Uint8Array): AggregationMessage | AggregationRefusal {
  if (payload.length < aggregationCodec.bytes) return { refused: "aggregation_too_short" };
  const header = aggregationCodec.decode(payload, 0);
  const { version, kind, mode } = header;
  if (version !== AGGREGATION_VERSION) return { refused: "aggregation_version" };
  if (kind < Kind.CONTRIBUTION || kind > Kind.RESET) return { refused: "aggregation_kind" };
  const count = carriesLanes(kind) ? header.lanes : 0;
  const isHalf = valueBits(kind, mode) === 16;
  const head = headBytes(mode);
  if (payload.length !== head + count * (isHalf ? 2 : 4)) return { refused: "aggregation_length" };
  const lanes = count === 0 ? NO_LANES : new Int32Array(count);
  let at = head;
  if (isHalf)
    for (let i = 0; i < count; i++, at += 2) lanes[i] = ((payload[at] ?? 0) << 8) | (payload[at + 1] ?? 0);
  else
    for (let i = 0; i < count; i++, at += 4)
      lanes[i] =
        ((payload[at] ?? 0) << 24) |
        ((payload[at + 1] ?? 0) << 16) |
        ((payload[at + 2] ?? 0) << 8) |
        (payload[at + 3] ?? 0);
  return carriesExponents(mode)
    ? { header, exponents: exponentsCodec.decode(payload, aggregationCodec.bytes), lanes }
    : { header, lanes };
}
