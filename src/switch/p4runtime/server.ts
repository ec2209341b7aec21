import { createServer, type Server as NetServer, type Socket } from "node:net";
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerWritableStream,
  type sendUnaryData,
} from "@grpc/grpc-js";
import type { P4Info } from "../../p4info/generated/p4info.ts";
import type { Init } from "../../p4info/message/descriptor.ts";
import { Code } from "../../p4runtime/code.ts";
import type {
  CapabilitiesRequest,
  CapabilitiesResponse,
  DigestList,
  DigestListAck,
  Entity,
  GetForwardingPipelineConfigRequest,
  GetForwardingPipelineConfigResponse,
  PacketOut,
  ReadRequest,
  ReadResponse,
  SetForwardingPipelineConfigRequest,
  SetForwardingPipelineConfigResponse,
  StreamError,
  StreamMessageRequest,
  StreamMessageResponse,
  Uint128,
  WriteRequest,
  WriteResponse,
} from "../../p4runtime/proto/generated/p4runtime.ts";
import { type P4RuntimeHandlers, P4RuntimeService } from "../../p4runtime/service.ts";
import { Arbitration, type ArbitrationAction, type StreamId } from "./arbitration.ts";
import { batchStatus, MAX_BATCH } from "./error-details.ts";
import { decodePacketIn, encodePacketOut } from "./packet-header.ts";
import { Pipeline } from "./pipeline.ts";
import type { ProgramState } from "./program-state.ts";
import { P4RuntimeServerError } from "./server-error.ts";
import { notFound, StatusError, statusOf, unimplemented } from "./status.ts";
import type { SwitchTarget } from "./target.ts";

/** The version of P4Runtime that Capabilities reports. */
export const API_VERSION = "1.4.1";

export interface P4RuntimeServerOptions {
  readonly target: SwitchTarget;
  /** Where to listen: `host:port`, port 0 for any free one. */
  readonly address: string;
  /** Above 0, as P4Runtime asks; 1 unless given. */
  readonly deviceId?: bigint;
  /** A program that runs from the start, without a cookie; otherwise the first controller brings one. */
  readonly program?: { readonly p4info: P4Info; readonly deviceConfig: Uint8Array };
  /** TLS; plain text unless given. */
  readonly credentials?: ServerCredentials;
  /** Packets for the controller that may wait on one stream; further ones are dropped and counted. 1024 unless given. */
  readonly packetInQueue?: number;
}

/** What became of packets to and from controllers, and of requests. */
export interface P4RuntimeServerCounters {
  packetInsSent: number;
  /** No stream of a primary was open. */
  packetInsWithoutPrimary: number;
  /** The primary did not read its stream fast enough. */
  packetInsNotRead: number;
  /** Shorter than the packet_in header. */
  packetInsTooShort: number;
  packetOutsSent: number;
  packetOutsRefused: number;
  updatesWritten: number;
  updatesRefused: number;
}

type Stream = ServerDuplexStream<StreamMessageRequest, Init<StreamMessageResponse>>;

/** Entities in one ReadResponse, so that answers stay far below the 4 MB that clients take by default. */
const ENTITIES_PER_RESPONSE = 1000;

/** How long streams get to take their last status when the server closes, in milliseconds. */
const CLOSE_GRACE = 500;

/** Pings to clients find broken connections, whose election ids would stay in use otherwise. */
const CHANNEL_OPTIONS = {
  "grpc.max_receive_message_length": -1,
  "grpc.max_send_message_length": -1,
  "grpc.keepalive_time_ms": 30_000,
  // A client that computes for a while does not answer at once.
  "grpc.keepalive_timeout_ms": 60_000,
};

