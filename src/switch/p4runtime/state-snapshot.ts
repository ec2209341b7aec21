/**
 * The state of a device as one file: the pipeline and what clients wrote, as messages of P4Runtime, so that it comes back as if they
 * had written it again; and the settings of queues.
 *
 * The file: eight bytes that say what it is, then a SetForwardingPipelineConfigRequest, a WriteRequest, and a text in JSON
 * (`ports` of traffic-document.ts), each with its length in front, 4 bytes, most significant first.
 */

import { decode, encode } from "../../p4info/message/binary.ts";
import { MessageError } from "../../p4info/message/error.ts";
import {
  type ForwardingPipelineConfig,
  SetForwardingPipelineConfigRequest,
  type Update,
  WriteRequest,
} from "../../p4runtime/proto/generated/p4runtime.ts";

const magic = "gpsnap1\n";

/** A file that is no snapshot, or not one of this device or program. */
export class StateSnapshotError extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = "StateSnapshotError";
  }
}

export interface StateSnapshot {
  readonly deviceId: bigint;
  /** Undefined when no program ran. */
  readonly config: ForwardingPipelineConfig | undefined;
  readonly updates: readonly Update[];
  /** Settings of ports and queues, as `parsePorts` takes them; of a Tofino in `queues`, beside its own state. */
  readonly ports: unknown;
}

export function encodeSnapshot({ deviceId, config, updates, ports }: StateSnapshot): Uint8Array {
  const parts = [
    encode(SetForwardingPipelineConfigRequest, {
      deviceId,
      action: "VERIFY_AND_COMMIT",
      ...(config === undefined ? {} : { config }),
    }),
    encode(WriteRequest, { deviceId, updates }),
    Buffer.from(JSON.stringify(ports)),
  ];
  const framed = parts.flatMap((part) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(part.length, 0);
    return [length, part];
  });
  return Buffer.concat([Buffer.from(magic), ...framed]);
}

/** @throws StateSnapshotError */
export function decodeSnapshot(bytes: Uint8Array): StateSnapshot {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.subarray(0, magic.length).toString("latin1") !== magic)
    throw new StateSnapshotError("it is no snapshot of a switch");
  let at = magic.length;
  const part = (): Buffer => {
    if (at + 4 > buffer.length || at + 4 + buffer.readUInt32BE(at) > buffer.length)
      throw new StateSnapshotError("it is cut off");
    const from = at + 4;
    at = from + buffer.readUInt32BE(at);
    return buffer.subarray(from, at);
  };
  const [pipeline, write, ports] = [part(), part(), part()];
  try {
    const { deviceId, config } = decode(SetForwardingPipelineConfigRequest, pipeline);
    const { updates } = decode(WriteRequest, write);
    return { deviceId, config, updates, ports: JSON.parse(ports.toString()) };
  } catch (error) {
    if (error instanceof MessageError || error instanceof SyntaxError)
      throw new StateSnapshotError(`it is damaged: ${error.message}`);
    throw error;
  }
}
