import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import type { GrpcMethod } from "../../../src/switch/grpc/grpc-call.ts";
import { GrpcServer } from "../../../src/switch/grpc/grpc-server.ts";
import { encodeHeaders, HpackDecoder } from "../../../src/switch/grpc/hpack.ts";
import { FrameWriter, flag, frameType, preface } from "../../../src/switch/grpc/http2-frames.ts";
import { framedMessage } from "../../../src/switch/grpc/message-reader.ts";

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

/** Streams that the server holds. */
let open = 0;
const methods = new Map<string, GrpcMethod>([
  ["/test/Echo", { kind: "unary", answer: (request) => request }],
  ["/test/Large", { kind: "unary", answer: () => new Uint8Array(1_000_000) }],
  [
    "/test/Chat",
    {
      kind: "bidi",
      open: (call) => {
        open++;
        return {
          message: (message) => call.send(message),
          halfClosed: () => call.end({ code: 0, message: "" }),
          closed: () => open--,
        };
      },
    },
  ],
]);

async function start(maxMessageSize?: number): Promise<string> {
  const server = new GrpcServer({
    methods,
    statusOf: (error) => ({ code: 2, message: String(error) }),
    ...(maxMessageSize === undefined ? {} : { maxMessageSize }),
  });
  const port = await server.listen("127.0.0.1", 0);
  stops.push(() => server.close(100));
  return `127.0.0.1:${port}`;
}

const same = (bytes: Buffer): Buffer => bytes;

interface Options {
  readonly client?: Record<string, string | number>;
  readonly metadata?: Record<string, string>;
  readonly deadline?: number;
}

/** The status of a call by gRPC's own client, and how many bytes came back. */
function call(
  address: string,
  method: string,
  request: Uint8Array,
  options: Options = {},
): Promise<{ code: number; details: string; bytes: number }> {
  const client = new Client(address, credentials.createInsecure(), options.client ?? {});
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(options.metadata ?? {})) metadata.set(name, value);
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      `/test/${method}`,
      same,
      same,
      Buffer.from(request),
      metadata,
      { deadline: Date.now() + (options.deadline ?? 20_000) },
      (error: ServiceError | null, response) => {
        client.close();
        resolve({ code: error?.code ?? 0, details: error?.details ?? "", bytes: response?.length ?? 0 });
      },
    );
  });
}

async function isAlive(address: string): Promise<void> {
  expect(await call(address, "Echo", Buffer.from("hello"))).toMatchObject({ code: 0, bytes: 5 });
}

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

/** A client that says what it is told to. */
class Rude {
  readonly socket: Socket;
  readonly frames: Frame[] = [];
  readonly #hpack = new HpackDecoder(4096, 1e6);
  #rest = Buffer.alloc(0);

  constructor(address: string) {
    const [host = "", port] = address.split(":");
    this.socket = connect(Number(port), host);
    this.socket.on("error", () => {});
    this.socket.on("data", (bytes: Buffer) => this.#receive(bytes));
    stops.push(() => this.socket.destroy());
  }

  #receive(bytes: Buffer): void {
    let rest = Buffer.concat([this.#rest, bytes]);
    while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
      const length = rest.readUIntBE(0, 3);
      this.frames.push({
        type: rest.readUInt8(3),
        flags: rest.readUInt8(4),
        stream: rest.readUInt32BE(5),
        payload: rest.subarray(9, 9 + length),
      });
      rest = rest.subarray(9 + length);
    }
    this.#rest = rest;
  }

  say(...parts: Uint8Array[]): this {
    this.socket.write(Buffer.concat(parts));
    return this;
  }

  hello(): this {
    return this.say(preface, frame(frameType.settings, 0, 0));
  }

  /** Says something again and again without reading, until the server takes no more; gives how many bytes it took. */
  async flood(piece: Uint8Array, most = 64e6): Promise<number> {
    this.socket.pause();
    const many = Buffer.concat(Array.from({ length: Math.ceil(65_536 / piece.length) }, () => piece));
    let idle = 0;
    let before = -1;
    while (idle < 5 && !this.socket.destroyed && this.#taken < most) {
      if (this.socket.writableLength < 1e6) this.socket.write(many);
      await sleep(this.#taken === before ? 20 : 0);
      idle = this.#taken === before ? idle + 1 : 0;
      before = this.#taken;
    }
    return this.#taken;
  }

  get #taken(): number {
    return this.socket.bytesWritten - this.socket.writableLength;
  }

  /** The status that a stream ended with; undefined if it is open, "reset" if it was reset. */
  status(stream: number): string | undefined {
    for (const { type, flags, stream: id, payload } of this.frames.filter((f) => f.stream === stream)) {
      if (id !== stream) continue;
      if (type === frameType.headers && (flags & flag.endStream) !== 0)
        return this.#hpack.decode(payload).get("grpc-status");
      if (type === frameType.rstStream) return "reset";
    }
    return undefined;
  }

  get saidGoodbye(): boolean {
    return this.frames.some(({ type }) => type === frameType.goaway);
  }
}

function frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array(0)): Buffer {
  const writer = new FrameWriter();
  writer.frame(type, flags, stream, payload, 0, payload.length);
  return Buffer.from(writer.take());
}

