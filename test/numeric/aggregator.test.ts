import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Admission,
  AGGREGATOR_EVENTS,
  type AggregatorFormat,
  admissionsOf,
  GoldenAggregator,
  isNewerRound,
  resetRounds,
} from "../../src/numeric/aggregator.ts";
import { float32Code } from "../../src/numeric/floatcode.ts";
import { LookupConverter, lookupFormat } from "../../src/numeric/lookup.ts";
import { type AggregationHeader, COLLECTOR, Flag, Kind, ModeId } from "../../src/wire/aggregation.ts";
import { OneBitAggregator } from "./onebitaggregator.ts";

const LANES = 4;
const JOB = 9;
const FORMAT: AggregatorFormat = { lanes: LANES, slots: 16, chunk: 4, mode: ModeId.int32 };

function header(changes: Partial<AggregationHeader> = {}): AggregationHeader {
  return {
    version: 1,
    kind: Kind.CONTRIBUTION,
    flags: 0,
    job: JOB,
    generation: 1,
    member: 0,
    scale: 8,
    slot: 4,
    lanes: LANES,
    mode: ModeId.int32,
    round: 1,
    ...changes,
  };
}

function entriesOf(workers: number, format: AggregatorFormat = FORMAT, rows = 6, scale = 8): Admission[] {
  const members = Array.from({ length: workers }, (_, member) => member);
  const job = { job: JOB, generation: 1, workers: members, slotBase: 4, rows, scale };
  return admissionsOf(job, format.chunk);
}

function aggregator(
  workers: number,
  format: AggregatorFormat = FORMAT,
  rows = 6,
  scale = 8,
): GoldenAggregator {
  const golden = new GoldenAggregator(format);
  for (const entry of entriesOf(workers, format, rows, scale)) golden.admit(entry);
  return golden;
}

/** Sends lanes that all hold `value`; gives what happened in short. */
function send(golden: GoldenAggregator, changes: Partial<AggregationHeader>, value: number | number[] = 0) {
  const h = header(changes);
  const carries = h.kind === Kind.CONTRIBUTION || h.kind === Kind.RESULT;
  const lanes = Int32Array.from(
    typeof value === "number" ? Array.from({ length: carries ? LANES : 0 }, () => value) : value,
  );
  const { event, answers } = golden.handle({ header: h, lanes });
  const result = answers.find((answer) => answer.header.kind === Kind.RESULT);
  const ack = answers.find((answer) => answer.header.kind === Kind.ACK);
  return { event, answers, ack, result, sum: result?.lanes[0] };
}

