import { absolute, type Plan, partsOf, relative, type Step } from "./schedule.ts";

/**
 * Bidirectional exchange: recursive halving and doubling over the greatest power of two of nodes; those beyond it hand their
 * values to a partner first and get the result from it last.
 *
 * Order of summation, nodes counted from the root: x[i] + x[i + P] for the partners beyond the P nodes that take part, then sums of
 * nodes P/2 apart, P/4 apart, ..., 1 apart. Which operand comes first makes no difference to a sum of two.
 */
export function* exchangeSchedule(plan: Plan, node: number): Generator<Step> {
  const rooted = plan.operation === "allreduce" ? { ...plan, root: 0 } : plan;
  const number = relative(rooted, node);
  const core = 2 ** Math.floor(Math.log2(plan.nodes));
  const beyond = number >= core;
  const partner = beyond ? number - core : number + core < plan.nodes ? number + core : undefined;
  const all = { offset: 0, count: plan.elements };
  const step = (direction: "send" | "receive", other: number, part: typeof all, adds: boolean): Step => {
    const transfer = { peer: absolute(rooted, other), ...part, adds };
    return direction === "send" ? { sends: [transfer], receives: [] } : { sends: [], receives: [transfer] };
  };
  if (plan.operation !== "broadcast") {
    if (partner !== undefined) yield step(beyond ? "send" : "receive", partner, all, true);
    if (!beyond) yield* halve(rooted, number, core);
    if (plan.operation === "reduce") {
      if (!beyond) yield* gather(rooted, number, core);
      return;
    }
  } else if (!beyond) yield* scatter(rooted, number, core);
  if (!beyond) yield* double(rooted, number, core);
  if (partner !== undefined) yield step(beyond ? "receive" : "send", partner, all, false);
}

/** Each round the half of the other side goes to a node `distance` away; in the end node i has the sum of part i. */
function* halve(plan: Plan, number: number, core: number): Generator<Step> {
  for (let distance = core / 2; distance >= 1; distance /= 2) {
    const first = number - (number % (2 * distance));
    const [low, high] = [
      partsOf(plan.elements, core, first, first + distance),
      partsOf(plan.elements, core, first + distance, first + 2 * distance),
    ];
    const isHigh = (number & distance) !== 0;
    const peer = absolute(plan, number ^ distance);
    yield {
      sends: [{ peer, ...(isHigh ? low : high), adds: true }],
      receives: [{ peer, ...(isHigh ? high : low), adds: true }],
    };
  }
}

/** The way back: each round two nodes give each other all that they have. */
function* double(plan: Plan, number: number, core: number): Generator<Step> {
  for (let distance = 1; distance < core; distance *= 2) {
    const own = number - (number % distance);
    const theirs = own ^ distance;
    const peer = absolute(plan, number ^ distance);
    yield {
      sends: [{ peer, ...partsOf(plan.elements, core, own, own + distance), adds: false }],
      receives: [{ peer, ...partsOf(plan.elements, core, theirs, theirs + distance), adds: false }],
    };
  }
}

/** Parts go up a binomial tree to node 0. */
function* gather(plan: Plan, number: number, core: number): Generator<Step> {
  for (let distance = 1; distance < core; distance *= 2) {
    if (number % (2 * distance) === distance) {
      const own = partsOf(plan.elements, core, number, number + distance);
      yield { sends: [{ peer: absolute(plan, number - distance), ...own, adds: false }], receives: [] };
      return;
    }
    const theirs = partsOf(plan.elements, core, number + distance, number + 2 * distance);
    yield { sends: [], receives: [{ peer: absolute(plan, number + distance), ...theirs, adds: false }] };
  }
}

/** Parts go down it from node 0. */
function* scatter(plan: Plan, number: number, core: number): Generator<Step> {
  for (let distance = core / 2; distance >= 1; distance /= 2) {
    if (number % (2 * distance) === distance) {
      const own = partsOf(plan.elements, core, number, number + distance);
      yield { sends: [], receives: [{ peer: absolute(plan, number - distance), ...own, adds: false }] };
    } else if (number % (2 * distance) === 0) {
      const theirs = partsOf(plan.elements, core, number + distance, number + 2 * distance);
      yield { sends: [{ peer: absolute(plan, number + distance), ...theirs, adds: false }], receives: [] };
    }
  }
}
