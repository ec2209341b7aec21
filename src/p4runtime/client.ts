import type { Any } from "../p4info/generated/any.ts";
import { P4Info } from "../p4info/generated/p4info.ts";
import { create } from "../p4info/message/create.ts";
import type { Init } from "../p4info/message/descriptor.ts";
import { P4RuntimeError, P4RuntimeWriteError, type UpdateStatus } from "./call-error.ts";
import { Code, codeName } from "./code.ts";
import { type CallOptions, Connection, type ConnectionOptions } from "./connection.ts";
import { cookieOf } from "./cookie.ts";
import { describeEntity, describeUpdate } from "./describe.ts";
import { electionIdMessage } from "./election-id.ts";
import { EntityBuilder, type Params, remove } from "./entities.ts";
import { EntityError } from "./entity-error.ts";
import {
  type DigestList,
  Entity,
  type ForwardingPipelineConfig,
  type GetForwardingPipelineConfigRequest_ResponseType,
  type IdleTimeoutNotification,
  type PacketIn,
  type StreamError,
  type StreamMessageResponse,
  type Update,
  type WriteRequest_Atomicity,
} from "./proto/generated/p4runtime.ts";
import type { BoundedQueue } from "./queue.ts";
import { Schema } from "./schema.ts";
import { requestsOf } from "./sequence.ts";
import { identifyServer, type ServerKind, type ServerProfile, serverProfile } from "./server-profile.ts";
import { P4RuntimeService } from "./service.ts";
import { type ArbitrationState, Session } from "./session.ts";
import type { Transport } from "./transport.ts";
import { type BatchOutcome, failedBatch, readError, reasonOf, statusOf } from "./write-outcome.ts";

/** Updates in one request. The errors of more than about 400 would not fit into one HTTP/2 header of Node. */
export const UPDATES_PER_REQUEST = 256;

const DEFAULT_TIMEOUT = 10_000;
/** For calls that carry whole programs or tables. */
const LONG_TIMEOUT = 60_000;

export interface ClientOptions extends ConnectionOptions {
  /** 1 unless given. (BMv2's own default is 0, which P4Runtime forbids.) */
  readonly deviceId?: bigint;
  /** Name of the role; the default role, which may do everything, unless given. */
  readonly role?: string;
  /** Configuration of the role, in whatever form the switch wants it (5.2). */
  readonly roleConfig?: Init<Any>;
  /** Who the server is, when it need not be found out. */
  readonly server?: ServerKind;
  /** Milliseconds that a call may take: 10,000, or 60,000 for pipelines and reads. */
  readonly timeout?: number;
  /** Packets from the switch, and digests, notifications and refusals, that may wait to be read: 1024 each. Further ones are dropped and counted. */
  readonly packetQueue?: number;
  /** How calls reach the switch; by gRPC unless given. */
  readonly transport?: () => Transport;
  /** Called with each answer to arbitration and each change of the primary. */
  readonly onArbitration?: (state: ArbitrationState) => void;
  /** Called when the switch refuses a packet or another stream message; `streamRefusals` then stays empty. */
  readonly onStreamError?: (error: StreamError) => void;
  /** Called once when the stream ends, unless by `close()`. */
  readonly onDisconnect?: (error: P4RuntimeError) => void;
  /** Called with digests, idle timeouts and the like; `digests` and `idleTimeouts` then stay empty. */
  readonly onMessage?: (message: StreamMessageResponse) => void;
}

export interface WriteOptions extends CallOptions {
  /** CONTINUE_ON_ERROR unless given. The others hold for one request, so more updates than fit into one are refused; few servers have them. */
  readonly atomicity?: WriteRequest_Atomicity;
}

export interface PushOptions extends CallOptions {
  /** VERIFY_AND_COMMIT unless given. */
  readonly action?: "VERIFY" | "VERIFY_AND_SAVE" | "VERIFY_AND_COMMIT" | "RECONCILE_AND_COMMIT";
  /** `cookieOf` the program unless given. */
  readonly cookie?: bigint;
}

