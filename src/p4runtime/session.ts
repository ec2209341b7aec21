import type { ServiceError } from "@grpc/grpc-js";
import type { Any } from "../p4info/generated/any.ts";
import type { Init } from "../p4info/message/descriptor.ts";
import { P4RuntimeError } from "./call-error.ts";
import { Code } from "./code.ts";
import type { CallOptions } from "./connection.ts";
import { electionIdOf } from "./election-id.ts";
import type {
  DigestList,
  IdleTimeoutNotification,
  MasterArbitrationUpdate,
  PacketIn,
  StreamError,
  StreamMessageRequest,
  StreamMessageResponse,
  Uint128,
} from "./proto/generated/p4runtime.ts";
import { BoundedQueue } from "./queue.ts";
import type { MessageStream, Transport } from "./transport.ts";

/** What the switch says of the election. */
export interface ArbitrationState {
  readonly isPrimary: boolean;
  /** False when the switch has no primary at the moment (status NOT_FOUND). */
  readonly hasPrimary: boolean;
  /**
   * The highest election id the switch has seen; undefined when there was none. The specification has it so; BMv2 reports the id of the
   * present primary instead.
   */
  readonly highestElectionId: bigint | undefined;
}

export interface SessionOptions {
  readonly deviceId: bigint;
  readonly role: string;
  /** Sent with the role in arbitration, and read by the switch alone (5.2). */
  readonly roleConfig: Init<Any> | undefined;
  readonly packetQueue: number;
  readonly onArbitration: ((state: ArbitrationState) => void) | undefined;
  readonly onStreamError: ((error: StreamError) => void) | undefined;
  readonly onDisconnect: ((error: P4RuntimeError) => void) | undefined;
  readonly onMessage: ((message: StreamMessageResponse) => void) | undefined;
}

interface Waiter {
  readonly resolve: (state: ArbitrationState) => void;
  readonly reject: (error: Error) => void;
}

/** The client's end of the stream: arbitration, packets, and what else the switch sends by itself. */
export class Session {
  readonly packets: BoundedQueue<PacketIn>;
  readonly digests: BoundedQueue<DigestList>;
  readonly idleTimeouts: BoundedQueue<IdleTimeoutNotification>;
  readonly refusals: BoundedQueue<StreamError>;
  readonly #connection: Transport;
  readonly #options: SessionOptions;
  #stream: MessageStream | undefined;
  #end: P4RuntimeError | undefined;
  #isClosed = false;
  #streamClosed: Promise<void> = Promise.resolve();
  #sent: { readonly electionId: Uint128 | undefined } | undefined;
  #state: ArbitrationState | undefined;
  #waiters: Waiter[] = [];
  #streamErrors = 0;

  constructor(connection: Transport, options: SessionOptions) {
    this.#connection = connection;
    this.#options = options;
    this.packets = new BoundedQueue(options.packetQueue);
    this.digests = new BoundedQueue(options.packetQueue);
    this.idleTimeouts = new BoundedQueue(options.packetQueue);
    this.refusals = new BoundedQueue(options.packetQueue);
  }

  get state(): ArbitrationState | undefined {
    return this.#state;
  }

  /** The id that writes must carry. */
  get electionId(): Uint128 | undefined {
    return this.#sent?.electionId;
  }

  get streamErrors(): number {
    return this.#streamErrors;
  }