function headers(
  stream: number,
  path: string,
  more: readonly (readonly [string, string])[] = [],
  flags = 0,
): Buffer {
  const block = encodeHeaders([
    [":method", "POST"],
    [":scheme", "http"],
    [":path", path],
    ["content-type", "application/grpc"],
    ...more,
  ]);
  return frame(frameType.headers, flag.endHeaders | flags, stream, block);
}

const data = (stream: number, bytes: Uint8Array, flags = 0): Buffer =>
  frame(frameType.data, flags, stream, bytes);

describe("a flood", () => {
  const reset = frame(frameType.rstStream, 0, 1, Buffer.from([0, 0, 0, 8]));
  const floods: readonly (readonly [name: string, before: readonly Uint8Array[], piece: Uint8Array])[] = [
    ["of pings", [], frame(frameType.ping, 0, 0, Buffer.alloc(8))],
    ["of empty settings", [], frame(frameType.settings, 0, 0)],
    [
      "of settings that move all windows",
      Array.from({ length: 250 }, (_, i) => headers(2 * i + 1, "/test/Chat")),
      Buffer.concat(
        [1, 2].map((value) =>
          frame(
            frameType.settings,
            0,
            0,
            Buffer.concat(Array.from({ length: 100 }, (_, i) => Buffer.of(0, 4, 0, 0, value, i))),
          ),
        ),
      ),
    ],
    ["of empty data", [headers(1, "/test/Chat")], data(1, new Uint8Array(0))],
    [
      "of priorities and unknown frames",
      [],
      Buffer.concat([frame(2, 0, 7, Buffer.alloc(5)), frame(99, 0, 0)]),
    ],
    ["of resets of the same stream", [headers(1, "/test/Chat")], reset],
    [
      "of window updates",
      [headers(1, "/test/Chat")],
      Buffer.concat([frame(8, 0, 99, Buffer.of(0, 0, 0, 1))]),
    ],
    ["of headers without an end", [frame(frameType.headers, 0, 1, Buffer.of(0x88))], frame(9, 0, 1)],
  ];
  for (const [name, before, piece] of floods)
    it(`${name} by a client that does not read is held up or cut off`, { timeout: 60_000 }, async () => {
      const address = await start();
      const rude = new Rude(address).hello().say(...before);
      await once(rude.socket, "connect");
      const memory = process.memoryUsage();
      await rude.flood(piece, 16e6);
      await isAlive(address);
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      // What the server was told and what it answered is not kept: less by far than what was sent or would be answered.
      expect(heapUsed + arrayBuffers - memory.heapUsed - memory.arrayBuffers).toBeLessThan(100e6);
      rude.socket.destroy();
      await isAlive(address);
      await expect.poll(() => open).toBe(0);
    });

  it("of calls that are reset at once leaves nothing behind", async () => {
    const address = await start();
    const rude = new Rude(address).hello();
    for (let stream = 1; stream < 20_000; stream += 2)
      rude.say(
        headers(stream, stream % 4 === 1 ? "/test/Chat" : "/test/Echo"),
        data(stream, framedMessage(Buffer.from("x"))),
        frame(frameType.rstStream, 0, stream, Buffer.from([0, 0, 0, 8])),
      );
    rude.say(headers(20_001, "/test/Echo"), data(20_001, framedMessage(Buffer.from("x")), flag.endStream));
    await expect.poll(() => rude.status(20_001), { timeout: 20_000 }).toBe("0");
    expect(open).toBe(0);
    await isAlive(address);
  });
});

