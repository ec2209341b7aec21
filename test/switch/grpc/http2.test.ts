import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeHeaders } from "../../../src/switch/grpc/hpack.ts";
import {
  defaultHttp2Limits,
  Http2Connection,
  type Http2Limits,
} from "../../../src/switch/grpc/http2-connection.ts";
import { errorCode, FrameWriter, flag, frameType, preface } from "../../../src/switch/grpc/http2-frames.ts";
import type { Http2Stream } from "../../../src/switch/grpc/http2-stream.ts";

interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Uint8Array;
}

function framesOf(bytes: Uint8Array): Frame[] {
  const frames: Frame[] = [];
  for (let at = 0; at < bytes.length; ) {
    const view = Buffer.from(bytes.buffer, bytes.byteOffset + at);
    const length = view.readUIntBE(0, 3);
    frames.push({
      type: view.readUInt8(3),
      flags: view.readUInt8(4),
      stream: view.readUInt32BE(5),
      payload: view.subarray(9, 9 + length),
    });
    at += 9 + length;
  }
  return frames;
}

/** A connection whose other end is the test. Streams are kept open; what they get is gathered. */
class Bench {
  readonly connection: Http2Connection;
  readonly streams: Http2Stream[] = [];
  readonly events: string[] = [];
  isClosed = false;
  hasRoom = true;
  /** Bytes that wait in all streams. */
  waiting = 0;
  #out: Uint8Array[] = [];

  constructor(limits: Partial<Http2Limits> = {}) {
    this.connection = new Http2Connection(
      {
        write: (bytes) => {
          this.#out.push(bytes);
          return this.hasRoom;
        },
        close: () => {
          this.isClosed = true;
        },
      },
      {
        request: (stream, headers) => {
          this.streams.push(stream);
          this.events.push(`request ${stream.id} ${headers.get(":path")}`);
          return {
            data: (bytes, from, to) =>
              this.events.push(`data ${stream.id} ${Buffer.from(bytes.subarray(from, to)).toString()}`),
            halfClosed: () => this.events.push(`end ${stream.id}`),
            cancelled: () => this.events.push(`cancelled ${stream.id}`),
            drained: () => this.events.push(`drained ${stream.id}`),
          };
        },
        countWaiting: (bytes) => {
          this.waiting += bytes;
        },
      },
      { ...defaultHttp2Limits, ...limits },
    );
    this.connection.flush();
  }

  /** What was written since the last time. */
  out(): Frame[] {
    this.connection.flush();
    const bytes = Buffer.concat(this.#out);
    this.#out = [];
    return framesOf(bytes);
  }

  types(): number[] {
    return this.out().map((frame) => frame.type);
  }

  say(...parts: Uint8Array[]): void {
    this.connection.receive(Buffer.concat(parts));
  }

  /** Says hello, and forgets what was answered. */
  begin(): this {
    this.say(preface, frame(frameType.settings, 0, 0));
    this.out();
    return this;
  }

  /** The code of the goodbye; undefined when there was none. */
  goodbye(): number | undefined {
    const last = this.out().find(({ type }) => type === frameType.goaway);
    return last === undefined ? undefined : Buffer.from(last.payload).readUInt32BE(4);
  }
}

function frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array(0)): Buffer {
  const writer = new FrameWriter();
  writer.frame(type, flags, stream, payload, 0, payload.length);
  return Buffer.from(writer.take());
}

const block = encodeHeaders([
  [":method", "POST"],
  [":path", "/x"],
]);
const headers = (stream: number, flags = 0): Buffer =>
  frame(frameType.headers, flag.endHeaders | flags, stream, block);
const data = (stream: number, text: string, flags = 0): Buffer =>
  frame(frameType.data, flags, stream, Buffer.from(text));
const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const windowUpdate = (stream: number, by: number): Buffer =>
  frame(frameType.windowUpdate, 0, stream, uint32(by));