/** P4Runtime over gRPC for one device. */
export class P4RuntimeServer {
  readonly deviceId: bigint;
  readonly counters: P4RuntimeServerCounters = {
    packetInsSent: 0,
    packetInsWithoutPrimary: 0,
    packetInsNotRead: 0,
    packetInsTooShort: 0,
    packetOutsSent: 0,
    packetOutsRefused: 0,
    updatesWritten: 0,
    updatesRefused: 0,
  };
  readonly #target: SwitchTarget;
  readonly #server: Server;
  readonly #arbitration: Arbitration;
  readonly #pipeline: Pipeline;
  readonly #streams = new Map<StreamId, Stream>();
  readonly #packetInQueue: number;
  #nextStream: StreamId = 1;
  #address = "";
  #listener: NetServer | undefined;
  /** All connections, those too that gRPC does not know since they have said nothing, or nonsense. */
  readonly #sockets = new Set<Socket>();
  #closing: Promise<void> | undefined;
  #digestTimer: NodeJS.Timeout | undefined;

  private constructor(options: P4RuntimeServerOptions) {
    this.deviceId = options.deviceId ?? 1n;
    this.#target = options.target;
    this.#packetInQueue = options.packetInQueue ?? 1024;
    this.#arbitration = new Arbitration(this.deviceId);
    this.#pipeline = new Pipeline(options.target);
    this.#server = new Server(CHANNEL_OPTIONS);
    const handlers: P4RuntimeHandlers = {
      Write: (call, callback) => this.#unary(call.metadata, callback, () => this.#write(call.request)),
      Read: (call) => this.#read(call),
      SetForwardingPipelineConfig: (call, callback) =>
        this.#unary(call.metadata, callback, () => this.#setPipeline(call.request)),
      GetForwardingPipelineConfig: (call, callback) =>
        this.#unary(call.metadata, callback, () => this.#getPipeline(call.request)),
      StreamChannel: (call) => this.#open(call),
      Capabilities: (call, callback) =>
        this.#unary(call.metadata, callback, () => this.#capabilities(call.request)),
    };
    this.#server.addService(P4RuntimeService, { ...handlers });
    options.target.onPacketIn((packet) => this.#packetIn(packet));
    options.target.onDigest?.((sample) =>
      this.#sendDigests(this.#pipeline.running?.digests.sample(sample, nanoseconds()) ?? []),
    );
  }

  /**
   * Start to serve.
   *
   * @throws P4RuntimeServerError `address-in-use` or `cannot-listen`, with the address; StatusError when `program` cannot be run.
   */
  static async start(options: P4RuntimeServerOptions): Promise<P4RuntimeServer> {
    if (
      options.deviceId !== undefined &&
      (options.deviceId <= 0n || options.deviceId !== BigInt.asUintN(64, options.deviceId))
    )
      throw new P4RuntimeServerError(
        "cannot-listen",
        options.address,
        `device id ${options.deviceId} is not from 1 to 2^64 - 1`,
      );
    const server = new P4RuntimeServer(options);
    if (options.program !== undefined) {
      const { p4info, deviceConfig: p4DeviceConfig } = options.program;
      server.#pipeline.set("VERIFY_AND_COMMIT", { p4info, p4DeviceConfig });
    }
    await server.#bind(options.address, options.credentials ?? ServerCredentials.createInsecure());
    return server;
  }

  /** Where the server listens, with the port that it got. */
  get address(): string {
    return this.#address;
  }

  /** Streams that are open. */
  get openStreams(): number {
    return this.#streams.size;
  }

  /** End all streams with UNAVAILABLE and stop. Further calls wait for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  /** Drop all connections at once, as a switch that loses its power. */
  abort(): void {
    clearTimeout(this.#digestTimer);
    this.#listener?.close();
    this.#breakConnections();
    for (const id of [...this.#streams.keys()]) this.#closed(id);
  }

  /**
   * Listen with sockets of our own: gRPC's would wait for an acknowledgement before each small message (Nagle), 40 ms for every
   * packet-in.
   */
  #bind(address: string, credentials: ServerCredentials): Promise<void> {
    const injector = this.#server.createConnectionInjector(credentials);
    const listener = createServer({ noDelay: true }, (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      injector.injectConnection(socket);
    });
    this.#listener = listener;
    const [host, port] = hostAndPort(address);
    return new Promise((resolve, reject) => {
      listener.once("error", (error: NodeJS.ErrnoException) => {
        this.#server.forceShutdown();
        const isInUse = error.code === "EADDRINUSE";
        reject(
          new P4RuntimeServerError(isInUse ? "address-in-use" : "cannot-listen", address, error.message),
        );
      });
      listener.listen({ host, port }, () => {
        const bound = listener.address();
        this.#address =
          bound === null || typeof bound === "string" ? address : address.replace(/:\d+$/, `:${bound.port}`);
        resolve();
      });
    });
  }

  /** gRPC ends only the connections that have become its own. */
  #breakConnections(): void {
    this.#server.forceShutdown();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #shutDown(): Promise<void> {
    clearTimeout(this.#digestTimer);
    this.#listener?.close();
    const done = new Promise<void>((resolve) => this.#server.tryShutdown(() => resolve()));
    for (const [id, stream] of [...this.#streams]) {
      this.#terminate(stream, Code.UNAVAILABLE, "the switch is shutting down");
      this.#closed(id);
    }
    const force = setTimeout(() => this.#breakConnections(), CLOSE_GRACE);
    await done;
    clearTimeout(force);
    // One that is left would keep the process.
    this.#breakConnections();
  }

  /** Answer a unary call with what `serve` returns or throws. */
  #unary<Response>(request: Metadata, callback: sendUnaryData<Response>, serve: () => Response): void {
    let response: Response;
    try {
      response = serve();
    } catch (error) {
      callback(serviceError(error, request));
      return;
    }
    callback(null, response);
  }

  #checkDevice(deviceId: bigint): void {
    if (deviceId !== this.deviceId)
      throw notFound(`there is no device ${deviceId}; this is device ${this.deviceId}`);
  }

  /** The checks of 12 and 14, in their order. */
  #checkPrimary(request: {
    readonly deviceId: bigint;
    readonly role: string;
    readonly electionId?: Uint128 | undefined;
  }): void {
    this.#checkDevice(request.deviceId);
    if (!this.#arbitration.knowsRole(request.role))
      throw notFound(`no client has the role "${request.role}"`);
    if (!this.#arbitration.isPrimary(request.role, request.electionId))
      throw new StatusError(
        Code.PERMISSION_DENIED,
        request.electionId === undefined
          ? "the request has no election id, so it does not come from the primary"
          : "the election id is not that of the primary",
      );
  }

  #write(request: WriteRequest): WriteResponse {
    this.#checkPrimary(request);
    const state = this.#pipeline.current;
    if (request.atomicity !== "CONTINUE_ON_ERROR" && request.updates.length > 1)
      throw unimplemented(`atomicity ${request.atomicity} is not supported for more than one update`);
    checkBatch(request.updates.length, "updates");
    const results = request.updates.map((update) => attempt(() => state.write(update)));
    const refused = results.filter((result) => result !== undefined).length;
    this.counters.updatesRefused += refused;
    this.counters.updatesWritten += results.length - refused;
    if (refused > 0) throw new BatchError(results, `${refused} of ${results.length} updates failed`);
    return {};
  }

  async #read(call: ServerWritableStream<ReadRequest, Init<ReadResponse>>): Promise<void> {
    try {
      this.#checkDevice(call.request.deviceId);
      const state = this.#pipeline.current;
      checkBatch(call.request.entities.length, "entities");
      const entities: Init<Entity>[] = [];
      const results = call.request.entities.map((request) =>
        attempt(() => {
          for (const entity of state.read(request)) entities.push(entity);
        }),
      );
      // All is gathered before the first await, so an answer never mixes two states.
      for (let at = 0; at < entities.length && !call.cancelled; at += ENTITIES_PER_RESPONSE) {
        const response = { entities: entities.slice(at, at + ENTITIES_PER_RESPONSE) };
        if (!call.write(response)) await drained(call);
      }
      const refused = results.filter((result) => result !== undefined).length;
      if (refused > 0) throw new BatchError(results, `${refused} of ${results.length} reads failed`);
      call.end();
    } catch (error) {
      call.emit("error", serviceError(error, call.metadata));
    }
  }

  #setPipeline(request: SetForwardingPipelineConfigRequest): SetForwardingPipelineConfigResponse {
    this.#checkPrimary(request);
    this.#pipeline.set(request.action, request.config);
    return {};
  }

  #getPipeline(request: GetForwardingPipelineConfigRequest): Init<GetForwardingPipelineConfigResponse> {
    this.#checkDevice(request.deviceId);
    return { config: this.#pipeline.get(request.responseType) };
  }

  #capabilities(request: CapabilitiesRequest): Init<CapabilitiesResponse> {
    if (request.deviceId !== 0n) this.#checkDevice(request.deviceId);
    return { p4runtimeApiVersion: API_VERSION };
  }

