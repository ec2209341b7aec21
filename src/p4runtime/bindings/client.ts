import type { P4RuntimeClient } from "../client.ts";

/** What generated bindings need of a client; a test may give something smaller than a P4RuntimeClient. */
export type BoundClient = Pick<
  P4RuntimeClient,
  "entities" | "schema" | "write" | "read" | "packets" | "sendPacket"
>;
