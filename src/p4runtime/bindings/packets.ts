import type { Params } from "../entities.ts";
import type { PacketIn } from "../proto/generated/p4runtime.ts";
import type { BoundClient } from "./client.ts";
import type { ReadFields } from "./fields.ts";

/** A packet from the switch. */
export interface BoundPacket<Metadata> {
  readonly payload: Uint8Array;
  readonly metadata: ReadFields<Metadata>;
  readonly message: PacketIn;
}

/** Packets from the switch, as P4RuntimeClient.packets gives them. */
export function bindPacketIn<Metadata extends Params>(
  client: BoundClient,
): (options?: { readonly signal?: AbortSignal }) => AsyncGenerator<BoundPacket<Metadata>, void> {
  return async function* packets(options) {
    for await (const { payload, metadata, message } of client.packets(options))
      yield { payload, metadata: metadata as ReadFields<Metadata>, message }; // made from the same packet_in header
  };
}

/** Sends a packet through the switch. @throws EntityError for metadata that does not fit; P4RuntimeError without a stream */
export function bindPacketOut<Metadata extends Readonly<Record<string, Params[string] | undefined>>>(
  client: BoundClient,
): (payload: Uint8Array, metadata: Metadata) => void {
  return (payload, metadata) => {
    const given: Record<string, Params[string]> = {};
    for (const [name, value] of Object.entries(metadata)) if (value !== undefined) given[name] = value;
    client.sendPacket(payload, given);
  };
}
