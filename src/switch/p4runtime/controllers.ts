import { encode } from "../../p4info/message/binary.ts";
import type { Init } from "../../p4info/message/descriptor.ts";
import { Code } from "../../p4runtime/code.ts";
import {
  type DigestListAck,
  type PacketOut,
  type StreamError,
  StreamMessageRequest,
  StreamMessageResponse,
  type Uint128,
} from "../../p4runtime/proto/generated/p4runtime.ts";
import type { BidiListener, StreamingCall } from "../grpc/grpc-call.ts";
import type { GrpcStatus } from "../grpc/grpc-status.ts";
import { Arbitration, type ArbitrationAction, type Election, type StreamId } from "./arbitration.ts";
import type { P4RuntimeServerCounters } from "./counters.ts";
import { decodePacketIn, encodePacketOut } from "./packet-header.ts";
import { PiArbitration } from "./pi-arbitration.ts";
import type { ServerProfile } from "./profile.ts";
import type { ProgramState } from "./program-state.ts";
import { decodeRequest } from "./request-bytes.ts";
import { StatusError, statusOf, unimplemented } from "./status.ts";

/** What streams have to do with beside each other. */
export interface ControllersOptions {
  readonly profile: ServerProfile;
  readonly deviceId: bigint;
  /** Messages that may wait on one stream for a client that does not read; further ones are dropped and counted. */
  readonly mostWaiting: number;
  readonly counters: P4RuntimeServerCounters;
  /** The program that runs; undefined before the first. */
  readonly running: () => ProgramState | undefined;
  /** Lets a packet enter on the CPU port, its header in front. */
  readonly packetOut: (packet: Uint8Array) => void;
}

/** The controllers that are connected: their streams, who of them may write, and what they are told. */
export class Controllers {
  readonly #options: ControllersOptions;
  readonly #arbitration: Election;
  readonly #streams = new Map<StreamId, StreamingCall>();
  #nextStream: StreamId = 1;

  constructor(options: ControllersOptions) {
    this.#options = options;
    this.#arbitration =
      options.profile === "bmv2" ? new PiArbitration(options.deviceId) : new Arbitration(options.deviceId);
  }

  /** Streams that are open. */
  get openStreams(): number {
    return this.#streams.size;
  }

  /** Check that a request for a device comes from the primary. @throws StatusError */
  checkPrimary(deviceId: bigint, role: string, electionId: Uint128 | undefined): void {
    this.#arbitration.check(deviceId, role, electionId);
  }

