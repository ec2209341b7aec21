import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Kind } from "../../src/wire/aggregation.ts";
import { aggregationFrame, decodeAggregation } from "../../src/wire/aggregationpacket.ts";
import { type Addressing, answerTo, newFrame, PAYLOAD_AT, parseFrame } from "../../src/wire/datagram.ts";
import {
  decodeNumber,
  decodeNumbered,
  decodePull,
  decodePush,
  encodeNumber,
  encodeNumbered,
  encodePull,
  encodePush,
} from "../../src/wire/messagebody.ts";
import {
  CHUNK_BYTES,
  chunksOf,
  decodeParameterServer,
  MessageKind,
  parameterServerFrame,
} from "../../src/wire/parameterserver.ts";

const ADDRESSING: Addressing = {
  srcMac: 0x020000000001,
  dstMac: 0x020000000002,
  srcIp: 0x0a000001,
  dstIp: 0x0a000002,
  srcPort: 0x4750,
  dstPort: 0x4750,
};

/** A frame with some payload. */
function frameWith(payload: number[], to: Addressing = ADDRESSING): Uint8Array {
  const frame = newFrame(to, payload.length);
  frame.set(payload, PAYLOAD_AT);
  return frame;
}

const anyAddressing = fc.record({
  srcMac: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  dstMac: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  srcIp: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  dstIp: fc.integer({ min: 0, max: 2 ** 32 - 1 }),
  srcPort: fc.integer({ min: 0, max: 65535 }),
  dstPort: fc.integer({ min: 0, max: 65535 }),
  dscp: fc.integer({ min: 0, max: 63 }),
  ecn: fc.integer({ min: 0, max: 3 }),
});

describe("a UDP datagram in a frame", () => {
  it("comes out as it went in", () => {
    fc.assert(
      fc.property(anyAddressing, fc.uint8Array({ maxLength: 100 }), (to, payload) => {
        const parsed = parseFrame(frameWith([...payload], to));
        expect(parsed).toEqual({ ...to, payload });
      }),
    );
  });

  it("has the checksum of RFC 1071 in its IPv4 header", () => {
    // The worked example that is found in many textbooks: 45000073 00004000 4011.... c0a80001 c0a800c7 gives b861.
    const frame = newFrame({ ...ADDRESSING, srcIp: 0xc0a80001, dstIp: 0xc0a800c7 }, 0x73 - 28);
    expect(Buffer.from(frame.subarray(14, 34)).toString("hex")).toBe(
      "4500007300004000" + "4011b861" + "c0a80001c0a800c7",
    );
  });

  it("may be padded by Ethernet", () => {
    const frame = new Uint8Array(60);
    frame.set(frameWith([1, 2, 3]));
    const parsed = parseFrame(frame);
    expect("payload" in parsed && [...parsed.payload]).toEqual([1, 2, 3]);
  });

  it("is checked by its UDP checksum where it has one", () => {
    const frame = frameWith([1, 2, 3]);
    const sum = (bytes: number[]) => {
      let total = 0;
      for (let i = 0; i < bytes.length; i += 2) total += ((bytes[i] ?? 0) << 8) + (bytes[i + 1] ?? 0);
      while (total > 0xffff) total = (total & 0xffff) + (total >> 16);
      return total;
    };
    const checksum = ~sum([...frame.subarray(26, 34), 0, 17, 0, 11, ...frame.subarray(34)]) & 0xffff;
    frame.set([checksum >> 8, checksum & 255], 40);
    expect("payload" in parseFrame(frame)).toBe(true);
    frame[PAYLOAD_AT] = 9;
    expect(parseFrame(frame)).toEqual({ refused: "udp_checksum" });
  });

  it.each([
    ["cut in the Ethernet header", (f: Uint8Array) => f.subarray(0, 13), "frame_too_short"],
    ["cut in the IPv4 header", (f: Uint8Array) => f.subarray(0, 33), "frame_too_short"],
    ["cut behind the headers", (f: Uint8Array) => f.subarray(0, f.length - 1), "ipv4_malformed"],
    ["of another EtherType", (f: Uint8Array) => f.fill(0x86, 12, 13), "not_ipv4"],
    ["of IPv6 inside", (f: Uint8Array) => f.fill(0x65, 14, 15), "ipv4_malformed"],
    ["with IPv4 options", (f: Uint8Array) => f.fill(0x46, 14, 15), "ipv4_malformed"],
    ["with a flipped address bit", (f: Uint8Array) => f.fill(0xff, 30, 31), "ipv4_checksum"],
  ] as const)("%s is refused by name", (_, spoil, refused) => {
    expect(parseFrame(spoil(frameWith([1, 2, 3, 4])))).toEqual({ refused });
  });

  it("is answered with source and destination changed", () => {
    expect(answerTo({ ...ADDRESSING, dstPort: 5 })).toEqual({
      srcMac: ADDRESSING.dstMac,
      dstMac: ADDRESSING.srcMac,
      srcIp: ADDRESSING.dstIp,
      dstIp: ADDRESSING.srcIp,
      srcPort: 5,
      dstPort: 0x4750,
    });
  });
});

