import { createSecureContext } from "node:tls";
import {
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  type ClientOptions,
  type ClientReadableStream,
  credentials,
  Metadata,
  type ServiceError,
} from "@grpc/grpc-js";
import type { Init } from "../p4info/message/descriptor.ts";
import { callError, P4RuntimeError } from "./call-error.ts";
import { Code } from "./code.ts";
import type { Method } from "./method.ts";
import { P4RuntimeService, type StreamChannel } from "./service.ts";
import type { Transport } from "./transport.ts";

/** Certificates in PEM. */
export interface TlsOptions {
  /** Authorities to trust; the system's unless given. */
  readonly ca?: Buffer;
  /** The client's own certificate and key, where the server asks for them. */
  readonly certificate?: Buffer;
  readonly key?: Buffer;
  /** Of the key, where that is encrypted. */
  readonly passphrase?: string;
  /** The name in the server's certificate, when it is not the host name of the address. */
  readonly serverName?: string;
}

export interface CallOptions {
  /** Milliseconds that the call may take. */
  readonly timeout?: number;
  /** Gives the call up when it is aborted. */
  readonly signal?: AbortSignal;
}

export interface ConnectionOptions {
  /** `host:port` */
  readonly address: string;
  /** Plain text unless given. */
  readonly tls?: TlsOptions;
  /**
   * Milliseconds between pings on a quiet connection. Servers with gRPC's defaults allow one ping in five minutes and end the connection of
   * a client that sends more, so the default is a little above that.
   */
  readonly keepalive?: number;
}

const DEFAULT_KEEPALIVE = 330_000;

/** A gRPC connection to one switch: calls with deadlines and errors that name the address. It knows nothing of P4Runtime's rules. */
export class Connection implements Transport {
  readonly address: string;
  readonly #client: Client;
  readonly #usesTls: boolean;
  #isClosed = false;

  constructor(options: ConnectionOptions) {
    this.address = options.address;
    this.#usesTls = options.tls !== undefined;
    const { tls } = options;
    const channel: ClientOptions = {
      "grpc.max_receive_message_length": -1,
      "grpc.max_send_message_length": -1,
      "grpc.keepalive_time_ms": options.keepalive ?? DEFAULT_KEEPALIVE,
      // Who calls knows better whether to try again, and each call is a sixth quicker without the layer for that; nobody asks for channelz.
      "grpc.enable_retries": 0,
      "grpc.enable_channelz": 0,
      // Otherwise all clients of a process share one connection to a switch, and close() leaves it open for a while.
      "grpc.use_local_subchannel_pool": 1,
      ...(tls?.serverName === undefined
        ? {}
        : { "grpc.ssl_target_name_override": tls.serverName, "grpc.default_authority": tls.serverName }),
    };
    const channelCredentials =
      tls === undefined ? credentials.createInsecure() : tlsCredentials(options.address, tls);
    this.#client = new Client(options.address, channelCredentials, channel);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /**
   * One request, one response.
   *
   * @throws P4RuntimeError; its `cause` is the error of grpc-js.
   */
  unary<Request, Response>(
    name: string,
    method: Method<Request, Response>,
    request: Init<NoInfer<Request>>,
    options: CallOptions & { readonly timeout: number },
  ): Promise<Response> {
    return new Promise((resolve, reject) => {
      const early = this.#refusal(name, options.signal);
      if (early !== undefined) {
        reject(early);
        return;
      }
      const call = this.#client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        new Metadata(),
        { deadline: Date.now() + options.timeout },
        (error, response) => {
          options.signal?.removeEventListener("abort", abort);
          if (error !== null) reject(this.#error(error, name, options.signal));
          else if (response === undefined)
            reject(new P4RuntimeError(Code.INTERNAL, this.address, name, "the server sent no response"));
          else resolve(response);
        },
      );
      const abort = (): void => call.cancel();
      options.signal?.addEventListener("abort", abort, { once: true });
    });
  }

  /**
   * One request, many responses. Leaving the loop early ends the call.
   *
   * @throws P4RuntimeError
   */
  async *serverStream<Request, Response>(
    name: string,
    method: Method<Request, Response>,
    request: Init<NoInfer<Request>>,
    options: CallOptions & { readonly timeout: number },
  ): AsyncGenerator<Response, void> {
    const early = this.#refusal(name, options.signal);
    if (early !== undefined) throw early;
    const call: ClientReadableStream<Response> = this.#client.makeServerStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      new Metadata(),
      { deadline: Date.now() + options.timeout },
    );
    // The loop below hears of errors; this one is for those that come after it was left.
    call.on("error", () => {});
    const abort = (): void => call.cancel();
    options.signal?.addEventListener("abort", abort, { once: true });
    try {
      for await (const response of call) yield response;
    } catch (error) {
      if (isServiceError(error)) throw this.#error(error, name, options.signal);
      throw error;
    } finally {
      options.signal?.removeEventListener("abort", abort);
      call.cancel();
    }
  }