  /** A client opened its stream. */
  open(call: StreamingCall): BidiListener {
    const id = this.#nextStream++;
    this.#streams.set(id, call);
    return {
      message: (bytes) => {
        const message = decodeRequest(StreamMessageRequest, bytes);
        if (this.#streams.has(id)) this.#message(id, call, message);
      },
      halfClosed: () => {
        this.#closed(id);
        call.end({ code: Code.OK, message: "" });
      },
      closed: () => this.#closed(id),
    };
  }

  /** End all streams. */
  endAll(status: GrpcStatus): void {
    for (const call of [...this.#streams.values()]) call.end(status);
  }

  #closed(id: StreamId): void {
    if (!this.#streams.delete(id)) return;
    this.#carryOut(this.#arbitration.handle({ kind: "closed", stream: id }));
  }

  #message(id: StreamId, call: StreamingCall, message: StreamMessageRequest): void {
    const update = message.update;
    switch (update?.case) {
      case "arbitration":
        this.#carryOut(this.#arbitration.handle({ kind: "arbitrate", stream: id, update: update.value }));
        return;
      case "packet":
        this.#packetOut(id, call, update.value);
        return;
      case "digestAck":
        this.#digestAck(id, call, update.value);
        return;
      default: {
        const status =
          update === undefined
            ? new StatusError(Code.INVALID_ARGUMENT, "the stream message is empty")
            : unimplemented("messages of other architectures are not supported");
        this.#refuse(call, status, { case: "other", value: { other: update?.value } });
      }
    }
  }

  #carryOut(actions: readonly ArbitrationAction[]): void {
    for (const action of actions) {
      const call = this.#streams.get(action.stream);
      if (call === undefined) continue;
      if (action.kind === "terminate") {
        this.#streams.delete(action.stream);
        call.end({ code: action.code, message: action.message });
      } else if (call.waiting >= 2 * this.#options.mostWaiting) {
        // These cannot be dropped, but somebody who never reads them cannot go on either.
        call.end({ code: Code.RESOURCE_EXHAUSTED, message: "the stream is not read" });
      } else {
        send(call, { update: { case: "arbitration", value: action.update } });
      }
    }
  }

  #packetOut(id: StreamId, call: StreamingCall, packet: PacketOut): void {
    const { counters } = this.#options;
    try {
      if (!this.#arbitration.isPrimaryStream(id))
        throw new StatusError(Code.PERMISSION_DENIED, "only the primary may send packets");
      this.#options.packetOut(encodePacketOut(this.#running().schema.packetOut, packet));
      counters.packetOutsSent++;
    } catch (error) {
      counters.packetOutsRefused++;
      this.#refuse(call, statusOf(error), { case: "packetOut", value: { packetOut: packet } });
    }
  }

  #digestAck(id: StreamId, call: StreamingCall, ack: DigestListAck): void {
    try {
      if (!this.#arbitration.isPrimaryStream(id))
        throw new StatusError(Code.PERMISSION_DENIED, "only the primary may acknowledge digests");
      this.#running().digests.acknowledge(ack.digestId, ack.listId);
    } catch (error) {
      this.#refuse(call, statusOf(error), { case: "digestListAck", value: { digestListAck: ack } });
    }
  }

  #running(): ProgramState {
    const running = this.#options.running();
    if (running === undefined)
      throw new StatusError(Code.FAILED_PRECONDITION, "no forwarding pipeline is set");
    return running;
  }

  #refuse(call: StreamingCall, status: StatusError, details: Init<StreamError>["details"]): void {
    // PI tells nothing unless it was asked to by a service of its own.
    if (this.#options.profile === "bmv2") return;
    const error: Init<StreamError> = {
      canonicalCode: status.code,
      message: status.message,
      space: "gradplane",
      details,
    };
    // A client that floods the stream with bad messages and does not read the answers loses them.
    if (call.waiting < this.#options.mostWaiting) send(call, { update: { case: "error", value: error } });
  }

  /** Tell all primaries something; how many of them do not read fast enough to hear it. */
  notifyPrimaries(message: Init<StreamMessageResponse>): { readonly told: number; readonly missed: number } {
    let told = 0;
    let missed = 0;
    let bytes: Uint8Array | undefined;
    for (const id of this.#arbitration.primaries()) {
      const call = this.#streams.get(id);
      if (call === undefined || call.waiting >= this.#options.mostWaiting) {
        missed++;
        continue;
      }
      bytes ??= encode(StreamMessageResponse, message);
      call.send(bytes);
      told++;
    }
    return { told, missed };
  }

  /** A packet left by the CPU port, its header still in front. */
  packetIn(packet: Uint8Array): void {
    const { counters } = this.#options;
    if (this.#arbitration.primaries().length === 0) {
      counters.packetInsWithoutPrimary++;
      return;
    }
    const value = decodePacketIn(this.#options.running()?.schema.packetIn, packet);
    if (value === undefined) {
      counters.packetInsTooShort++;
      return;
    }
    const { told, missed } = this.notifyPrimaries({ update: { case: "packet", value } });
    counters.packetInsSent += told;
    counters.packetInsNotRead += missed;
  }
}

function send(call: StreamingCall, message: Init<StreamMessageResponse>): void {
  call.send(encode(StreamMessageResponse, message));
}
