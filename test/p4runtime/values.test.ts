import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { create } from "../../src/p4info/index.ts";
import { EntityError } from "../../src/p4runtime/entity-error.ts";
import {
  decodeMatch,
  encodeMatch,
  formatMatch,
  type MatchInput,
  normaliseMatch,
  parseMatch,
  prefixMask,
} from "../../src/p4runtime/match.ts";
import { FieldMatch } from "../../src/p4runtime/proto/generated/p4runtime.ts";
import type { MatchFieldSchema } from "../../src/p4runtime/schema.ts";
import {
  bigintOf,
  bytesOf,
  canonicalBytes,
  decodeValue,
  encodeValue,
  maxOf,
  parseValue,
} from "../../src/p4runtime/values.ts";

const bits = (bitwidth: number) => ({ bitwidth, where: `bit<${bitwidth}>` });
const field = (kind: MatchFieldSchema["kind"], bitwidth: number): MatchFieldSchema => ({
  id: 1,
  name: "f",
  where: "table t, field f",
  kind,
  bitwidth,
});
const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));

describe("values", () => {
  it("have the shortest bytes, at least one", () => {
    expect(bytesOf(0n)).toEqual(bytes("00"));
    expect(bytesOf(255n)).toEqual(bytes("ff"));
    expect(bytesOf(256n)).toEqual(bytes("0100"));
    expect(canonicalBytes(bytes("000063"))).toEqual(bytes("63"));
    expect(canonicalBytes(bytes("0000"))).toEqual(bytes("00"));
    expect(canonicalBytes(bytes(""))).toEqual(bytes("00"));
  });

  it("of any width survive both ways (pitfall 12)", () => {
    for (const value of [0n, 1n, 2n ** 64n, 2n ** 127n, 2n ** 128n - 1n, 2n ** 511n]) {
      expect(bigintOf(bytesOf(value))).toBe(value);
      expect(decodeValue(encodeValue(value, bits(512)), bits(512))).toBe(value);
    }
    fc.assert(fc.property(fc.bigInt(0n, 2n ** 600n), (value) => bigintOf(bytesOf(value)) === value));
  });

  it("may be numbers, bigints, digits and addresses", () => {
    expect(parseValue(7, bits(9))).toBe(7n);
    expect(parseValue("0x1ff", bits(9))).toBe(511n);
    expect(parseValue("0b101", bits(9))).toBe(5n);
    expect(parseValue("1_000", bits(16))).toBe(1000n);
    expect(parseValue("10.0.0.1", bits(32))).toBe(0x0a000001n);
    expect(parseValue("255.255.255.255", bits(32))).toBe(0xffffffffn);
    expect(parseValue("00:11:22:aa:bb:cc", bits(48))).toBe(0x001122aabbccn);
    expect(parseValue("00-11-22-AA-BB-CC", bits(48))).toBe(0x001122aabbccn);
    expect(parseValue("fe80::1", bits(128))).toBe((0xfe80n << 112n) | 1n);
    expect(parseValue("::", bits(128))).toBe(0n);
    expect(parseValue("1:2:3:4:5:6:7:8", bits(128))).toBe(0x00010002000300040005000600070008n);
    expect(parseValue("::ffff:10.0.0.1", bits(128))).toBe(0xffff0a000001n);
    expect(parseValue(bytes("0102"), bits(16))).toBe(258n);
  });

  it("that are too wide are refused with the name of the field (pitfall 12)", () => {
    const port = { bitwidth: 16, where: "action forward, parameter port" };
    expect(() => encodeValue(0x12345, port)).toThrow(/action forward, parameter port: .*bit<16>/);
    expect(() => encodeValue(-1, port)).toThrow(/negative/);
    expect(() => encodeValue(1.5, port)).toThrow(EntityError);
    expect(() => encodeValue(2 ** 60, bits(64))).toThrow(/bigint/);
    expect(() => encodeValue("10.0.0.1", bits(128))).toThrow(/32 bits/);
    expect(() => encodeValue("10.0.0.256", bits(32))).toThrow(/not an IPv4/);
    expect(() => encodeValue("port 1", port)).toThrow(/neither an integer/);
    expect(() => encodeValue("", port)).toThrow(EntityError);
  });

  it("over the wire may be padded, but neither empty nor too wide", () => {
    expect(decodeValue(bytes("000063"), bits(8))).toBe(99n);
    expect(() => decodeValue(bytes("0163"), bits(8))).toThrow(/does not fit/);
    expect(() => decodeValue(bytes("1063"), bits(12))).toThrow(/does not fit/);
    expect(() => decodeValue(bytes(""), bits(8))).toThrow(/empty/);
  });

  it("above 2^31 are not taken for negative ones (pitfall 106)", () => {
    expect(prefixMask(16, 32)).toBe(0xffff0000n);
    expect(prefixMask(0, 32)).toBe(0n);
    expect(prefixMask(32, 32)).toBe(0xffffffffn);
    expect(bytesOf(parseValue("255.255.255.255", bits(32)))).toEqual(bytes("ffffffff"));
  });

  it("of a field with width 0 are texts", () => {
    expect(encodeValue("Ethernet0", bits(0))).toEqual(new TextEncoder().encode("Ethernet0"));
  });
});