describe("a connection", () => {
  it("begins with settings, and answers the client's", () => {
    const bench = new Bench();
    expect(bench.types()).toEqual([frameType.settings, frameType.windowUpdate]);
    bench.say(preface, frame(frameType.settings, 0, 0));
    expect(bench.out()).toMatchObject([{ type: frameType.settings, flags: flag.ack }]);
  });

  it("hands on a request in whatever pieces its bytes come", () => {
    const all = Buffer.concat([
      preface,
      frame(frameType.settings, 0, 0),
      headers(1),
      data(1, "hello "),
      frame(frameType.ping, 0, 0, Buffer.alloc(8, 7)),
      data(1, "world", flag.endStream),
    ]);
    for (let size = 1; size < all.length; size++) {
      const bench = new Bench();
      for (let at = 0; at < all.length; at += size) bench.say(all.subarray(at, at + size));
      expect(bench.events[0]).toBe("request 1 /x");
      const text = bench.events
        .filter((event) => event.startsWith("data"))
        .map((event) => event.slice("data 1 ".length));
      expect(text.join("")).toBe("hello world");
      expect(bench.events.at(-1)).toBe("end 1");
      expect(bench.out().some(({ type, flags }) => type === frameType.ping && flags === flag.ack)).toBe(true);
    }
  });

  it("takes headers in several frames, with padding and priority, and trailers", () => {
    const bench = new Bench().begin();
    const padded = Buffer.concat([Buffer.of(3), Buffer.alloc(5), block.subarray(0, 4), Buffer.alloc(3)]);
    bench.say(
      frame(frameType.headers, flag.padded | flag.priority, 1, padded),
      frame(frameType.continuation, 0, 1, block.subarray(4, 6)),
      frame(frameType.continuation, flag.endHeaders, 1, block.subarray(6)),
      frame(
        frameType.data,
        flag.padded,
        1,
        Buffer.concat([Buffer.of(2), Buffer.from("ab"), Buffer.alloc(2)]),
      ),
      headers(1, flag.endStream),
    );
    expect(bench.events).toEqual(["request 1 /x", "data 1 ab", "end 1"]);
  });

  it("ends with a code that says which rule was broken", () => {
    const after: readonly (readonly [what: string, code: number, bytes: Uint8Array])[] = [
      ["data of no stream", errorCode.protocolError, data(0, "x")],
      ["data of a stream that was never opened", errorCode.protocolError, data(7, "x")],
      ["an even stream", errorCode.protocolError, headers(2)],
      ["a reset of no stream", errorCode.protocolError, frame(frameType.rstStream, 0, 0, uint32(8))],
      ["a push", errorCode.protocolError, frame(frameType.pushPromise, 0, 1, Buffer.alloc(8))],
      ["a short ping", errorCode.frameSizeError, frame(frameType.ping, 0, 0, Buffer.alloc(7))],
      ["half a setting", errorCode.frameSizeError, frame(frameType.settings, 0, 0, Buffer.alloc(5))],
      ["a window update of 0", errorCode.flowControlError, windowUpdate(0, 0)],
      ["a window that is too large", errorCode.flowControlError, windowUpdate(0, 0x7fff_ffff)],
      [
        "garbage headers",
        errorCode.compressionError,
        frame(frameType.headers, flag.endHeaders, 1, Buffer.of(0xff, 0xff)),
      ],
      [
        "too much padding",
        errorCode.protocolError,
        frame(frameType.headers, flag.endHeaders | flag.padded, 1, Buffer.of(9, 0)),
      ],
      ["a frame that is too large", errorCode.frameSizeError, Buffer.of(0xff, 0, 0, 0, 0, 0, 0, 0, 1)],
      ["a continuation of nothing", errorCode.protocolError, frame(frameType.continuation, 0, 1)],
      [
        "headers that are interrupted",
        errorCode.protocolError,
        Buffer.concat([frame(frameType.headers, 0, 1, block.subarray(0, 3)), data(1, "x")]),
      ],
      [
        "data behind the end",
        errorCode.streamClosed,
        Buffer.concat([headers(1, flag.endStream), data(1, "x")]),
      ],
    ];
    for (const [what, code, bytes] of after) {
      const bench = new Bench().begin();
      bench.say(bytes);
      expect([what, bench.goodbye()]).toEqual([what, code]);
      expect(bench.isClosed).toBe(true);
    }
    const http1 = new Bench();
    http1.say(Buffer.from("GET / HTTP/1.1\r\n"));
    expect(http1.isClosed).toBe(true);
  });

  it("tells its streams when it is gone, and when the client resets one", () => {
    const bench = new Bench().begin();
    bench.say(headers(1), headers(3), frame(frameType.rstStream, 0, 1, uint32(8)));
    expect(bench.events.at(-1)).toBe("cancelled 1");
    bench.connection.lost();
    expect(bench.events.at(-1)).toBe("cancelled 3");
  });

  it("passes over a reset of a stream that was never opened, as gRPC's C++ core sends for calls cancelled at once", () => {
    const bench = new Bench().begin();
    bench.say(frame(frameType.rstStream, 0, 7, uint32(8)), headers(5), headers(9, flag.endStream));
    expect(bench.events).toEqual(["request 5 /x", "request 9 /x", "end 9"]);
    expect(bench.isClosed).toBe(false);
  });

  it("that takes no more requests refuses new ones and closes after the last answer", () => {
    const bench = new Bench().begin();
    bench.say(headers(1, flag.endStream));
    bench.connection.drain();
    bench.say(headers(3, flag.endStream));
    expect(bench.types()).toEqual([frameType.goaway, frameType.rstStream]);
    expect(bench.isClosed).toBe(false);
    bench.streams[0]?.end(block);
    expect(bench.isClosed).toBe(true);
  });
});

