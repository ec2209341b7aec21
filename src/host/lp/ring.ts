import { absolute, type Plan, partOf, relative, type Step } from "./schedule.ts";

/**
 * The ring: the values in as many parts as there are nodes, each part goes round once to be summed and once more to be
 * known. A broadcast hands the parts out first, a reduce collects them last, both from the root one by one.
 *
 * Order of summation of part c, nodes counted from the root: ((x[c] + x[c + 1]) + x[c + 2]) + ..., round the ring.
 */
export function* ringSchedule(plan: Plan, node: number): Generator<Step> {
  const rooted = plan.operation === "allreduce" ? { ...plan, root: 0 } : plan;
  const number = relative(rooted, node);
  if (plan.operation === "broadcast") yield* handOut(rooted, number);
  else yield* round(rooted, number, number, true);
  if (plan.operation === "reduce") yield* collect(rooted, number);
  else yield* round(rooted, number, plan.operation === "broadcast" ? number : number + 1, false);
}

/** One time round: first part `first` goes to the next node, then each time the part that has just come. */
function* round(plan: Plan, number: number, first: number, adds: boolean): Generator<Step> {
  const { nodes } = plan;
  const transfer = (peer: number, index: number) => ({
    peer: absolute(plan, (peer + nodes) % nodes),
    ...partOf(plan.elements, nodes, (index + 2 * nodes) % nodes),
    adds,
  });
  for (let step = 0; step < nodes - 1; step++) {
    yield {
      sends: [transfer(number + 1, first - step)],
      receives: [transfer(number - 1, first - step - 1)],
    };
  }
}

function* handOut(plan: Plan, number: number): Generator<Step> {
  const part = (index: number) => ({ ...partOf(plan.elements, plan.nodes, index), adds: false });
  if (number > 0) yield { sends: [], receives: [{ peer: plan.root, ...part(number) }] };
  else
    for (let n = 1; n < plan.nodes; n++)
      yield { sends: [{ peer: absolute(plan, n), ...part(n) }], receives: [] };
}

/** After the sum node i has part i + 1. */
function* collect(plan: Plan, number: number): Generator<Step> {
  const part = (owner: number) => ({
    ...partOf(plan.elements, plan.nodes, (owner + 1) % plan.nodes),
    adds: false,
  });
  if (number > 0) yield { sends: [{ peer: plan.root, ...part(number) }], receives: [] };
  else
    for (let n = 1; n < plan.nodes; n++)
      yield { sends: [], receives: [{ peer: absolute(plan, n), ...part(n) }] };
}