describe("matches of a client", () => {
  const through = (f: MatchFieldSchema, input: MatchInput) => {
    const match = parseMatch(f, input);
    return match === undefined ? undefined : encodeMatch(f, match).fieldMatchType;
  };

  it("of any other type are refused by the field's name, not by a stack trace", () => {
    for (const wrong of [null, [1, 2], {}, true, { low: 1 }, { value: null, mask: 1 }, () => 1])
      expect(() => parseMatch(field("RANGE", 16), wrong as never)).toThrow(EntityError);
  });

  it("clear the bits after a prefix (pitfall 3)", () => {
    expect(through(field("LPM", 32), "10.0.0.5/24")).toEqual({
      case: "lpm",
      value: { value: bytes("0a000000"), prefixLen: 24 },
    });
    expect(through(field("LPM", 32), "10.0.0.5")).toEqual({
      case: "lpm",
      value: { value: bytes("0a000005"), prefixLen: 32 },
    });
  });

  it("leave any-value forms out (pitfall 4)", () => {
    expect(parseMatch(field("LPM", 32), "0.0.0.0/0")).toBeUndefined();
    expect(parseMatch(field("LPM", 128), "::/0")).toBeUndefined();
    expect(parseMatch(field("TERNARY", 16), { value: 0x1111, mask: 0 })).toBeUndefined();
    expect(parseMatch(field("TERNARY", 16), "*")).toBeUndefined();
    expect(parseMatch(field("OPTIONAL", 16), undefined)).toBeUndefined();
    expect(parseMatch(field("RANGE", 9), "0..511")).toBeUndefined();
    expect(() => parseMatch(field("EXACT", 9), undefined)).toThrow(/needs a value/);
    expect(() => parseMatch(field("EXACT", 32), "0.0.0.0/0")).toThrow(EntityError);
  });

  it("clear the bits outside a mask", () => {
    expect(through(field("TERNARY", 16), "0x1111 &&& 0x000f")).toEqual({
      case: "ternary",
      value: { value: bytes("01"), mask: bytes("0f") },
    });
    expect(through(field("TERNARY", 32), "10.1.2.3/8")).toEqual({
      case: "ternary",
      value: { value: bytes("0a000000"), mask: bytes("ff000000") },
    });
  });

  it("take ranges that are not turned over (pitfall 5)", () => {
    expect(through(field("RANGE", 9), { low: 0, high: 5 })).toEqual({
      case: "range",
      value: { low: bytes("00"), high: bytes("05") },
    });
    expect(through(field("RANGE", 9), 7)).toEqual({
      case: "range",
      value: { low: bytes("07"), high: bytes("07") },
    });
    expect(through(field("RANGE", 32), "10.0.0.1..10.0.0.9")).toEqual({
      case: "range",
      value: { low: bytes("0a000001"), high: bytes("0a000009") },
    });
    expect(() => parseMatch(field("RANGE", 9), { low: 5, high: 3 })).toThrow(/empty/);
    expect(() => parseMatch(field("RANGE", 9), "0..512")).toThrow(/does not fit/);
  });

  it("are written for people in a form that can be read again", () => {
    const inputs: readonly (readonly [MatchFieldSchema, MatchInput])[] = [
      [field("EXACT", 48), "00:11:22:33:44:55"],
      [field("LPM", 32), "10.0.0.0/8"],
      [field("LPM", 128), "fe80::/10"],
      [field("TERNARY", 16), "0x800 &&& 0xff00"],
      [field("RANGE", 9), "3..7"],
      [field("OPTIONAL", 8), 6],
    ];
    for (const [f, input] of inputs) {
      const match = parseMatch(f, input);
      expect(match).toBeDefined();
      if (match !== undefined) expect(parseMatch(f, formatMatch(match, f.bitwidth))).toEqual(match);
    }
  });
});

