import type { P4Info } from "../../p4info/generated/p4info.ts";
import { encode } from "../../p4info/message/binary.ts";
import type { Init } from "../../p4info/message/descriptor.ts";
import { hostAndPort, withPort } from "../../p4runtime/address.ts";
import { Code } from "../../p4runtime/code.ts";
import {
  CapabilitiesRequest,
  CapabilitiesResponse,
  type DigestList,
  type Entity,
  GetForwardingPipelineConfigRequest,
  GetForwardingPipelineConfigResponse,
  SetForwardingPipelineConfigRequest,
  Update,
  type WriteRequest,
} from "../../p4runtime/proto/generated/p4runtime.ts";
import { P4RuntimeService } from "../../p4runtime/service.ts";
import type { BidiListener, GrpcMethod, StreamingCall } from "../grpc/grpc-call.ts";
import { GrpcServer, type GrpcTls } from "../grpc/grpc-server.ts";
import { AccessQueue, eventLoopTurns, type Steps, type Turns } from "./access-queue.ts";
import { attempt, attemptSteps, BatchError, callStatus } from "./batch-error.ts";
import { Controllers } from "./controllers.ts";
import { newServerCounters, type P4RuntimeServerCounters } from "./counters.ts";
import { noPipeline, PI_API_VERSION, PI_ERROR_SPACE, piRead, piStatus, piUpdate } from "./pi-ways.ts";
import { Pipeline } from "./pipeline.ts";
import type { ServerProfile } from "./profile.ts";
import type { ProgramState } from "./program-state.ts";
import { ReadAnswer } from "./read-answer.ts";
import { decodeRequest, readReadRequest, readWriteRequest } from "./request-bytes.ts";
import { P4RuntimeServerError } from "./server-error.ts";
import { type StateSnapshot, StateSnapshotError } from "./state-snapshot.ts";
import { notFound, StatusError, statusOf, unimplemented } from "./status.ts";
import type { SwitchTarget } from "./target.ts";

/** The version of P4Runtime that Capabilities reports. */
export const API_VERSION = "1.4.1";

export interface P4RuntimeServerOptions {
  readonly target: SwitchTarget;
  /** Where to listen: `host:port`, port 0 for any free one. */
  readonly address: string;
  /** Above 0, as P4Runtime asks, but by profile `bmv2` 0 as well; 1 unless given. */
  readonly deviceId?: bigint;
  /** Whose ways the server has; the specification's unless given. */
  readonly profile?: ServerProfile;
  /** A program that runs from the start, without a cookie; otherwise the first controller brings one. */
  readonly program?: { readonly p4info: P4Info; readonly deviceConfig: Uint8Array };
  /** A snapshot of this device, whose program and state it begins with; instead of `program`, which must be the same if both are given. */
  readonly snapshot?: StateSnapshot;
  /** TLS; plain text unless given. */
  readonly tls?: GrpcTls;
  /** Messages that may wait on one stream for a client that does not read; further ones are dropped and counted. 1024 unless given. */
  readonly packetInQueue?: number;
  /** Hears of what clients do, for a log. */
  readonly onEvent?: (event: P4RuntimeServerEvent) => void;
  /** Largest request that is taken, in bytes; 256 MiB unless given. */
  readonly maxMessageSize?: number;
  /** Where long reads and writes give way to packets and to other clients; the event loop's turns unless given. */
  readonly turns?: Turns;
}

/** Something that a client did, in words. */
export interface P4RuntimeServerEvent {
  readonly level: "debug" | "info";
  readonly message: string;
}

/** How long streams get to take their last status when the server closes, in milliseconds. */
const CLOSE_GRACE = 500;

const NOTHING = new Uint8Array(0);

/** Updates that are carried out without a pause when they are quick. */
const quickUpdates = 16;

