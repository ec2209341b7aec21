import { EventEmitter } from "node:events";
import { Metadata, type ServiceError } from "@grpc/grpc-js";
import type { Init } from "../p4info/index.ts";
import { callError, type P4RuntimeError } from "../p4runtime/call-error.ts";
import { Code } from "../p4runtime/code.ts";
import type { CallOptions } from "../p4runtime/connection.ts";
import type { Clock, MessageStream, Transport } from "../p4runtime/index.ts";
import type { Method } from "../p4runtime/method.ts";
import { P4RuntimeService } from "../p4runtime/service.ts";
import {
  type BidiListener,
  callStatus,
  type GrpcMethod,
  type StreamingCall,
} from "../switch/p4runtime/index.ts";
import type { Lab } from "./lab.ts";

/** The lab's time, for the controller and its clients. */
export function labClock(lab: Lab): Clock {
  return {
    now: () => lab.now,
    sleep: (milliseconds, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted === true) {
          resolve();
          return;
        }
        const done = (): void => {
          signal?.removeEventListener("abort", done);
          lab.tell();
          resolve();
        };
        signal?.addEventListener("abort", done, { once: true });
        lab.at(lab.now + milliseconds, done);
      }),
  };
}

/** What a client without metadata is for a server. */
const NO_HEADERS = { header: () => undefined, isEnded: false };

/** A call that has not ended, for whom it can be broken. */
interface Open {
  /** The client hears of the end. */
  broken(error: ServiceError): void;
  /** The server does. */
  left(): void;
}

/**
 * The way from controllers to the P4Runtime server of a switch, under the lab's clock: each message is as long on its way as the line's delay.
 * The client and the server are those that are deployed, the bytes of their messages too; only gRPC is missing.
 */
export class ControlLine {
  readonly lab: Lab;
  readonly delay: number;
  readonly #methods: ReadonlyMap<string, GrpcMethod>;
  /** Calls that are open, by whose they are. */
  readonly #open = new Map<LabTransport, Set<Open>>();
  /** Calls that have reached the switch, stream messages included. */
  calls = 0;
  #state: "up" | "refusing" | "silent" = "up";

  /** @param delay milliseconds, one way */
  constructor(lab: Lab, methods: ReadonlyMap<string, GrpcMethod>, delay: number) {
    this.lab = lab;
    this.delay = delay;
    this.#methods = methods;
  }

  /** A client's end of the line. */
  connect(address: string): LabTransport {
    const transport = new LabTransport(this, address);
    this.#open.set(transport, new Set());
    return transport;
  }

