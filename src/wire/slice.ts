import { headerCodec } from "./codec.ts";
import type { Refusal } from "./datagram.ts";
import { decodeFloats, encodeFloatsInto } from "./floatbody.ts";
import { type HeaderValues, wireHeader } from "./header.ts";

export const SLICE_VERSION = 1;

export const SliceKind = {
  /** Worker: its gradient of the slice; the values follow. */
  PUSH: 1,
  /** Server: the slice's new parameters; the values follow. */
  VALUES: 2,
  /** Server: the slice has new parameters. */
  READY: 3,
  /** Worker: asks for them. */
  PULL: 4,
  /** Server: a worker is lost. */
  FAILURE: 5,
  /** Worker: it is done with the job; rounds need not wait for it. */
  LEAVE: 6,
} as const;
export type SliceKind = (typeof SliceKind)[keyof typeof SliceKind];

/** First bytes of a message between a worker and a server of P3 (arXiv 1905.03960). 16 bytes. */
export const slice = wireHeader(
  "slice",
  {
    version: 4,
    kind: [4, "SliceKind"],
    reserved: 8,
    worker: [16, "FAILURE: the worker that is lost"],
    slice: [32, "number within the model"],
    iteration: [32, "from 1"],
    count: [32, "values that follow, IEEE-754 binary32"],
  },
  "One slice of a layer in one iteration.",
);

export type SliceHeader = HeaderValues<typeof slice>;

export interface SliceMessage {
  readonly header: SliceHeader;
  readonly values: Float32Array;
}

const codec = headerCodec(slice);
const NO_VALUES = new Float32Array(0);

export function encodeSlice(
  kind: SliceKind,
  fields: Partial<Pick<SliceHeader, "worker" | "slice" | "iteration">>,
  values: Float32Array = NO_VALUES,
): Uint8Array {
  const body = new Uint8Array(codec.bytes + values.byteLength);
  const header = {
    ...{ version: SLICE_VERSION, kind, reserved: 0, worker: 0, slice: 0, iteration: 0 },
    ...{ ...fields, count: values.length },
  };
  codec.encode(header, body, 0);
  encodeFloatsInto(values, body, codec.bytes);
  return body;
}

export type SliceRefusal = Refusal<"slice_too_short" | "slice_version" | "slice_kind" | "slice_length">;

export function decodeSlice(body: Uint8Array): SliceMessage | SliceRefusal {
  if (body.length < codec.bytes) return { refused: "slice_too_short" };
  const header = codec.decode(body, 0);
  if (header.version !== SLICE_VERSION) return { refused: "slice_version" };
  if (header.kind < SliceKind.PUSH || header.kind > SliceKind.LEAVE) return { refused: "slice_kind" };
  const hasValues = header.kind === SliceKind.PUSH || header.kind === SliceKind.VALUES;
  const rest = body.length - codec.bytes;
  if (rest !== header.count * 4 || (!hasValues && rest > 0)) return { refused: "slice_length" };
  return { header, values: rest === 0 ? NO_VALUES : decodeFloats(body.subarray(codec.bytes)) };
}
