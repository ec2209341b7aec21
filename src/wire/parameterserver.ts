import { headerCodec } from "./codec.ts";
import { type Addressing, newFrame, PAYLOAD_AT, type Refusal } from "./datagram.ts";
import { type HeaderValues, wireHeader } from "./header.ts";

/** UDP port of the messages between workers and their parameter server. */
export const PARAMETER_SERVER_PORT = 0x4751;

export const PARAMETER_SERVER_VERSION = 1;

/** What a message is. All but ACK and HEARTBEAT are sent reliably: in chunks, each acknowledged. */
export const MessageKind = {
  /** Worker: the cold keys of one round and their gradients. One per round, also when it is empty: it is the worker's word that it takes part. */
  PUSH: 1,
  /** Worker: asks for the values of keys. */
  PULL: 2,
  /** Server: the values asked for, in the order of the keys. */
  VALUES: 3,
  /** Server: asks for a marked row's float32 gradients. */
  FETCH: 4,
  /** Worker: those gradients; no lanes when it had none for the row. */
  ROW: 5,
  /** Server: the round is finished, its gradients may be forgotten. */
  CONFIRM: 6,
  /** Server: a worker has been lost. */
  FAILURE: 7,
  /** Worker: it is done with the job; its silence is no failure from now on. */
  LEAVE: 8,
  /** Either: one chunk has arrived. */
  ACK: 9,
  /** Worker: it is alive. The server echoes it. */
  HEARTBEAT: 10,
} as const;
export type MessageKind = (typeof MessageKind)[keyof typeof MessageKind];

/** Header of every parameter-server packet, after Ethernet, IPv4 and UDP. 16 bytes. */
export const parameterServer = wireHeader(
  "parameter_server",
  {
    version: 4,
    kind: [4, "MessageKind"],
    member: [8, "the worker at one end of the conversation, whichever way the packet goes"],
    job: 16,
    round: [32, "round that the message is about; 0 where it is about none"],
    message: [32, "number of the message in its direction, a serial number from 0"],
    chunk: [16, "part of the message"],
    chunks: [16, "parts of the message; 0 in HEARTBEAT"],
  },
  "One chunk of one message between a worker and its parameter server.",
);

export type ParameterServerHeader = HeaderValues<typeof parameterServer>;

export interface ParameterServerPacket {
  readonly header: ParameterServerHeader;
  /** The chunk's bytes; after decoding a view of the frame. */
  readonly body: Uint8Array;
}

export type ParameterServerRefusal = Refusal<
  "message_too_short" | "message_version" | "message_kind" | "message_chunk"
>;

const codec = headerCodec(parameterServer);

/** Longest frame that is sent. */
const FRAME_BYTES = 1400;

/** Bytes of every chunk but the last: what fits a frame, and whole pairs of key and value. */
export const CHUNK_BYTES = Math.floor((FRAME_BYTES - PAYLOAD_AT - codec.bytes) / 8) * 8;

/** Number of chunks of a message; an empty one has one, empty chunk. */
export function chunksOf(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / CHUNK_BYTES));
}

export function parameterServerFrame(to: Addressing, packet: ParameterServerPacket): Uint8Array {
  const frame = newFrame(to, codec.bytes + packet.body.length);
  codec.encode(packet.header, frame, PAYLOAD_AT);
  frame.set(packet.body, PAYLOAD_AT + codec.bytes);
  return frame;
}

export function decodeParameterServer(payload: Uint8Array): ParameterServerPacket | ParameterServerRefusal {
  if (payload.length < codec.bytes) return { refused: "message_too_short" };
  const header = codec.decode(payload, 0);
  if (header.version !== PARAMETER_SERVER_VERSION) return { refused: "message_version" };
  if (header.kind < MessageKind.PUSH || header.kind > MessageKind.HEARTBEAT)
    return { refused: "message_kind" };
  const body = payload.subarray(codec.bytes);
  return isChunkSound(header, body.length) ? { header, body } : { refused: "message_chunk" };
}

function isChunkSound({ kind, chunk, chunks }: ParameterServerHeader, bytes: number): boolean {
  if (kind === MessageKind.HEARTBEAT) return bytes === 0 && chunks === 0;
  if (chunk >= chunks) return false;
  if (kind === MessageKind.ACK) return bytes === 0;
  if (chunk < chunks - 1) return bytes === CHUNK_BYTES;
  return bytes <= CHUNK_BYTES && (bytes > 0 || chunks === 1);
}