  /** The server's process ends: its machine closes the connections, and refuses new ones. */
  refuse(): void {
    this.#state = "refusing";
    const gone = serviceError(Code.UNAVAILABLE, "the connection was reset");
    for (const calls of this.#open.values())
      for (const call of [...calls])
        this.lab.at(this.lab.now + this.delay, () => {
          call.broken(gone);
        });
  }

  /** The power is cut: nobody hears anything. */
  silence(): void {
    this.#state = "silent";
  }

  /** A client's process ends, and its machine closes its connections; what it has sent arrives, and what is under way to it is lost. */
  sever(transport: LabTransport): void {
    const calls = [...(this.#open.get(transport) ?? [])];
    this.#open.delete(transport);
    this.lab.at(this.lab.now + this.delay, () => {
      if (this.#state === "up") for (const call of calls) call.left();
    });
  }

  /** @internal */
  open(transport: LabTransport, call: Open): () => void {
    const calls = this.#open.get(transport);
    calls?.add(call);
    return () => calls?.delete(call);
  }

  /** Something is to happen at the switch. Where nobody hears it, `refused` happens here. @internal */
  toSwitch(
    what: (methods: ReadonlyMap<string, GrpcMethod>) => void,
    refused: (error: ServiceError) => void,
  ): void {
    this.lab.at(this.lab.now + this.delay, () => {
      if (this.#state === "silent") return;
      if (this.#state === "refusing") {
        const error = serviceError(
          Code.UNAVAILABLE,
          "No connection established. Last error: connect ECONNREFUSED",
        );
        this.lab.at(this.lab.now + this.delay, () => refused(error));
        return;
      }
      this.calls++;
      what(this.#methods);
    });
  }

  /** Something is to happen at the client, unless the switch has lost its power since. @internal */
  toClient(transport: LabTransport, what: () => void): void {
    if (this.#state !== "up") return;
    this.lab.at(this.lab.now + this.delay, () => {
      if (this.#open.has(transport)) what();
    });
  }
}

/** A client's end of a `ControlLine`. */
export class LabTransport implements Transport {
  readonly address: string;
  readonly #line: ControlLine;
  #isClosed = false;

  constructor(line: ControlLine, address: string) {
    this.#line = line;
    this.address = address;
  }

  unary<Request, Response>(
    name: string,
    method: Method<Request, Response>,
    request: Init<NoInfer<Request>>,
    options: CallOptions & { readonly timeout: number },
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      const bytes = method.requestSerialize(request);
      const call = this.#call(name, options, reject);
      if (call === undefined) return;
      this.#line.toSwitch((methods) => {
        const found = methods.get(method.path);
        let answer: Uint8Array | Promise<Uint8Array>;
        try {
          if (found?.kind !== "unary") throw new RangeError(`${method.path} is no unary call`);
          answer = found.answer(bytes, NO_HEADERS);
          // Servers without a socket have no turns.
          if (answer instanceof Promise) throw new RangeError(`${method.path} does not answer at once`);
        } catch (error) {
          this.#line.toClient(this, () => call.fail(statusError(error)));
          return;
        }
        this.#line.toClient(this, () =>
          call.end(() => resolve(method.responseDeserialize(bufferOf(answer)))),
        );
      }, call.fail);
    });
  }

  async *serverStream<Request, Response>(
    name: string,
    method: Method<Request, Response>,
    request: Init<NoInfer<Request>>,
    options: CallOptions & { readonly timeout: number },
  ): AsyncGenerator<Response, void> {
    const bytes = method.requestSerialize(request);
    // The answer as a whole: it takes no longer for having parts.
    const parts = await new Promise<readonly Response[]>((resolve, reject) => {
      const call = this.#call(name, options, reject);
      if (call === undefined) return;
      const got: Response[] = [];
      this.#line.toSwitch((methods) => {
        const found = methods.get(method.path);
        const streaming: StreamingCall = {
          ...NO_HEADERS,
          waiting: 0,
          isEnded: false,
          send: (message) => void got.push(method.responseDeserialize(bufferOf(message))),
          whenDrained: () => Promise.resolve(),
          end: ({ code, message }) =>
            this.#line.toClient(this, () =>
              code === Code.OK ? call.end(() => resolve(got)) : call.fail(serviceError(code, message)),
            ),
        };
        const failed = (error: unknown): void =>
          this.#line.toClient(this, () => call.fail(statusError(error)));
        try {
          if (found?.kind !== "serverStreaming") throw new RangeError(`${method.path} is no such call`);
          const done = found.answer(bytes, streaming);
          if (done !== undefined) done.catch(failed);
        } catch (error) {
          failed(error);
        }
        // The server waits by promises for the client to read.
        this.#line.lab.tell();
      }, call.fail);
    });
    yield* parts;
  }

