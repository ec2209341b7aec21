import { headerCodec } from "./codec.ts";
import type { Refusal } from "./datagram.ts";
import { type HeaderValues, wireHeader } from "./header.ts";

export const COLLECTIVE_VERSION = 1;

/** What a message between two nodes of a group is. Those with values go over the data connection, the others over the control one. */
export const CollectiveKind = {
  /** First on each connection. `collective` is the number of nodes, `offset` the channel. */
  HELLO: 1,
  /** Values that the receiver adds to its own. */
  PARTIAL: 2,
  /** Values that the receiver takes as they are. */
  FINAL: 3,
  /** The sender is alive. */
  HEARTBEAT: 4,
  /** The group has failed. `root` is the node at fault, `offset` the cause. */
  FAILURE: 5,
  /** The sender is done with the group; its silence is no failure from now on. */
  LEAVE: 6,
} as const;
export type CollectiveKind = (typeof CollectiveKind)[keyof typeof CollectiveKind];

export const OperationId = { broadcast: 1, reduce: 2, allreduce: 3 } as const;

/** Header of every message of a collective operation; the values follow, IEEE-754 binary32 in network order. 32 bytes. */
export const collective = wireHeader(
  "collective",
  {
    version: 4,
    kind: [4, "CollectiveKind"],
    operation: [8, "1 broadcast, 2 reduce, 3 allreduce"],
    sender: [16, "node, from 0"],
    root: [16, "node that gives (broadcast) or gets (reduce) the values"],
    reserved: 16,
    session: [32, "the group's own number: a node of an earlier run does not belong"],
    collective: [32, "operations of the group so far"],
    elements: [32, "values of the whole operation"],
    offset: [32, "first value of this message"],
    count: [32, "values that follow"],
  },
  "One block of a collective operation between two nodes.",
);

export type CollectiveHeader = HeaderValues<typeof collective>;

export const collectiveCodec = headerCodec(collective);

export function isData(kind: number): boolean {
  return kind === CollectiveKind.PARTIAL || kind === CollectiveKind.FINAL;
}

export type CollectiveRefusal = Refusal<"collective_version" | "collective_kind" | "collective_count">;

/** Reads a header at `offset`; the caller has checked that it is there. */
export function decodeCollective(from: Uint8Array, offset = 0): CollectiveHeader | CollectiveRefusal {
  const header = collectiveCodec.decode(from, offset);
  if (header.version !== COLLECTIVE_VERSION) return { refused: "collective_version" };
  if (header.kind < CollectiveKind.HELLO || header.kind > CollectiveKind.LEAVE)
    return { refused: "collective_kind" };
  if (!isData(header.kind) && header.count !== 0) return { refused: "collective_count" };
  return header;
}