  /** The bidirectional stream. The caller must listen to its errors. */
  stream(): StreamChannel {
    return this.duplex(P4RuntimeService.StreamChannel);
  }

  /** Any bidirectional stream. The caller must listen to its errors. */
  duplex<Request, Response>(method: Method<Request, Response>): ClientDuplexStream<Init<Request>, Response> {
    return this.#client.makeBidiStreamRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
    );
  }

  /** The error of a stream in this connection's words. */
  streamError(error: ServiceError): P4RuntimeError {
    return callError(error, this.address, "StreamChannel", this.#usesTls);
  }

  after(milliseconds: number, what: () => void): () => void {
    const timer = setTimeout(what, milliseconds);
    return () => clearTimeout(timer);
  }

  /** Running calls fail; further ones are refused. */
  close(): void {
    this.#isClosed = true;
    this.#client.close();
  }

  #refusal(name: string, signal: AbortSignal | undefined): P4RuntimeError | undefined {
    if (this.#isClosed) return new P4RuntimeError(Code.CANCELLED, this.address, name, "the client is closed");
    if (signal?.aborted)
      return new P4RuntimeError(Code.CANCELLED, this.address, name, "it was aborted", signal.reason);
    return undefined;
  }

  #error(error: ServiceError, name: string, signal: AbortSignal | undefined): P4RuntimeError {
    if (error.code === Code.CANCELLED && signal?.aborted)
      return new P4RuntimeError(Code.CANCELLED, this.address, name, "it was aborted", signal.reason);
    return callError(error, this.address, name, this.#usesTls);
  }
}

/** @throws P4RuntimeError when a certificate or key is none, or the passphrase is another's */
function tlsCredentials(address: string, tls: TlsOptions): ChannelCredentials {
  const { ca, certificate: cert, key, passphrase } = tls;
  try {
    return credentials.createFromSecureContext(
      createSecureContext({
        ...(ca === undefined ? {} : { ca }),
        ...(cert === undefined ? {} : { cert }),
        ...(key === undefined ? {} : { key }),
        ...(passphrase === undefined ? {} : { passphrase }),
      }),
    );
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new P4RuntimeError(Code.INVALID_ARGUMENT, address, "TLS", keyProblem(reason, passphrase), error);
  }
}

/** OpenSSL's words do not say which file is meant. */
function keyProblem(reason: string, passphrase: string | undefined): string {
  if (/bad decrypt|interrupted or cancelled/i.test(reason))
    return passphrase === undefined
      ? "the key of the certificate is encrypted, and there is no passphrase"
      : "the passphrase does not open the key of the certificate";
  if (/key values mismatch/i.test(reason)) return "the key is not that of the certificate";
  return `a certificate or key cannot be used: ${reason}`;
}

export function isServiceError(error: unknown): error is ServiceError {
  return error instanceof Error && "code" in error && typeof error.code === "number" && "details" in error;
}
