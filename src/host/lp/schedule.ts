/** Values that go to or come from another node in one message. Offsets and counts are in values. */
export interface Transfer {
  readonly peer: number;
  readonly offset: number;
  readonly count: number;
}

export interface Receive extends Transfer {
  /** Is what arrives added to the own values, or does it take their place? */
  readonly adds: boolean;
}

export interface Send extends Transfer {
  /** Will the receiver add it? */
  readonly adds: boolean;
}

/**
 * One step of one node: these messages go and come at the same time. The next step starts when all have; what comes
 * earlier has to wait outside.
 */
export interface Step {
  readonly sends: readonly Send[];
  readonly receives: readonly Receive[];
}

/** What one node does in one operation. Made while it is carried out, so that many blocks need no memory. */
export type Schedule = Iterable<Step>;

export type Operation = "broadcast" | "reduce" | "allreduce";

/** `chain` is Linear Pipelining; the others are there to compare. */
export type Algorithm = "chain" | "tree" | "exchange" | "ring";

/** One operation, the same for all nodes. */
export interface Plan {
  readonly operation: Operation;
  readonly algorithm: Algorithm;
  readonly nodes: number;
  /** Has the values (broadcast), or gets the sum (reduce). No meaning in allreduce. */
  readonly root: number;
  /** Values of the operation. */
  readonly elements: number;
  /** Values of a block: chain only. */
  readonly block: number;
  /** Does a chain's allreduce hand finished blocks back while others still go forth? */
  readonly overlap: boolean;
}

/** Node number counted from the root. */
export function relative(plan: Plan, node: number): number {
  return (node - plan.root + plan.nodes) % plan.nodes;
}

/** The node with that number counted from the root. */
export function absolute(plan: Plan, number: number): number {
  return (number + plan.root) % plan.nodes;
}

/** Blocks of an operation; one, an empty one, when there are no values: so nodes that do not agree notice. */
export function blocksOf({ elements, block }: Plan): number {
  return Math.max(1, Math.ceil(elements / block));
}

/** Part `index` of `parts` of all values, as equal as can be. */
export function partOf(elements: number, parts: number, index: number): { offset: number; count: number } {
  const offset = Math.floor((index * elements) / parts);
  return { offset, count: Math.floor(((index + 1) * elements) / parts) - offset };
}

/** Parts `from` to `to` (excluded), which lie side by side. */
export function partsOf(elements: number, parts: number, from: number, to: number): Omit<Transfer, "peer"> {
  const offset = Math.floor((from * elements) / parts);
  return { offset, count: Math.floor((to * elements) / parts) - offset };
}