export interface ReceivedPacket {
  readonly payload: Uint8Array;
  /** By name in the packet_in header; empty when the program is not known or has no such header. */
  readonly metadata: Readonly<Record<string, bigint>>;
  readonly message: PacketIn;
}

/**
 * A client of one P4Runtime device.
 *
 * ```ts
 * const client = await P4RuntimeClient.connect({ address: "127.0.0.1:9559" });
 * await client.arbitrate(1n);
 * await client.pushPipeline(p4info, json);
 * const { entities } = client;
 * await client.write([insert(entities.tableEntry("ipv4_lpm", { dst: "10.0.0.0/8" }, "forward", { port: 1 }))]);
 * for await (const entity of client.read([entities.allEntries("ipv4_lpm")])) console.log(entity);
 * await client.close();
 * ```
 *
 * Every call has a deadline and takes an AbortSignal; failures are P4RuntimeError with a canonical code and the address. It does not
 * reconnect by itself: when the stream ends, `onDisconnect` is called, and a new client is made.
 */
export class P4RuntimeClient {
  readonly address: string;
  readonly deviceId: bigint;
  readonly role: string;
  readonly #connection: Transport;
  readonly #session: Session;
  readonly #timeout: number | undefined;
  readonly #givenServer: ServerKind | undefined;
  readonly #errorSpaces = new Set<string>();
  #emptyPipelineText: string | undefined;
  #apiVersion = "";
  #entities: EntityBuilder | undefined;
  #closing: Promise<void> | undefined;