describe("headers", () => {
  it("that are larger than what is taken refuse their call, and no other", async () => {
    const address = await start();
    const rude = new Rude(address).hello();
    const large = ["x-large", "x".repeat(60_000)] as const;
    const block = (count: number): Buffer =>
      encodeBlock([
        [":method", "POST"],
        [":path", "/test/Echo"],
        ["content-type", "application/grpc"],
        ...Array.from({ length: count }, () => large),
      ]);
    const inParts = (stream: number, bytes: Buffer): Buffer[] => {
      const parts: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += 16_000)
        parts.push(
          frame(
            at === 0 ? frameType.headers : frameType.continuation,
            at + 16_000 >= bytes.length ? flag.endHeaders : 0,
            stream,
            bytes.subarray(at, at + 16_000),
          ),
        );
      return parts;
    };
    rude.say(...inParts(1, block(2)), headers(3, "/test/Echo"), data(3, framedMessage(Buffer.from("x")), 1));
    await expect.poll(() => [rude.status(1), rude.status(3)]).toEqual(["8", "0"]);
    // Still larger ones are not even gathered.
    rude.say(...inParts(5, block(4)));
    await once(rude.socket, "close");
    expect(rude.saidGoodbye).toBe(true);
    await isAlive(address);
  });

  it("of no gRPC call, and unknown methods, get a status", async () => {
    const address = await start();
    const rude = new Rude(address).hello();
    const wrongType = encodeBlock([
      [":method", "POST"],
      [":path", "/test/Echo"],
      ["content-type", "text/html"],
    ]);
    rude.say(frame(frameType.headers, flag.endHeaders, 1, wrongType), headers(3, "/test/Nothing"));
    rude.say(frame(frameType.headers, flag.endHeaders | flag.endStream, 5, Buffer.of(0x82)));
    rude.say(
      headers(7, "/test/Echo", [["grpc-encoding", "snappy"]]),
      data(7, Buffer.of(1, 0, 0, 0, 1, 7), 1),
    );
    rude.say(headers(9, "/test/Echo"), data(9, Buffer.of(1, 0, 0, 0, 1, 7), 1));
    rude.say(headers(11, "/test/Echo"), data(11, Buffer.of(0, 0, 0, 0, 9, 7), 1));
    rude.say(headers(13, "/test/Echo", [], flag.endStream));
    const twice = Buffer.concat([framedMessage(Buffer.of(1)), framedMessage(Buffer.of(2))]);
    rude.say(headers(15, "/test/Echo"), data(15, twice, flag.endStream));
    await expect
      .poll(() => [1, 3, 5, 7, 9, 11, 13, 15].map((stream) => rude.status(stream)))
      .toEqual(["13", "12", "13", "12", "13", "13", "13", "12"]);
  });
});

/** As `encodeHeaders`, for any length. */
function encodeBlock(list: readonly (readonly [string, string])[]): Buffer {
  return Buffer.from(encodeHeaders(list));
}

