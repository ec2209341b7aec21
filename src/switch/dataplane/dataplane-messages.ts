/** The messages of dataplane_interface.proto. */
import { MessageType } from "../../p4info/message/descriptor.ts";

/** Request and response of PacketStream, which look alike. */
export interface DataplanePacket {
  readonly id: bigint;
  readonly deviceId: bigint;
  readonly port: number;
  readonly packet: Uint8Array;
}

export const DataplanePacket: MessageType<DataplanePacket> = new MessageType(
  "p4.bm.PacketStreamRequest",
  () => [
    [1, "id", "uint64"],
    [2, "device_id", "uint64"],
    [3, "port", "uint32"],
    [4, "packet", "bytes"],
  ],
);

export const operStatus = { down: 1, up: 2 } as const;

export interface SetPortOperStatusRequest {
  readonly deviceId: bigint;
  readonly port: number;
  readonly operStatus: number;
}

export const SetPortOperStatusRequest: MessageType<SetPortOperStatusRequest> = new MessageType(
  "p4.bm.SetPortOperStatusRequest",
  () => [
    [1, "device_id", "uint64"],
    [2, "port", "uint32"],
    // An enumeration, on the wire the same.
    [3, "oper_status", "uint32"],
  ],
);
