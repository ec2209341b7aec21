import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { hostAndPort } from "../../../src/p4runtime/address.ts";
import { encodeHeaders, type Headers, HpackDecoder } from "../../../src/switch/grpc/hpack.ts";
import { FrameWriter, flag, frameType, preface } from "../../../src/switch/grpc/http2-frames.ts";
import { framedMessage, MessageReader } from "../../../src/switch/grpc/message-reader.ts";
import { RequestMemory } from "../../../src/switch/grpc/request-memory.ts";

export interface RawAnswer {
  readonly status: number;
  readonly message: string;
  /** Bytes of `grpc-status-details-bin`. */
  readonly details: Uint8Array;
  readonly messages: readonly Uint8Array[];
}

interface Call {
  readonly reader: MessageReader;
  readonly messages: Uint8Array[];
  readonly onMessage: ((message: Uint8Array) => void) | undefined;
  readonly done: (answer: RawAnswer) => void;
  readonly fail: (error: Error) => void;
}

/** A stream for messages in both directions. */
export interface RawStream {
  send(message: Uint8Array): void;
  end(): void;
  readonly ended: Promise<RawAnswer>;
}

/** Milliseconds after which an answer is taken to hang. */
const patience = 120_000;
const frameSize = 16_384;
const widest = 0x7fff_ffff;

/**
 * A client that sends any bytes as messages, and tells how each call ended. Together, requests that are not answered must be smaller than the
 * server's windows.
 */
export class RawGrpc {
  readonly #socket: Socket;
  readonly #writer = new FrameWriter();
  readonly #hpack = new HpackDecoder(4096, 1e6);
  readonly #calls = new Map<number, Call>();
  #nextStream = 1;
  #rest: Buffer = Buffer.alloc(0);

  private constructor(address: string) {
    this.#socket = connect({ ...hostAndPort(address), noDelay: true });
    this.#socket.on("data", (bytes: Buffer) => this.#receive(bytes));
    this.#socket.on("error", (error) => this.#failAll(error));
    this.#socket.on("close", () => this.#failAll(new Error("the server closed the connection")));
    this.#socket.write(preface);
    this.#writer.settings([[4, widest]]);
    this.#writer.windowUpdate(0, widest - 65_535);
    this.#flush();
  }

  static async connect(address: string): Promise<RawGrpc> {
    const client = new RawGrpc(address);
    // With its settings the server says how much it takes.
    await once(client.#socket, "data");
    return client;
  }

  close(): void {
    this.#socket.destroy();
  }

  /** A call with one request. Rejects when there is no answer. */
  call(path: string, request: Uint8Array): Promise<RawAnswer> {
    const { id, answer } = this.#open(path, undefined);
    this.#data(id, framedMessage(request), true);
    return answer;
  }

  stream(path: string, onMessage: (message: Uint8Array) => void): RawStream {
    const { id, answer } = this.#open(path, onMessage);
    return {
      send: (message) => this.#data(id, framedMessage(message), false),
      end: () => this.#data(id, new Uint8Array(0), true),
      ended: answer,
    };
  }

  #open(path: string, onMessage: Call["onMessage"]): { id: number; answer: Promise<RawAnswer> } {
    const id = this.#nextStream;
    this.#nextStream += 2;
    const block = encodeHeaders([
      [":method", "POST"],
      [":scheme", "http"],
      [":path", path],
      ["content-type", "application/grpc"],
      // The server then gives all details that it has.
      ["user-agent", "grpc-node-js/0"],
    ]);
    this.#writer.headers(id, block, false, frameSize);
    this.#flush();
    const answer = new Promise<RawAnswer>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`${path} is not answered`)), patience);
      if (onMessage !== undefined) clearTimeout(late);
      this.#calls.set(id, {
        reader: new MessageReader(
          widest,
          undefined,
          new RequestMemory(Number.POSITIVE_INFINITY).connection(),
        ),
        messages: [],
        onMessage,
        done: (value) => {
          clearTimeout(late);
          resolve(value);
        },
        fail: (error) => {
          clearTimeout(late);
          reject(error);
        },
      });
    });
    return { id, answer };
  }

  #data(id: number, bytes: Uint8Array, isLast: boolean): void {
    if (!this.#calls.has(id)) return;
    for (let at = 0; at === 0 || at < bytes.length; at += frameSize) {
      const to = Math.min(bytes.length, at + frameSize);
      const flags = isLast && to === bytes.length ? flag.endStream : 0;
      this.#writer.frame(frameType.data, flags, id, bytes, at, to);
    }
    this.#flush();
  }

  #flush(): void {
    this.#socket.write(this.#writer.take());
  }

  #failAll(error: Error): void {
    for (const { fail } of this.#calls.values()) fail(error);
    this.#calls.clear();
  }

  #receive(chunk: Buffer): void {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    let at = 0;
    while (at + 9 <= bytes.length && at + 9 + bytes.readUIntBE(at, 3) <= bytes.length) {
      const end = at + 9 + bytes.readUIntBE(at, 3);
      this.#frame(
        bytes.readUInt8(at + 3),
        bytes.readUInt8(at + 4),
        bytes.readUInt32BE(at + 5),
        bytes,
        at + 9,
        end,
      );
      at = end;
    }
    this.#rest = bytes.subarray(at);
  }

  #frame(type: number, flags: number, stream: number, bytes: Buffer, from: number, to: number): void {
    const call = this.#calls.get(stream);
    if (type === frameType.settings && (flags & flag.ack) === 0) {
      this.#writer.settingsAck();
      this.#flush();
    } else if (type === frameType.ping && (flags & flag.ack) === 0) {
      this.#writer.frame(frameType.ping, flag.ack, 0, bytes, from, to);
      this.#flush();
    } else if (type === frameType.goaway) {
      this.#failAll(new Error(`the server says goodbye, code ${bytes.readUInt32BE(from + 4)}`));
    } else if (type === frameType.data && call !== undefined) {
      call.reader.push(bytes, from, to, (message) => {
        const copy = Uint8Array.from(message);
        if (call.onMessage === undefined) call.messages.push(copy);
        else call.onMessage(copy);
      });
    } else if (type === frameType.headers) {
      const headers = this.#hpack.decode(bytes.subarray(from, to));
      if ((flags & flag.endStream) === 0 || call === undefined) return;
      this.#calls.delete(stream);
      call.done(answerOf(headers, call.messages));
    }
  }
}

function answerOf(headers: Headers, messages: readonly Uint8Array[]): RawAnswer {
  return {
    status: Number(headers.get("grpc-status")),
    message: decodeURIComponent(headers.get("grpc-message") ?? ""),
    details: Buffer.from(headers.get("grpc-status-details-bin") ?? "", "base64"),
    messages,
  };
}