  private constructor(options: ClientOptions) {
    this.address = options.address;
    this.deviceId = options.deviceId ?? 1n;
    this.role = options.role ?? "";
    this.#timeout = options.timeout;
    this.#givenServer = options.server;
    this.#connection = options.transport?.() ?? new Connection(options);
    this.#session = new Session(this.#connection, {
      deviceId: this.deviceId,
      role: this.role,
      roleConfig: options.roleConfig,
      packetQueue: options.packetQueue ?? 1024,
      onArbitration: options.onArbitration,
      onStreamError: options.onStreamError,
      onDisconnect: options.onDisconnect,
      onMessage: options.onMessage,
    });
  }

  /**
   * Connect, and ask for the server's version.
   *
   * @throws P4RuntimeError UNAVAILABLE when nobody listens or TLS fails, DEADLINE_EXCEEDED when the server is silent.
   */
  static async connect(options: ClientOptions, call: CallOptions = {}): Promise<P4RuntimeClient> {
    const client = new P4RuntimeClient(options);
    try {
      client.#apiVersion = await client.#capabilities(call);
      return client;
    } catch (error) {
      await client.close();
      throw error;
    }
  }

  /** The version of P4Runtime that the server reports; `"1.0"` for one that has no Capabilities call. */
  get apiVersion(): string {
    return this.#apiVersion;
  }

  /** What is known of the server's ways by now; see `identify`. */
  get server(): ServerProfile {
    const kind =
      this.#givenServer ??
      identifyServer({
        apiVersion: this.#apiVersion,
        errorSpaces: this.#errorSpaces,
        emptyPipelineText: this.#emptyPipelineText,
        architecture: this.#entities?.schema.info.pkgInfo?.arch,
      });
    return serverProfile(kind, this.#apiVersion);
  }

  /**
   * Find out who the server is, by the form of its errors: a primary asks it to delete an entry of a table that cannot be. Without a program
   * on the switch, or as a backup, nothing is asked and only what is known already counts.
   */
  async identify(options: CallOptions = {}): Promise<ServerProfile> {
    if (this.#givenServer === undefined && this.#errorSpaces.size === 0 && this.isPrimary) {
      const outcome = await this.#writeBatch([NO_SUCH_ENTRY], options);
      if (outcome.failure !== undefined && isFatal(outcome.failure)) throw outcome.failure;
    }
    return this.server;
  }

  /** What the last answer to arbitration said; undefined before the first. */
  get arbitration(): ArbitrationState | undefined {
    return this.#session.state;
  }

  get isPrimary(): boolean {
    return this.#session.state?.isPrimary ?? false;
  }

  /** Makes entities from names. @throws P4RuntimeError FAILED_PRECONDITION before a program is known (`pushPipeline`, `useProgram`) */
  get entities(): EntityBuilder {
    if (this.#entities === undefined)
      throw new P4RuntimeError(
        Code.FAILED_PRECONDITION,
        this.address,
        "entities",
        "the program is not known yet; push a pipeline or call useProgram()",
      );
    return this.#entities;
  }

  get schema(): Schema {
    return this.entities.schema;
  }

  /** Take the names from this P4Info, or from the one on the switch. @throws P4RuntimeError, EntityError */
  async useProgram(p4info?: P4Info, options: CallOptions = {}): Promise<Schema> {
    const info = p4info ?? (await this.getPipeline("P4INFO_AND_COOKIE", options))?.p4info;
    if (info === undefined)
      throw new P4RuntimeError(
        Code.FAILED_PRECONDITION,
        this.address,
        "useProgram",
        "the switch has no program",
      );
    this.#entities = new EntityBuilder(new Schema(info), this.#apiVersion);
    return this.#entities.schema;
  }

  /**
   * Take part in the election of the primary. The highest id wins; undefined stays a backup.
   *
   * Opens the stream on the first call. An id that was sent last is not sent again, since some servers give no answer to that.
   *
   * @returns whether this client is the primary now.
   * @throws P4RuntimeError when the stream breaks or is refused (an id that is in use: INVALID_ARGUMENT).
   */
  arbitrate(electionId: bigint | undefined, options: CallOptions = {}): Promise<ArbitrationState> {
    const message = electionId === undefined ? undefined : electionIdMessage(electionId);
    return this.#session.arbitrate(message, { ...options, timeout: this.#limit(options, DEFAULT_TIMEOUT) });
  }

  /**
   * Give the switch a program.
   *
   * @param deviceConfig for BMv2 and the embedded switch: the JSON of the compiler.
   * @throws P4RuntimeError, EntityError
   */
  async pushPipeline(
    p4info: Init<P4Info>,
    deviceConfig: Uint8Array,
    options: PushOptions = {},
  ): Promise<void> {
    if (deviceConfig.length === 0)
      throw new P4RuntimeError(
        Code.INVALID_ARGUMENT,
        this.address,
        "SetForwardingPipelineConfig",
        "the device config is empty",
      );
    const action = options.action ?? "VERIFY_AND_COMMIT";
    const { server } = this;
    const hasCells = [p4info.counters, p4info.meters].some((cells) => (cells?.length ?? 0) > 0);
    if (action === "RECONCILE_AND_COMMIT" && !server.comparison.watchPorts && hasCells)
      throw this.#refused(
        "SetForwardingPipelineConfig",
        action,
        "it can't reconcile a program that has indirect counters or meters; use VERIFY_AND_COMMIT and write the entries again",
      );
    const cookie = options.cookie ?? cookieOf(p4info, deviceConfig);
    await this.#setPipeline(action, { p4info, p4DeviceConfig: deviceConfig, cookie: { cookie } }, options);
    if (action !== "VERIFY") await this.useProgram(create(P4Info, p4info));
  }

  /** Run the program that was pushed with VERIFY_AND_SAVE. */
  commitPipeline(options: CallOptions = {}): Promise<void> {
    return this.#setPipeline("COMMIT", undefined, options);
  }

  /** The program on the switch, in the parts that are asked for; undefined when there is none. */
  async getPipeline(
    parts: GetForwardingPipelineConfigRequest_ResponseType = "ALL",
    options: CallOptions = {},
  ): Promise<ForwardingPipelineConfig | undefined> {
    try {
      const response = await this.#connection.unary(
        "GetForwardingPipelineConfig",
        P4RuntimeService.GetForwardingPipelineConfig,
        { deviceId: this.deviceId, responseType: parts },
        { ...options, timeout: this.#limit(options, LONG_TIMEOUT) },
      );
      return response.config;
    } catch (error) {
      // BMv2 answers so before the first push, where the specification has an empty answer.
      if (!(error instanceof P4RuntimeError) || error.code !== Code.FAILED_PRECONDITION) throw error;
      this.#emptyPipelineText = reasonOf(error);
      return undefined;
    }
  }

  /** The cookie of the program on the switch; undefined when there is no program or it has none. */
  async getCookie(options: CallOptions = {}): Promise<bigint | undefined> {
    return (await this.getPipeline("COOKIE_ONLY", options))?.cookie?.cookie;
  }

  /**
   * Carry out updates, in their order. They go in requests of at most 256, one after the other; where an update needs another of the list, or
   * is of the same entity, a new request begins, since a switch may take those of one in any order. (`sequence` brings updates into an
   * order that needs few requests.) All are attempted, whichever fail.
   *
   * @throws P4RuntimeWriteError with the status of each update when some failed.
   * @throws P4RuntimeError when the switch took none (not the primary, no connection) or stopped to answer; UNIMPLEMENTED without asking for
   *   what the server is known not to have.
   */
  async write(updates: readonly Update[], options: WriteOptions = {}): Promise<void> {
    const { server } = this;
    for (const update of updates) {
      const refusal = server.refuseWrite(update);
      if (refusal !== undefined)
        throw this.#refused("Write", describeUpdate(update, this.#entities?.schema), refusal);
    }
    const requests = requestsOf(updates, server.updatesPerRequest, this.#entities?.schema);
    if (requests.length > 1 && (options.atomicity ?? "CONTINUE_ON_ERROR") !== "CONTINUE_ON_ERROR")
      throw new P4RuntimeError(
        Code.INVALID_ARGUMENT,
        this.address,
        "Write",
        `${updates.length} updates need ${requests.length} requests, so they cannot be ${options.atomicity}`,
      );
    const done: UpdateStatus[] = [];
    let failure: P4RuntimeError | undefined;
    let hasDetails = false;
    for (const batch of requests) {
      const outcome = await this.#writeBatch(batch, options);
      done.push(...outcome.updates);
      failure ??= outcome.failure;
      hasDetails ||= outcome.hasDetails;
      if (outcome.isWhole) {
        // The rest would fare no better, and nobody knows what became of a request that got no answer.
        if (done.length === batch.length) throw outcome.failure;
        const rest = updates.slice(done.length);
        done.push(...rest.map((update) => statusOf(update, outcome.failure.code, "not attempted", "")));
        throw this.#writeError(done, outcome.failure, true, outcome.failure.code);
      }
    }
    if (failure !== undefined) throw this.#writeError(done, failure, hasDetails);
  }

  /**
   * Read the entities that the given ones select; see P4Runtime on wildcards.
   *
   * @throws P4RuntimeError while the answer is read.
   */
  async *read(entities: readonly Entity[], options: CallOptions = {}): AsyncGenerator<Entity, void> {
    for (const entity of entities) {
      const refusal = this.server.refuseRead(entity);
      if (refusal !== undefined)
        throw this.#refused("Read", describeEntity(entity, this.#entities?.schema), refusal);
    }
    const responses = this.#connection.serverStream(
      "Read",
      P4RuntimeService.Read,
      { deviceId: this.deviceId, role: this.role, entities },
      { ...options, timeout: this.#limit(options, LONG_TIMEOUT) },
    );
    try {
      for await (const response of responses) yield* response.entities;
    } catch (error) {
      throw readError(error);
    }
  }

  /** Like `read`, all at once. */
  async readAll(entities: readonly Entity[], options: CallOptions = {}): Promise<Entity[]> {
    const found: Entity[] = [];
    for await (const entity of this.read(entities, options)) found.push(entity);
    return found;
  }

  /**
   * Packets from the switch. The loop ends when the client is closed, and throws when the stream breaks. While nobody reads, up to
   * `packetQueue` packets wait; those beyond are counted in `packetsDropped`.
   */
  async *packets(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<ReceivedPacket, void> {
    const queue: BoundedQueue<PacketIn> = this.#session.packets;
    for (;;) {
      const next = await queue.next(options.signal);
      if (next.done === true) return;
      yield { payload: next.value.payload, metadata: this.#metadataOf(next.value), message: next.value };
    }
  }

  /** Digests from the switch; see `packets`. Each is to be acknowledged by `ackDigest`. */
  digests(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<DigestList, void> {
    return drain(this.#session.digests, options.signal);
  }

  /** Entries that had no hit for their idle timeout (9.1.8); see `packets`. They may come again until the entry is hit or deleted. */
  idleTimeouts(
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<IdleTimeoutNotification, void> {
    return drain(this.#session.idleTimeouts, options.signal);
  }

  /** Packets and acknowledgements that the switch refused; see `packets`. */
  streamRefusals(options: { readonly signal?: AbortSignal } = {}): AsyncGenerator<StreamError, void> {
    return drain(this.#session.refusals, options.signal);
  }

  /** What was lost because nobody read it in time. */
  get dropped(): {
    readonly packets: number;
    readonly digests: number;
    readonly idleTimeouts: number;
    readonly streamRefusals: number;
  } {
    const { packets, digests, idleTimeouts, refusals } = this.#session;
    return {
      packets: packets.dropped,
      digests: digests.dropped,
      idleTimeouts: idleTimeouts.dropped,
      streamRefusals: refusals.dropped,
    };
  }

  /** Tell the switch that a digest list has arrived, so that it may send the same data again when they come again (9.8). */
  ackDigest(list: Pick<DigestList, "digestId" | "listId">): void {
    const { digestId, listId } = list;
    this.#session.send({ update: { case: "digestAck", value: { digestId, listId } } });
  }

  /** Packets that were lost because nobody read them in time. */
  get packetsDropped(): number {
    return this.#session.packets.dropped;
  }

  /** Stream messages that the switch refused. */
  get streamErrors(): number {
    return this.#session.streamErrors;
  }

  /**
   * Send a packet through the switch. That it was refused is told by `onStreamError`.
   *
   * @param metadata by name in the packet_out header.
   * @throws P4RuntimeError FAILED_PRECONDITION when the stream is not open; EntityError for bad metadata.
   */
  sendPacket(payload: Uint8Array, metadata: Params = {}): void {
    const needsNames = this.#entities !== undefined || Object.keys(metadata).length > 0;
    const hasHeader = needsNames && this.schema.packetOut !== undefined;
    const values = hasHeader || Object.keys(metadata).length > 0 ? this.entities.packetOut(metadata) : [];
    this.#session.send({ update: { case: "packet", value: { payload, metadata: values } } });
  }

  /** Give up a switch that hangs: as if the stream had broken, so that `onDisconnect` is called. The client is of no use afterwards. */
  abandon(reason: string): void {
    this.#session.fail(new P4RuntimeError(Code.UNAVAILABLE, this.address, "StreamChannel", reason));
  }

  /** End the stream and the connection. Further calls wait for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#session.close().then(() => this.#connection.close());
    return this.#closing;
  }

  /** A packet whose metadata does not fit the program that we know is still a packet. */
  #metadataOf(packet: PacketIn): Readonly<Record<string, bigint>> {
    if (this.#entities === undefined || packet.metadata.length === 0) return {};
    try {
      return this.#entities.packetIn(packet.metadata);
    } catch (error) {
      if (error instanceof EntityError) return {};
      throw error;
    }
  }

  #limit(options: CallOptions, otherwise: number): number {
    return options.timeout ?? this.#timeout ?? otherwise;
  }

  async #capabilities(options: CallOptions): Promise<string> {
    try {
      const response = await this.#connection.unary(
        "Capabilities",
        P4RuntimeService.Capabilities,
        {},
        { ...options, timeout: this.#limit(options, DEFAULT_TIMEOUT) },
      );
      return response.p4runtimeApiVersion;
    } catch (error) {
      if (error instanceof P4RuntimeError && error.code === Code.UNIMPLEMENTED) return "1.0";
      throw error;
    }
  }

  async #setPipeline(
    action: NonNullable<PushOptions["action"]> | "COMMIT",
    config: Init<ForwardingPipelineConfig> | undefined,
    options: CallOptions,
  ): Promise<void> {
    await this.#connection.unary(
      "SetForwardingPipelineConfig",
      P4RuntimeService.SetForwardingPipelineConfig,
      { deviceId: this.deviceId, role: this.role, electionId: this.#session.electionId, action, config },
      { ...options, timeout: this.#limit(options, LONG_TIMEOUT) },
    );
  }

  #refused(call: string, what: string, why: string): P4RuntimeError {
    return new P4RuntimeError(
      Code.UNIMPLEMENTED,
      this.address,
      call,
      `${what}: ${this.server.title}: ${why}`,
    );
  }

  async #writeBatch(updates: readonly Update[], options: WriteOptions): Promise<BatchOutcome> {
    const { deviceId, role } = this;
    const { electionId } = this.#session;
    const { atomicity = "CONTINUE_ON_ERROR" } = options;
    try {
      await this.#connection.unary(
        "Write",
        P4RuntimeService.Write,
        { deviceId, role, electionId, updates, atomicity },
        { ...options, timeout: this.#limit(options, DEFAULT_TIMEOUT) },
      );
    } catch (error) {
      if (!(error instanceof P4RuntimeError)) throw error;
      const outcome = failedBatch(updates, error);
      for (const { space } of outcome.updates) if (space !== "") this.#errorSpaces.add(space);
      return outcome;
    }
    return {
      updates: updates.map((update) => statusOf(update, Code.OK, "", "")),
      failure: undefined,
      isWhole: false,
      hasDetails: false,
    };
  }

  #writeError(
    updates: readonly UpdateStatus[],
    failure: P4RuntimeError,
    hasDetails: boolean,
    code: number = Code.UNKNOWN,
  ): P4RuntimeError {
    if (!hasDetails) return new P4RuntimeWriteError(this.address, reasonOf(failure), undefined, failure);
    const failed = updates.filter((update) => update.code !== Code.OK);
    const shown = failed
      .slice(0, 3)
      .map(
        ({ update, code, message }) =>
          `\n  ${describeUpdate(update, this.#entities?.schema)}: ${codeName(code)}: ${message}`,
      );
    const more = failed.length > shown.length ? `\n  and ${failed.length - shown.length} more` : "";
    const text = `${failed.length} of ${updates.length} updates failed${shown.join("")}${more}`;
    return new P4RuntimeWriteError(this.address, text, updates, failure, code);
  }
}

/** No program can have a table with this id: its top byte is not that of tables. */
const NO_SUCH_ENTRY: Update = remove(
  create(Entity, { entity: { case: "tableEntry", value: { tableId: 0xfe00_0001 } } }),
);

/** Errors that say something of the connection, and not of the update. */
function isFatal(error: P4RuntimeError): boolean {
  const codes: readonly number[] = [Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.CANCELLED];
  return codes.includes(error.code);
}

async function* drain<T>(queue: BoundedQueue<T>, signal: AbortSignal | undefined): AsyncGenerator<T, void> {
  for (;;) {
    const next = await queue.next(signal);
    if (next.done === true) return;
    yield next.value;
  }
}
