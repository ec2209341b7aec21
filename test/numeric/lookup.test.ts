import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { float32Code, float32Value } from "../../src/numeric/floatcode.ts";
import { contributionBits } from "../../src/numeric/headroom.ts";
import {
  DEFAULT_SLICES,
  LookupConverter,
  lookupEntries,
  lookupFormat,
  sliceShift,
} from "../../src/numeric/lookup.ts";
import {
  MAX_BASE,
  MIN_BASE,
  windowBaseFor,
  windowErrorBound,
  windowUnit,
  windowWorstError,
} from "../../src/numeric/window.ts";

const formats = [1, 2, 4, 16, 31, 32].map((workers) => lookupFormat("fp32", workers));
const converters = formats.map((format) => new LookupConverter(format));
const anyConverter = fc.constantFrom(...converters);
const anyBase = fc.integer({ min: MIN_BASE, max: MAX_BASE });

/** The rule as it is stated, in BigInt and without tables. */
function byTheRule(
  code: number,
  base: number,
  workers: number,
  slices: readonly number[],
): number | undefined {
  const rel = Math.max(0, ((code >>> 23) & 0xff) - base);
  if (rel === 0) return 0;
  if (rel > 31) return undefined;
  let sum = 0n;
  let position = 23;
  slices.forEach((width, i) => {
    position -= width;
    const bits = (BigInt(code & 0x7fffff) >> BigInt(position)) & ((1n << BigInt(width)) - 1n);
    const significand = (bits << BigInt(position)) + (i === 0 ? 1n << 23n : 0n);
    const exponent = contributionBits(workers) - 55 + rel;
    const half = exponent < 0 ? 1n << BigInt(-exponent - 1) : 0n;
    sum += exponent >= 0 ? significand << BigInt(exponent) : (significand + half) >> BigInt(-exponent);
  });
  return code >>> 31 === 1 ? (sum === 0n ? 0 : -Number(sum)) : Number(sum);
}

describe("numeric mode fp32: conversion by lookup", () => {
  it("follows the rule for every code, base, number of workers and split of the mantissa", () => {
    const code = fc.integer({ min: 0, max: 0xffffffff });
    const slices = fc.constantFrom(DEFAULT_SLICES.fp32, [12, 11], [1, 2, 3, 4, 6, 7], [8, 8, 7]);
    const workers = fc.constantFrom(1, 2, 3, 8, 31, 32);
    const made = new Map<string, LookupConverter>();
    fc.assert(
      fc.property(code, anyBase, workers, slices, (c, base, w, s) => {
        const key = `${w} ${s}`;
        const converter = made.get(key) ?? new LookupConverter(lookupFormat("fp32", w, s));
        made.set(key, converter);
        expect(converter.convert(c, base)).toBe(byTheRule(c, base, w, s));
        expect(converter.convert(c | 0, base)).toBe(byTheRule(c, base, w, s));
      }),
      { numRuns: 3000 },
    );
  });

  it("is odd in its argument", () => {
    fc.assert(
      fc.property(anyConverter, fc.float(), anyBase, (converter, x, base) => {
        const [a, b] = [
          converter.convert(float32Code(x), base),
          converter.convert((float32Code(x) ^ 0x80000000) >>> 0, base),
        ];
        expect(b).toBe(a === undefined ? undefined : a === 0 ? 0 : -a);
      }),
    );
  });

  it("stays within the stated error for each value of the window", () => {
    fc.assert(
      fc.property(anyConverter, fc.float({ noNaN: true, noDefaultInfinity: true }), anyBase, (c, x, base) => {
        const fixed = c.convert(float32Code(x), base);
        if (fixed === undefined) {
          expect(Math.abs(x)).toBeGreaterThanOrEqual(2 ** (base + 32 - 127));
          return;
        }
        const error = Math.abs(fixed * windowUnit(base, c.format.workers) - x);
        expect(error).toBeLessThanOrEqual(windowErrorBound(x, base, c.format));
        expect(error).toBeLessThanOrEqual(windowWorstError(base, c.format));
      }),
      { numRuns: 2000 },
    );
  });

  it("is exact while all 24 bits lie above the unit", () => {
    for (const converter of converters) {
      const { workers } = converter.format;
      for (let rel = 55 - contributionBits(workers); rel <= 31; rel++)
        for (const mantissa of [0, 1, 0x2aaaaa, 0x7fffff]) {
          const code = ((100 + rel) << 23) | mantissa;
          expect((converter.convert(code, 100) ?? Number.NaN) * windowUnit(100, workers)).toBe(
            float32Value(code),
          );
        }
    }
  });

  it("never lets the sum of all workers overflow", () => {
    for (const converter of converters) {
      const largest = converter.convert(((100 + 31) << 23) | 0x7fffff, 100) ?? Number.NaN;
      expect(largest * converter.format.workers).toBeLessThanOrEqual(0x7fffffff);
      for (let rel = 0; rel < 31; rel++)
        expect(converter.convert(((100 + rel) << 23) | 0x7fffff, 100)).toBeLessThanOrEqual(largest);
    }
  });

  it("flushes zeros, denormals and all that is below the window", () => {
    for (const converter of converters)
      for (const code of [0, 0x80000000, 1, 0x80000001, 0x7fffff, 0x807fffff, 0x00800000])
        for (const base of [MIN_BASE, 100, MAX_BASE]) expect(converter.convert(code, base)).toBe(0);
  });

  it("marks infinities and NaN, whatever the base", () => {
    for (const converter of converters)
      for (const code of [0x7f800000, 0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0x7fffffff, 0xffffffff])
        for (const base of [MIN_BASE, 100, MAX_BASE]) expect(converter.convert(code, base)).toBeUndefined();
  });

  it("takes the largest float with the highest base, and marks it with the one below", () => {
    for (const converter of converters) {
      expect(converter.convert(0x7f7fffff, MAX_BASE)).toBeGreaterThan(2 ** 25);
      expect(converter.convert(0x7f7fffff, MAX_BASE - 1)).toBeUndefined();
    }
  });

  it("chooses the lowest base whose window holds the largest value", () => {
    const converter = new LookupConverter(lookupFormat("fp32", 4));
    for (const x of [0, 1e-40, 1e-10, 0.5, 1, 3, 1e10, 3.4e38]) {
      const base = windowBaseFor(x);
      expect(converter.convert(float32Code(x), base)).not.toBeUndefined();
      if (base > MIN_BASE) expect(converter.convert(float32Code(x), base - 1)).toBeUndefined();
    }
  });
});

