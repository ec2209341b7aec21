import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { deflateSync, gzipSync } from "node:zlib";
import { Client, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import type { GrpcMethod } from "../../../src/switch/grpc/grpc-call.ts";
import { GrpcServer } from "../../../src/switch/grpc/grpc-server.ts";
import { framedMessage, MessageReader } from "../../../src/switch/grpc/message-reader.ts";
import { RequestMemory } from "../../../src/switch/grpc/request-memory.ts";

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

const text = (message: string): Buffer => Buffer.from(message);

async function start(methods: Record<string, GrpcMethod>, maxMessageSize?: number): Promise<string> {
  const server = new GrpcServer({
    methods: new Map(Object.entries(methods).map(([name, method]) => [`/test.Service/${name}`, method])),
    statusOf: (error) => ({ code: 3, message: String(error), details: text("more") }),
    ...(maxMessageSize === undefined ? {} : { maxMessageSize }),
  });
  const port = await server.listen("127.0.0.1", 0);
  stops.push(() => server.close(100));
  return `127.0.0.1:${port}`;
}

function client(address: string): Client {
  const made = new Client(address, credentials.createInsecure());
  stops.push(() => made.close());
  return made;
}

const same = (bytes: Buffer): Buffer => bytes;

function unary(address: string, method: string, request: Buffer): Promise<Buffer | ServiceError> {
  return new Promise((resolve) => {
    const options = { deadline: Date.now() + 20_000 };
    client(address).makeUnaryRequest(
      `/test.Service/${method}`,
      same,
      same,
      request,
      new Metadata(),
      options,
      (error, response) => resolve(error ?? response ?? Buffer.alloc(0)),
    );
  });
}

const echo: GrpcMethod = { kind: "unary", answer: (request) => request };

describe("a gRPC server", () => {
  it("answers calls with a message of any size", async () => {
    const address = await start({ Echo: echo });
    for (const size of [0, 1, 16_384, 3_000_000]) {
      const message = Buffer.alloc(size, 7);
      const answer = await unary(address, "Echo", message);
      expect(Buffer.isBuffer(answer) && answer.equals(message)).toBe(true);
    }
  });

  it("tells what was thrown, with its details, and which methods there are not", async () => {
    const address = await start({
      Fail: {
        kind: "unary",
        answer: () => {
          throw new Error("100 % wrong: \u00e4\n");
        },
      },
    });
    const failed = await unary(address, "Fail", text(""));
    expect(failed).toMatchObject({ code: 3, details: "Error: 100 % wrong: \u00e4\n" });
    const [details] = "metadata" in failed ? failed.metadata.get("grpc-status-details-bin") : [];
    expect(details).toEqual(text("more"));
    expect(await unary(address, "Nothing", text(""))).toMatchObject({ code: 12 });
  });

  it("shortens what it says of megabytes, which no client would take as a header", async () => {
    const address = await start({
      Fail: {
        kind: "unary",
        answer: (request) => {
          throw new Error(Buffer.from(request).toString());
        },
      },
    });
    for (const letter of ["x", "\u00e4", "%"]) {
      const failed = await unary(address, "Fail", text(letter.repeat(3_000_000)));
      const message = "details" in failed ? failed.details : "";
      expect(message.slice(0, 100)).toBe(`Error: ${letter.repeat(93)}`);
      expect(message.length).toBeLessThan(2100);
    }
  });

  it("refuses messages that are too large, before they have arrived", async () => {
    const address = await start({ Echo: echo }, 1000);
    expect(await unary(address, "Echo", Buffer.alloc(1001))).toMatchObject({ code: 8 });
    expect(await unary(address, "Echo", Buffer.alloc(1000))).toEqual(Buffer.alloc(1000));
  });

  it("streams answers as fast as the client reads, and notices when it goes", async () => {
    let sent = 0;
    let over: () => void = () => {};
    const isOver = new Promise<void>((resolve) => {
      over = resolve;
    });
    const address = await start({
      Flood: {
        kind: "serverStreaming",
        answer: async (_request, call) => {
          while (!call.isEnded) {
            call.send(Buffer.alloc(100_000));
            sent++;
            await call.whenDrained();
            await sleep(0);
          }
          over();
        },
      },
    });
    const call = client(address).makeServerStreamRequest("/test.Service/Flood", same, same, text(""));
    call.on("error", () => {});
    await once(call, "readable");
    await sleep(300);
    // The client does not read: windows and sockets are full long before this.
    expect(sent).toBeLessThan(500);
    call.cancel();
    await isOver;
  });

  it("holds only so much for a client that reads nothing, and serves the others meanwhile", async () => {
    let answered = 0;
    const large = Buffer.alloc(1_000_000);
    const address = await start({
      Echo: echo,
      Large: {
        kind: "unary",
        answer: () => {
          answered++;
          return large;
        },
      },
    });
    const session = connectHttp2(`http://${address}`, { settings: { initialWindowSize: 0 } });
    session.on("error", () => {});
    stops.push(() => session.destroy());
    const headers = {
      ":path": "/test.Service/Large",
      ":method": "POST",
      "content-type": "application/grpc",
    };
    const results = Array.from({ length: 300 }, () => {
      const request = session.request(headers);
      request.on("error", () => {});
      request.end(framedMessage(text("")));
      return new Promise((resolve) => request.once("close", resolve));
    });
    expect(await unary(address, "Echo", text("hello"))).toEqual(text("hello"));
    // The first to be refused tells that the rest is not answered either.
    await Promise.race(results);
    expect(answered).toBeGreaterThan(10);
    expect(answered).toBeLessThan(200);
    expect(await unary(address, "Echo", text("again"))).toEqual(text("again"));
  });

  it("survives clients that reset every call, and random bytes behind the preface", async () => {
    const address = await start({ Echo: echo });
    const session = connectHttp2(`http://${address}`);
    session.on("error", () => {});
    stops.push(() => session.destroy());
    for (let n = 0; n < 2000 && !session.destroyed; n++) {
      const request = session.request({ ":path": "/test.Service/Echo", ":method": "POST" });
      request.on("error", () => {});
      request.close(8);
    }
    const [host = "", port] = address.split(":");
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 9, maxLength: 300 }), async (bytes) => {
        const socket = connect(Number(port), host);
        socket.on("error", () => {});
        socket.write(Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), bytes]));
        // Not every violation ends a connection at once: some only when its pings stay without answers.
        await Promise.race([once(socket.resume(), "close"), sleep(20)]);
        socket.destroy();
      }),
      { numRuns: 50 },
    );
    expect(await unary(address, "Echo", text("hello"))).toEqual(text("hello"));
  });

  it("lets both sides speak", async () => {
    const closed: string[] = [];
    const address = await start({
      Chat: {
        kind: "bidi",
        open: (call) => ({
          message: (message) => {
            if (message.toString() === "") throw new Error("empty");
            call.send(message);
          },
          halfClosed: () => call.end({ code: 0, message: "" }),
          closed: () => closed.push("closed"),
        }),
      },
    });
    const call = client(address).makeBidiStreamRequest("/test.Service/Chat", same, same);
    const heard: string[] = [];
    call.on("data", (message: Buffer) => heard.push(message.toString()));
    for (const word of ["one", "two"]) call.write(text(word));
    call.end();
    const [status] = await once(call, "status");
    expect([status.code, heard, closed]).toEqual([0, ["one", "two"], ["closed"]]);
    const bad = client(address).makeBidiStreamRequest("/test.Service/Chat", same, same);
    bad.write(text(""));
    const [failed] = await once(bad, "error");
    expect(failed.code).toBe(3);
  });

  it("answers requests that are no gRPC, and cuts off connections that are no HTTP/2", async () => {
    const address = await start({ Echo: echo });
    const session = connectHttp2(`http://${address}`);
    stops.push(() => session.destroy());
    const request = session.request({ ":path": "/", ":method": "GET" });
    const [headers] = await once(request, "response");
    expect(headers["grpc-status"]).toBe("13");
    const [host = "", port] = address.split(":");
    const socket: Socket = connect(Number(port), host);
    socket.on("error", () => {});
    socket.write("GET / HTTP/1.1\r\n\r\n");
    await once(socket.resume(), "close");
  });
});