  arbitrate(
    electionId: Uint128 | undefined,
    options: CallOptions & { readonly timeout: number },
  ): Promise<ArbitrationState> {
    if (this.#isClosed || this.#end !== undefined) return Promise.reject(this.#ended());
    if (options.signal?.aborted) return Promise.reject(this.#failed(Code.CANCELLED, "it was aborted"));
    const isSame = this.#sent !== undefined && isSameId(this.#sent.electionId, electionId);
    if (isSame && this.#state !== undefined) return Promise.resolve(this.#state);
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        cancel();
        options.signal?.removeEventListener("abort", abort);
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
      };
      const waiter: Waiter = {
        resolve: (state) => {
          settle();
          resolve(state);
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      };
      const cancel = this.#connection.after(options.timeout, () =>
        waiter.reject(
          this.#failed(Code.DEADLINE_EXCEEDED, `no answer to arbitration within ${options.timeout} ms`),
        ),
      );
      const abort = (): void => waiter.reject(this.#failed(Code.CANCELLED, "it was aborted"));
      options.signal?.addEventListener("abort", abort, { once: true });
      this.#waiters.push(waiter);
      if (isSame) return;
      this.#stream ??= this.#open();
      this.#sent = { electionId };
      const { deviceId, role: name, roleConfig: config } = this.#options;
      const isDefault = name === "" && config === undefined;
      const update = { deviceId, electionId, role: isDefault ? undefined : { name, config } };
      this.#stream.write({ update: { case: "arbitration", value: update } });
    });
  }

  send(message: Init<StreamMessageRequest>): void {
    if (this.#isClosed || this.#end !== undefined) throw this.#ended();
    if (this.#stream === undefined)
      throw this.#failed(Code.FAILED_PRECONDITION, "the stream is not open; arbitrate first");
    this.#stream.write(message);
  }

  /** Takes the stream for broken. */
  fail(error: P4RuntimeError): void {
    this.#disconnected(error);
    this.#stream?.cancel();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const waiter of [...this.#waiters]) waiter.reject(this.#ended());
    this.#endQueues();
    this.#stream?.cancel();
    await this.#streamClosed;
  }

  #open(): MessageStream {
    const stream = this.#connection.stream();
    stream.on("data", (message: StreamMessageResponse) => this.#message(message));
    // Without a listener the error event would end the process.
    stream.on("error", (error: ServiceError) => this.#disconnected(this.#connection.streamError(error)));
    stream.on("end", () => this.#disconnected(this.#failed(Code.UNAVAILABLE, "the switch ended the stream")));
    this.#streamClosed = new Promise((resolve) => stream.on("status", () => resolve()));
    return stream;
  }

  #message(message: StreamMessageResponse): void {
    const update = message.update;
    switch (update?.case) {
      case "arbitration":
        this.#arbitrated(update.value);
        return;
      case "packet":
        this.packets.push(update.value);
        return;
      case "error":
        this.#streamErrors++;
        if (this.#options.onStreamError === undefined) this.refusals.push(update.value);
        else this.#options.onStreamError(update.value);
        return;
      case "digest":
        if (this.#options.onMessage === undefined) this.digests.push(update.value);
        else this.#options.onMessage(message);
        return;
      case "idleTimeoutNotification":
        if (this.#options.onMessage === undefined) this.idleTimeouts.push(update.value);
        else this.#options.onMessage(message);
        return;
      default:
        this.#options.onMessage?.(message);
    }
  }

  #arbitrated(update: MasterArbitrationUpdate): void {
    const code = update.status?.code ?? Code.OK;
    this.#state = {
      isPrimary: code === Code.OK,
      hasPrimary: code !== Code.NOT_FOUND,
      highestElectionId: update.electionId === undefined ? undefined : electionIdOf(update.electionId),
    };
    for (const waiter of [...this.#waiters]) waiter.resolve(this.#state);
    this.#options.onArbitration?.(this.#state);
  }

  #disconnected(error: P4RuntimeError): void {
    if (this.#end !== undefined) return;
    this.#end = error;
    this.#state = undefined;
    if (this.#isClosed) return;
    for (const waiter of [...this.#waiters]) waiter.reject(error);
    this.#endQueues(error);
    this.#options.onDisconnect?.(error);
  }

  #endQueues(error?: P4RuntimeError): void {
    for (const queue of [this.packets, this.digests, this.idleTimeouts, this.refusals]) queue.end(error);
  }

  #ended(): P4RuntimeError {
    return this.#isClosed
      ? this.#failed(Code.CANCELLED, "the client is closed")
      : (this.#end ?? this.#failed(Code.UNAVAILABLE, "the stream has ended"));
  }

  #failed(code: number, text: string): P4RuntimeError {
    return new P4RuntimeError(code, this.#connection.address, "StreamChannel", text);
  }
}

function isSameId(a: Uint128 | undefined, b: Uint128 | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.high === b.high && a.low === b.low;
}
