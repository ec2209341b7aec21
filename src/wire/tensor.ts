import { headerCodec } from "./codec.ts";
import type { Refusal } from "./datagram.ts";
import { type HeaderValues, wireHeader } from "./header.ts";

/** UDP port of tensors that bear loss. */
export const TENSOR_PORT = 0x4754;

export const TENSOR_VERSION = 1;

/** What a packet about a tensor is. DATA goes from the sender to the receiver; so does PROBE; ECHO, BITMAP, STOP and REFUSE come back. */
export const TensorKind = {
  /** Values of the tensor, `offset` the first and `count` of them. */
  DATA: 1,
  /** Packets have arrived: `count` since the last ECHO, `sequence` and `sent_at` those of the latest. */
  ECHO: 2,
  /** Everything has been sent in round `sequence`: what is missing? `offset`: microseconds without news to wait before the answer. */
  PROBE: 3,
  /** Answer to the PROBE of round `sequence`: a bit for each of `count` segments from segment `offset` on, 1 for what has arrived. */
  BITMAP: 4,
  /** Enough has arrived, namely `offset` values. */
  STOP: 5,
  /** The receiver's job says something else about this tensor. */
  REFUSE: 6,
  /** Is the peer alive? */
  PING: 7,
  /** It is. */
  PONG: 8,
} as const;
export type TensorKind = (typeof TensorKind)[keyof typeof TensorKind];

/** Header of every packet of DLCP (arXiv 2008.08445), after Ethernet, IPv4 and UDP. 44 bytes. */
export const tensorSegment = wireHeader(
  "tensor_segment",
  {
    version: 4,
    kind: [4, "TensorKind"],
    reserved: 8,
    job: 16,
    sender: [16, "host of this packet, numbered within the job"],
    receiver: [16, "host, numbered within the job"],
    incarnation: [32, "the sender's: greater after each of its starts"],
    peer_incarnation: [32, "the receiver's, as far as the sender knows; 0 if it does not"],
    tensor: [16, "number within the job"],
    count: [16, "values, or bits of a BITMAP"],
    iteration: [32, "transfers of this tensor between these hosts, from 1"],
    elements: [32, "values of the whole tensor"],
    offset: 32,
    sequence: [32, "DATA: packets from this sender to this receiver so far; otherwise see TensorKind"],
    sent_at: [32, "the data sender's clock, in tenths of a microsecond; an ECHO gives it back"],
  },
  "One packet of a tensor that bears loss.",
);

export type TensorHeader = HeaderValues<typeof tensorSegment>;

export const tensorCodec = headerCodec(tensorSegment);

/** Most segments that one BITMAP tells of. */
export const BITMAP_SEGMENTS = 8192;

export type TensorRefusal = Refusal<"tensor_too_short" | "tensor_version" | "tensor_kind" | "tensor_length">;

export interface TensorPacket {
  readonly header: TensorHeader;
  /** Values of a DATA packet (IEEE-754 binary32 in network order), or bits of a BITMAP. A view. */
  readonly body: Uint8Array;
}

/** Opens a UDP payload; its length fits what its header says. */
export function decodeTensorPacket(payload: Uint8Array): TensorPacket | TensorRefusal {
  if (payload.length < tensorCodec.bytes) return { refused: "tensor_too_short" };
  const header = tensorCodec.decode(payload, 0);
  if (header.version !== TENSOR_VERSION) return { refused: "tensor_version" };
  if (header.kind < TensorKind.DATA || header.kind > TensorKind.PONG) return { refused: "tensor_kind" };
  const body = payload.subarray(tensorCodec.bytes);
  return body.length === bodyBytes(header) ? { header, body } : { refused: "tensor_length" };
}

function bodyBytes({ kind, count }: TensorHeader): number {
  if (kind === TensorKind.DATA) return count * 4;
  return kind === TensorKind.BITMAP ? Math.ceil(count / 8) : 0;
}

/** Is segment `i` (counted from the bitmap's first) there? The first is the highest bit of the first byte. */
export function bitOf(bits: Uint8Array, i: number): boolean {
  return (((bits[i >> 3] ?? 0) >> (7 - (i & 7))) & 1) === 1;
}

/** `count` flags from `from` on as bits. */
export function bitmapOf(flags: Uint8Array, from: number, count: number): Uint8Array {
  const bits = new Uint8Array(Math.ceil(count / 8));
  for (let i = 0; i < count; i++)
    if (flags[from + i] === 1) bits[i >> 3] = (bits[i >> 3] ?? 0) | (0x80 >> (i & 7));
  return bits;
}