describe("clients that are slow, or stop in the middle", () => {
  it("are served byte by byte", async () => {
    const address = await start();
    const rude = new Rude(address);
    rude.socket.setNoDelay(true);
    const all = Buffer.concat([
      preface,
      frame(frameType.settings, 0, 0),
      headers(1, "/test/Echo"),
      data(1, framedMessage(Buffer.from("slowly")), flag.endStream),
    ]);
    for (const byte of all) {
      rude.say(Buffer.of(byte));
      await sleep(0);
    }
    await expect.poll(() => rude.status(1)).toBe("0");
  });

  it("hold no more memory than all of them together may, and small calls are taken all the same", async () => {
    const address = await start(1_000_000);
    const rude = new Rude(address).hello();
    // Each says that a megabyte comes, and sends most of it.
    const most = framedMessage(Buffer.alloc(1_000_000)).subarray(0, 900_000);
    for (let stream = 1; stream < 21; stream += 2) {
      rude.say(headers(stream, "/test/Echo"));
      for (let at = 0; at < most.length; at += 16_000) rude.say(data(stream, most.subarray(at, at + 16_000)));
    }
    const statuses = () => Array.from({ length: 10 }, (_, i) => rude.status(2 * i + 1));
    await expect.poll(() => statuses().filter((status) => status === "8").length).toBe(8);
    await isAlive(address);
    // Who goes gives back what he held.
    rude.socket.destroy();
    await expect
      .poll(async () => (await call(address, "Echo", Buffer.alloc(999_000))).code, { timeout: 5000 })
      .toBe(0);
  });

  it("who send a message in small pieces hold no more than the message", async () => {
    const address = await start();
    const rude = new Rude(address).hello().say(headers(1, "/test/Echo"), data(1, Buffer.of(0, 1, 0, 0, 0)));
    const before = process.memoryUsage().arrayBuffers;
    const piece = Buffer.concat(Array.from({ length: 1000 }, () => data(1, Buffer.of(7))));
    for (let i = 0; i < 300; i++) {
      rude.say(piece);
      await sleep(0);
    }
    await isAlive(address);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(30e6);
  });

  it("who read nothing get no further calls, and others do", async () => {
    const address = await start();
    const rude = new Rude(address).hello();
    for (let stream = 1; stream < 401; stream += 2)
      rude.say(
        headers(stream, "/test/Large"),
        data(stream, framedMessage(new Uint8Array(0)), flag.endStream),
      );
    // No window update is sent: 64 KB come, the rest waits.
    await expect.poll(() => rude.status(399), { timeout: 20_000 }).toBe("8");
    expect(rude.status(1)).toBe(undefined);
    await isAlive(address);
    const honest = await call(address, "Large", new Uint8Array(0));
    expect(honest.bytes).toBe(1_000_000);
  });

  it("may be a thousand at once", { timeout: 60_000 }, async () => {
    const address = await start();
    const many = Array.from({ length: 1000 }, (_, i) => {
      const rude = new Rude(address);
      // Some say nothing, some half a preface, some open a stream.
      if (i % 3 === 1) rude.say(preface.subarray(0, 10));
      if (i % 3 === 2)
        rude.hello().say(headers(1, "/test/Chat"), data(1, framedMessage(Buffer.of(i & 0xff))));
      return rude;
    });
    await expect.poll(() => open, { timeout: 30_000 }).toBe(333);
    await isAlive(address);
    for (const { socket } of many) socket.destroy();
    await expect.poll(() => open, { timeout: 30_000 }).toBe(0);
    await isAlive(address);
  });
});

describe("gRPC's own client for Node", () => {
  it("may compress, and bombs do not get through", async () => {
    const address = await start(1_000_000);
    const gzip = { client: { "grpc.default_compression_algorithm": 2 } };
    expect(await call(address, "Echo", Buffer.alloc(50_000), gzip)).toMatchObject({ code: 0, bytes: 50_000 });
    const rude = new Rude(address).hello();
    const bomb = framedMessage(gzipSync(Buffer.alloc(50_000_000)));
    bomb[0] = 1;
    rude.say(headers(1, "/test/Echo", [["grpc-encoding", "gzip"]]));
    for (let at = 0; at < bomb.length; at += 16_000) {
      const part = bomb.subarray(at, at + 16_000);
      rude.say(data(1, part, at + part.length === bomb.length ? flag.endStream : 0));
    }
    await expect.poll(() => rude.status(1)).toBe("8");
  });

  it("gives up at its deadline, and nothing of the call is left", async () => {
    const address = await start();
    const client = new Client(address, credentials.createInsecure());
    stops.push(() => client.close());
    const chat = client.makeBidiStreamRequest("/test/Chat", same, same, new Metadata(), {
      deadline: Date.now() + 200,
    });
    chat.on("data", () => {});
    chat.write(Buffer.from("hello"));
    const [error] = await once(chat, "error");
    expect(error.code).toBe(4);
    await expect.poll(() => open).toBe(0);
  });

  it("may send much metadata, up to a limit", async () => {
    const address = await start();
    const metadata = (length: number) => ({ metadata: { "x-large": "x".repeat(length) } });
    expect(await call(address, "Echo", Buffer.from("x"), metadata(50_000))).toMatchObject({ code: 0 });
    expect(await call(address, "Echo", Buffer.from("x"), metadata(66_000))).not.toMatchObject({ code: 0 });
    await isAlive(address);
  });
});