describe("a slot of the aggregator", () => {
  it("adds one contribution of each worker and gives the sum to the server with the last", () => {
    const golden = aggregator(3);
    expect(send(golden, { member: 0 }, 1).event).toBe("contribution");
    expect(send(golden, { member: 1 }, 2).event).toBe("contribution");
    const last = send(golden, { member: 2 }, 4);
    expect(last.event).toBe("complete");
    expect(last.ack).toEqual({
      to: "sender",
      header: header({ member: 2, kind: Kind.ACK }),
      lanes: new Int32Array(0),
    });
    expect(last.result).toEqual({
      to: "server",
      header: header({ member: 2, kind: Kind.RESULT }),
      lanes: Int32Array.of(7, 7, 7, 7),
    });
  });

  it("counts a worker that sends twice once, before and after completion", () => {
    const golden = aggregator(3);
    send(golden, { member: 0 }, 1);
    const early = send(golden, { member: 0 }, 1);
    expect([early.event, early.ack?.header.flags]).toEqual(["duplicate", Flag.DUPLICATE]);
    send(golden, { member: 1 }, 2);
    expect(send(golden, { member: 2 }, 4).sum).toBe(7);
    const late = send(golden, { member: 1 }, 2);
    expect([late.event, late.result]).toEqual(["duplicate", undefined]);
    expect(golden.counters).toMatchObject({ contribution: 2, complete: 1, duplicate: 2 });
  });

  it("takes NULL as a contribution of nothing", () => {
    const golden = aggregator(2);
    expect(send(golden, { member: 0, kind: Kind.NULL }).event).toBe("null");
    expect(send(golden, { member: 0 }, 5).event).toBe("duplicate");
    expect(send(golden, { member: 1 }, 3).sum).toBe(3);
    send(golden, { member: 1, round: 2 }, 8);
    expect(send(golden, { member: 0, round: 2, kind: Kind.NULL })).toMatchObject({
      event: "complete",
      sum: 8,
    });
    send(golden, { member: 1, round: 3, kind: Kind.NULL });
    expect(send(golden, { member: 0, round: 3, kind: Kind.NULL }).sum).toBe(0);
  });

  it("keeps two rounds apart in its banks and restarts a bank with the round after next", () => {
    const golden = aggregator(2);
    send(golden, { member: 0, round: 1 }, 1);
    send(golden, { member: 0, round: 2 }, 10);
    expect(send(golden, { member: 1, round: 2 }, 20).sum).toBe(30);
    expect(send(golden, { member: 1, round: 1 }, 2).sum).toBe(3);
    send(golden, { member: 0, round: 3 }, 100);
    expect(send(golden, { member: 1, round: 3 }, 200).sum).toBe(300);
  });

  it("acknowledges a late packet as stale and does not add it", () => {
    const golden = aggregator(2);
    send(golden, { member: 0, round: 3 }, 1);
    const stale = send(golden, { member: 1, round: 1 }, 50);
    expect([stale.event, stale.ack?.header.flags]).toEqual(["stale", Flag.STALE]);
    expect(send(golden, { member: 1, round: 3 }, 2).sum).toBe(3);
  });

  it("compares rounds as serial numbers", () => {
    expect(isNewerRound(1, 0xffffffff)).toBe(true);
    expect(isNewerRound(0xffffffff, 1)).toBe(false);
    expect(isNewerRound(5, 5)).toBe(false);
    const golden = new GoldenAggregator(FORMAT);
    for (const round of resetRounds(0xfffffffe))
      golden.handle({ header: header({ kind: Kind.RESET, round }), lanes: new Int32Array(0) }, true);
    for (const entry of entriesOf(1)) golden.admit(entry);
    for (const round of [0xfffffffe, 0xffffffff, 0, 1, 2])
      expect(send(golden, { round }, round & 7)).toMatchObject({ event: "complete", sum: round & 7 });
    expect(send(golden, { round: 0xfffffffe }, 1).event).toBe("stale");
  });

  it("answers COLLECT with the result or that it is pending, and changes nothing", () => {
    const golden = aggregator(2);
    const collect = (round: number) => send(golden, { kind: Kind.COLLECT, member: COLLECTOR, round });
    expect(collect(1).event).toBe("collect_pending");
    send(golden, { member: 0 }, 1);
    expect(collect(1).answers).toEqual([
      { to: "sender", header: header({ kind: Kind.PENDING, member: COLLECTOR }), lanes: new Int32Array(0) },
    ]);
    send(golden, { member: 1 }, 2);
    for (let i = 0; i < 2; i++)
      expect(collect(1).result).toEqual({
        to: "sender",
        header: header({ kind: Kind.RESULT, member: COLLECTOR }),
        lanes: Int32Array.of(3, 3, 3, 3),
      });
    send(golden, { member: 0, round: 2 }, 10);
    expect(collect(1).sum).toBe(3);
    send(golden, { member: 0, round: 3 }, 10);
    expect(collect(1).event).toBe("collect_pending");
  });

  it("keeps the mark of any contribution until the slot restarts", () => {
    for (const marked of [0, 1, 2]) {
      const golden = aggregator(3);
      const flags = (member: number) => (member === marked ? Flag.MARK : 0);
      for (const member of [0, 1]) send(golden, { member, flags: flags(member) }, 1);
      const last = send(golden, { member: 2, flags: flags(2) }, 1);
      expect(last.result?.header.flags).toBe(Flag.MARK);
      expect(last.ack?.header.flags).toBe(0);
      expect(send(golden, { kind: Kind.COLLECT, member: COLLECTOR }).result?.header.flags).toBe(Flag.MARK);
      for (const member of [0, 1]) send(golden, { member, round: 3 }, 1);
      expect(send(golden, { member: 2, round: 3 }, 1).result?.header.flags).toBe(0);
    }
  });

  it("takes a worker again after RESET, whatever the slot held", () => {
    const golden = aggregator(2);
    send(golden, { member: 0, round: 9 }, 1);
    send(golden, { member: 1, round: 9 }, 1);
    const reset = { header: header({ kind: Kind.RESET, round: 3 }), lanes: new Int32Array(0) };
    for (const { job, member, chunk } of entriesOf(2)) golden.dismiss(job, member, chunk);
    expect(golden.handle(reset).event).toBe("malformed");
    expect(golden.handle(reset, true)).toEqual({ event: "reset", answers: [{ to: "sender", ...reset }] });
    for (const entry of entriesOf(2)) golden.admit(entry);
    expect(send(golden, { member: 0, round: 5 }, 4).event).toBe("contribution");
    expect(send(golden, { member: 1, round: 5 }, 4).sum).toBe(8);
  });

  it("refuses a RESET that comes late, when the job has been admitted", () => {
    const golden = aggregator(2);
    send(golden, { member: 0, round: 5 }, 4);
    const reset = { header: header({ kind: Kind.RESET, round: 3 }), lanes: new Int32Array(0) };
    expect(golden.handle(reset, true)).toEqual({ event: "refused_reset", answers: [] });
    expect(send(golden, { member: 1, round: 5 }, 4).sum).toBe(8);
  });

  it("adds in two's complement, 32 bits wide", () => {
    const golden = aggregator(3);
    const values = [
      [2147483647, -2147483648, -1, 0],
      [0, 0, 1, -1],
      [0, 0, 0, 0],
    ];
    const [last] = values.map((lanes, member) => send(golden, { member }, lanes)).slice(-1);
    expect([...(last?.result?.lanes ?? [])]).toEqual([2147483647, -2147483648, 0, -1]);
    send(golden, { member: 0, round: 3 }, [2147483647, 0, 0, 0]);
    send(golden, { member: 1, round: 3 }, [1, 0, 0, 0]);
    expect(send(golden, { member: 2, round: 3 }, 0).sum).toBe(-2147483648);
  });

  it.each([1, 2, 31, 32])("is complete with the last of %i workers, in whatever order", (workers) => {
    fc.assert(
      fc.property(
        fc.shuffledSubarray(
          Array.from({ length: workers }, (_, i) => i),
          { minLength: workers },
        ),
        (order) => {
          const golden = aggregator(workers);
          order.slice(0, -1).forEach((member) => {
            expect(send(golden, { member }, member + 1).event).toBe("contribution");
          });
          expect(send(golden, { member: order.at(-1) ?? 0 }, (order.at(-1) ?? 0) + 1).sum).toBe(
            (workers * (workers + 1)) / 2,
          );
        },
      ),
      { numRuns: 10 },
    );
  });
});

