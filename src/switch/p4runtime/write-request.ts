import { decode } from "../../p4info/message/binary.ts";
import { Code } from "../../p4runtime/code.ts";
import { WriteRequest } from "../../p4runtime/proto/generated/p4runtime.ts";
import { StatusError } from "./status.ts";

/** A write request whose updates are still bytes. */
export interface RawWriteRequest {
  /** Everything but the updates. */
  readonly header: WriteRequest;
  readonly bytes: Uint8Array;
  /** Where each update begins and ends in `bytes`, by turns. */
  readonly updates: readonly number[];
}

const updatesField = 4;
const wireType = { varint: 0, fixed64: 1, delimited: 2, fixed32: 5 } as const;

/**
 * Find the updates of a write request without reading them: most are carried out from their bytes.
 *
 * @throws StatusError INTERNAL, or MessageError, when the bytes are no write request
 */
export function readWriteRequest(bytes: Uint8Array): RawWriteRequest {
  const updates: number[] = [];
  const rest: Uint8Array[] = [];
  let at = 0;
  while (at < bytes.length) {
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
        const [length, from] = varint(bytes, at);
        at = from + length;
        if (tag >>> 3 === updatesField && at <= bytes.length) {
          updates.push(from, at);
          continue;
        }
        break;
      }
      default:
        throw malformed();
    }
    if (at > bytes.length) throw malformed();
    rest.push(bytes.subarray(start, at));
  }
  return { header: decode(WriteRequest, Buffer.concat(rest)), bytes, updates };
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

function malformed(): StatusError {
  return new StatusError(Code.INTERNAL, "the bytes are no write request");
}
