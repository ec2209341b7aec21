import type { ServiceError } from "@grpc/grpc-js";
import type { Init } from "../p4info/message/descriptor.ts";
import type { P4RuntimeError } from "./call-error.ts";
import type { CallOptions } from "./connection.ts";
import type { Method } from "./method.ts";
import type { StreamMessageRequest, StreamMessageResponse } from "./proto/generated/p4runtime.ts";

/** A client's end of the stream. */
export interface MessageStream {
  write(message: Init<StreamMessageRequest>): unknown;
  cancel(): void;
  on(event: "data", listener: (message: StreamMessageResponse) => void): unknown;
  on(event: "error", listener: (error: ServiceError) => void): unknown;
  /** `status` is the last that is heard of it. */
  on(event: "end" | "status", listener: () => void): unknown;
}

/** How a client's calls reach a switch: by gRPC (`Connection`), or in a simulation. */
export interface Transport {
  readonly address: string;
  /** One request, one response. @throws P4RuntimeError; its `cause` is an error as grpc-js has them. */
  unary<Request, Response>(
    name: string,
    method: Method<Request, Response>,
    request: Init<NoInfer<Request>>,
    options: CallOptions & { readonly timeout: number },
  ): Promise<Response>;
  /** One request, many responses. Leaving the loop early ends the call. @throws P4RuntimeError */
  serverStream<Request, Response>(
    name: string,
    method: Method<Request, Response>,
    request: Init<NoInfer<Request>>,
    options: CallOptions & { readonly timeout: number },
  ): AsyncGenerator<Response, void>;
  /** The bidirectional stream. The caller must listen to its errors. */
  stream(): MessageStream;
  /** The error of a stream in this transport's words. */
  streamError(error: ServiceError): P4RuntimeError;
  /** Does something after so many milliseconds, unless it is cancelled. */
  after(milliseconds: number, what: () => void): () => void;
  /** Running calls fail; further ones are refused. */
  close(): void;
}