describe("the aggregator refuses and counts", () => {
  it.each([
    ["another job", { job: 8 }, "refused_unknown"],
    ["another worker", { member: 2 }, "refused_unknown"],
    ["a slot before the job's", { slot: 3 }, "refused_unknown"],
    ["a slot behind the job's last chunk", { slot: 12 }, "refused_unknown"],
    ["a slot beyond the registers", { slot: 65535 }, "refused_unknown"],
    ["a contribution of the collector", { member: COLLECTOR }, "refused_unknown"],
    ["a worker that collects", { kind: Kind.COLLECT }, "refused_unknown"],
    ["an older placement", { generation: 0 }, "refused_generation"],
    ["a newer placement", { generation: 2 }, "refused_generation"],
    ["another unit", { scale: 9 }, "refused_scale"],
    ["another version", { version: 2 }, "malformed"],
    ["another lane count", { lanes: 5 }, "malformed"],
    ["another numeric mode", { mode: ModeId.fp32 }, "malformed"],
    ["an acknowledgement", { kind: Kind.ACK }, "malformed"],
    ["a result", { kind: Kind.RESULT }, "malformed"],
    ["an unknown kind", { kind: 15 }, "malformed"],
  ] as const)("%s", (_, changes, event) => {
    const golden = aggregator(2);
    send(golden, { member: 0 }, 1);
    const refused = send(golden, changes, 100);
    expect([refused.event, refused.answers]).toEqual([event, []]);
    expect(golden.counters[event]).toBe(1);
    expect(send(golden, { member: 1 }, 2).sum).toBe(3);
  });

  it("lanes that do not fit the kind", () => {
    const golden = aggregator(2);
    expect(send(golden, {}, [1, 2, 3]).event).toBe("malformed");
    expect(send(golden, {}, [1, 2, 3, 4, 5]).event).toBe("malformed");
    expect(send(golden, { kind: Kind.NULL }, [1, 2, 3, 4]).event).toBe("malformed");
  });

  it("a job that was dismissed", () => {
    const golden = aggregator(1);
    golden.dismiss(JOB, 0, 1);
    expect(send(golden, {}, 1).event).toBe("refused_unknown");
    expect(send(golden, { slot: 8 }, 1).event).toBe("complete");
  });

  it("anything at all without a throw, and counts it under one name", () => {
    const any = (bits: number) => fc.integer({ min: 0, max: 2 ** bits - 1 });
    const anyHeader = fc.record({
      version: fc.oneof(fc.constant(1), any(4)),
      kind: any(4),
      flags: any(8),
      job: fc.oneof(fc.constant(JOB), any(16)),
      generation: fc.constantFrom(0, 1, 2),
      member: fc.oneof(any(2), any(8)),
      scale: any(8),
      slot: fc.oneof(any(4), any(16)),
      lanes: fc.oneof(fc.constant(LANES), any(8)),
      mode: any(3),
      round: any(32),
    });
    const golden = aggregator(2);
    let handled = 0;
    fc.assert(
      fc.property(anyHeader, fc.int32Array({ maxLength: 6 }), (h, lanes) => {
        golden.handle({ header: h, lanes });
        handled++;
        expect(AGGREGATOR_EVENTS.reduce((sum, event) => sum + golden.counters[event], 0)).toBe(handled);
      }),
    );
  });
});

