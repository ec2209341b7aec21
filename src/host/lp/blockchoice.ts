import type { CollectiveGroup } from "./group.ts";
import type { Operation } from "./schedule.ts";

export interface BlockMeasurement {
  readonly operation: Operation;
  /** Values of the operation. */
  readonly elements: number;
  /** Blocks to try, in values; powers of two from 1024 to the message when absent. */
  readonly candidates?: readonly number[];
  /** Milliseconds, such as performance.now. */
  readonly clock: () => number;
}

/**
 * The block with which a chain is fastest on this network, found by trying: to be called by all nodes with the same arguments, and gives
 * all of them the same block. Each candidate runs once to warm up and once to be measured; the time that counts is the sum over the nodes.
 */
export async function measuredBlock(
  group: CollectiveGroup,
  { operation, elements, candidates = powersOfTwo(elements), clock }: BlockMeasurement,
): Promise<number> {
  const values = new Float32Array(elements);
  const once = async (block: number): Promise<number> => {
    // A barrier, so that nobody measures another node's delay.
    await group.allreduce(new Float32Array(0), { algorithm: "tree" });
    const start = clock();
    const options = { algorithm: "chain", block } as const;
    if (operation === "broadcast") await group.broadcast(values, 0, options);
    else if (operation === "reduce") await group.reduce(values, 0, options);
    else await group.allreduce(values, options);
    return clock() - start;
  };
  const times: number[] = [];
  for (const block of candidates) {
    await once(block);
    times.push(await once(block));
  }
  // The sums have the same bits everywhere, so all nodes choose alike.
  const sums = await group.allreduce(Float32Array.from(times), { algorithm: "tree" });
  return candidates[sums.indexOf(Math.min(...sums))] ?? Math.max(1, elements);
}

function powersOfTwo(elements: number): readonly number[] {
  const found: number[] = [];
  for (let block = 1024; block < elements; block *= 2) found.push(block);
  return [...found, Math.max(1, elements)];
}