  #open(stream: Stream): void {
    const id = this.#nextStream++;
    this.#streams.set(id, stream);
    stream.on("data", (message: StreamMessageRequest) => {
      if (this.#streams.has(id)) this.#message(id, stream, message);
    });
    stream.on("end", () => {
      this.#closed(id);
      stream.end();
    });
    for (const event of ["cancelled", "error", "close"]) stream.on(event, () => this.#closed(id));
  }

  #closed(id: StreamId): void {
    if (!this.#streams.delete(id)) return;
    this.#carryOut(this.#arbitration.handle({ kind: "closed", stream: id }));
  }

  #message(id: StreamId, stream: Stream, message: StreamMessageRequest): void {
    const update = message.update;
    switch (update?.case) {
      case "arbitration":
        this.#carryOut(this.#arbitration.handle({ kind: "arbitrate", stream: id, update: update.value }));
        return;
      case "packet":
        this.#packetOut(id, stream, update.value);
        return;
      case "digestAck":
        this.#digestAck(id, stream, update.value);
        return;
      default: {
        const status =
          update === undefined
            ? new StatusError(Code.INVALID_ARGUMENT, "the stream message is empty")
            : unimplemented("messages of other architectures are not supported");
        this.#refuse(stream, status, { case: "other", value: { other: update?.value } });
      }
    }
  }

