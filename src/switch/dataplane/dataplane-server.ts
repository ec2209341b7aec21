import { decode, encode } from "../../p4info/message/binary.ts";
import { hostAndPort, withPort } from "../../p4runtime/address.ts";
import type { BidiListener, GrpcMethod, StreamingCall } from "../grpc/grpc-call.ts";
import { GrpcServer } from "../grpc/grpc-server.ts";
import { type GrpcStatus, grpcCode } from "../grpc/grpc-status.ts";
import type { SwitchRunner } from "../ports/switch-runner.ts";
import { DataplanePacket, operStatus, SetPortOperStatusRequest } from "./dataplane-messages.ts";

export interface DataplaneOptions {
  readonly runner: SwitchRunner;
  readonly deviceId: bigint;
  /** `host:port`, port 0 for any free one. */
  readonly address: string;
}

/** Packets that may wait for a client that does not read; further ones are lost and counted. */
const mostWaiting = 4096;
/** Milliseconds between two looks whether the queues are empty. */
const patience = 5;
const largestPort = 511;
const nothing = new Uint8Array(0);
const service = "/p4.bm.DataplaneInterface";

class DataplaneError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * `p4.bm.DataplaneInterface` of simple_switch_grpc: ports of the switch by gRPC. Whatever port nothing else is attached to is one of it.
 *
 * As there: one client at a time, packets for other devices and empty ones are passed over, and when a client ends its side, the stream ends
 * after all of its packets have left. Ids above 2^53 do not come back.
 */
export class DataplaneServer {
  readonly #options: DataplaneOptions;
  readonly #server: GrpcServer;
  #address: string;
  #client: StreamingCall | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Packets that no client was there for, or that one did not read. */
  lost = 0;

  private constructor(options: DataplaneOptions) {
    this.#options = options;
    this.#address = options.address;
    this.#server = new GrpcServer({ methods: this.#methods(), statusOf });
    options.runner.attachOthers((port, data, origin) => this.#transmit(port, data, origin));
  }

  /** @throws the operating system's error when the address cannot be had */
  static async start(options: DataplaneOptions): Promise<DataplaneServer> {
    const server = new DataplaneServer(options);
    const { host, port } = hostAndPort(options.address);
    try {
      server.#address = withPort(options.address, await server.#server.listen(host, port));
    } catch (error) {
      server.#server.abort();
      throw error;
    }
    return server;
  }

  /** Where it listens, with the port that it got. */
  get address(): string {
    return this.#address;
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    this.#options.runner.attachOthers(undefined);
    this.#client?.end({ code: grpcCode.unavailable, message: "the switch is shutting down" });
    await this.#server.close(500);
  }

  #methods(): ReadonlyMap<string, GrpcMethod> {
    return new Map<string, GrpcMethod>([
      [`${service}/PacketStream`, { kind: "bidi", open: (call) => this.#open(call) }],
      [
        `${service}/SetPortOperStatus`,
        { kind: "unary", answer: (request) => this.#setStatus(decode(SetPortOperStatusRequest, request)) },
      ],
    ]);
  }

  #open(call: StreamingCall): BidiListener {
    if (this.#client !== undefined)
      throw new DataplaneError(grpcCode.resourceExhausted, "only one client at a time");
    this.#client = call;
    return {
      message: (bytes) => this.#receive(decode(DataplanePacket, bytes)),
      halfClosed: () => this.#endWhenEmpty(call),
      closed: () => {
        if (this.#client === call) this.#client = undefined;
      },
    };
  }

  #receive({ id, deviceId, port, packet }: DataplanePacket): void {
    if (deviceId !== this.#options.deviceId || packet.length === 0) return;
    if (port > largestPort)
      throw new DataplaneError(
        grpcCode.invalidArgument,
        `there is no port ${port}; they are 0 to ${largestPort}`,
      );
    this.#options.runner.receive(port, packet, id <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(id) : 0);
  }

  #transmit(port: number, packet: Uint8Array, origin: number): void {
    const client = this.#client;
    if (client === undefined || client.waiting >= mostWaiting) {
      this.lost++;
      return;
    }
    const { deviceId } = this.#options;
    client.send(encode(DataplanePacket, { id: BigInt(origin), deviceId, port, packet }));
  }

  #endWhenEmpty(call: StreamingCall): void {
    if (this.#options.runner.core.trafficManager.isEmpty) {
      call.end({ code: grpcCode.ok, message: "" });
      return;
    }
    this.#timer = setTimeout(() => this.#endWhenEmpty(call), patience);
  }

  #setStatus({ deviceId, port, operStatus: status }: SetPortOperStatusRequest): Uint8Array {
    if (deviceId !== this.#options.deviceId)
      throw new DataplaneError(grpcCode.invalidArgument, `this is device ${this.#options.deviceId}`);
    if (status !== operStatus.up && status !== operStatus.down)
      throw new DataplaneError(
        grpcCode.invalidArgument,
        `operational status ${status} is neither up nor down`,
      );
    const { core } = this.#options.runner;
    if (core.hasPipeline) core.setPortUp(port, status === operStatus.up);
    return nothing;
  }
}

function statusOf(error: unknown): GrpcStatus {
  if (error instanceof DataplaneError) return { code: error.code, message: error.message };
  return {
    code: grpcCode.invalidArgument,
    message: error instanceof Error ? error.message : String(error),
  };
}
