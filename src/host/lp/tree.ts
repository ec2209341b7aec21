import { absolute, type Plan, relative, type Step } from "./schedule.ts";

/**
 * The binomial (minimum spanning) tree: all values in one message, ceil(log2 nodes) rounds.
 *
 * Order of summation, nodes counted from the root: in round k = 0, 1, ... each node that is a multiple of 2^(k+1) adds the sum of
 * its neighbour 2^k above. Allreduce is a reduce to node 0 and a broadcast.
 */
export function* treeSchedule(plan: Plan, node: number): Generator<Step> {
  const rooted = plan.operation === "allreduce" ? { ...plan, root: 0 } : plan;
  if (plan.operation !== "broadcast") yield* treeReduce(rooted, node);
  if (plan.operation !== "reduce") yield* treeBroadcast(rooted, node);
}

function* treeReduce(plan: Plan, node: number): Generator<Step> {
  const number = relative(plan, node);
  for (let distance = 1; distance < plan.nodes; distance *= 2) {
    if (number % (2 * distance) === distance) {
      yield { sends: [whole(plan, number - distance, true)], receives: [] };
      return;
    }
    if (number + distance < plan.nodes) yield { sends: [], receives: [whole(plan, number + distance, true)] };
  }
}

function* treeBroadcast(plan: Plan, node: number): Generator<Step> {
  const number = relative(plan, node);
  for (let distance = 2 ** Math.ceil(Math.log2(plan.nodes)) / 2; distance >= 1; distance /= 2) {
    if (number % (2 * distance) === distance)
      yield { sends: [], receives: [whole(plan, number - distance, false)] };
    else if (number % (2 * distance) === 0 && number + distance < plan.nodes)
      yield { sends: [whole(plan, number + distance, false)], receives: [] };
  }
}

/** All values, to or from the node with that number counted from the root. */
function whole(plan: Plan, number: number, adds: boolean) {
  return { peer: absolute(plan, number), offset: 0, count: plan.elements, adds };
}
