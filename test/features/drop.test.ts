import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  contentsOf,
  DROP_EVENTS,
  drop,
  fateOf,
  ipv4Forwarding,
  priority,
  program,
} from "../../src/dsl/index.ts";
import { Ecn } from "../../src/wire/trafficclass.ts";
import { burst, counts, KEEP, NEAR_PORT, plan, type Sent, type Subset, switchOf } from "./trafficprograms.ts";

const withQueues: Subset = { priority: true, drop: true, ecmp: false, aggregation: false };
const oneQueue: Subset = { ...withQueues, priority: false };
const dscpOf = (gradientClass: number) => plan.gradients.find((g) => g.class === gradientClass)?.dscp ?? 0;

/** A switch whose port is slow and busy: the first packet of a burst holds it. */
function busySwitch(subset: Subset) {
  const sw = switchOf(subset);
  sw.trafficManager.setRate(NEAR_PORT, { kind: "packetsPerSecond", rate: 1000 });
  return sw;
}

/** The packet that holds the port: control, so that it counts in no other queue. */
const holder: Sent = { id: 999, dscp: plan.control.dscp };

const some = (count: number, packet: Sent): readonly Sent[] =>
  Array.from({ length: count }, (_, id) => ({ ...packet, id }));

describe("drop", () => {
  test("above K droppable packets go and important ones are marked; below K all pass unmarked", () => {
    for (const [gradientClass, keep] of [
      [5, 4],
      [6, 1],
      [1, 8],
    ] as const) {
      const dscp = dscpOf(gradientClass);
      const droppable = burst(busySwitch(withQueues), [holder, ...some(20, { dscp })]);
      // The packet that meets K others is the last one that is kept.
      expect(droppable.slice(1).map((a) => a.id)).toEqual(Array.from({ length: keep + 1 }, (_, i) => i));
      expect(droppable.every((a) => a.ecn === Ecn.NON_ECT)).toBe(true);
      const important = burst(busySwitch(withQueues), [holder, ...some(20, { dscp, ecn: Ecn.ECT_0 })]);
      expect(important).toHaveLength(21);
      expect(important.slice(1).map((a) => a.ecn)).toEqual(
        Array.from({ length: 20 }, (_, i) => (i <= keep ? Ecn.ECT_0 : Ecn.CE)),
      );
    }
  });

  test("control is never dropped nor marked, not even when a threshold stands in the table for it", () => {
    const sw = busySwitch(withQueues);
    sw.table("selective_drop.threshold").insert([{ kind: "exact", value: BigInt(plan.control.class) }], {
      kind: "action",
      action: "selective_drop.keep",
      parameters: [0n],
    });
    const sent = some(40, { dscp: plan.control.dscp });
    expect(burst(sw, sent).map((a) => a.id)).toEqual(sent.map((s) => s.id));
    expect(counts(sw, "selective_drop.events", DROP_EVENTS)).toMatchObject({
      exempt: 40,
      drop_unimportant: 0,
    });
  });

  test("classes without a threshold drop nothing", () => {
    const sent = [holder, ...some(30, { dscp: dscpOf(3) })];
    expect(burst(busySwitch(withQueues), sent)).toHaveLength(31);
  });

  test("each fate has its counter", () => {
    const sw = busySwitch(withQueues);
    burst(sw, [holder, ...some(4, { dscp: dscpOf(6) }), ...some(2, { dscp: dscpOf(6), ecn: Ecn.ECT_1 })]);
    expect(counts(sw, "selective_drop.events", DROP_EVENTS)).toEqual({
      exempt: 1,
      kept: 2,
      drop_unimportant: 2,
      marked: 2,
    });
  });

  test("thresholds change at run time", () => {
    const sw = busySwitch(withQueues);
    sw.table("selective_drop.threshold").modify([{ kind: "exact", value: 6n }], {
      kind: "action",
      action: "selective_drop.keep",
      parameters: [9n],
    });
    expect(burst(sw, [holder, ...some(20, { dscp: dscpOf(6) })])).toHaveLength(11);
  });

  test("without priority all classes share one queue, and the front layers' packets go first", () => {
    const mixed = Array.from({ length: 24 }, (_, id) => ({ id, dscp: dscpOf([6, 5, 1][id % 3] ?? 0) }));
    const left = burst(busySwitch(oneQueue), [holder, ...mixed]).slice(1);
    const perClass = [6, 5, 1].map((c) => left.filter((a) => a.dscp === dscpOf(c)).length);
    // Thresholds 1, 4 and 8 of one queue in which every third packet is of that class.
    expect(perClass).toEqual([1, 2, 3]);
  });

  test("bursts of any mixture meet the rule packet by packet, in the queue of their class", () => {
    const packet = fc.record({
      dscp: fc.constantFrom(0, plan.control.dscp, ...plan.gradients.map((g) => g.dscp)),
      ecn: fc.nat(3),
    });
    fc.assert(
      fc.property(fc.array(packet, { maxLength: 60 }), fc.boolean(), (packets, hasQueues) => {
        const sw = busySwitch(hasQueues ? withQueues : oneQueue);
        const depth = new Map<number, number>();
        const keepOf: Readonly<Record<number, number>> = KEEP;
        const wanted = new Map<number, number>();
        const sent = packets.map((p, id) => ({ ...p, id }));
        for (const { id, dscp, ecn } of sent) {
          const found = [plan.control, ...plan.gradients].find((g) => g.dscp === dscp)?.class ?? 0;
          const queue = hasQueues ? found : 0;
          const before = depth.get(queue) ?? 0;
          depth.set(queue, before + 1);
          const fate = fateOf({ ecn, depth: before, keep: keepOf[found] });
          if (fate !== "drop_unimportant") wanted.set(id, fate === "marked" ? Ecn.CE : ecn);
        }
        const got = burst(sw, [holder, ...sent]).slice(1);
        expect(new Map(got.map((a) => [a.id, a.ecn]))).toEqual(wanted);
      }),
      { numRuns: 30 },
    );
  });

  test("thresholds that make no sense are refused", () => {
    expect(() => drop({ keep: {} })).toThrow("keep names no class");
    expect(() => drop({ keep: { 8: 3 } })).toThrow("classes are 0 to 7");
    expect(() => drop({ keep: { 1: -1 } })).toThrow("keep of class 1 is -1");
    const make = (keep: Record<number, number>, classes: number) => () =>
      program("wrong", {
        ports: 4,
        priorityQueues: 8,
        features: [ipv4Forwarding(), drop({ keep }), priority({ classes })],
      });
    expect(make({ 7: 3 }, 8)).toThrow(/GP1701: drop: class 7 is control, which is never dropped/);
    expect(make({ 5: 3 }, 4)).toThrow(/GP1701: drop: class 5 is not one of the program's, 0 to 3/);
  });

  test("the control plane writes one entry per class", () => {
    const { ir } = program("kept", {
      ports: 4,
      priorityQueues: 8,
      features: [ipv4Forwarding(), drop({ keep: { 6: 4 } }), priority()],
    });
    expect([...contentsOf(ir)]).toEqual([
      {
        table: "selective_drop.threshold",
        match: { traffic_class: 6 },
        action: "selective_drop.keep",
        params: { packets: 4 },
      },
    ]);
  });
});
