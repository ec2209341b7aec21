import { encode } from "../../p4info/message/binary.ts";
import { Code } from "../../p4runtime/code.ts";
import { Error as P4Error } from "../../p4runtime/proto/generated/p4runtime.ts";
import { Status } from "../../p4runtime/proto/generated/status.ts";
import type { StatusError } from "./status.ts";

/** The error space of `p4.v1.Error`. */
const SPACE = "gradplane";
const TYPE_URL = "type.googleapis.com/p4.v1.Error";

/**
 * How many updates or entities one request may hold. Their errors come back together in one HTTP/2 header; Node's HTTP/2 breaks the whole
 * connection when a header passes 64 KB, and even an empty error takes 38 bytes, a third more in base64.
 */
export const MAX_BATCH = 1024;

const ABSOLUTE_LIMIT = 44_000;

/**
 * Room for the details of a batch, as P4Runtime's appendix asks clients to grant: 8192 bytes and 100 for each update. The rest of the header
 * takes a little of it.
 */
function roomFor(count: number): number {
  return Math.min(ABSOLUTE_LIMIT, 7_500 + 100 * count);
}

/**
 * What a client takes that did not read the appendix: gRPC's C++ core refuses headers above 8 KB unless it is told otherwise, and ends the
 * other streams of the connection with them, so the client would not be the primary any more.
 */
const DEFAULT_ROOM = 7_500;

/**
 * The `google.rpc.Status` for a batch of which at least one member failed: code UNKNOWN and one `p4.v1.Error` per member in order
 * (P4Runtime specification 10 and 12.3). Texts are shortened so far that the whole fits the room.
 *
 * @param results one per member; undefined for one that went well.
 * @param takesLongHeaders whether the client is known to take as much as the appendix says.
 * @param space of the errors
 */
export function batchStatus(
  results: readonly (StatusError | undefined)[],
  message: string,
  takesLongHeaders: boolean,
  space: string = SPACE,
): Uint8Array {
  const lengths = [1000, 300, 120, 60, 30, 12, 0];
  for (const room of takesLongHeaders ? [roomFor(results.length)] : [DEFAULT_ROOM, roomFor(results.length)]) {
    for (const longest of lengths) {
      const bytes = statusWith(results, message, longest, space);
      if (bytes.length <= room) return bytes;
    }
  }
  return statusWith(results, message, 0, space);
}

function statusWith(
  results: readonly (StatusError | undefined)[],
  message: string,
  longest: number,
  space: string,
): Uint8Array {
  return encode(Status, {
    code: Code.UNKNOWN,
    message,
    details: results.map((result) => ({
      typeUrl: TYPE_URL,
      value:
        result === undefined
          ? new Uint8Array(0)
          : encode(P4Error, {
              canonicalCode: result.code,
              message: shorten(result.message, longest),
              space: longest === 0 ? "" : space,
            }),
    })),
  });
}

function shorten(text: string, longest: number): string {
  if (text.length <= longest) return text;
  return longest < 4 ? "" : `${text.slice(0, longest - 3)}...`;
}
