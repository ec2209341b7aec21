import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { hostAndPort } from "../src/p4runtime/address.ts";

const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");
const type = {
  data: 0,
  headers: 1,
  resetStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
} as const;
const flag = { endStream: 1, ack: 1, endHeaders: 4 } as const;
/** What every HTTP/2 server takes without having said more. */
const frameSize = 16_384;
const window = 65_535;
/** What is received without asking for more: the server's answers are short. */
const largestWindow = 0x7fff_ffff;

/**
 * A client that sends requests that are bytes already, one after the other, by the least of HTTP/2 that this takes, so that what is measured is
 * the server. Answers are not looked at but for whether they are as long as the first one, which is taken for a good one: trailers of an error
 * have a text.
 */
export class BareGrpc {
  readonly #socket: Socket;
  readonly #headers: Buffer;
  #nextStream = 1;
  #sendWindow = window;
  #streamWindow = window;
  #rest: Buffer = Buffer.alloc(0);
  #waiting: { resolve: (received: number) => void; reject: (error: Error) => void } | undefined;
  #resume: (() => void) | undefined;
  #trailers = 0;
  #received = 0;

  /** @param path of the method that is called */
  constructor(address: string, path: string) {
    const { host, port } = hostAndPort(address);
    this.#socket = connect({ host, port, noDelay: true });
    this.#headers = headerBlock([
      [":method", "POST"],
      [":scheme", "http"],
      [":path", path],
      [":authority", address],
      ["te", "trailers"],
      ["content-type", "application/grpc"],
    ]);
    const wide = Buffer.alloc(6);
    wide.writeUInt16BE(4, 0);
    wide.writeUInt32BE(largestWindow, 2);
    const update = Buffer.alloc(4);
    update.writeUInt32BE(largestWindow - window);
    this.#socket.write(
      Buffer.concat([preface, frame(type.settings, 0, 0, wide), frame(type.windowUpdate, 0, 0, update)]),
    );
    this.#socket.on("data", (bytes: Buffer) => this.#receive(bytes));
    this.#socket.on("error", (error) => this.#waiting?.reject(error));
    this.#socket.on("close", () => this.#waiting?.reject(new Error("the server closed the connection")));
  }

  /** The frames of a call with this request; streams are numbered when they are sent. */
  request(message: Uint8Array): Buffer {
    const body = Buffer.alloc(5 + message.length);
    body.writeUInt32BE(message.length, 1);
    body.set(message, 5);
    const frames = [frame(type.headers, flag.endHeaders, 0, this.#headers)];
    for (let at = 0; at < body.length; at += frameSize) {
      const part = body.subarray(at, at + frameSize);
      frames.push(frame(type.data, at + part.length === body.length ? flag.endStream : 0, 0, part));
    }
    return Buffer.concat(frames);
  }

  /**
   * One call; the frames can be sent again afterwards. Gives how many bytes of data came.
   *
   * @throws Error when the server does not answer as it did at first
   */
  async call(frames: Buffer): Promise<number> {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    if (frames.length > this.#streamWindow) throw new Error("the request is larger than a stream's window");
    while (frames.length > this.#sendWindow)
      await new Promise<void>((resolve) => {
        this.#resume = resolve;
      });
    for (let at = 0; at < frames.length; at += 9 + frames.readUIntBE(at, 3)) {
      frames.writeUInt32BE(stream, at + 5);
      if (frames[at + 3] === type.data) this.#sendWindow -= frames.readUIntBE(at, 3);
    }
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#received = 0;
      this.#socket.write(frames);
    });
  }

  async close(): Promise<void> {
    this.#waiting = undefined;
    this.#socket.end();
    this.#socket.resume();
    if (!this.#socket.destroyed) await once(this.#socket, "close");
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (at + 9 <= bytes.length) {
      const length = bytes.readUIntBE(at, 3);
      const end = at + 9 + length;
      if (end > bytes.length) break;
      this.#frame(bytes[at + 3] ?? 0, bytes[at + 4] ?? 0, bytes.readUInt32BE(at + 5), bytes, at + 9, end);
      at = end;
    }
    this.#rest = bytes.subarray(at);
  }

  #frame(kind: number, flags: number, stream: number, bytes: Buffer, from: number, to: number): void {
    switch (kind) {
      case type.data:
        this.#received += to - from;
        return;
      case type.headers:
        if ((flags & flag.endStream) !== 0) this.#answered(to - from);
        return;
      case type.settings:
        if ((flags & flag.ack) !== 0) return;
        for (let at = from; at < to; at += 6)
          if (bytes.readUInt16BE(at) === 4) this.#streamWindow = bytes.readUInt32BE(at + 2);
        this.#socket.write(frame(type.settings, flag.ack, 0, Buffer.alloc(0)));
        return;
      case type.ping:
        if ((flags & flag.ack) === 0)
          this.#socket.write(frame(type.ping, flag.ack, 0, bytes.subarray(from, to)));
        return;
      case type.windowUpdate:
        if (stream !== 0) return;
        this.#sendWindow += bytes.readUInt32BE(from);
        this.#resume?.();
        return;
      case type.resetStream:
      case type.goaway:
        this.#waiting?.reject(new Error("the server refused a request"));
    }
  }

  #answered(trailers: number): void {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (this.#trailers === 0) this.#trailers = trailers;
    if (trailers <= this.#trailers) waiting?.resolve(this.#received);
    else waiting?.reject(new Error("a call failed"));
  }
}

function frame(kind: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.alloc(9 + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = kind;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  bytes.set(payload, 9);
  return bytes;
}

/** Names and values as they are, without compression and without the tables. */
function headerBlock(headers: readonly (readonly [name: string, value: string])[]): Buffer {
  const literal = (text: string): Buffer => Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.of(0), literal(name), literal(value)]));
}