describe("mode fp32 in the aggregator", () => {
  const fp32 = new LookupConverter(lookupFormat("fp32", 4));
  const format = { ...FORMAT, mode: ModeId.fp32, converter: fp32 };
  const base = 112;
  const codes = (values: number[]) => values.map((value) => float32Code(value) | 0);

  it("adds what the lookup tables give", () => {
    const golden = aggregator(2, format, 6, base);
    const [a, b] = [codes([1.5, -0.25, 1e-3, 0]), codes([-1.5, 0.125, 2e-3, -0])];
    send(golden, { mode: ModeId.fp32, scale: base, member: 0 }, a);
    const last = send(golden, { mode: ModeId.fp32, scale: base, member: 1 }, b);
    expect(last.result?.header).toMatchObject({ flags: 0, scale: base });
    expect([...(last.result?.lanes ?? [])]).toEqual(
      a.map((code, i) => (fp32.convert(code, base) ?? 0) + (fp32.convert(b[i] ?? 0, base) ?? 0)),
    );
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 3.4028234663852886e38])(
    "marks the row for %s and counts the lane as 0",
    (bad) => {
      const golden = aggregator(2, format, 6, base);
      send(golden, { mode: ModeId.fp32, scale: base, member: 0 }, codes([1, bad, 1, 1]));
      const last = send(golden, { mode: ModeId.fp32, scale: base, member: 1 }, codes([1, 1, 1, 1]));
      const one = fp32.convert(float32Code(1), base) ?? 0;
      expect([...(last.result?.lanes ?? [])]).toEqual([2 * one, one, 2 * one, 2 * one]);
      expect(last.result?.header.flags).toBe(Flag.MARK);
    },
  );
});

/** A worker's packet on its way. */
interface Copy {
  readonly member: number;
  readonly round: number;
}

