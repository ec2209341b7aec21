import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contributionBits, contributionLimit } from "../../src/numeric/headroom.ts";
import {
  encodeInt32Row,
  fractionBitsToScale,
  fromInt32,
  int32ErrorBound,
  scaleToFractionBits,
  toInt32,
} from "../../src/numeric/int32.ts";

const LARGEST = 3.4028234663852886e38;

describe("headroom of a contribution", () => {
  it("lets the largest contributions of all workers fit 32 bits", () => {
    for (let workers = 1; workers <= 300; workers++) {
      expect(workers * contributionLimit(workers)).toBeLessThanOrEqual(0x7fffffff);
      expect(workers * (contributionLimit(workers) + 1)).toBeGreaterThan(0x7fffffff);
      expect(contributionBits(workers)).toBe(31 - Math.ceil(Math.log2(workers)));
    }
  });

  it.each([0, -1, 1.5, Number.NaN])("refuses %s workers", (workers) => {
    expect(() => contributionLimit(workers)).toThrow(RangeError);
    expect(() => contributionBits(workers)).toThrow(RangeError);
  });
});

describe("numeric mode int32", () => {
  it("rounds half away from zero", () => {
    const rounded = [2.5, -2.5, 0.5, -0.5, 1.49, 0.49999999999999994, -0.2].map((x) => toInt32(x, 0, 100));
    expect(rounded).toEqual([3, -3, 1, -1, 1, 0, 0]);
  });

  it("is symmetric, and gives a plain 0 for -0", () => {
    fc.assert(
      fc.property(fc.float({ noNaN: true }), fc.integer({ min: -128, max: 127 }), (x, f) => {
        const [positive, negative] = [toInt32(x, f, 0x7fffffff), toInt32(-x, f, 0x7fffffff)];
        expect(negative).toBe(positive === undefined ? undefined : positive === 0 ? 0 : -positive);
      }),
    );
    expect(Object.is(toInt32(-0, 8, 100), 0)).toBe(true);
  });

  it("gives all equal elements of a tensor the same integer, whatever their position", () => {
    const out = new Int32Array(70);
    expect(encodeInt32Row(new Float32Array(70).fill(0.0000017), 20, 4, out)).toBe(false);
    expect(new Set(out)).toEqual(new Set([2]));
  });

  it.each([1, 2, 31, 32])("marks what is beyond the limit of %i workers", (workers) => {
    const limit = contributionLimit(workers);
    expect(toInt32(limit, 0, limit)).toBe(limit);
    expect(toInt32(-limit, 0, limit)).toBe(-limit);
    expect(toInt32(limit + 1, 0, limit)).toBeUndefined();
    expect(toInt32(limit + 0.5, 0, limit)).toBeUndefined();
    expect(toInt32(limit + 0.25, 0, limit)).toBe(limit);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, LARGEST, -LARGEST])(
    "marks %s and sends the lane as 0",
    (bad) => {
      const out = new Int32Array(3);
      expect(encodeInt32Row(Float32Array.of(1, bad, -1), 10, 4, out)).toBe(true);
      expect([...out]).toEqual([1024, 0, -1024]);
    },
  );

  it("sends denormals as 0 or exactly, never wrong", () => {
    const smallest = 2 ** -149;
    expect(toInt32(smallest, 20, 1000)).toBe(0);
    expect(toInt32(smallest * 3, 127, 1000)).toBe(0);
  });

  it("pads a short row with zeros and writes nothing beyond it", () => {
    for (const length of [0, 1, 31, 32]) {
      const out = new Int32Array(33).fill(7);
      const row = out.subarray(0, 32);
      expect(encodeInt32Row(new Float32Array(length).fill(1), 0, 2, row)).toBe(false);
      expect([...row]).toEqual(Array.from({ length: 32 }, (_, i) => (i < length ? 1 : 0)));
      expect(out[32]).toBe(7);
    }
  });

  it("keeps the sum of all workers within the stated error", () => {
    const gradients = fc.array(fc.float({ min: -8, max: 8, noNaN: true }), { minLength: 1, maxLength: 32 });
    fc.assert(
      fc.property(gradients, fc.integer({ min: 0, max: 20 }), (values, f) => {
        const limit = contributionLimit(values.length);
        const exact = values.reduce((sum, v) => sum + v, 0);
        const sum = values.reduce((total, v) => total + (toInt32(v, f, limit) ?? Number.NaN), 0);
        expect(Math.abs(fromInt32(sum, f) - exact)).toBeLessThanOrEqual(int32ErrorBound(f, values.length));
      }),
    );
  });

  it("carries the fraction bits as a signed byte", () => {
    for (let f = -128; f <= 127; f++) expect(scaleToFractionBits(fractionBitsToScale(f))).toBe(f);
    expect(() => fractionBitsToScale(128)).toThrow(RangeError);
    expect(() => fractionBitsToScale(0.5)).toThrow(RangeError);
  });
});
