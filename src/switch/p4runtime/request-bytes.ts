import { decode } from "../../p4info/message/binary.ts";
import type { MessageType } from "../../p4info/message/descriptor.ts";
import { Code } from "../../p4runtime/code.ts";
import { Entity, ReadRequest, WriteRequest } from "../../p4runtime/proto/generated/p4runtime.ts";
import { MAX_BATCH } from "./error-details.ts";
import { StatusError } from "./status.ts";

/** A request whose members are still bytes. */
interface RawRequest {
  /** Everything but the members. */
  readonly header: Uint8Array;
  /** Where each member begins and ends, by turns. */
  readonly members: readonly number[];
}

/** A write request whose updates are still bytes. */
export interface RawWriteRequest {
  /** Everything but the updates. */
  readonly header: WriteRequest;
  readonly bytes: Uint8Array;
  /** Where each update begins and ends in `bytes`, by turns. */
  readonly updates: readonly number[];
}

/** Numbers of the lists in the requests. */
const updatesField = 4;
const entitiesField = 2;
const wireType = { varint: 0, fixed64: 1, delimited: 2, fixed32: 5 } as const;
/**
 * Fields of a message that are read at most, those of messages in it included: many times what the largest P4Info or action profile group
 * has. A field of two bytes may become an object, so that the size of a message alone does not bound the memory that it takes.
 */
const mostFields = 1_000_000;

/** Read a message of a client. @throws MessageError, also when it has more fields than any that makes sense */
export function decodeRequest<T extends object>(type: MessageType<T>, bytes: Uint8Array): T {
  return decode(type, bytes, mostFields);
}

/**
 * Find the updates of a write request without reading them: most are carried out from their bytes.
 *
 * @throws StatusError RESOURCE_EXHAUSTED when there are too many; INTERNAL, or MessageError, when the bytes are no write request
 */
export function readWriteRequest(bytes: Uint8Array): RawWriteRequest {
  const { header, members } = cut(bytes, updatesField, "updates");
  return { header: decodeRequest(WriteRequest, header), bytes, updates: members };
}

/** Read a read request. @throws as `readWriteRequest` */
export function readReadRequest(bytes: Uint8Array): ReadRequest {
  const { header, members } = cut(bytes, entitiesField, "entities");
  const entities: Entity[] = [];
  for (let i = 0; i < members.length; i += 2)
    entities.push(decodeRequest(Entity, bytes.subarray(members[i], members[i + 1])));
  return { ...decodeRequest(ReadRequest, header), entities };
}

function cut(bytes: Uint8Array, membersField: number, what: string): RawRequest {
  const members: number[] = [];
  const rest: Uint8Array[] = [];
  let at = 0;
  /** Where what is not a member began. */
  let from = 0;
  for (let fields = 0; at < bytes.length; fields++) {
    if (fields > mostFields)
      throw new StatusError(Code.RESOURCE_EXHAUSTED, "the request has too many fields");
    const start = at;
    const [tag, afterTag] = varint(bytes, at);
    at = afterTag;
    switch (tag & 7) {
      case wireType.varint:
        at = varint(bytes, at)[1];
        break;
      case wireType.fixed64:
        at += 8;
        break;
      case wireType.fixed32:
        at += 4;
        break;
      case wireType.delimited: {
        const [length, first] = varint(bytes, at);
        at = first + length;
        if (tag >>> 3 !== membersField || at > bytes.length) break;
        if (members.length === 2 * MAX_BATCH) throw tooMany(what);
        members.push(first, at);
        if (start > from) rest.push(bytes.subarray(from, start));
        from = at;
        break;
      }
      default:
        throw malformed();
    }
    if (at > bytes.length) throw malformed();
  }
  rest.push(bytes.subarray(from, at));
  return { header: Buffer.concat(rest), members };
}

/** The value of a varint, cut to 53 bits, and where it ends. */
function varint(bytes: Uint8Array, from: number): readonly [value: number, end: number] {
  let value = 0;
  for (let i = 0; i < 10; i++) {
    const byte = bytes[from + i];
    if (byte === undefined) break;
    if (i < 7) value += (byte & 0x7f) * 2 ** (7 * i);
    if (byte < 0x80) return [value, from + i + 1];
  }
  throw malformed();
}

function tooMany(what: string): StatusError {
  return new StatusError(
    Code.RESOURCE_EXHAUSTED,
    `the request has too many ${what}: at most ${MAX_BATCH} are taken at once, so that their errors fit into one answer; split it`,
  );
}

function malformed(): StatusError {
  return new StatusError(Code.INTERNAL, "the bytes are no such message");
}
