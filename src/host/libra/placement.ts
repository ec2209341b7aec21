import type { Example } from "./sampling.ts";

/**
 * Where hot keys go on the grid of rows and lanes. A packet carries one row, so a packet never meets a register
 * array twice wherever keys are placed; what placement decides is how many rows a worker's gradients touch, and so
 * how many packets have lanes. Keys that travel together therefore share rows.
 *
 * The published system's algorithm is not public in detail; this greedy rule is our own. A row begins with the
 * hottest key left. Each next lane takes the key that occurred most often together with the keys of the row so
 * far; where no key left has been seen with them, the hottest one.
 */
export interface PlacementOptions {
  readonly lanes: number;
  /** Most rows; the coldest keys beyond them stay with the parameter server. */
  readonly rows: number;
  /** Strongest partners remembered of each key; bounds the work for large hot sets. */
  readonly partners?: number;
}

/**
 * @param hot hot keys, hottest first.
 * @param examples what occurs together, e.g. the sample that `hot` was counted on, or its batches.
 * @returns rows of keys; the position in its row is the key's lane. Only the last row may be shorter than `lanes`.
 */
export function placeByAffinity(
  hot: readonly number[],
  examples: Iterable<Example>,
  { lanes, rows, partners = 64 }: PlacementOptions,
): number[][] {
  const keys = hot.slice(0, rows * lanes);
  const neighbours = strongestPartners(countPairs(keys, examples), partners);
  const isPlaced = new Uint8Array(keys.length);
  const grid: number[][] = [];
  let hottestLeft = 0;
  for (let left = keys.length; left > 0; ) {
    const row: number[] = [];
    const affinity = new Map<number, number>();
    while (row.length < lanes && left > 0) {
      while (isPlaced[hottestLeft] === 1) hottestLeft++;
      const rank = mostAttached(affinity) ?? hottestLeft;
      isPlaced[rank] = 1;
      left--;
      affinity.delete(rank);
      row.push(keys[rank] ?? 0);
      for (const [partner, count] of neighbours[rank] ?? [])
        if (isPlaced[partner] === 0) affinity.set(partner, (affinity.get(partner) ?? 0) + count);
    }
    grid.push(row);
  }
  return grid;
}

/** The plain placement to compare with: hottest first, row by row. */
export function placeByHeat(hot: readonly number[], { lanes, rows }: PlacementOptions): number[][] {
  const grid: number[][] = [];
  for (let at = 0; at < hot.length && grid.length < rows; at += lanes) grid.push(hot.slice(at, at + lanes));
  return grid;
}

export interface PlacementQuality {
  /** Mean number of rows that one batch touches: packets with lanes, per worker and round. */
  readonly rowsPerBatch: number;
  /** Mean share of a touched row's lanes that carry a gradient. */
  readonly fill: number;
}

/** What a placement means for given batches; each is the list of keys that it touches. */
export function placementQuality(
  grid: readonly (readonly number[])[],
  batches: Iterable<Example>,
): PlacementQuality {
  const rowOf = new Map(grid.flatMap((row, index) => row.map((key) => [key, index] as const)));
  const lanes = Math.max(1, ...grid.map((row) => row.length));
  let count = 0;
  let touched = 0;
  let used = 0;
  for (const batch of batches) {
    count++;
    const hot = new Set(Array.from(batch).filter((key) => rowOf.has(key)));
    touched += new Set([...hot].map((key) => rowOf.get(key))).size;
    used += hot.size;
  }
  return {
    rowsPerBatch: count === 0 ? 0 : touched / count,
    fill: touched === 0 ? 0 : used / (touched * lanes),
  };
}

/** For each key's rank: the ranks seen in the same example, with how often. */
function countPairs(keys: readonly number[], examples: Iterable<Example>): Map<number, number>[] {
  const rankOf = new Map(keys.map((key, rank) => [key, rank]));
  const pairs = keys.map(() => new Map<number, number>());
  for (const example of examples) {
    const ranks = new Set<number>();
    for (let i = 0; i < example.length; i++) {
      const rank = rankOf.get(example[i] ?? -1);
      if (rank !== undefined) ranks.add(rank);
    }
    for (const a of ranks) for (const b of ranks) if (a !== b) pairs[a]?.set(b, (pairs[a].get(b) ?? 0) + 1);
  }
  return pairs;
}

function strongestPartners(
  pairs: readonly ReadonlyMap<number, number>[],
  limit: number,
): (readonly (readonly [number, number])[])[] {
  return pairs.map((partners) => [...partners].sort(([a, x], [b, y]) => y - x || a - b).slice(0, limit));
}

/** The rank with the greatest affinity; the hotter one (the smaller rank) when equal. */
function mostAttached(affinity: ReadonlyMap<number, number>): number | undefined {
  let best: number | undefined;
  let most = 0;
  for (const [rank, count] of affinity) {
    if (count < most || (count === most && best !== undefined && rank > best)) continue;
    most = count;
    best = rank;
  }
  return best;
}
