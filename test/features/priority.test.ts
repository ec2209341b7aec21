import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { classNames, drop, ipv4Forwarding, ProgramError, priority, program } from "../../src/dsl/index.ts";
import { classOfDscp, classOfLayer, dscpOfLayer, trafficPlan } from "../../src/wire/trafficclass.ts";
import { burst, counts, NEAR_PORT, plan, switchOf } from "./trafficprograms.ts";

const alone = { priority: true, drop: false, ecmp: false, aggregation: false };

function refusal(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    if (error instanceof ProgramError) return error.message;
    throw error;
  }
  throw new Error("it was taken");
}

describe("the plan of traffic classes", () => {
  test("layer i of L has the floor(i * P / L)-th strongest of P gradient classes, front first", () => {
    const classes = Array.from({ length: 12 }, (_, layer) => classOfLayer(plan, layer, 12));
    expect(classes).toEqual([6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1]);
    expect([0, 1, 2, 3].map((layer) => classOfLayer(plan, layer, 4))).toEqual([6, 5, 3, 2]);
    expect(classOfLayer(plan, 0, 1)).toBe(6);
  });

  test("no gradient is as strong as control, or as weak as best effort; later layers are never stronger", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 3, max: 8 }),
        fc.integer({ min: 1, max: 60 }),
        fc.nat(7),
        (classes, layers, c) => {
          const control = Math.max(2, Math.min(c, classes - 1));
          const some = trafficPlan({ classes, control });
          let before = control;
          for (let layer = 0; layer < layers; layer++) {
            const found = classOfLayer(some, layer, layers);
            expect(found).toBeLessThan(control);
            expect(found).toBeGreaterThan(0);
            expect(found).toBeLessThanOrEqual(before);
            expect(classOfDscp(some, dscpOfLayer(some, layer, layers))).toBe(found);
            before = found;
          }
        },
      ),
    );
  });

  test("layers that do not exist and plans that make no sense are refused", () => {
    for (const [layer, layers] of [
      [4, 4],
      [-1, 4],
      [0.5, 4],
      [0, 0],
    ] as const)
      expect(() => classOfLayer(plan, layer, layers)).toThrow(RangeError);
    expect(() => trafficPlan({ classes: 9 })).toThrow("classes is 9; it may be 3 to 8");
    expect(() => trafficPlan({ classes: 4, control: 4 })).toThrow("with 4 classes it may be 2 to 3");
    expect(() => trafficPlan({ dscp: { control: 11 } })).toThrow("dscp 11 stands for two classes");
    expect(() => trafficPlan({ dscp: { gradients: [1, 2] } })).toThrow("2 values for 6 gradient classes");
    expect(() => trafficPlan({ dscp: { control: 64 } })).toThrow("outside 1 to 63");
  });
});

describe("priority", () => {
  test("front layers overtake at a paced port, control overtakes all, best effort waits", () => {
    const sw = switchOf(alone);
    sw.trafficManager.setRate(NEAR_PORT, { kind: "packetsPerSecond", rate: 1000 });
    const layers = [3, 2, 1, 0];
    const sent = [
      { id: 100 },
      ...layers.flatMap((layer) =>
        [0, 1].map((i) => ({ id: 10 * layer + i, dscp: dscpOfLayer(plan, layer, 4) })),
      ),
      { id: 200, dscp: plan.control.dscp },
      { id: 101, dscp: 46 },
    ];
    // The first one goes before the others are there.
    expect(burst(sw, sent).map((a) => a.id)).toEqual([100, 200, 0, 1, 10, 11, 20, 21, 30, 31, 101]);
  });

  test("each class has its counter", () => {
    const sw = switchOf(alone);
    burst(sw, [{}, { dscp: 46 }, { dscp: plan.control.dscp }, { dscp: dscpOfLayer(plan, 0, 6) }]);
    expect(counts(sw, "priority_queue.packets", classNames(plan))).toMatchObject({
      best_effort: 2,
      gradient_6: 1,
      gradient_1: 0,
      control: 1,
    });
  });

  test("other code points may be chosen", () => {
    const own = priority({ classes: 4, control: 3, dscp: { control: 40, gradients: [5, 7] } });
    expect([40, 5, 7, 48, 11].map((dscp) => classOfDscp(own.plan, dscp))).toEqual([3, 2, 1, 0, 0]);
  });

  test("too few queues are refused at the feature's place, whatever the order of features", () => {
    const asked = priority();
    const place = `${asked.at?.file}:${asked.at?.line}:`;
    const make = (first: boolean) => () => {
      const others = [ipv4Forwarding(), drop({ keep: { 1: 2 } })];
      program("few", {
        ports: 4,
        priorityQueues: 7,
        features: first ? [asked, ...others] : [...others, asked],
      });
    };
    for (const first of [true, false]) {
      const message = refusal(make(first));
      expect(message).toContain("error GP1701: priority 7 with 7 of 8 queues: raise priorityQueues");
      expect(message).toContain(place);
    }
    expect(refusal(() => priority({ classes: 2 }))).toContain("GP1701");
  });
});
