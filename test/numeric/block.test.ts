import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { admissionsOf, GoldenAggregator, resetMessage, resetRounds } from "../../src/numeric/aggregator.ts";
import {
  blockErrorBound,
  blockExponent,
  blockUnit,
  encodeBlockRow,
  exponentOfWord,
  exponentWord,
  mantissaBits,
  resetWords,
  shiftMantissa,
  withExponents,
} from "../../src/numeric/block.ts";
import { rowCodec } from "../../src/numeric/mode.ts";
import { Flag, Kind, ModeId } from "../../src/wire/aggregation.ts";

const finite = fc.float({ noNaN: true, noDefaultInfinity: true });
const anyRow = fc.array(finite, { minLength: 1, maxLength: 8 }).map((list) => Float32Array.from(list));
const anyWorkers = fc.integer({ min: 1, max: 32 });

describe("a row of mode block", () => {
  it("has the smallest exponent that all of its values stay below", () => {
    fc.assert(
      fc.property(anyRow, (row) => {
        const e = blockExponent(row) ?? Number.NaN;
        const largest = Math.max(...row.map(Math.abs));
        expect(largest).toBeLessThan(2 ** (e - 126));
        if (e > 0) expect(largest).toBeGreaterThanOrEqual(2 ** (e - 127));
      }),
    );
  });

  it.each([
    ["zeros", [0, -0], 0],
    ["denormals", [1e-45, -1e-40], 0],
    ["one", [1, 0.5], 127],
    ["the largest number", [3.4028234663852886e38], 254],
  ])("of %s", (_, values, exponent) => {
    expect(blockExponent(Float32Array.from(values))).toBe(exponent);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])(
    "with %s needs the mark, and has zeros",
    (bad) => {
      const codec = rowCodec({ name: "block", workers: 4, exponent: 120 });
      const out = Int32Array.of(9, 9);
      expect(codec.encode(Float32Array.of(1, bad), out)).toBe(true);
      expect([...out]).toEqual([0, 0]);
      expect(codec.exponent(Float32Array.of(1, bad))).toBe(0);
    },
  );

  it("never overflows the sum of all workers, and is off by half a unit at most", () => {
    fc.assert(
      fc.property(anyRow, anyWorkers, (row, workers) => {
        const e = blockExponent(row) ?? 0;
        const out = new Int32Array(row.length);
        encodeBlockRow(row, e, workers, out);
        out.forEach((m, i) => {
          expect(Math.abs(m) * workers).toBeLessThanOrEqual(0x7fffffff);
          expect(Math.abs(m * blockUnit(e, workers) - (row[i] ?? 0))).toBeLessThanOrEqual(
            0.5 * blockUnit(e, workers),
          );
        });
      }),
    );
  });
});

describe("the shift of a mantissa", () => {
  it("stays within half a unit of what remains, for every member and shift", () => {
    fc.assert(
      fc.property(
        anyWorkers,
        fc.integer({ min: -(2 ** 30), max: 2 ** 30 }),
        fc.nat(255),
        fc.nat(31),
        (workers, any, shift, member) => {
          const m = any % 2 ** mantissaBits(workers);
          expect(Math.abs(shiftMantissa(m, shift, member) - m / 2 ** shift)).toBeLessThanOrEqual(0.5);
        },
      ),
      { numRuns: 2000 },
    );
  });

  it("leaves zero zero, and splits halves between the members", () => {
    for (let shift = 0; shift < 256; shift++)
      for (const member of [0, 1]) expect(shiftMantissa(0, shift, member)).toBe(0);
    expect([0, 1].map((member) => shiftMantissa(5, 1, member))).toEqual([3, 2]);
    expect([0, 1].map((member) => shiftMantissa(-5, 1, member))).toEqual([-2, -3]);
  });

  it("keeps the whole way from floats to the sum's unit within the stated bound", () => {
    fc.assert(
      fc.property(anyRow, anyWorkers, fc.nat(40), fc.nat(31), (row, workers, above, member) => {
        const own = blockExponent(row) ?? 0;
        const slot = Math.min(254, own + above);
        const out = new Int32Array(row.length);
        encodeBlockRow(row, own, workers, out);
        out.forEach((m, i) => {
          const got = shiftMantissa(m, slot - own, member) * blockUnit(slot, workers);
          expect(Math.abs(got - (row[i] ?? 0))).toBeLessThanOrEqual(blockErrorBound(own, slot, workers));
        });
      }),
      { numRuns: 1000 },
    );
  });
});

describe("exponent words", () => {
  it("compare by round first, as serial numbers, then by exponent", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffffff }), fc.nat(254), fc.nat(254), (round, a, b) => {
        const newer = (x: number, y: number) => ((x - y) | 0) > 0;
        const later = exponentWord((round + 4) >>> 0, a);
        expect(newer(later, exponentWord(round, b))).toBe(true);
        expect(newer(exponentWord(round, b), later)).toBe(false);
        expect(newer(exponentWord(round, a), exponentWord(round, b))).toBe(a > b);
        expect(exponentOfWord(later)).toBe(a);
      }),
    );
  });

  it("of a RESET expect something of the first two rounds, and nothing of those after", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffffff }), (first) => {
        const next = (n: number) => (first + n) >>> 0;
        const [same, other] = resetRounds(first).map((round) => resetWords(round, first, 100));
        expect(same).toEqual({ current: exponentWord(next(2), 0), next: exponentWord(first, 100) });
        expect(other?.current).toBe(exponentWord(next(1), 100));
      }),
    );
  });
});