const header = {
  version: 1,
  kind: Kind.CONTRIBUTION,
  flags: 0,
  job: 7,
  generation: 2,
  member: 3,
  scale: 0xf8,
  slot: 0x0102,
  lanes: 2,
  mode: 1,
  round: 0xfffffffe,
};

describe("an aggregation packet", () => {
  it("has these bytes", () => {
    const frame = aggregationFrame(ADDRESSING, { header, lanes: Int32Array.of(1, -2) });
    expect(Buffer.from(frame.subarray(PAYLOAD_AT)).toString("hex")).toBe(
      "11" +
        "00" +
        "0007" +
        "0002" +
        "03" +
        "f8" +
        "0102" +
        "02" +
        "01" +
        "fffffffe" +
        "00000001" +
        "fffffffe",
    );
  });

  it("comes out as it went in, from any slice of a buffer, and stays when the buffer is used again", () => {
    const lanes = Int32Array.from({ length: 255 }, (_, i) => Math.imul(i, 0x9e3779b9));
    const frame = aggregationFrame(ADDRESSING, { header: { ...header, lanes: 255 }, lanes });
    const buffer = Buffer.concat([Buffer.from([9]), frame]).subarray(1);
    const parsed = parseFrame(buffer);
    const message = "payload" in parsed ? decodeAggregation(parsed.payload) : parsed;
    buffer.fill(0);
    expect(message).toEqual({ header: { ...header, lanes: 255 }, lanes });
  });

  it.each([
    [0, "aggregation_too_short"],
    [15, "aggregation_too_short"],
    [16, "aggregation_length"],
    [23, "aggregation_length"],
    [25, "aggregation_length"],
  ] as const)("of %i bytes is refused", (length, refused) => {
    const frame = aggregationFrame(ADDRESSING, { header, lanes: Int32Array.of(1, -2, 3) });
    expect(decodeAggregation(frame.subarray(PAYLOAD_AT, PAYLOAD_AT + length))).toEqual({ refused });
  });

  it("with lanes that its kind does not have is refused", () => {
    for (const kind of [Kind.NULL, Kind.ACK, Kind.COLLECT, Kind.PENDING, Kind.RESET]) {
      const lanes = Int32Array.of(1, 2);
      const frame = aggregationFrame(ADDRESSING, { header: { ...header, kind }, lanes });
      expect(decodeAggregation(frame.subarray(PAYLOAD_AT))).toEqual({ refused: "aggregation_length" });
    }
  });
});