  #carryOut(actions: readonly ArbitrationAction[]): void {
    for (const action of actions) {
      const stream = this.#streams.get(action.stream);
      if (stream === undefined) continue;
      if (action.kind === "terminate") {
        this.#streams.delete(action.stream);
        this.#terminate(stream, action.code, action.message);
      } else {
        stream.write({ update: { case: "arbitration", value: action.update } });
      }
    }
  }

  #terminate(stream: Stream, code: number, details: string): void {
    stream.emit("error", { code, details });
  }

  #packetOut(id: StreamId, stream: Stream, packet: PacketOut): void {
    try {
      if (!this.#arbitration.isPrimaryStream(id))
        throw new StatusError(Code.PERMISSION_DENIED, "only the primary may send packets");
      const running = this.#pipeline.running;
      if (running === undefined)
        throw new StatusError(Code.FAILED_PRECONDITION, "no forwarding pipeline is set");
      this.#target.packetOut(encodePacketOut(running.schema.packetOut, packet));
      this.counters.packetOutsSent++;
    } catch (error) {
      this.counters.packetOutsRefused++;
      this.#refuse(stream, statusOf(error), { case: "packetOut", value: { packetOut: packet } });
    }
  }

  #digestAck(id: StreamId, stream: Stream, ack: DigestListAck): void {
    try {
      if (!this.#arbitration.isPrimaryStream(id))
        throw new StatusError(Code.PERMISSION_DENIED, "only the primary may acknowledge digests");
      this.#running().digests.acknowledge(ack.digestId, ack.listId);
    } catch (error) {
      this.#refuse(stream, statusOf(error), { case: "digestListAck", value: { digestListAck: ack } });
    }
  }

  #running(): ProgramState {
    const { running } = this.#pipeline;
    if (running === undefined)
      throw new StatusError(Code.FAILED_PRECONDITION, "no forwarding pipeline is set");
    return running;
  }

  /** Send digest lists to the primaries, and see to those that are to go later. */
  #sendDigests(lists: readonly Init<DigestList>[]): void {
    for (const value of lists)
      for (const id of this.#arbitration.primaries()) this.#notify(id, { update: { case: "digest", value } });
    const next = this.#pipeline.running?.digests.nextWakeup();
    if (next === undefined || this.#digestTimer !== undefined) return;
    const delay = Math.max(0, (next - nanoseconds()) / 1e6);
    this.#digestTimer = setTimeout(() => {
      this.#digestTimer = undefined;
      this.#sendDigests(this.#pipeline.running?.digests.tick(nanoseconds()) ?? []);
    }, delay);
  }

  /** False when the stream is gone or its reader too slow. */
  #notify(id: StreamId, message: Init<StreamMessageResponse>): boolean {
    const stream = this.#streams.get(id);
    if (stream === undefined || stream.writableLength >= this.#packetInQueue) return false;
    stream.write(message);
    return true;
  }

  #refuse(stream: Stream, status: StatusError, details: Init<StreamError>["details"]): void {
    const error: Init<StreamError> = {
      canonicalCode: status.code,
      message: status.message,
      space: "gradplane",
      details,
    };
    // A client that floods the stream with bad messages and does not read the answers loses them.
    if (stream.writableLength < this.#packetInQueue)
      stream.write({ update: { case: "error", value: error } });
  }

  #packetIn(packet: Uint8Array): void {
    const primaries = this.#arbitration.primaries();
    if (primaries.length === 0) {
      this.counters.packetInsWithoutPrimary++;
      return;
    }
    const value = decodePacketIn(this.#pipeline.running?.schema.packetIn, packet);
    if (value === undefined) {
      this.counters.packetInsTooShort++;
      return;
    }
    const message: Init<StreamMessageResponse> = { update: { case: "packet", value } };
    for (const id of primaries) {
      if (this.#notify(id, message)) this.counters.packetInsSent++;
      else this.counters.packetInsNotRead++;
    }
  }
}

