import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatIpv4, formatMac, parseIpv4, parseMac } from "../../src/wire/address.ts";
import { aggregation, lanesHeader } from "../../src/wire/aggregation.ts";
import { headerCodec } from "../../src/wire/codec.ts";
import { type WireHeader, wireHeader } from "../../src/wire/header.ts";
import { ethernet, ipv4, udp } from "../../src/wire/internet.ts";
import { parameterServer } from "../../src/wire/parameterserver.ts";

/** The header as one long number, the slow and plain way. */
function packed(header: WireHeader, values: Readonly<Record<string, number>>): bigint {
  return header.fields.reduce(
    (word, { name, bits }) => (word << BigInt(bits)) | BigInt(values[name] ?? 0),
    0n,
  );
}

function bytesOf(word: bigint, bytes: number): number[] {
  return Array.from({ length: bytes }, (_, i) => Number((word >> BigInt(8 * (bytes - 1 - i))) & 255n));
}

const anyHeader = fc.array(fc.integer({ min: 1, max: 48 }), { minLength: 1, maxLength: 12 }).map((widths) => {
  const rest = (8 - (widths.reduce((a, b) => a + b, 0) % 8)) % 8;
  const all = rest === 0 ? widths : [...widths, rest];
  return wireHeader("random", Object.fromEntries(all.map((bits, i) => [`f${i}`, bits])));
});
const known = [aggregation, ethernet, ipv4, udp, parameterServer, lanesHeader(32)];

function anyValues(header: WireHeader): fc.Arbitrary<Record<string, number>> {
  return fc.record(
    Object.fromEntries(
      header.fields.map(({ name, bits }) => [name, fc.maxSafeNat().map((n) => n % 2 ** bits)]),
    ),
  );
}

const anyCase = fc
  .oneof(anyHeader, fc.constantFrom<WireHeader>(...known))
  .chain((header) => fc.tuple(fc.constant(header), anyValues(header), fc.nat(9)));

describe("the codec of a header declaration", () => {
  it("writes the fields in network order without padding, and reads them back", () => {
    fc.assert(
      fc.property(anyCase, ([header, values, offset]) => {
        const codec = headerCodec(header);
        const bytes = new Uint8Array(offset + codec.bytes + 3).fill(0xa5);
        codec.encode(values, bytes, offset);
        expect([...bytes.subarray(offset, offset + codec.bytes)]).toEqual(
          bytesOf(packed(header, values), codec.bytes),
        );
        expect(
          [...bytes.subarray(0, offset), ...bytes.subarray(offset + codec.bytes)].every((b) => b === 0xa5),
        ).toBe(true);
        expect(codec.decode(bytes, offset)).toEqual(values);
      }),
      { numRuns: 500 },
    );
  });

  it("cuts values to their width, so that a field never spoils its neighbour", () => {
    const codec = headerCodec(wireHeader("h", { a: 4, b: 12, c: 32, d: 3, e: 5 }));
    const bytes = new Uint8Array(codec.bytes);
    codec.encode({ a: 0xff, b: 0xffff0, c: -1, d: 0x80, e: 0x21 }, bytes, 0);
    expect(codec.decode(bytes, 0)).toEqual({ a: 15, b: 0xff0, c: 0xffffffff, d: 0, e: 1 });
  });

  it("reads a slice of a larger buffer by its own bounds", () => {
    const codec = headerCodec(aggregation);
    const plain = Uint8Array.from({ length: codec.bytes }, (_, i) => i * 7);
    const slice = Buffer.concat([Buffer.from([1, 2, 3]), plain]).subarray(3);
    expect(codec.decode(slice, 0)).toEqual(codec.decode(plain, 0));
  });

  it("writes well-known words in network order", () => {
    const codec = headerCodec(lanesHeader(3));
    const bytes = new Uint8Array(codec.bytes);
    codec.encode({ lane_00: 0x3f800000, lane_01: -1, lane_02: 0x01020304 }, bytes, 0);
    expect(Buffer.from(bytes).toString("hex")).toBe("3f800000ffffffff01020304");
  });

  it("refuses fields that a number can't hold, and names that are no identifiers", () => {
    expect(() => headerCodec(wireHeader("h", { wide: 64 }))).toThrow(/wide: 64 bits/);
    expect(() => headerCodec(wireHeader("h", { "a b": 8 }))).toThrow(/identifier/);
    expect(() => headerCodec(wireHeader("h", { odd: 7 }))).toThrow(/whole number of bytes/);
  });
});

describe("addresses", () => {
  it("are read and written as text", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 2 ** 48 - 1 }),
        fc.integer({ min: 0, max: 2 ** 32 - 1 }),
        (mac, ip) => {
          expect(parseMac(formatMac(mac))).toBe(mac);
          expect(parseIpv4(formatIpv4(ip))).toBe(ip);
        },
      ),
    );
    expect(parseIpv4("192.168.0.1")).toBe(0xc0a80001);
    expect(formatMac(parseMac("02:00:0A:ff:00:01"))).toBe("02:00:0a:ff:00:01");
  });

  it.each(["", "1.2.3", "1.2.3.4.5", "256.1.1.1", "01.2.3.4", "1.2.3.-4", "1.2.3.4 "])(
    "refuse the IPv4 address %j",
    (text) => {
      expect(() => parseIpv4(text)).toThrow(RangeError);
    },
  );

  it.each(["", "02:00:00:00:00", "02-00-00-00-00-01", "02:00:00:00:00:0g", "020000000001"])(
    "refuse the MAC address %j",
    (text) => {
      expect(() => parseMac(text)).toThrow(RangeError);
    },
  );
});