describe("matches on the wire", () => {
  const message = (fieldMatchType: FieldMatch["fieldMatchType"]): FieldMatch =>
    create(FieldMatch, { fieldId: 1, fieldMatchType });

  it("with stray bits, empty masks, full and empty ranges are refused (pitfalls 3, 4, 5)", () => {
    const lpm = (value: string, prefixLen: number) =>
      decodeMatch(field("LPM", 32), message({ case: "lpm", value: { value: bytes(value), prefixLen } }));
    expect(() => lpm("0a000005", 24)).toThrow(/after the prefix/);
    expect(() => lpm("00", 0)).toThrow(/left out/);
    expect(() => lpm("0a000000", 33)).toThrow(/prefix length/);
    expect(() => lpm("0a000000", -1)).toThrow(/prefix length/);
    expect(lpm("0a000000", 8)).toEqual({ kind: "LPM", value: 0x0a000000n, prefixLength: 8 });

    const ternary = (value: string, mask: string) =>
      decodeMatch(
        field("TERNARY", 16),
        message({ case: "ternary", value: { value: bytes(value), mask: bytes(mask) } }),
      );
    expect(() => ternary("1111", "000f")).toThrow(/outside the mask/);
    expect(() => ternary("00", "00")).toThrow(/left out/);
    expect(ternary("0400", "fc00")).toEqual({ kind: "TERNARY", value: 0x400n, mask: 0xfc00n });

    const range = (low: string, high: string) =>
      decodeMatch(
        field("RANGE", 9),
        message({ case: "range", value: { low: bytes(low), high: bytes(high) } }),
      );
    expect(range("01", "02")).toEqual({ kind: "RANGE", low: 1n, high: 2n });
    expect(() => range("00", "01ff")).toThrow(/left out/);
    expect(() => range("05", "03")).toThrow(/empty/);
    expect(range("00", "05")).toEqual({ kind: "RANGE", low: 0n, high: 5n });
    expect(() => range("", "05")).toThrow(/empty/);
    expect(() => range("00", "0200")).toThrow(/does not fit/);
  });

  it("of another kind than the field's are refused", () => {
    expect(() =>
      decodeMatch(field("EXACT", 8), message({ case: "optional", value: { value: bytes("01") } })),
    ).toThrow(/matched EXACT, not optional/);
    expect(() => decodeMatch(field("EXACT", 8), message(undefined))).toThrow(/no value/);
  });

  it("that a server did not leave out are recognised by the client", () => {
    const full = message({ case: "range", value: { low: bytes("00"), high: bytes("01ff") } });
    expect(normaliseMatch(field("RANGE", 9), full)).toBeUndefined();
    const zero = message({ case: "ternary", value: { value: bytes("00"), mask: bytes("00") } });
    expect(normaliseMatch(field("TERNARY", 9), zero)).toBeUndefined();
  });

  it("come back as they were sent, for every kind and width", () => {
    const kinds = fc.constantFrom("EXACT", "LPM", "TERNARY", "RANGE", "OPTIONAL");
    fc.assert(
      fc.property(
        kinds,
        fc.integer({ min: 1, max: 130 }),
        fc.bigInt(0n, 2n ** 130n),
        fc.bigInt(0n, 2n ** 130n),
        (kind, width, a, b) => {
          const f = field(kind, width);
          const [x, y] = [a & maxOf(width), b & maxOf(width)];
          const input: MatchInput =
            kind === "LPM"
              ? { value: x, prefixLength: Number(b % BigInt(width + 1)) }
              : kind === "TERNARY"
                ? { value: x, mask: y }
                : kind === "RANGE"
                  ? { low: x & y, high: x | y }
                  : x;
          const match = parseMatch(f, input);
          if (match === undefined) return;
          expect(decodeMatch(f, create(FieldMatch, encodeMatch(f, match)))).toEqual(match);
        },
      ),
    );
  });
});
