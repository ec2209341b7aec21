import { once } from "node:events";
import { type ClientHttp2Session, connect } from "node:http2";
import { createServer } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodeHeaders, type Headers, HpackDecoder, HpackError } from "../../../src/switch/grpc/hpack.ts";
import { Http2Connection } from "../../../src/switch/grpc/http2-connection.ts";

const bytes = (hex: string): Uint8Array => Buffer.from(hex.replaceAll(" ", ""), "hex");

describe("header blocks of RFC 7541, appendix C", () => {
  it("are read with and without Huffman codes, and with the dynamic table of the blocks before", () => {
    for (const blocks of [
      // C.3: requests as they are; C.4: the same in Huffman codes.
      [
        "8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d",
        "8286 84be 5808 6e6f 2d63 6163 6865",
        "8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65",
      ],
      [
        "8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff",
        "8286 84be 5886 a8eb 1064 9cbf",
        "8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf",
      ],
    ]) {
      const decoder = new HpackDecoder(4096, 65_536);
      const [first, second, third] = blocks.map((block) => decoder.decode(bytes(block)));
      expect(first?.get(":authority")).toBe("www.example.com");
      expect([second?.get(":authority"), second?.get("cache-control")]).toEqual([
        "www.example.com",
        "no-cache",
      ]);
      expect([third?.get(":path"), third?.get("custom-key")]).toEqual(["/index.html", "custom-value"]);
    }
  });

  it("that are malformed are refused", () => {
    const bad = [
      "80", // index 0
      "ff8080808080", // an endless integer
      "be", // an entry of the empty dynamic table
      "0003 6162", // a string that is cut off
      "3fe21f", // a table larger than allowed
      "0082 ffff 00", // Huffman: padding of more than 7 bits
      "0081 fe 00", // Huffman: padding that is not ones
    ];
    for (const block of bad)
      expect(() => new HpackDecoder(4096, 65_536).decode(bytes(block)), block).toThrow(HpackError);
  });

  it("that are too large are left out, and the tables go on", () => {
    const decoder = new HpackDecoder(4096, 500);
    const remembered = Buffer.concat([
      encodeHeaders([["name", "x".repeat(1000)]]),
      bytes("400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65"),
    ]);
    const large = decoder.decode(remembered);
    expect([large.isTooLarge, large.get("name"), large.get("custom-key")]).toEqual([
      true,
      undefined,
      undefined,
    ]);
    const next = decoder.decode(bytes("be"));
    expect([next.isTooLarge, next.get("custom-key")]).toEqual([false, "custom-value"]);
    // A bomb: a large header that is named by one byte again and again.
    const bomb = new HpackDecoder(4096, 65_536);
    bomb.decode(Buffer.concat([bytes("40 0161 7f bd1d"), Buffer.alloc(3900, "b")]));
    const start = process.memoryUsage().heapUsed;
    expect(bomb.decode(new Uint8Array(100_000).fill(0xbe)).isTooLarge).toBe(true);
    expect(process.memoryUsage().heapUsed - start).toBeLessThan(50e6);
  });

  it("of any bytes are read or refused", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (block) => {
        try {
          new HpackDecoder(4096, 65_536).decode(block);
        } catch (error) {
          expect(error).toBeInstanceOf(HpackError);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("that this server writes say what it meant", () => {
    const text = fc.string({ unit: "grapheme-ascii" });
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text), { maxLength: 8 }), (headers) => {
        const decoded = new HpackDecoder(4096, 65_536).decode(encodeHeaders(headers));
        for (const [name] of headers)
          expect(decoded.get(name)).toBe(headers.find(([other]) => other === name)?.[1]);
      }),
    );
  });
});

describe("headers that Node's own HTTP/2 client sends", () => {
  let session: ClientHttp2Session;
  let received: (headers: Headers) => void = () => {};
  const server = createServer((socket) => {
    const connection = new Http2Connection(
      { write: (data) => socket.write(data), close: () => socket.end() },
      {
        request: (stream, headers) => {
          received(headers);
          stream.end(encodeHeaders([[":status", "200"]]));
          return undefined;
        },
        countWaiting: () => {},
      },
    );
    socket.on("data", (data) => connection.receive(data)).on("error", () => {});
    socket.on("close", () => connection.lost());
    connection.flush();
  });
  beforeAll(async () => {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    session = connect(
      `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    );
  });
  afterAll(() => {
    session.destroy();
    server.close();
  });

  it("arrive as they are, whatever they are made of", async () => {
    const value = fc
      .string({ unit: fc.constantFrom(..."abcXYZ019 -_.~!@#$%^&*()[]{}|\\/:;'\"<>?,`\u00e9\u00ff") })
      .map((s) => s.trim());
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(
          fc.stringMatching(/^x-[a-z0-9-]{1,12}$/),
          fc.oneof(value, fc.constant("x".repeat(10_000))),
          { maxKeys: 4 },
        ),
        async (headers) => {
          const arrived = new Promise<Headers>((resolve) => {
            received = resolve;
          });
          const request = session.request({ ":path": "/test", ...headers });
          request.on("error", () => {});
          const got = await arrived;
          request.destroy();
          expect(got.get(":path")).toBe("/test");
          for (const [name, sent] of Object.entries(headers)) expect(got.get(name)).toBe(sent);
        },
      ),
      { numRuns: 60 },
    );
  });
});
