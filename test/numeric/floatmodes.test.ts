import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  bfloat16Code,
  bfloat16Value,
  FLOATS,
  float16Code,
  float16Value,
  float32Code,
} from "../../src/numeric/floatcode.ts";
import { fp16Limit, fp16Unit } from "../../src/numeric/fp16.ts";
import { contributionBits } from "../../src/numeric/headroom.ts";
import { LookupConverter, lookupEntries, lookupFormat, sliceShift } from "../../src/numeric/lookup.ts";
import { rowCodec } from "../../src/numeric/mode.ts";
import { MAX_BASE, MIN_BASE, windowErrorBound, windowUnit } from "../../src/numeric/window.ts";

const codes = Array.from({ length: 0x1_0000 }, (_, code) => code);
const workerCounts = [1, 2, 4, 16, 31, 32];

describe.each([
  ["fp16", float16Code, float16Value],
  ["bf16", bfloat16Code, bfloat16Value],
] as const)("%s codes", (name, encode, decode) => {
  it("come back from their numbers, all of them", () => {
    for (const code of codes) {
      const value = decode(code);
      if (Number.isNaN(value)) expect(Number.isNaN(decode(encode(value)))).toBe(true);
      else expect(encode(value)).toBe(code);
    }
  });

  it("are the nearest to a float32, the even one half-way", () => {
    const { bits, mantissaBits } = FLOATS[name];
    const infinity = (2 ** (bits - 1 - mantissaBits) - 1) << mantissaBits;
    fc.assert(
      fc.property(fc.float({ noNaN: true, noDefaultInfinity: true }), (x) => {
        const code = encode(x);
        const magnitude = code & 0x7fff;
        if (magnitude === infinity) return;
        const error = Math.abs(decode(code) - x);
        for (const other of [magnitude - 1, magnitude + 1]) {
          if (other < 0 || other >= infinity) continue;
          const otherError = Math.abs(decode((code & 0x8000) | other) - x);
          expect(error).toBeLessThanOrEqual(otherError);
          if (error === otherError) expect(code & 1).toBe(0);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it("keep signs of zero, infinities and that something is no number", () => {
    expect(encode(0)).toBe(0);
    expect(encode(-0)).toBe(0x8000);
    expect([Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY].map((x) => decode(encode(x)))).toEqual([
      Number.POSITIVE_INFINITY,
      Number.NEGATIVE_INFINITY,
    ]);
    expect(decode(encode(Number.NaN))).toBeNaN();
  });
});

describe("mode fp16: conversion by lookup", () => {
  it.each(workerCounts)(
    "is exact for every code below the limit of %i workers, and marks all others",
    (workers) => {
      for (const slices of [
        [5, 5],
        [4, 6],
        [3, 3, 4],
      ]) {
        const converter = new LookupConverter(lookupFormat("fp16", workers, slices));
        const limit = fp16Limit(workers);
        for (const code of codes) {
          const value = float16Value(code);
          const fixed = converter.convert(code, 0);
          if (!(Math.abs(value) < limit)) expect(fixed).toBeUndefined();
          else {
            expect((fixed ?? Number.NaN) * fp16Unit(0) === value).toBe(true);
            expect(Math.abs(fixed ?? 0) * workers).toBeLessThanOrEqual(0x7fffffff);
          }
        }
      }
    },
  );

  it("has two tables of at most 2048 entries by default", () => {
    for (const workers of workerCounts) {
      const format = lookupFormat("fp16", workers);
      expect(format.slices).toHaveLength(2);
      for (const slice of [0, 1]) expect([...lookupEntries(format, slice)].length).toBeLessThanOrEqual(2048);
    }
  });

  it("sums scaled gradients in their own unit", () => {
    const codec = rowCodec({ name: "fp16", workers: 4, fractionBits: 10, slices: [5, 5] });
    const converter = new LookupConverter(lookupFormat("fp16", 4));
    const out = new Int32Array(3);
    expect(codec.encode(Float32Array.of(2 ** -12, -3 * 2 ** -14), out)).toBe(false);
    const back = [...out].map((code) => (converter.convert(code, codec.scale) ?? Number.NaN) * codec.unit());
    expect(back).toEqual([2 ** -12, -3 * 2 ** -14, 0]);
  });
});

describe("mode bf16: conversion by lookup", () => {
  it.each(workerCounts)(
    "with %i workers is exact in the upper binades, within the bound below, and marks what is above",
    (workers) => {
      const format = lookupFormat("bf16", workers);
      const converter = new LookupConverter(format);
      const lowestExact = 39 - contributionBits(workers);
      for (const base of [MIN_BASE, 96, MAX_BASE]) {
        const unit = windowUnit(base, workers);
        for (const code of codes) {
          const value = bfloat16Value(code);
          const rel = Math.max(0, ((code >>> 7) & 0xff) - base);
          const fixed = converter.convert(code, base);
          if (rel > 31) {
            expect(fixed).toBeUndefined();
            continue;
          }
          const error = Math.abs((fixed ?? Number.NaN) * unit - value);
          if (rel >= lowestExact) expect(error).toBe(0);
          if (!(error <= windowErrorBound(value, base, format)))
            throw new Error(`code ${code}, base ${base}: off by ${error}`);
        }
      }
    },
  );

  it("has tables of 1024 and 512 entries by default", () => {
    const format = lookupFormat("bf16", 8);
    expect([0, 1].map((slice) => [...lookupEntries(format, slice)].length)).toEqual([1024, 512]);
  });

  it("is fp32 of the upper half of the code, where slices do not round", () => {
    const [narrow, wide] = [
      new LookupConverter(lookupFormat("bf16", 4)),
      new LookupConverter(lookupFormat("fp32", 4)),
    ];
    fc.assert(
      fc.property(fc.nat(0xffff), fc.integer({ min: MIN_BASE, max: MAX_BASE }), (code, base) => {
        const rel = Math.max(0, ((code >>> 7) & 0xff) - base);
        if (rel < 12) return;
        expect(narrow.convert(code, base)).toBe(wide.convert((code << 16) >>> 0, base));
      }),
      { numRuns: 2000 },
    );
  });
});

describe.each(["fp32", "fp16", "bf16"] as const)("the tables of mode %s", (name) => {
  it("give, looked up slice by slice, what the converter gives; a miss in slice 0 is the mark", () => {
    const { bits, exponentBits, mantissaBits } = FLOATS[name];
    const format = lookupFormat(name, 4);
    const tables = format.slices.map(
      (_, slice) =>
        new Map(
          [...lookupEntries(format, slice, { omitZeros: true })].map((e) => [
            `${e.sign} ${e.rel} ${e.bits}`,
            e.part,
          ]),
        ),
    );
    const converter = new LookupConverter(format);
    const anyCode = fc.oneof(
      fc.integer({ min: 0, max: 2 ** bits - 1 }),
      fc.float().map((x) => FLOATS[name].encode(x)),
    );
    fc.assert(
      fc.property(anyCode, fc.integer({ min: MIN_BASE, max: MAX_BASE }), (code, base) => {
        const exponent = (code >>> mantissaBits) & (2 ** exponentBits - 1);
        const rel = name === "fp16" ? exponent : Math.max(0, exponent - base);
        const parts = tables.map((table, slice) => {
          const part = (code >>> sliceShift(format, slice)) & (2 ** (format.slices[slice] ?? 0) - 1);
          return table.get(`${code >>> (bits - 1)} ${rel} ${part}`);
        });
        const sum = parts.reduce<number>((all, part) => all + (part ?? 0), 0);
        expect(converter.convert(code, base)).toBe(parts[0] === undefined ? undefined : sum);
      }),
      { numRuns: 1000 },
    );
  });

  it.each([[[]], [[23, 10, 7]], [[0, 10]], [[1.5, 5.5]]])("do not exist for slices %j", (slices) => {
    expect(() => lookupFormat(name, 4, slices)).toThrow(RangeError);
  });
});

it("a float32 that is sent in 16 bits is rounded once", () => {
  // Half-way between two binary16 codes only after a rounding that does not happen.
  const x = 1 + 2 ** -11 + 2 ** -23;
  expect(float32Code(x)).toBe(float32Code(Math.fround(x)));
  expect(float16Value(float16Code(x))).toBe(1 + 2 ** -10);
});
