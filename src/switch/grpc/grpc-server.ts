import { createServer, type Server as NetServer, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { type CallInfo, GrpcCall, type GrpcMethod, refuse } from "./grpc-call.ts";
import { type GrpcStatus, grpcCode } from "./grpc-status.ts";
import type { Headers } from "./hpack.ts";
import { Http2Connection } from "./http2-connection.ts";
import type { Http2Stream, StreamListener } from "./http2-stream.ts";
import { type ConnectionMemory, RequestMemory } from "./request-memory.ts";

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
  /** Connections that are open at most; 1024 unless given. When one more comes, the one that has been without a call for longest is closed. */
  readonly maxConnections?: number;
  readonly tls?: GrpcTls;
}

const defaultMaxMessageSize = 256 * 1024 * 1024;
const defaultMaxConnections = 1024;
/** Milliseconds without a sign of a client after which it is asked, and how often it may leave that unanswered. */
const silence = 30_000;
const mostUnanswered = 2;
/** Bytes of answers that may wait for one client, and for all: above, new calls are refused. One answer may be larger. */
const mostWaiting = 64 * 1024 * 1024;
const mostWaitingOfAll = 512 * 1024 * 1024;
const largeHeaders: GrpcStatus = {
  code: grpcCode.resourceExhausted,
  message: "the request has more headers than are taken",
};
const unread: GrpcStatus = {
  code: grpcCode.resourceExhausted,
  message: "too many answers wait because they are not read",
};

interface Connection {
  readonly socket: Socket;
  readonly http2: Http2Connection;
  hasSpoken: boolean;
  /** Requests of any connection that had come before this one's last. */
  lastRequest: number;
}

/** Serves gRPC over HTTP/2, in plain text or by TLS. */
export class GrpcServer {
  readonly #options: GrpcServerOptions;
  readonly #maxMessageSize: number;
  readonly #maxConnections: number;
  readonly #listener: NetServer;
  readonly #connections = new Map<Socket, Connection>();
  /** All sockets, those too that are still at their handshake. */
  readonly #sockets = new Set<Socket>();
  readonly #keepalive: NodeJS.Timeout;
  readonly #memory: RequestMemory;
  #requests = 0;
  /** Bytes of answers that wait for clients. */
  #waitingBytes = 0;
  #whenEmpty: (() => void) | undefined;

  constructor(options: GrpcServerOptions) {
    this.#options = options;
    this.#maxMessageSize = options.maxMessageSize ?? defaultMaxMessageSize;
    this.#maxConnections = options.maxConnections ?? defaultMaxConnections;
    this.#memory = new RequestMemory(2 * this.#maxMessageSize);
    const { tls } = options;
    if (tls === undefined) {
      // Nagle's algorithm would hold each small message until the one before is acknowledged, for 40 ms.
      this.#listener = createServer({ noDelay: true }, (socket) => this.#accept(socket));
    } else {
      this.#listener = createTlsServer({ ...tlsOptions(tls), noDelay: true }, (socket) =>
        this.#accept(socket),
      );
    }
    this.#listener.on("connection", (socket: Socket) => {
      // Those at their handshake count, too.
      if (this.#sockets.size >= this.#maxConnections) this.#makeRoom(socket);
      if (socket.destroyed) return;
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
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
    for (const { http2 } of this.#connections.values()) http2.drain();
    const empty = new Promise<void>((resolve) => {
      this.#whenEmpty = resolve;
    });
    if (this.#connections.size > 0) {
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
    // A socket that is ended first would say goodbye.
    for (const socket of this.#sockets) socket.resetAndDestroy();
    for (const { http2 } of [...this.#connections.values()]) http2.lost();
  }

  /** Closes the connection that has been without a call for longest; the new one if all have calls. */
  #makeRoom(added: Socket): void {
    let idle: Connection | undefined;
    for (const connection of this.#connections.values()) {
      const isIdle = connection.http2.openStreams === 0 && !connection.socket.destroyed;
      if (isIdle && (idle === undefined || connection.lastRequest < idle.lastRequest)) idle = connection;
    }
    const closed = idle?.socket ?? added;
    this.#sockets.delete(closed);
    closed.destroy();
  }

  #accept(socket: Socket): void {
    const memory = this.#memory.connection();
    const http2: Http2Connection = new Http2Connection(
      {
        write: (bytes) => {
          const hasRoom = socket.write(bytes);
          // Who does not read answers is not heard until he does.
          if (!hasRoom) socket.pause();
          return hasRoom;
        },
        close: () => socket.end(),
      },
      {
        request: (stream, headers) => {
          connection.lastRequest = this.#requests++;
          return this.#request(http2, stream, headers, memory);
        },
        countWaiting: (bytes) => {
          this.#waitingBytes += bytes;
        },
      },
    );
    const connection: Connection = { socket, http2, hasSpoken: true, lastRequest: this.#requests };
    this.#connections.set(socket, connection);
    socket.on("data", (chunk: Buffer) => {
      connection.hasSpoken = true;
      http2.receive(chunk);
    });
    socket.on("drain", () => {
      socket.resume();
      http2.drained();
    });
    // What failed is told by the end of the connection.
    socket.on("error", () => {});
    socket.on("close", () => {
      this.#connections.delete(socket);
      http2.lost();
      if (this.#connections.size === 0) this.#whenEmpty?.();
    });
    http2.flush();
  }

  #request(
    http2: Http2Connection,
    stream: Http2Stream,
    headers: Headers,
    memory: ConnectionMemory,
  ): StreamListener | undefined {
    if (headers.isTooLarge) {
      refuse(stream, largeHeaders);
      return undefined;
    }
    const path = headers.get(":path") ?? "";
    const method = this.#options.methods.get(path);
    const isGrpc = headers.get("content-type")?.startsWith("application/grpc") ?? false;
    if (!isGrpc || headers.get(":method") !== "POST") {
      refuse(stream, { code: grpcCode.internal, message: "the request is no gRPC call" });
      return undefined;
    }
    if (method === undefined) {
      refuse(stream, { code: grpcCode.unimplemented, message: `there is no method ${path.slice(0, 200)}` });
      return undefined;
    }
    if (http2.waitingBytes > mostWaiting || this.#waitingBytes > mostWaitingOfAll) {
      refuse(stream, unread);
      return undefined;
    }
    const { statusOf } = this.#options;
    const call = new GrpcCall(stream, headers, method, this.#maxMessageSize, memory, statusOf);
    stream.listener = call;
    call.open();
    return call.isEnded ? undefined : call;
  }

  /** Finds broken connections, which would keep what their clients hold, and those whose clients do not take the goodbye. */
  #checkClients(): void {
    for (const connection of this.#connections.values()) {
      if (connection.http2.isClosed) connection.socket.destroy();
      else if (connection.hasSpoken) connection.hasSpoken = false;
      else if (connection.http2.unansweredPings >= mostUnanswered) connection.socket.destroy();
      else connection.http2.ping();
    }
  }
}

function tlsOptions(tls: GrpcTls): TlsOptions {
  const pem = (text: string | Uint8Array): string | Buffer =>
    typeof text === "string" ? text : Buffer.from(text);
  return {
    cert: pem(tls.certificate),
    key: pem(tls.key),
    ALPNProtocols: ["h2"],
    requestCert: tls.clientAuthorities !== undefined,
    rejectUnauthorized: tls.requiresClientCertificate ?? false,
    ...(tls.clientAuthorities === undefined ? {} : { ca: pem(tls.clientAuthorities) }),
  };
}