describe("messages", () => {
  const memory = () => new RequestMemory(1e9).connection();

  it("come out whole however their bytes were cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 }),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
        (messages, sizes) => {
          const all = Buffer.concat(messages.map(framedMessage));
          const reader = new MessageReader(1000, undefined, memory());
          const got: Uint8Array[] = [];
          for (let at = 0, n = 0; at < all.length; n++) {
            const to = Math.min(all.length, at + (sizes[n % sizes.length] ?? 1));
            expect(reader.push(all, at, to, (message) => got.push(Uint8Array.from(message)))).toBe(undefined);
            at = to;
          }
          expect(got).toEqual(messages.map((message) => Uint8Array.from(message)));
          expect(reader.pending).toBe(0);
        },
      ),
    );
  });

  it("that are compressed are decompressed, up to the limit", () => {
    const plain = Buffer.alloc(900, 1);
    const read = (encoding: string, bytes: Uint8Array): unknown => {
      const framed = framedMessage(bytes);
      framed[0] = 1;
      let got: Uint8Array | undefined;
      const status = new MessageReader(1000, encoding, memory()).push(framed, 0, framed.length, (message) => {
        got = message;
      });
      return status?.code ?? got?.length;
    };
    expect(read("gzip", gzipSync(plain))).toBe(900);
    expect(read("deflate", deflateSync(plain))).toBe(900);
    expect(read("gzip", gzipSync(Buffer.alloc(100_000)))).toBe(8);
    expect(read("gzip", text("nonsense"))).toBe(13);
    expect(read("snappy", plain)).toBe(12);
  });
});
