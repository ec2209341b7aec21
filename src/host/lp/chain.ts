import { blocksOf, type Plan, type Receive, type Schedule, type Send } from "./schedule.ts";

/**
 * Linear Pipelining (arXiv 1611.04255): the nodes form a chain and the values go along it in blocks. While a node
 * passes block t on, block t + 1 comes in: two buffers alternate. Hop h is busy in steps h to h + blocks - 1, so the
 * whole takes blocks + nodes - 2 steps.
 *
 * Order of summation: ((x[c0] + x[c1]) + x[c2]) + ..., each sum rounded to binary32, where c0, c1, ... is the chain:
 * root + 1, root + 2, ..., root for reduce, and 0, 1, ..., nodes - 1 for allreduce.
 */
export function chainSchedule(plan: Plan, node: number): Schedule {
  switch (plan.operation) {
    case "broadcast":
      return along(plan, (node - plan.root + plan.nodes) % plan.nodes, node, 1, false);
    case "reduce":
      return along(plan, (node - plan.root - 1 + plan.nodes) % plan.nodes, node, 1, true);
    case "allreduce":
      return plan.overlap ? thereAndBack(plan, node) : thereThenBack(plan, node);
  }
}

interface ChainStep {
  readonly sends: readonly Send[];
  readonly receives: readonly Receive[];
}

/** All blocks along the chain in which `node` has this position and its neighbours are `direction` apart. */
function* along(
  plan: Plan,
  position: number,
  node: number,
  direction: 1 | -1,
  adds: boolean,
): Generator<ChainStep> {
  const { nodes } = plan;
  const before = (node - direction + nodes) % nodes;
  const after = (node + direction + nodes) % nodes;
  const blocks = blocksOf(plan);
  for (let t = -1; t < blocks; t++) {
    const sends = position < nodes - 1 ? block(plan, t, after, adds) : [];
    const receives = position > 0 ? block(plan, t + 1, before, adds) : [];
    if (sends.length + receives.length > 0) yield { sends, receives };
  }
}

function* thereThenBack(plan: Plan, node: number): Generator<ChainStep> {
  yield* along(plan, node, node, 1, true);
  yield* along(plan, plan.nodes - 1 - node, node, -1, false);
}

/**
 * Sums go up the chain while finished blocks come down it: links carry both ways at once. The last node finishes
 * block t in step t + nodes - 2 and sends it back in the next one; node h gets it in step t + 2 nodes - 3 - h.
 */
function* thereAndBack(plan: Plan, node: number): Generator<ChainStep> {
  const last = plan.nodes - 1;
  const blocks = blocksOf(plan);
  for (let step = 0; step < blocks + 2 * plan.nodes - 3; step++) {
    const sends: Send[] = [];
    const receives: Receive[] = [];
    if (node < last) {
      sends.push(...block(plan, step - node, node + 1, true));
      receives.push(...block(plan, step - (2 * last - 1 - node), node + 1, false));
    }
    if (node > 0) {
      receives.push(...block(plan, step - node + 1, node - 1, true));
      sends.push(...block(plan, step - (2 * last - node), node - 1, false));
    }
    if (sends.length + receives.length > 0) yield { sends, receives };
  }
}

/** Block t as a transfer, or nothing when there is no such block. */
function block(plan: Plan, t: number, peer: number, adds: boolean): readonly [] | readonly [Send & Receive] {
  if (t < 0 || t >= blocksOf(plan)) return [];
  const offset = t * plan.block;
  return [{ peer, offset, count: Math.min(plan.block, plan.elements - offset), adds }];
}