/**
 * Workers that start a round only when the round before is complete, on a network that keeps copies for as long as
 * it likes: `choose(n)` picks one of n packets under way to arrive next. Gives the sums by round.
 */
function runWorkers(
  workers: number,
  rounds: number,
  choose: (count: number) => number,
  contribute: (copy: Copy, value: number) => number | undefined,
): Map<number, number> {
  const sums = new Map<number, number>();
  const next = Array.from({ length: workers }, () => 1);
  const strays: Copy[] = [];
  for (let step = 0; step < 4000 && !sums.has(rounds); step++) {
    const ready = next.flatMap((round, member) =>
      round <= rounds && (round === 1 || sums.has(round - 1)) ? [{ member, round }] : [],
    );
    const options = [...ready, ...strays];
    const index = choose(options.length);
    const copy = options[index];
    if (copy === undefined) break;
    if (index < ready.length) next[copy.member] = copy.round + 1;
    if (index < ready.length) strays.push(copy);
    else if (choose(3) > 0) strays.splice(index - ready.length, 1);
    const sum = contribute(copy, gradientOf(copy));
    if (sum !== undefined && !sums.has(copy.round)) sums.set(copy.round, sum);
  }
  return sums;
}

function gradientOf({ member, round }: Copy): number {
  return round * 100 + 10 ** member;
}

function trueSum(workers: number, round: number): number {
  return Array.from({ length: workers }, (_, member) => gradientOf({ member, round })).reduce(
    (a, b) => a + b,
    0,
  );
}

describe("why a slot holds the whole round, not one bit of it", () => {
  const story: Copy[] = [
    { member: 0, round: 1 },
    { member: 1, round: 1 },
    { member: 0, round: 2 },
    { member: 1, round: 2 },
    { member: 0, round: 1 }, // a copy that took a longer way; its bit was cleared by round 2
    { member: 0, round: 3 },
    { member: 1, round: 3 },
  ];

  it("a late copy makes the one-bit version give a wrong sum", () => {
    const oneBit = new OneBitAggregator(2);
    const sums = story.map((copy) => oneBit.contribute(copy.member, copy.round, gradientOf(copy)));
    expect(sums[1]).toBe(trueSum(2, 1));
    expect(sums[6]).not.toBe(trueSum(2, 3));
    expect(sums[6]).toBe(gradientOf({ member: 0, round: 1 }) + gradientOf({ member: 1, round: 3 }));
  });

  it("the same packets give the right sums here", () => {
    const golden = aggregator(2);
    const sums = story.map((copy) => send(golden, copy, gradientOf(copy)).sum);
    expect(sums).toEqual([
      undefined,
      trueSum(2, 1),
      undefined,
      trueSum(2, 2),
      undefined,
      undefined,
      trueSum(2, 3),
    ]);
    expect(golden.counters.stale + golden.counters.duplicate).toBe(1);
  });

  const anyChoices = fc.infiniteStream(fc.nat()).map((stream) => (count: number) => {
    const { value } = stream.next();
    return count === 0 ? 0 : (typeof value === "number" ? value : 0) % count;
  });

  it("gives the right sum of every round for any order of arrival and any stray copies", () => {
    fc.assert(
      fc.property(anyChoices, (choose) => {
        const golden = aggregator(3);
        const sums = runWorkers(3, 12, choose, (copy, value) => send(golden, copy, value).sum);
        for (const [round, sum] of sums) expect(sum).toBe(trueSum(3, round));
      }),
      { numRuns: 300 },
    );
  });

  it("the one-bit version does not survive the same test", () => {
    const wrong = fc.check(
      fc.property(anyChoices, (choose) => {
        const oneBit = new OneBitAggregator(3);
        const sums = runWorkers(3, 12, choose, (copy, value) =>
          oneBit.contribute(copy.member, copy.round, value),
        );
        for (const [round, sum] of sums) if (sum !== trueSum(3, round)) return false;
        return true;
      }),
      { numRuns: 300 },
    );
    expect(wrong.failed).toBe(true);
  });
});