describe("windows", () => {
  it("hold back what the client has no room for, stream by stream", () => {
    const bench = new Bench().begin();
    // 10 bytes per stream.
    bench.say(frame(frameType.settings, 0, 0, Buffer.concat([Buffer.of(0, 4), uint32(10)])));
    bench.say(headers(1, flag.endStream), headers(3, flag.endStream));
    bench.out();
    const [first, second] = bench.streams;
    first?.sendData(Buffer.alloc(25, 1));
    first?.end(block);
    second?.sendData(Buffer.alloc(4, 2));
    const sent = (): [number, number][] =>
      bench
        .out()
        .flatMap(({ type, stream, payload }): [number, number][] =>
          type === frameType.data ? [[stream, payload.length]] : [],
        );
    expect(sent()).toEqual([
      [1, 10],
      [3, 4],
    ]);
    expect(first?.waitingBytes).toBe(15);
    bench.say(windowUpdate(1, 12));
    expect(sent()).toEqual([[1, 12]]);
    // A larger initial window is room for all streams.
    bench.say(frame(frameType.settings, 0, 0, Buffer.concat([Buffer.of(0, 4), uint32(20)])));
    const rest = bench.out();
    expect(rest.map(({ type }) => type)).toContain(frameType.headers);
    expect(first?.waitingBytes).toBe(0);
    expect(first?.isClosed).toBe(true);
  });

  it("of the connection are shared, and data goes on when they grow", () => {
    const bench = new Bench().begin();
    bench.say(headers(1, flag.endStream), headers(3, flag.endStream));
    bench.say(windowUpdate(1, 1_000_000));
    bench.streams[0]?.sendData(Buffer.alloc(65_535));
    bench.streams[1]?.sendData(Buffer.alloc(10));
    expect(bench.streams.map((stream) => stream.waitingBytes)).toEqual([0, 10]);
    bench.say(windowUpdate(0, 10));
    expect(bench.streams.map((stream) => stream.waitingBytes)).toEqual([0, 0]);
    expect(bench.events.at(-1)).toBe("drained 3");
  });

  it("are given back to a client that sends much, and kept from one that sends too much", () => {
    const bench = new Bench({ window: 100_000 }).begin();
    bench.say(headers(1));
    for (let i = 0; i < 20; i++) {
      bench.say(data(1, "x".repeat(16_000)));
      expect(bench.isClosed).toBe(false);
    }
    const updates = bench.out().filter(({ type }) => type === frameType.windowUpdate);
    expect(updates.length).toBeGreaterThan(4);
    const greedy = new Bench({ window: 100_000 }).begin();
    greedy.say(headers(1));
    // Data of streams that are gone count as well.
    greedy.streams[0]?.end(block);
    expect(greedy.types()).toContain(frameType.rstStream);
    for (let i = 0; i < 20; i++) greedy.say(data(1, "x".repeat(16_000)));
    expect(greedy.isClosed).toBe(false);
  });

  it("do not let answers pile up while the socket has no room", () => {
    const bench = new Bench().begin();
    bench.say(windowUpdate(0, 10_000_000), headers(1, flag.endStream), windowUpdate(1, 10_000_000));
    bench.out();
    bench.hasRoom = false;
    for (let i = 0; i < 50; i++) bench.streams[0]?.sendData(Buffer.alloc(100_000));
    const written = bench.out().reduce((sum, { payload }) => sum + payload.length, 0);
    expect(written).toBeLessThan(300_000);
    bench.hasRoom = true;
    bench.connection.drained();
    expect(bench.streams[0]?.waitingBytes).toBe(0);
  });
});

describe("whatever a client sends", () => {
  it("the connection goes on or ends, and its streams are told", () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 30 }),
      fc
        .tuple(
          fc.integer({ min: 0, max: 10 }),
          fc.integer({ min: 0, max: 255 }),
          fc.integer({ min: 0, max: 9 }),
          fc.oneof(fc.uint8Array({ maxLength: 20 }), fc.constant(block), fc.constant(uint32(5))),
        )
        .map(([type, flags, stream, payload]) => frame(type, flags, stream, payload)),
      fc.integer({ min: 1, max: 9 }).map((stream) => headers(stream, flag.endStream)),
      fc.integer({ min: 1, max: 9 }).map((stream) => headers(stream)),
      fc.integer({ min: 1, max: 9 }).map((stream) => data(stream, "abc")),
      fc.integer({ min: 0, max: 9 }).map((stream) => windowUpdate(stream, 1000)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const bench = new Bench().begin();
        for (const bytes of pieces) {
          bench.say(bytes);
          for (const stream of bench.streams) if (stream.id % 4 === 1) stream.sendData(Buffer.alloc(3));
        }
        const open = bench.connection.openStreams;
        bench.connection.lost();
        expect(bench.connection.openStreams).toBe(0);
        expect(open).toBeLessThanOrEqual(bench.streams.length);
        bench.out();
      }),
      { numRuns: 1000 },
    );
  });

  it("no more streams are open than allowed", () => {
    const bench = new Bench({ maxStreams: 3 }).begin();
    bench.say(...[1, 3, 5, 7].map((stream) => headers(stream)));
    expect(bench.connection.openStreams).toBe(3);
    expect(bench.out()).toMatchObject([{ type: frameType.rstStream, stream: 7 }]);
    // Opening and resetting without end holds nothing.
    for (let stream = 9; stream < 2009; stream += 2)
      bench.say(headers(stream), frame(frameType.rstStream, 0, stream, uint32(8)));
    expect(bench.connection.openStreams).toBe(3);
  });
});