  stream(): MessageStream {
    return new LabStream(this.#line, this);
  }

  streamError(error: ServiceError): P4RuntimeError {
    return callError(error, this.address, "StreamChannel", false);
  }

  after(milliseconds: number, what: () => void): () => void {
    let isCancelled = false;
    const { lab } = this.#line;
    lab.at(lab.now + milliseconds, () => {
      if (isCancelled) return;
      lab.tell();
      what();
    });
    return () => {
      isCancelled = true;
    };
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#line.sever(this);
  }

  /** The bookkeeping of one call: its deadline, its signal, and the end of the connection. */
  #call(
    name: string,
    { timeout, signal }: CallOptions & { readonly timeout: number },
    reject: (error: Error) => void,
  ): { readonly fail: (error: ServiceError) => void; end(what: () => void): void } | undefined {
    const failed = (error: ServiceError): P4RuntimeError => callError(error, this.address, name, false);
    if (this.#isClosed || signal?.aborted === true) {
      reject(
        failed(serviceError(Code.CANCELLED, this.#isClosed ? "the client is closed" : "it was aborted")),
      );
      return undefined;
    }
    let isOver = false;
    const end = (what: () => void): void => {
      if (isOver) return;
      isOver = true;
      cancel();
      forget();
      signal?.removeEventListener("abort", abort);
      this.#line.lab.tell();
      what();
    };
    const fail = (error: ServiceError): void => end(() => reject(failed(error)));
    const abort = (): void => fail(serviceError(Code.CANCELLED, "it was aborted"));
    const cancel = this.after(timeout, () =>
      fail(serviceError(Code.DEADLINE_EXCEEDED, `no answer within ${Math.round(timeout)} ms`)),
    );
    const forget = this.#line.open(this, { broken: fail, left: () => {} });
    signal?.addEventListener("abort", abort, { once: true });
    return { fail, end };
  }
}

/** A client's end of the stream. */
class LabStream extends EventEmitter implements MessageStream {
  readonly #line: ControlLine;
  readonly #forget: () => void;
  #server: BidiListener | undefined;
  #isOver = false;

  constructor(line: ControlLine, transport: LabTransport) {
    super();
    this.#line = line;
    this.#forget = line.open(transport, { broken: (error) => this.#ended(error), left: () => this.#left() });
    const open = (methods: ReadonlyMap<string, GrpcMethod>): void => {
      const found = methods.get(P4RuntimeService.StreamChannel.path);
      if (found?.kind !== "bidi") throw new RangeError("the server has no stream");
      this.#server = found.open({
        ...NO_HEADERS,
        waiting: 0,
        isEnded: false,
        send: (message) => {
          const decoded = P4RuntimeService.StreamChannel.responseDeserialize(bufferOf(message));
          line.toClient(transport, () => this.#heard("data", decoded));
        },
        whenDrained: () => Promise.resolve(),
        end: ({ code, message }) => {
          const error = code === Code.OK ? undefined : serviceError(code, message);
          line.toClient(transport, () => this.#ended(error));
        },
      });
    };
    line.toSwitch(open, (error) => this.#ended(error));
  }

  write(message: Parameters<MessageStream["write"]>[0]): void {
    if (this.#isOver) return;
    const bytes = P4RuntimeService.StreamChannel.requestSerialize(message);
    this.#line.toSwitch(
      () => this.#server?.message(bytes),
      () => {},
    );
  }

  cancel(): void {
    this.#line.toSwitch(
      () => this.#left(),
      () => {},
    );
    this.#ended(serviceError(Code.CANCELLED, "Cancelled on client"));
  }

  #left(): void {
    this.#server?.closed();
    this.#server = undefined;
  }

  #ended(error: ServiceError | undefined): void {
    if (this.#isOver) return;
    if (error === undefined) this.#heard("end");
    else this.#heard("error", error);
    this.#isOver = true;
    this.#forget();
    this.emit("status");
  }

  #heard(event: string, what?: unknown): void {
    if (this.#isOver) return;
    this.#line.lab.tell();
    this.emit(event, what);
  }
}

/** An error as grpc-js has them. */
function serviceError(code: number, details: string, more?: Uint8Array): ServiceError {
  const metadata = new Metadata();
  if (more !== undefined) metadata.set("grpc-status-details-bin", bufferOf(more));
  return Object.assign(new Error(details), { code, details, metadata });
}

/** What a server's handler threw, as its client gets it. */
function statusError(error: unknown): ServiceError {
  const { code, message, details } = callStatus(error, NO_HEADERS);
  return serviceError(code, message, details);
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
