import {
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type SecureServerOptions,
  type ServerHttp2Session,
  type ServerHttp2Stream,
  type ServerOptions,
} from "node:http2";
import type { Socket } from "node:net";
import { type CallInfo, GrpcCall, type GrpcMethod, refuse } from "./grpc-call.ts";
import { type GrpcStatus, grpcCode } from "./grpc-status.ts";

/** Certificates as PEM texts. */
export interface GrpcTls {
  readonly certificate: string | Uint8Array;
  readonly key: string | Uint8Array;
  /** Authorities for clients' certificates. */
  readonly clientAuthorities?: string | Uint8Array;
  /** Only clients with a certificate of these authorities are served. */
  readonly requiresClientCertificate?: boolean;
}

export interface GrpcServerOptions {
  /** By path: `/package.Service/Method`. */
  readonly methods: ReadonlyMap<string, GrpcMethod>;
  /** The status for what a method throws. */
  readonly statusOf: (error: unknown, call: CallInfo) => GrpcStatus;
  /** Largest message that is taken, in bytes; 256 MiB unless given. */
  readonly maxMessageSize?: number;
  readonly tls?: GrpcTls;
}

const defaultMaxMessageSize = 256 * 1024 * 1024;
/** Milliseconds between two questions whether a client is there, and how many of them it may leave unanswered. */
const silence = 30_000;
const mostUnanswered = 2;
/** Bytes that a client may send ahead on a stream. */
const window = 4 * 1024 * 1024;

const limits: ServerOptions = {
  settings: { maxConcurrentStreams: 1000, initialWindowSize: window, maxHeaderListSize: 64 * 1024 },
  // Megabytes; what a slow client leaves unread counts as well.
  maxSessionMemory: 64,
};

/** Serves gRPC over HTTP/2, in plain text or by TLS. */
export class GrpcServer {
  readonly #options: GrpcServerOptions;
  readonly #maxMessageSize: number;
  readonly #listener: Http2Server | Http2SecureServer;
  /** Sessions, with the pings that were not answered. */
  readonly #sessions = new Map<ServerHttp2Session, number>();
  /** All sockets, those too that are still at their handshake. */
  readonly #sockets = new Set<Socket>();
  readonly #keepalive: NodeJS.Timeout;
  #whenEmpty: (() => void) | undefined;

  constructor(options: GrpcServerOptions) {
    this.#options = options;
    this.#maxMessageSize = options.maxMessageSize ?? defaultMaxMessageSize;
    const { tls } = options;
    this.#listener =
      tls === undefined ? createServer(limits) : createSecureServer({ ...limits, ...tlsOptions(tls) });
    this.#listener.on("connection", (socket: Socket) => {
      // Nagle's algorithm would hold each small message until the one before is acknowledged, for 40 ms.
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.on("error", () => {});
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.#listener.on("session", (session) => this.#accept(session));
    this.#listener.on("sessionError", () => {});
    this.#listener.on("stream", (stream, headers) => this.#request(stream, headers));
    this.#keepalive = setInterval(() => this.#checkClients(), silence);
    this.#keepalive.unref();
  }

  /** Listen. @throws the operating system's error */
  listen(host: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#listener.once("error", reject);
      this.#listener.listen({ host, port }, () => {
        this.#listener.off("error", reject);
        this.#listener.on("error", () => {});
        const bound = this.#listener.address();
        resolve(bound === null || typeof bound === "string" ? port : bound.port);
      });
    });
  }

  /** Take no more calls, and wait until the open ones are answered, but not longer than `grace` milliseconds. */
  async close(grace: number): Promise<void> {
    clearInterval(this.#keepalive);
    this.#listener.close();
    for (const session of this.#sessions.keys()) session.close();
    const empty = new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
    });
    if (this.#sessions.size > 0) {
      let force: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => {
        force = setTimeout(resolve, grace);
      });
      await Promise.race([empty, late]);
      clearTimeout(force);
    }
    // One that is left would keep the process.
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Drop all connections at once. */
  abort(): void {
    clearInterval(this.#keepalive);
    this.#listener.close();
    // Sessions that are ended first would say goodbye, and tell their calls that they went well.
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  #accept(session: ServerHttp2Session): void {
    this.#sessions.set(session, 0);
    session.setLocalWindowSize(window);
    session.on("error", () => {});
    session.on("close", () => {
      this.#sessions.delete(session);
      if (this.#sessions.size === 0) this.#whenEmpty?.();
    });
  }

  #request(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    // What failed is told by the end of the stream.
    stream.on("error", () => {});
    const path = headers[":path"] ?? "";
    const method = this.#options.methods.get(path);
    const isGrpc = headers["content-type"]?.startsWith("application/grpc") ?? false;
    if (!isGrpc || headers[":method"] !== "POST")
      refuse(stream, { code: grpcCode.internal, message: "the request is no gRPC call" });
    else if (method === undefined)
      refuse(stream, { code: grpcCode.unimplemented, message: `there is no method ${path}` });
    else new GrpcCall(stream, headers, method, this.#maxMessageSize, this.#options.statusOf);
  }

  /** Finds broken connections, which would keep what their clients hold. */
  #checkClients(): void {
    for (const [session, unanswered] of this.#sessions) {
      if (unanswered >= mostUnanswered) session.destroy();
      else if (session.ping(() => this.#sessions.has(session) && this.#sessions.set(session, 0)))
        this.#sessions.set(session, unanswered + 1);
    }
  }
}

function tlsOptions(tls: GrpcTls): SecureServerOptions {
  const pem = (text: string | Uint8Array): string | Buffer =>
    typeof text === "string" ? text : Buffer.from(text);
  return {
    cert: pem(tls.certificate),
    key: pem(tls.key),
    requestCert: tls.clientAuthorities !== undefined,
    rejectUnauthorized: tls.requiresClientCertificate ?? false,
    ...(tls.clientAuthorities === undefined ? {} : { ca: pem(tls.clientAuthorities) }),
  };
}
