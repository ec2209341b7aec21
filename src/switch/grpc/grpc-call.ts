import { type GrpcStatus, grpcCode, statusHeaders } from "./grpc-status.ts";
import { encodeHeaders, type Headers } from "./hpack.ts";
import type { Http2Stream, StreamListener } from "./http2-stream.ts";
import { framedMessage, MessageReader, noMemory } from "./message-reader.ts";
import type { ConnectionMemory } from "./request-memory.ts";

/** What is known of a call beside its messages. */
export interface CallInfo {
  /** A header of the request (metadata of the client), by its name in lower case. */
  header(name: string): string | undefined;
  /** True when nothing can be sent any more: the call was ended, or the client is gone. */
  readonly isEnded: boolean;
}

/** A call that is answered with any number of messages. */
export interface StreamingCall extends CallInfo {
  /** Send a message; it waits when the client does not read. */
  send(message: Uint8Array): void;
  /** Messages that wait since the client does not read. */
  readonly waiting: number;
  /** Resolves when nothing waits, or never will go. */
  whenDrained(): Promise<void>;
  /** End the call. Nothing can be sent afterwards. */
  end(status: GrpcStatus): void;
}

/** How a server hears of a call with messages from both sides. */
export interface BidiListener {
  message(message: Uint8Array): void;
  /** The client will send no more. */
  halfClosed(): void;
  /** The call is over, however that came. */
  closed(): void;
}

/** A method by how many messages go in each direction. What a handler throws becomes the call's status. */
export type GrpcMethod =
  | {
      readonly kind: "unary";
      readonly answer: (request: Uint8Array, call: CallInfo) => Uint8Array | Promise<Uint8Array>;
    }
  | {
      readonly kind: "serverStreaming";
      readonly answer: (request: Uint8Array, call: StreamingCall) => void | Promise<void>;
    }
  | { readonly kind: "bidi"; readonly open: (call: StreamingCall) => BidiListener };

const responseHeaders: readonly (readonly [name: string, value: string])[] = [
  [":status", "200"],
  ["content-type", "application/grpc"],
];
const headersBlock = encodeHeaders(responseHeaders);
export const okStatus: GrpcStatus = { code: grpcCode.ok, message: "" };
const okTrailers = encodeHeaders(statusHeaders(okStatus));

/** Ends a stream on which nothing was sent. */
export function refuse(stream: Http2Stream, status: GrpcStatus): void {
  stream.end(encodeHeaders([...responseHeaders, ...statusHeaders(status)]));
}

/** One call on the server. */
export class GrpcCall implements StreamingCall, StreamListener {
  readonly #stream: Http2Stream;
  readonly #headers: Headers;
  readonly #method: GrpcMethod;
  readonly #statusOf: (error: unknown, call: CallInfo) => GrpcStatus;
  readonly #reader: MessageReader;
  readonly #memory: ConnectionMemory;
  /** Bytes of headers that are counted. */
  #headerBytes = 0;
  /** The bytes that are read are the last of the request. */
  #isLastPart = false;
  #hasSentHeaders = false;
  #isEnded = false;
  #request: Uint8Array | undefined;
  #bidi: BidiListener | undefined;
  #drained: (() => void)[] = [];

  constructor(
    stream: Http2Stream,
    headers: Headers,
    method: GrpcMethod,
    maxMessageSize: number,
    memory: ConnectionMemory,
    statusOf: (error: unknown, call: CallInfo) => GrpcStatus,
  ) {
    this.#stream = stream;
    this.#headers = headers;
    this.#method = method;
    this.#statusOf = statusOf;
    this.#memory = memory;
    this.#reader = new MessageReader(maxMessageSize, headers.get("grpc-encoding"), memory);
  }

  /** To be called once, when the stream knows its listener. */
  open(): void {
    if (!this.#memory.change(0, this.#headers.size)) {
      this.end(noMemory);
      return;
    }
    this.#headerBytes = this.#headers.size;
    if (this.#method.kind !== "bidi") return;
    const { open } = this.#method;
    this.#guard(() => {
      this.#bidi = open(this);
    });
  }

  header(name: string): string | undefined {
    return this.#headers.get(name);
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  get waiting(): number {
    return this.#stream.waitingParts;
  }

  send(message: Uint8Array): void {
    if (this.#isEnded) return;
    this.#sendHeaders();
    this.#stream.sendData(framedMessage(message));
  }

  #sendHeaders(): void {
    if (this.#hasSentHeaders) return;
    this.#hasSentHeaders = true;
    this.#stream.sendHeaders(headersBlock);
  }

  whenDrained(): Promise<void> {
    if (this.#isEnded || this.#stream.waitingBytes === 0) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  end(status: GrpcStatus): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (status.code === grpcCode.ok && this.#hasSentHeaders) this.#stream.end(okTrailers);
    else if (this.#hasSentHeaders) this.#stream.end(encodeHeaders(statusHeaders(status)));
    else refuse(this.#stream, status);
    this.#over();
  }

  #over(): void {
    this.#reader.release();
    this.#memory.change(this.#headerBytes + (this.#request?.length ?? 0), 0);
    this.#headerBytes = 0;
    this.#request = undefined;
    this.#wakeUp();
    const bidi = this.#bidi;
    this.#bidi = undefined;
    bidi?.closed();
  }

  #wakeUp(): void {
    const drained = this.#drained;
    this.#drained = [];
    for (const resolve of drained) resolve();
  }

  /** Do something of the server's; what it throws ends the call. */
  #guard(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.end(this.#statusOf(error, this));
    }
  }

  // ---------------------------------------------------------------- from the stream

  data(bytes: Uint8Array, from: number, to: number, isLast: boolean): void {
    if (this.#isEnded) return;
    this.#isLastPart = isLast;
    const status = this.#reader.push(bytes, from, to, this.#onMessage);
    if (status !== undefined) this.end(status);
  }

  readonly #onMessage = (message: Uint8Array): void => {
    if (this.#isEnded) return;
    if (this.#method.kind === "bidi") {
      this.#guard(() => this.#bidi?.message(message));
      return;
    }
    if (this.#request !== undefined)
      this.end({ code: grpcCode.unimplemented, message: "the method takes one message only" });
    else if (!this.#memory.change(0, message.length)) this.end(noMemory);
    // One that has to wait for its end must not hold everything that came together with it.
    else this.#request = this.#isLastPart ? message : new Uint8Array(message);
  };

  halfClosed(): void {
    if (this.#isEnded) return;
    if (this.#reader.pending > 0) {
      this.end({ code: grpcCode.internal, message: "the last message is cut off" });
      return;
    }
    const method = this.#method;
    if (method.kind === "bidi") {
      this.#guard(() => this.#bidi?.halfClosed());
      return;
    }
    const request = this.#request;
    if (request === undefined) {
      this.end({ code: grpcCode.internal, message: "the request is missing" });
      return;
    }
    this.#guard(() => {
      if (method.kind === "unary") {
        const answer = method.answer(request, this);
        if (answer instanceof Promise) answer.then(this.#answered, this.#failed);
        else this.#answered(answer);
        return;
      }
      method.answer(request, this)?.catch(this.#failed);
    });
  }

  readonly #answered = (answer: Uint8Array): void => {
    this.send(answer);
    this.end(okStatus);
  };

  readonly #failed = (error: unknown): void => {
    this.end(this.#statusOf(error, this));
  };

  cancelled(): void {
    this.#isEnded = true;
    this.#over();
  }

  drained(): void {
    this.#wakeUp();
  }
}