const WORKERS = 3;
const LANES = 2;
const CODEC = rowCodec({ name: "block", workers: WORKERS, exponent: 127 });

function job(firstRound: number): GoldenAggregator {
  const golden = new GoldenAggregator({ lanes: LANES, slots: 1, chunk: 1, mode: ModeId.block });
  const placement = { job: 1, generation: 1, scale: 127, lanes: LANES, mode: ModeId.block, firstRound };
  for (const round of resetRounds(firstRound)) golden.handle(resetMessage(placement, 0, round), true);
  for (const entry of admissionsOf(
    { job: 1, generation: 1, workers: [0, 1, 2], slotBase: 0, rows: 1, scale: 127 },
    1,
  ))
    golden.admit(entry);
  return golden;
}

function contribution(member: number, round: number, values: readonly number[], expected: number) {
  const row = Float32Array.from(values);
  const lanes = new Int32Array(LANES);
  const isMarked = CODEC.encode(row, lanes);
  const header = {
    version: 1,
    kind: Kind.CONTRIBUTION,
    flags: isMarked ? Flag.MARK : 0,
    job: 1,
    generation: 1,
    member,
    scale: 127,
    slot: 0,
    lanes: LANES,
    mode: ModeId.block,
    round,
  };
  return withExponents({ header, lanes }, CODEC.exponent(row), expected);
}

describe("mode block in the aggregator", () => {
  /** Sums one round of the same values at all workers; gives them as numbers, or that they were marked. */
  function sumOf(golden: GoldenAggregator, round: number, values: readonly number[], expected: number) {
    const outcomes = [0, 1, 2].map((member) => golden.handle(contribution(member, round, values, expected)));
    const result = outcomes.at(-1)?.answers.find((a) => a.header.kind === Kind.RESULT);
    if (result === undefined) throw new Error("no RESULT");
    if ((result.header.flags & Flag.MARK) !== 0) return "marked";
    return [...result.lanes].map((sum) => sum * CODEC.unit(result.exponents?.current));
  }

  it("sums what was announced two rounds before, across the wrap of the round", () => {
    const golden = job(0xfffffffd);
    let expected = 127;
    for (let i = 0; i < 12; i++) {
      const x = 2 ** -i;
      expect(sumOf(golden, (0xfffffffd + i) >>> 0, [x, -x / 4], 127 - i)).toEqual([3 * x, (-3 * x) / 4]);
      expected--;
    }
    expect(expected).toBe(115);
  });

  it("marks a row above its announcement, and one that nobody announced", () => {
    const golden = job(1);
    expect(sumOf(golden, 1, [1.5, 1], 126)).toEqual([4.5, 3]);
    expect(sumOf(golden, 2, [1, 1], 127)).toEqual([3, 3]);
    expect(sumOf(golden, 3, [1, 0], 127)).toBe("marked");
    expect(sumOf(golden, 4, [1, 0.5], 127)).toEqual([3, 1.5]);
    // Round 7 was announced by round 5, which never was.
    expect(sumOf(golden, 7, [1, 0.5], 127)).toBe("marked");
    expect(sumOf(golden, 9, [1, 0.5], 127)).toEqual([3, 1.5]);
  });

  it("sums zero rows whatever the slot expects", () => {
    const golden = job(1);
    expect(sumOf(golden, 1, [0, -0], 0)).toEqual([0, 0]);
    expect(sumOf(golden, 3, [0, 0], 0)).toEqual([0, 0]);
  });

  it("gives the same bits in whatever order, with copies, and with late ones of the round before last", () => {
    const values = [
      [1.1, -0.3],
      [0.07, 1e-3],
      [-0.4, 0.9],
    ];
    // A packet that is sent again is the same packet, its announcement too.
    const packet = (member: number, round: number) =>
      contribution(member, round, values[member] ?? [], 127 + (member === 1 ? 2 : 0));
    const sums = (order: readonly number[]) => {
      const golden = job(1);
      const out: (readonly number[])[] = [];
      for (let round = 1; round <= 6; round++)
        for (const member of order) {
          const { answers } = golden.handle(packet(member, round));
          if (round > 2) golden.handle(packet(member, round - 2));
          for (const a of answers)
            if (a.header.kind === Kind.RESULT) out.push([...a.lanes, a.exponents?.current ?? 0]);
        }
      return out;
    };
    const wanted = sums([0, 1, 2]);
    expect(wanted).toHaveLength(6);
    fc.assert(
      fc.property(fc.array(fc.nat(2), { maxLength: 6 }), (order) => {
        expect(sums([...order, 0, 2, 1])).toEqual(wanted);
      }),
    );
  });
});