/** Milliseconds between two looks for idle entries. */
const IDLE_SWEEP = 100;
/** Entries in one idle notification. */
const IDLE_ENTRIES = 1000;
/** Entries of a table that one look tells of; of more the next look does, so that packets are not held up. */
const IDLE_AT_ONCE = 10_000;

/** P4Runtime over gRPC for one device. */
export class P4RuntimeServer {
  readonly deviceId: bigint;
  readonly counters: P4RuntimeServerCounters = newServerCounters();
  readonly #target: SwitchTarget;
  readonly #profile: ServerProfile;
  readonly #server: GrpcServer;
  readonly #controllers: Controllers;
  readonly #pipeline: Pipeline;
  readonly #access: AccessQueue;
  readonly #onEvent: (event: P4RuntimeServerEvent) => void;
  #address = "";
  #closing: Promise<void> | undefined;
  #digestTimer: NodeJS.Timeout | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  private constructor(options: P4RuntimeServerOptions, turns: Turns | undefined) {
    this.#access = new AccessQueue(turns);
    this.deviceId = options.deviceId ?? 1n;
    this.#profile = options.profile ?? "spec";
    this.#target = options.target;
    this.#pipeline = new Pipeline(options.target);
    this.#onEvent = options.onEvent ?? (() => {});
    this.#controllers = new Controllers({
      profile: this.#profile,
      deviceId: this.deviceId,
      mostWaiting: options.packetInQueue ?? 1024,
      counters: this.counters,
      running: () => this.#pipeline.running,
      packetOut: (packet) => this.#target.packetOut(packet),
    });
    this.#server = new GrpcServer({
      methods: this.#methods(),
      statusOf: callStatus,
      ...(options.maxMessageSize === undefined ? {} : { maxMessageSize: options.maxMessageSize }),
      ...(options.tls === undefined ? {} : { tls: options.tls }),
    });
    options.target.onPacketIn((packet) => this.#controllers.packetIn(packet));
    options.target.onDigest?.((sample) =>
      this.#sendDigests(this.#pipeline.running?.digests.sample(sample, nanoseconds()) ?? []),
    );
  }

  /**
   * Start to serve.
   *
   * @throws P4RuntimeServerError `address-in-use` or `cannot-listen`, with the address; StatusError when `program` cannot be run;
   * StateSnapshotError when `snapshot` cannot be used
   */
  static async start(options: P4RuntimeServerOptions): Promise<P4RuntimeServer> {
    const { deviceId = 1n, profile = "spec" } = options;
    const lowest = profile === "bmv2" ? 0n : 1n;
    if (deviceId < lowest || deviceId !== BigInt.asUintN(64, deviceId))
      throw new P4RuntimeServerError(
        "cannot-listen",
        options.address,
        `device id ${deviceId} is not from ${lowest} to 2^64 - 1`,
      );
    const server = new P4RuntimeServer(options, options.turns ?? eventLoopTurns);
    try {
      if (options.snapshot?.config !== undefined) server.#restore(options.snapshot, options.program);
      else if (options.program !== undefined) {
        const { p4info, deviceConfig: p4DeviceConfig } = options.program;
        server.#pipeline.set("VERIFY_AND_COMMIT", { p4info, p4DeviceConfig });
        server.#watchIdleEntries();
      }
      await server.#listen(options.address);
    } catch (error) {
      server.#server.abort();
      throw error;
    }
    return server;
  }

  /**
   * A server without a socket: who has it brings the calls to `methods`, and gets each answer at once. For simulations.
   *
   * @throws StatusError when `program` cannot be run
   */
  static unbound(
    options: Omit<P4RuntimeServerOptions, "address" | "tls" | "snapshot" | "turns">,
  ): P4RuntimeServer {
    const server = new P4RuntimeServer({ ...options, address: "" }, undefined);
    if (options.program === undefined) return server;
    const { p4info, deviceConfig: p4DeviceConfig } = options.program;
    server.#pipeline.set("VERIFY_AND_COMMIT", { p4info, p4DeviceConfig });
    return server;
  }

  /** What the server does, by the paths of methods. */
  get methods(): ReadonlyMap<string, GrpcMethod> {
    return this.#methods();
  }

  /** Where the server listens, with the port that it got. */
  get address(): string {
    return this.#address;
  }

  /** Streams that are open. */
  get openStreams(): number {
    return this.#controllers.openStreams;
  }

  /** The program and all that clients wrote to it; `ports` is the caller's. */
  snapshot(ports: unknown): StateSnapshot {
    const { config, updates = [] } = this.#pipeline.snapshot() ?? {};
    return { deviceId: this.deviceId, config, updates, ports };
  }

  #restore({ deviceId, config, updates }: StateSnapshot, program: P4RuntimeServerOptions["program"]): void {
    if (config === undefined) return;
    if (deviceId !== this.deviceId)
      throw new StateSnapshotError(`it is of device ${deviceId}; this is device ${this.deviceId}`);
    if (program !== undefined && !Buffer.from(program.deviceConfig).equals(config.p4DeviceConfig))
      throw new StateSnapshotError("it is of another program than the one that is given");
    try {
      this.#pipeline.restore(config, updates);
    } catch (error) {
      throw new StateSnapshotError(error instanceof Error ? error.message : String(error));
    }
    this.#watchIdleEntries();
  }

  /** End all streams with UNAVAILABLE and stop. Further calls wait for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  /** Drop all connections at once, as a switch that loses its power. */
  abort(): void {
    clearTimeout(this.#digestTimer);
    clearInterval(this.#idleTimer);
    this.#access.stop();
    this.#server.abort();
  }

  async #listen(address: string): Promise<void> {
    const { host, port } = hostAndPort(address);
    try {
      const bound = await this.#server.listen(host, port);
      this.#address = withPort(address, bound);
    } catch (error) {
      const isInUse = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
      throw new P4RuntimeServerError(
        isInUse ? "address-in-use" : "cannot-listen",
        address,
        error instanceof Error ? error.message : String(error),
      );
    }
  }

  async #shutDown(): Promise<void> {
    clearTimeout(this.#digestTimer);
    clearInterval(this.#idleTimer);
    this.#controllers.endAll({ code: Code.UNAVAILABLE, message: "the switch is shutting down" });
    await this.#server.close(CLOSE_GRACE);
  }

  #methods(): ReadonlyMap<string, GrpcMethod> {
    const { Write, Read, SetForwardingPipelineConfig, GetForwardingPipelineConfig } = P4RuntimeService;
    const { StreamChannel, Capabilities } = P4RuntimeService;
    return new Map<string, GrpcMethod>([
      [
        Write.path,
        { kind: "unary", answer: (request, call) => this.#access.run("write", call, this.#write(request)) },
      ],
      [
        Read.path,
        {
          kind: "serverStreaming",
          answer: (request, call) => this.#access.run("read", call, this.#read(request, call)),
        },
      ],
      [
        SetForwardingPipelineConfig.path,
        {
          kind: "unary",
          answer: (request, call) => this.#access.run("write", call, this.#setPipeline(request)),
        },
      ],
      [GetForwardingPipelineConfig.path, { kind: "unary", answer: (request) => this.#getPipeline(request) }],
      [StreamChannel.path, { kind: "bidi", open: (call) => this.#openStream(call) }],
      [Capabilities.path, { kind: "unary", answer: (request) => this.#capabilities(request) }],
    ]);
  }

  #openStream(call: StreamingCall): BidiListener {
    const listener = this.#controllers.open(call);
    this.#onEvent({ level: "info", message: `a controller's stream opened, ${this.openStreams} are open` });
    return {
      ...listener,
      closed: () => {
        listener.closed();
        this.#onEvent({
          level: "info",
          message: `a controller's stream closed, ${this.openStreams} are open`,
        });
      },
    };
  }

  #checkDevice(deviceId: bigint): void {
    if (deviceId === this.deviceId) return;
    // PI makes up whatever device is named; what it never has is a program.
    throw this.#isPi
      ? noPipeline()
      : notFound(`there is no device ${deviceId}; this is device ${this.deviceId}`);
  }

  get #isPi(): boolean {
    return this.#profile === "bmv2";
  }

  /** The program that reads and writes refer to. @throws StatusError FAILED_PRECONDITION */
  get #state(): ProgramState {
    if (this.#isPi && !this.#pipeline.isSet) throw noPipeline();
    return this.#pipeline.current;
  }

  /** Check that a request is for this device and from its primary. @throws StatusError */
  #checkSender({ deviceId, role, electionId }: Pick<WriteRequest, "deviceId" | "role" | "electionId">): void {
    if (this.#isPi) this.#controllers.checkPrimary(deviceId, role, electionId);
    this.#checkDevice(deviceId);
    if (!this.#isPi) this.#controllers.checkPrimary(deviceId, role, electionId);
  }

  /** Carry out one update. */
  #update(state: ProgramState, update: Update): StatusError | undefined {
    if (!this.#isPi) return attempt(() => state.write(update));
    const result = attempt(() => state.write(piUpdate(update, state.schema)));
    const entity = update.entity?.entity;
    const isDefaultEntry = entity?.case === "tableEntry" && entity.value.isDefaultAction;
    return result === undefined ? undefined : piStatus(result, isDefaultEntry);
  }

  *#write(request: Uint8Array): Steps<Uint8Array> {
    const { header, bytes, updates } = readWriteRequest(request);
    this.#checkSender(header);
    const state = this.#state;
    const count = updates.length / 2;
    if (header.atomicity !== "CONTINUE_ON_ERROR" && (count > 1 || this.#isPi))
      throw unimplemented(`atomicity ${header.atomicity} is not supported for more than one update`);
    const now = state.program.now();
    let results: ReturnType<typeof attempt>[] | undefined;
    let refused = 0;
    for (let i = 0; i < count; i++) {
      const from = updates[2 * i] ?? 0;
      const to = updates[2 * i + 1] ?? 0;
      if (i % quickUpdates === quickUpdates - 1) yield;
      if (state.wire.write(bytes, from, to, now)) continue;
      const result = this.#update(state, decodeRequest(Update, bytes.subarray(from, to)));
      yield;
      if (result === undefined) continue;
      results ??= new Array<undefined>(count).fill(undefined);
      results[i] = result;
      refused++;
    }
    this.counters.updatesRefused += refused;
    this.counters.updatesWritten += count - refused;
    if (results !== undefined) {
      this.#onEvent({ level: "debug", message: `${refused} of ${count} updates refused` });
      if (this.#isPi) throw new BatchError(results, "", PI_ERROR_SPACE);
      throw new BatchError(results, `${refused} of ${count} updates failed`);
    }
    return NOTHING;
  }

  *#read(bytes: Uint8Array, call: StreamingCall): Steps<void> {
    const request = readReadRequest(bytes);
    this.#checkDevice(request.deviceId);
    const state = this.#state;
    // What the client does not take waits in the call: a slow one must not hold up writes.
    const answer = new ReadAnswer((response) => call.send(response));
    if (this.#isPi) {
      yield* piReads(state, request.entities, answer, call);
      return;
    }
    const results: (StatusError | undefined)[] = [];
    for (const wanted of request.entities) results.push(yield* attemptSteps(state.readInto(wanted, answer)));
    answer.finish();
    const refused = results.filter((result) => result !== undefined).length;
    if (refused > 0) throw new BatchError(results, `${refused} of ${results.length} reads failed`);
    call.end({ code: Code.OK, message: "" });
  }

  // Nothing is let in between: a program and its state are exchanged as a whole.
  // biome-ignore lint/correctness/useYield: its place in the order of reads and writes is what matters
  *#setPipeline(bytes: Uint8Array): Steps<Uint8Array> {
    const request = decodeRequest(SetForwardingPipelineConfigRequest, bytes);
    this.#checkSender(request);
    try {
      this.#pipeline.set(request.action, request.config);
    } catch (error) {
      // Whatever is wrong with a program, its target refuses it, and does not say why.
      throw this.#isPi ? new StatusError(Code.UNKNOWN, statusOf(error).message) : error;
    }
    this.#onEvent({ level: "info", message: `pipeline: ${request.action}` });
    this.#watchIdleEntries();
    return NOTHING;
  }

  #getPipeline(bytes: Uint8Array): Uint8Array {
    const request = decodeRequest(GetForwardingPipelineConfigRequest, bytes);
    this.#checkDevice(request.deviceId);
    if (this.#isPi && !this.#pipeline.isSet) throw noPipeline();
    return encode(GetForwardingPipelineConfigResponse, { config: this.#pipeline.get(request.responseType) });
  }

  #capabilities(bytes: Uint8Array): Uint8Array {
    const request = decodeRequest(CapabilitiesRequest, bytes);
    if (this.#isPi) return encode(CapabilitiesResponse, { p4runtimeApiVersion: PI_API_VERSION });
    if (request.deviceId !== 0n) this.#checkDevice(request.deviceId);
    return encode(CapabilitiesResponse, { p4runtimeApiVersion: API_VERSION });
  }

  /** Look for idle entries from now on, if the program that runs can have any. */
  #watchIdleEntries(): void {
    clearInterval(this.#idleTimer);
    const { running } = this.#pipeline;
    if (running?.hasIdleTimeouts !== true) return;
    this.#idleTimer = setInterval(() => {
      for (const entries of running.idleEntries(IDLE_AT_ONCE))
        for (let at = 0; at < entries.length; at += IDLE_ENTRIES) {
          const tableEntry = entries.slice(at, at + IDLE_ENTRIES);
          const value = { tableEntry, timestamp: BigInt(Math.round(nanoseconds())) };
          const { told } = this.#controllers.notifyPrimaries({
            update: { case: "idleTimeoutNotification", value },
          });
          if (told === 0) this.counters.notificationsLost++;
        }
    }, IDLE_SWEEP);
    this.#idleTimer.unref();
  }

  /** Send digest lists to the primaries, and see to those that are to go later. */
  #sendDigests(lists: readonly Init<DigestList>[]): void {
    for (const value of lists) {
      const { told } = this.#controllers.notifyPrimaries({ update: { case: "digest", value } });
      if (told === 0) this.counters.notificationsLost++;
    }
    const next = this.#pipeline.running?.digests.nextWakeup();
    if (next === undefined || this.#digestTimer !== undefined) return;
    const delay = Math.max(0, (next - nanoseconds()) / 1e6);
    this.#digestTimer = setTimeout(() => {
      this.#digestTimer = undefined;
      this.#sendDigests(this.#pipeline.running?.digests.tick(nanoseconds()) ?? []);
    }, delay);
  }
}

/** PI gives what it gathered before the first entity that cannot be read, and then that one's status alone. */
function* piReads(
  state: ProgramState,
  entities: readonly Entity[],
  answer: ReadAnswer,
  call: StreamingCall,
): Steps<void> {
  let refused: StatusError | undefined;
  for (const wanted of entities) {
    refused = yield* attemptSteps(piReadInto(state, wanted, answer));
    if (refused !== undefined) break;
  }
  answer.finish();
  if (answer.responses === 0) call.send(NOTHING);
  if (refused !== undefined) throw piStatus(refused, false);
  call.end({ code: Code.OK, message: "" });
}

function* piReadInto(state: ProgramState, wanted: Entity, answer: ReadAnswer): Steps<void> {
  yield* state.readInto(piRead(wanted, state.schema), answer);
}

/** The time of digests, since the epoch. */
function nanoseconds(): number {
  return (performance.timeOrigin + performance.now()) * 1e6;
}