describe("a parameter-server packet", () => {
  const message = {
    version: 1,
    kind: MessageKind.PUSH,
    member: 3,
    job: 7,
    round: 5,
    message: 6,
    chunk: 0,
    chunks: 2,
  };

  it("fits a frame of 1400 bytes and comes out as it went in", () => {
    const body = Uint8Array.from({ length: CHUNK_BYTES }, (_, i) => i);
    const frame = parameterServerFrame(ADDRESSING, { header: message, body });
    expect(frame.length).toBeLessThanOrEqual(1400);
    const parsed = parseFrame(frame);
    expect("payload" in parsed && decodeParameterServer(parsed.payload)).toEqual({ header: message, body });
  });

  it.each([
    ["a chunk beyond the last", { chunk: 2 }, CHUNK_BYTES],
    ["a chunk too short before the last", {}, CHUNK_BYTES - 8],
    ["a chunk too long", { chunk: 1 }, CHUNK_BYTES + 1],
    ["an empty last chunk", { chunk: 1 }, 0],
    ["no chunks", { chunks: 0 }, 0],
    ["an acknowledgement with a body", { kind: MessageKind.ACK }, 8],
    ["a sign of life with a body", { kind: MessageKind.HEARTBEAT, chunks: 0 }, 8],
  ])("with %s is refused", (_, changes, bytes) => {
    const frame = parameterServerFrame(ADDRESSING, {
      header: { ...message, ...changes },
      body: new Uint8Array(bytes),
    });
    expect(decodeParameterServer(frame.subarray(PAYLOAD_AT))).toEqual({ refused: "message_chunk" });
  });

  it("has as many chunks as its bytes need, and one when it is empty", () => {
    expect([0, 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES].map(chunksOf)).toEqual([1, 1, 1, 2, 3]);
  });
});

describe("message bodies", () => {
  const anyFloats = fc.float32Array({ maxLength: 40 });
  const anyKeys = fc.uint32Array({ maxLength: 40 });

  it("come out as they went in, also NaN and -0", () => {
    fc.assert(
      fc.property(anyKeys, fc.nat(), (keys, number) => {
        const values = Float32Array.from(keys, (key) =>
          key % 5 === 0 ? Number.NaN : key % 3 === 0 ? -0 : key / 7,
        );
        expect(decodePush(encodePush({ keys, values }))).toEqual({ keys, values });
        expect(decodePull(encodePull(number, keys))).toEqual({ request: number, keys });
        expect(decodeNumbered(encodeNumbered(number, values))).toEqual({ number, values });
        expect(decodeNumber(encodeNumber(number))).toBe(number);
      }),
    );
    fc.assert(
      fc.property(anyFloats, (values) => {
        expect(decodeNumbered(encodeNumbered(1, values))).toEqual({ number: 1, values });
      }),
    );
  });

  it("are in network order", () => {
    const body = encodePush({ keys: Uint32Array.of(0x01020304), values: Float32Array.of(1) });
    expect(Buffer.from(body).toString("hex")).toBe("010203043f800000");
    expect(Buffer.from(encodeNumbered(2, Float32Array.of(-1))).toString("hex")).toBe("00000002bf800000");
  });

  it("are read from a slice of a buffer by its own bounds", () => {
    const body = encodePush({ keys: Uint32Array.of(1, 2), values: Float32Array.of(3, 4) });
    const slice = Buffer.concat([Buffer.from([1, 2, 3]), body]).subarray(3);
    expect(decodePush(slice)).toEqual(decodePush(body));
  });

  it("of a length that can't be are refused", () => {
    const odd = new Uint8Array(7);
    expect([decodePush(odd), decodePull(odd), decodeNumbered(odd), decodeNumber(odd)]).toEqual(
      Array(4).fill(undefined),
    );
    expect(decodePull(new Uint8Array(0))).toBeUndefined();
  });
});

describe("garbage", () => {
  it("never makes a decoder throw", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        for (const result of [parseFrame(bytes), decodeAggregation(bytes), decodeParameterServer(bytes)])
          if ("refused" in result) expect(result.refused).toMatch(/^[a-z0-9_]+$/);
      }),
      { numRuns: 1000 },
    );
  });

  it("made from sound packets by flipping bytes and cutting never does either", () => {
    const sound = aggregationFrame(ADDRESSING, { header, lanes: Int32Array.of(1, -2) });
    const flips = fc.array(fc.tuple(fc.nat(sound.length - 1), fc.nat(255)), { maxLength: 4 });
    fc.assert(
      fc.property(flips, fc.nat(sound.length), (changes, length) => {
        const frame = sound.slice();
        for (const [at, byte] of changes) frame[at] = byte;
        const parsed = parseFrame(frame.subarray(0, length));
        if ("payload" in parsed) decodeAggregation(parsed.payload);
        decodeAggregation(frame.subarray(PAYLOAD_AT, Math.max(PAYLOAD_AT, length)));
        decodeParameterServer(frame.subarray(PAYLOAD_AT, Math.max(PAYLOAD_AT, length)));
      }),
      { numRuns: 1000 },
    );
  });
});
