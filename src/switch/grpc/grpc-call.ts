import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { type GrpcStatus, grpcCode, statusHeaders } from "./grpc-status.ts";
import { framedMessage, MessageReader } from "./message-reader.ts";

/** What is known of a call beside its messages. */
export interface CallInfo {
  /** A header of the request (metadata of the client), by its name in lower case. */
  header(name: string): string | undefined;
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
  /** True when nothing can be sent any more: the call was ended, or the client is gone. */
  readonly isEnded: boolean;
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
  | { readonly kind: "unary"; readonly answer: (request: Uint8Array, call: CallInfo) => Uint8Array }
  | {
      readonly kind: "serverStreaming";
      readonly answer: (request: Uint8Array, call: StreamingCall) => void | Promise<void>;
    }
  | { readonly kind: "bidi"; readonly open: (call: StreamingCall) => BidiListener };

const responseHeaders = { ":status": 200, "content-type": "application/grpc" } as const;
const withTrailers = { waitForTrailers: true } as const;
const withoutBody = { endStream: true } as const;
export const okStatus: GrpcStatus = { code: grpcCode.ok, message: "" };

/** Ends a stream on which nothing was sent. */
export function refuse(stream: ServerHttp2Stream, status: GrpcStatus): void {
  if (!stream.destroyed && !stream.headersSent)
    stream.respond({ ...responseHeaders, ...statusHeaders(status) }, withoutBody);
}

/** One call on the server. */
export class GrpcCall implements StreamingCall {
  readonly #stream: ServerHttp2Stream;
  readonly #headers: IncomingHttpHeaders;
  readonly #method: GrpcMethod;
  readonly #statusOf: (error: unknown, call: CallInfo) => GrpcStatus;
  readonly #reader: MessageReader;
  #isEnded = false;
  #status = okStatus;
  #waiting = 0;
  #request: Uint8Array | undefined;
  #bidi: BidiListener | undefined;
  #drained: (() => void)[] = [];

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    method: GrpcMethod,
    maxMessageSize: number,
    statusOf: (error: unknown, call: CallInfo) => GrpcStatus,
  ) {
    this.#stream = stream;
    this.#headers = headers;
    this.#method = method;
    this.#statusOf = statusOf;
    this.#reader = new MessageReader(maxMessageSize, this.header("grpc-encoding"));
    stream.on("data", (chunk: Buffer) => this.#data(chunk));
    stream.on("end", () => this.#halfClosed());
    stream.on("wantTrailers", () => stream.sendTrailers(statusHeaders(this.#status)));
    stream.on("close", () => this.#closed());
    this.#open();
  }

  #open(): void {
    if (this.#method.kind !== "bidi") return;
    const { open } = this.#method;
    this.#guard(() => {
      this.#bidi = open(this);
    });
  }

  header(name: string): string | undefined {
    const value = this.#headers[name];
    return typeof value === "string" ? value : value?.[0];
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  get waiting(): number {
    return this.#waiting;
  }

  send(message: Uint8Array): void {
    const stream = this.#stream;
    if (this.#isEnded || stream.destroyed) return;
    if (!stream.headersSent) stream.respond(responseHeaders, withTrailers);
    this.#waiting++;
    stream.write(framedMessage(message), this.#hasSent);
  }

  readonly #hasSent = (): void => {
    if (--this.#waiting === 0) this.#wakeUp();
  };

  whenDrained(): Promise<void> {
    if (this.#isEnded || this.#waiting === 0) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  end(status: GrpcStatus): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#status = status;
    if (this.#stream.headersSent) this.#stream.end();
    else refuse(this.#stream, status);
    this.#over();
  }

  #over(): void {
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

  #data(bytes: Uint8Array): void {
    if (this.#isEnded) return;
    const status = this.#reader.push(bytes, 0, bytes.length, this.#onMessage);
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
    this.#request = message;
  };

  #halfClosed(): void {
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
        this.send(method.answer(request, this));
        this.end(okStatus);
        return;
      }
      const done = method.answer(request, this);
      if (done !== undefined) done.catch((error: unknown) => this.end(this.#statusOf(error, this)));
    });
  }

  /** The stream is no more: answered, reset by the client, or the connection is gone. */
  #closed(): void {
    this.#isEnded = true;
    this.#over();
  }
}
