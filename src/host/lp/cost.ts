import type { Algorithm, Operation } from "./schedule.ts";

/** A network and an operation in Hockney's model. Times are in any unit, the same for all; sizes in bytes. */
export interface CostModel {
  /** Per message. */
  readonly latency: number;
  /** Per byte on the way. */
  readonly perByte: number;
  /** Per byte added; 0 when absent. */
  readonly addPerByte?: number;
}

export interface CostQuestion {
  readonly operation: Operation;
  readonly algorithm: Algorithm;
  readonly nodes: number;
  readonly bytes: number;
  /** Bytes of a chain's block. */
  readonly block: number;
}

/**
 * Time of an operation with one port per node, sends and receives at once, and a chain's allreduce without overlap.
 * Exact when the block divides the message and the number of nodes divides it too (`exchange`: and is a power of two);
 * `docs/linear-pipelining.md` derives each formula.
 */
export function costOf({ latency: a, perByte, addPerByte = 0 }: CostModel, q: CostQuestion): number {
  const { nodes: p, bytes: n, operation } = q;
  if (p === 1) return 0;
  const [passing, adding] = [perByte, perByte + addPerByte];
  const sum = (cost: (perByte: number) => number): number =>
    (operation === "broadcast" ? 0 : cost(adding)) + (operation === "reduce" ? 0 : cost(passing));
  const share = ((p - 1) / p) * n;
  switch (q.algorithm) {
    case "chain": {
      const blocks = Math.max(1, Math.ceil(n / q.block));
      return sum((b) => (blocks + p - 2) * (a + Math.min(n, q.block) * b));
    }
    case "tree":
      return sum((b) => Math.ceil(Math.log2(p)) * (a + n * b));
    case "exchange": {
      const half = (b: number): number => Math.log2(p) * a + share * b;
      return half(operation === "broadcast" ? passing : adding) + half(passing);
    }
    case "ring": {
      const half = (b: number): number => (p - 1) * a + share * b;
      return half(operation === "broadcast" ? passing : adding) + half(passing);
    }
  }
}

/** Steps of a chain that come on top of one per block. */
function stepsBeyond(operation: Operation, nodes: number): number {
  return operation === "allreduce" ? 2 * nodes - 3 : nodes - 2;
}

/**
 * The block, in bytes, for which a chain is fastest: the root of d/db (L + n/b)(a + bB) = 0, which is
 * b = sqrt(n a / (L B)) with L steps beyond the blocks. At most the message, at least one value.
 */
export function bestBlock(model: CostModel, operation: Operation, nodes: number, bytes: number): number {
  const beyond = stepsBeyond(operation, nodes);
  const perByte = model.perByte + (operation === "broadcast" ? 0 : (model.addPerByte ?? 0));
  if (beyond <= 0 || bytes === 0) return Math.max(4, bytes);
  const best = Math.sqrt((bytes * model.latency) / (beyond * perByte));
  return Math.min(bytes, Math.max(4, Math.round(best / 4) * 4));
}
