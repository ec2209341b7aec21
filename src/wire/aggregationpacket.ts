import { AGGREGATION_VERSION, type AggregationHeader, aggregation, Kind } from "./aggregation.ts";
import { headerCodec } from "./codec.ts";
import { type Addressing, newFrame, PAYLOAD_AT, type Refusal } from "./datagram.ts";

/** One decoded aggregation packet. `lanes` holds the words after the header, empty when nothing follows. */
export interface AggregationMessage {
  readonly header: AggregationHeader;
  readonly lanes: Int32Array;
}

export type AggregationRefusal = Refusal<
  "aggregation_too_short" | "aggregation_version" | "aggregation_kind" | "aggregation_length"
>;

export const aggregationCodec = headerCodec(aggregation);

/** Does this kind of packet carry the lanes of a row? */
export function carriesLanes(kind: number): boolean {
  return kind === Kind.CONTRIBUTION || kind === Kind.RESULT;
}

/** Lanes of packets that carry none. */
export const NO_LANES = new Int32Array(0);

/** The frame of one aggregation packet. */
export function aggregationFrame(to: Addressing, { header, lanes }: AggregationMessage): Uint8Array {
  const frame = newFrame(to, aggregationCodec.bytes + lanes.length * 4);
  aggregationCodec.encode(header, frame, PAYLOAD_AT);
  let at = PAYLOAD_AT + aggregationCodec.bytes;
  for (let i = 0; i < lanes.length; i++) {
    const word = lanes[i] ?? 0;
    frame[at++] = word >> 24;
    frame[at++] = word >> 16;
    frame[at++] = word >> 8;
    frame[at++] = word;
  }
  return frame;
}

/** Opens a UDP payload. The lanes are copied, so the message stays when the frame's buffer is used again. */
export function decodeAggregation(payload: Uint8Array): AggregationMessage | AggregationRefusal {
  if (payload.length < aggregationCodec.bytes) return { refused: "aggregation_too_short" };
  const header = aggregationCodec.decode(payload, 0);
  if (header.version !== AGGREGATION_VERSION) return { refused: "aggregation_version" };
  if (header.kind < Kind.CONTRIBUTION || header.kind > Kind.RESET) return { refused: "aggregation_kind" };
  const words = carriesLanes(header.kind) ? header.lanes : 0;
  if (payload.length !== aggregationCodec.bytes + words * 4) return { refused: "aggregation_length" };
  if (words === 0) return { header, lanes: NO_LANES };
  const lanes = new Int32Array(words);
  let at = aggregationCodec.bytes;
  for (let i = 0; i < words; i++, at += 4)
    lanes[i] =
      ((payload[at] ?? 0) << 24) |
      ((payload[at + 1] ?? 0) << 16) |
      ((payload[at + 2] ?? 0) << 8) |
      (payload[at + 3] ?? 0);
  return { header, lanes };
}
