import { type BitType, bit } from "../../ir/index.ts";
import { BEST_EFFORT, type TrafficPlan, trafficPlan } from "../../wire/trafficclass.ts";
import { placedAt } from "../callsite.ts";
import { type Feature, intrinsic, type ProgramBuilder } from "../program.ts";
import { type ActionSteps, exactly } from "../steps.ts";
import type { Operand } from "../value.ts";
import { anyIp } from "./internet6.ts";

/** The feature that gives each class a queue of its own: see `priority`. */
export interface PriorityFeature extends Feature {
  readonly name: "priority";
  readonly plan: TrafficPlan;
}

export function isPriority(feature: Feature): feature is PriorityFeature {
  return feature.name === "priority";
}

const u3: BitType = bit(3);

/**
 * The traffic class of each packet by its DSCP, for all features that ask: take it with `p.once(trafficClass)`. The classes are
 * those of the program's `priority`, or the default ones. A clone comes to egress with class 0, and through queue 0,
 * whatever the packet had.
 */
export function trafficClass(p: ProgramBuilder) {
  const queues = p.find(isPriority);
  const plan = queues?.plan ?? trafficPlan();
  const { isIp, dscp, find } = p.once(anyIp);
  const found = p.metadata("traffic_class", u3, "0 best effort, then gradients, then control");
  const { classOf, dscpOf } = planConstants(p, plan);
  const c = p.control("traffic_class", "ingress", "Traffic class of each packet, by its DSCP.");
  const put = (a: ActionSteps, number: Operand<BitType>): void => {
    a.set(found, number);
    if (queues !== undefined) a.set(intrinsic.priority, number);
  };
  // A constant, so that the checks find a queue that the program does not have; where the user asked for it.
  const makeControl = () => c.action("is_control", {}, (a) => put(a, classOf(plan.control.class)));
  const control = queues === undefined ? makeControl() : placedAt(queues.at, makeControl);
  const gradient = c.action("is_gradient", { traffic_class: u3 }, (a, d) => put(a, d.traffic_class));
  const bestEffort = c.action("is_best_effort", {}, (a) => put(a, classOf(BEST_EFFORT)));
  const classify = c.table("classify", {
    doc: "the code points that the hosts write",
    key: { dscp: exactly(dscp) },
    actions: [control, gradient, bestEffort],
    size: plan.gradients.length + 1,
    defaultAction: bestEffort.with({}),
    constDefault: true,
    entries: [
      { key: { dscp: dscpOf(plan.control.class) }, run: control.with({}) },
      ...plan.gradients.map((g) => ({
        key: { dscp: dscpOf(g.class) },
        run: gradient.with({ traffic_class: classOf(g.class) }),
      })),
    ],
  });
  c.apply((s) => {
    find?.(s);
    s.if(isIp, (then) => then.apply(classify));
  });
  p.ingress("classify", (s) => s.invoke(c));
  return { plan, trafficClass: found, classOf };
}

/** Names of the classes, the weakest first. */
export function classNames(plan: TrafficPlan): readonly string[] {
  const names = Array.from({ length: plan.control.class + 1 }, (_, i) => `gradient_${i}`);
  return names.with(BEST_EFFORT, "best_effort").with(plan.control.class, "control");
}

function planConstants(p: ProgramBuilder, plan: TrafficPlan) {
  const names = classNames(plan);
  const classes = p.constants(
    "CLASS",
    u3,
    names,
    "Traffic classes, the weakest first; a class is its queue.",
  );
  const points = p.constants(
    "DSCP",
    bit(6),
    Object.fromEntries([plan.control, ...plan.gradients].map((e) => [names[e.class] ?? "", e.dscp])),
    "Code points that hosts write.",
  );
  const find = (of: typeof classes | typeof points) => (number: number) => {
    const found = of[names[number] ?? ""];
    if (found === undefined) throw new RangeError(`the plan has no class ${number}`);
    return found;
  };
  return { classOf: find(classes), dscpOf: find(points) };
}