/** The time of digests, since the epoch. */
function nanoseconds(): number {
  return (performance.timeOrigin + performance.now()) * 1e6;
}

/** `[::1]:9559` and `localhost:9559` alike. */
function hostAndPort(address: string): readonly [host: string, port: number] {
  const at = address.lastIndexOf(":");
  return [address.slice(0, at).replace(/^\[(.*)\]$/, "$1"), Number(address.slice(at + 1))];
}

/** Members of a batch failed. */
class BatchError extends Error {
  readonly results: readonly (StatusError | undefined)[];

  constructor(results: readonly (StatusError | undefined)[], message: string) {
    super(message);
    this.results = results;
  }
}

function attempt(action: () => void): StatusError | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    return statusOf(error);
  }
}

function checkBatch(count: number, what: string): void {
  if (count > MAX_BATCH)
    throw new StatusError(
      Code.RESOURCE_EXHAUSTED,
      `the request has ${count} ${what}, but at most ${MAX_BATCH} are taken at once, so that their errors fit into one answer; split it`,
    );
}

/** Resolves when the stream can take more, or never will. */
function drained(call: ServerWritableStream<ReadRequest, Init<ReadResponse>>): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      call.off("drain", done).off("cancelled", done).off("close", done);
      resolve();
    };
    call.on("drain", done).on("cancelled", done).on("close", done);
  });
}

/** gRPC for Node, which our own client is made with, takes headers of any size that HTTP/2 does. */
function takesLongHeaders(request: Metadata): boolean {
  return request.get("user-agent").some((agent) => agent.toString().includes("grpc-node-js"));
}

function serviceError(
  error: unknown,
  request: Metadata,
): { code: number; details: string; metadata?: Metadata } {
  if (error instanceof BatchError) {
    const metadata = new Metadata();
    metadata.set(
      "grpc-status-details-bin",
      Buffer.from(batchStatus(error.results, error.message, takesLongHeaders(request))),
    );
    return { code: Code.UNKNOWN, details: error.message, metadata };
  }
  const status = statusOf(error);
  return { code: status.code, details: status.message };
}