describe("numeric mode fp32: table contents", () => {
  const format = lookupFormat("fp32", 4);

  it("has an entry for both signs, each exponent of the window and below, and each pattern of a slice", () => {
    format.slices.forEach((width, slice) => {
      const keys = [...lookupEntries(format, slice)].map((e) => `${e.sign} ${e.rel} ${e.bits}`);
      expect(keys).toHaveLength(2 * 32 * 2 ** width);
      expect(new Set(keys).size).toBe(keys.length);
    });
  });

  it("may leave out zero parts, though never in slice 0, whose miss is the mark", () => {
    expect([...lookupEntries(format, 0, { omitZeros: true })]).toEqual([...lookupEntries(format, 0)]);
    for (const slice of [1, 2, 3])
      expect([...lookupEntries(format, slice, { omitZeros: true })]).toEqual(
        [...lookupEntries(format, slice)].filter((entry) => entry.part !== 0),
      );
  });

  it("gives, looked up slice by slice, what the converter gives", () => {
    const tables = format.slices.map(
      (_, i) =>
        new Map(
          [...lookupEntries(format, i, { omitZeros: true })].map((e) => [
            `${e.sign} ${e.rel} ${e.bits}`,
            e.part,
          ]),
        ),
    );
    const converter = new LookupConverter(format);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffffff }), anyBase, (code, base) => {
        const rel = Math.max(0, ((code >>> 23) & 0xff) - base);
        let sum: number | undefined = 0;
        tables.forEach((table, i) => {
          const width = format.slices[i] ?? 0;
          const bits = (code >>> sliceShift(format, i)) & (2 ** width - 1);
          const part = table.get(`${code >>> 31} ${rel} ${bits}`);
          if (part === undefined && i === 0) sum = undefined;
          else if (sum !== undefined) sum += part ?? 0;
        });
        expect(converter.convert(code, base)).toBe(sum);
      }),
    );
  });

  it("does not depend on the base, only the unit does", () => {
    expect(windowUnit(101, 4)).toBe(2 * windowUnit(100, 4));
    expect(windowUnit(95 + 29, 4)).toBe(1);
  });

  it.each([[[6, 6, 6]], [[23, 0]], [[24, -1]], [[11.5, 11.5]], [[23]], [[]]])(
    "refuses slices %j",
    (slices) => {
      expect(() => lookupFormat("fp32", 4, slices)).toThrow(RangeError);
    },
  );
});
