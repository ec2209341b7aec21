import type { Algorithm, Operation } from "../../../src/host/lp/schedule.ts";

/**
 * The sums that each algorithm has to give, written from its order of summation alone: no blocks, no messages.
 * `x[i]` are the values of node i.
 */
export function expectedSum(
  algorithm: Algorithm,
  operation: Operation,
  root: number,
  x: readonly Float32Array[],
): Float32Array {
  const p = x.length;
  const n = x[0]?.length ?? 0;
  const base = operation === "allreduce" ? 0 : root;
  /** Nodes counted from the root. */
  const from = (i: number): Float32Array => x[(i + base) % p] ?? new Float32Array(n);
  switch (algorithm) {
    case "chain":
      return inOrder(Array.from({ length: p }, (_, i) => from(operation === "reduce" ? i + 1 : i)));
    case "tree": {
      const partial = Array.from({ length: p }, (_, i) => from(i));
      for (let d = 1; d < p; d *= 2)
        for (let i = 0; i + d < p; i += 2 * d)
          partial[i] = add(partial[i] ?? from(i), partial[i + d] ?? from(i + d));
      return partial[0] ?? new Float32Array(n);
    }
    case "exchange": {
      const core = 2 ** Math.floor(Math.log2(p));
      let partial = Array.from({ length: core }, (_, i) =>
        i + core < p ? add(from(i), from(i + core)) : from(i),
      );
      while (partial.length > 1) {
        const half = partial.length / 2;
        partial = partial.slice(0, half).map((v, i) => add(v, partial[i + half] ?? v));
      }
      return partial[0] ?? new Float32Array(n);
    }
    case "ring": {
      const result = new Float32Array(n);
      for (let c = 0; c < p; c++) {
        const [low, high] = [Math.floor((c * n) / p), Math.floor(((c + 1) * n) / p)];
        const parts = Array.from({ length: p }, (_, i) => from(c + i).slice(low, high));
        result.set(inOrder(parts), low);
      }
      return result;
    }
  }
}

function inOrder(parts: readonly Float32Array[]): Float32Array {
  return parts.reduce((sum, part) => add(sum, part));
}

function add(a: Float32Array, b: Float32Array): Float32Array {
  return a.map((v, i) => Math.fround(v + (b[i] ?? 0)));
}