/** Bytes of buffers that are in use. */
function held(): number {
  setFlagsFromString("--expose-gc");
  const gc: unknown = runInNewContext("gc");
  if (typeof gc === "function") gc();
  return process.memoryUsage().arrayBuffers;
}

describe("very many calls that are never complete", () => {
  const most = 1_000_000;
  const part = Buffer.concat([Buffer.of(0, 0, 0, 0xff, 0xff), Buffer.alloc(60_000)]);

  it("hold no more memory than the server has for requests and each connection for nothing, and small calls are taken", async () => {
    const address = await start(most);
    const rudes = Array.from({ length: 8 }, () => new Rude(address).hello());
    const streams = Array.from({ length: 250 }, (_, i) => 2 * i + 1);
    const before = held();
    for (const rude of rudes)
      for (const stream of streams) rude.say(headers(stream, "/test/Echo"), data(stream, part));
    // 2,000 calls of 60 KB: 120 MB, where 2 MB and 256 KB for each connection are taken.
    const refused = (): number =>
      rudes.flatMap((rude) => streams.filter((stream) => rude.status(stream) === "8")).length;
    await expect.poll(refused, { timeout: 30_000 }).toBeGreaterThan(1_900);
    await isAlive(address);
    // The client's own buffers are in it.
    await expect.poll(() => held() - before, { timeout: 10_000 }).toBeLessThan(60e6);
    for (const rude of rudes) rude.socket.destroy();
    await expect.poll(() => call(address, "Echo", Buffer.alloc(900_000)).then(({ code }) => code)).toBe(0);
  });

  it("cannot hold more by headers, or by small messages that came together with much else", async () => {
    const address = await start(most);
    const rude = new Rude(address).hello();
    const filler = ["x-filler", "x".repeat(15_000)] as const;
    for (let stream = 1; stream < 500; stream += 2) rude.say(headers(stream, "/test/Echo", [filler]));
    // 2.25 MB of 3.75 MB.
    const refused = (): number =>
      Array.from({ length: 250 }, (_, i) => rude.status(2 * i + 1)).filter((status) => status === "8").length;
    await expect.poll(refused, { timeout: 10_000 }).toBeGreaterThan(90);
    await isAlive(address);
    rude.socket.destroy();
    // A small message, and 64 KB of frames that mean nothing, again and again.
    const other = new Rude(address).hello();
    await once(other.socket, "connect");
    const before = held();
    const nothing = frame(99, 0, 0, Buffer.alloc(65_000));
    for (let stream = 1; stream < 500; stream += 2) {
      other.say(headers(stream, "/test/Echo"), data(stream, framedMessage(Buffer.of(1))), nothing);
      if (stream % 20 === 1) await sleep(1);
    }
    other.say(headers(501, "/test/Echo"), data(501, framedMessage(Buffer.of(1)), flag.endStream));
    await expect.poll(() => other.status(501), { timeout: 10_000 }).toBe("0");
    // 16 MB of frames that mean nothing.
    await expect.poll(() => held() - before, { timeout: 10_000 }).toBeLessThan(8e6);
  });
});

describe("very many connections", () => {
  it("close those without calls, and are refused when all have calls", async () => {
    const server = new GrpcServer({ methods, statusOf: () => ({ code: 2, message: "" }), maxConnections: 3 });
    const port = await server.listen("127.0.0.1", 0);
    stops.push(() => server.close(100));
    const address = `127.0.0.1:${port}`;
    const speaking = async (stream: number): Promise<Rude> => {
      const rude = new Rude(address).hello();
      rude.say(headers(stream, "/test/Chat"), data(stream, framedMessage(Buffer.of(7))));
      await expect.poll(() => rude.frames.some(({ type }) => type === frameType.data)).toBe(true);
      return rude;
    };
    const first = await speaking(1);
    const idle = new Rude(address).hello();
    await once(idle.socket, "connect");
    const second = await speaking(1);
    const ended = once(idle.socket, "close");
    const third = await speaking(1);
    await ended;
    const refused = new Rude(address).hello();
    await once(refused.socket, "close");
    for (const rude of [first, second, third]) expect(rude.socket.destroyed).toBe(false);
    third.socket.destroy();
    await expect
      .poll(async () => (await call(address, "Echo", Buffer.of(1), { deadline: 500 })).code)
      .toBe(0);
  });
});
