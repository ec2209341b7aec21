import { bit } from "../../ir/index.ts";
import {
  BEST_EFFORT,
  type TrafficPlan,
  type TrafficPlanOptions,
  trafficPlan,
} from "../../wire/trafficclass.ts";
import { callSite } from "../callsite.ts";
import type { ProgramBuilder } from "../program.ts";
import { ProgramError } from "../programerror.ts";
import { classNames, type PriorityFeature, trafficClass } from "./trafficclass.ts";

export type PriorityOptions = TrafficPlanOptions;

/**
 * Strict priority by traffic class, as P3 (arXiv 1905.03960) and DLCP (arXiv 2008.08445) order gradients: the class of a packet's
 * DSCP is its queue, 0 the weakest. Which layer has which class is `classOfLayer` of `wire/trafficclass.ts`.
 *
 * The program needs `priorityQueues` of at least the control class + 1, and the switch that many queues (simple_switch:
 * `--priority-queues`), or it drops what is above.
 */
export function priority(options: PriorityOptions = {}): PriorityFeature {
  const at = callSite();
  const plan = checkedPlan(options, at);
  return { name: "priority", at, plan, build: (p) => buildPriority(p, plan) };
}

function checkedPlan(options: PriorityOptions, at: ReturnType<typeof callSite>): TrafficPlan {
  try {
    return trafficPlan(options);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ProgramError({ code: "GP1701", message: `priority: ${error.message}`, at });
  }
}

function buildPriority(p: ProgramBuilder, plan: TrafficPlan): void {
  const { trafficClass: found } = p.once(trafficClass);
  const c = p.control("priority_queue", "ingress", "Counts the packets of each traffic class.");
  const packets = c.counter("packets", classNames(plan), "packets that came in, by traffic class");
  c.apply((s) => s.count(packets, found.cast(bit(32))));
  p.ingress("classify", (s) => s.invoke(c));
  for (let number = BEST_EFFORT; number <= plan.control.class; number++)
    p.queue(number, { priority: number });
}
