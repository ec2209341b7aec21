/** Where a job runs: the controller's decision, told to its hosts. */
export interface Placement {
  readonly job: number;
  /** Raised at each move; packets of an older one are refused. 16 bits. */
  readonly generation: number;
  /** Host names; a worker's number is its place in the list. */
  readonly workers: readonly string[];
  readonly server: string;
  /** The switch that aggregates; undefined: the parameter server does it alone. */
  readonly on: string | undefined;
  /** First slot of the job on that switch. */
  readonly slotBase: number;
  readonly rows: number;
  /** First round of this generation; 32-bit serial number. */
  readonly firstRound: number;
}

export interface SlotGrid {
  /** Rows of the switch's register grid. */
  readonly rows: number;
  /** Rows per admission entry. */
  readonly chunk: number;
}

/** First slot of a free range of whole chunks for `rows` rows, lowest first; undefined when there is none. */
export function findSlots(
  grid: SlotGrid,
  taken: readonly { readonly slotBase: number; readonly rows: number }[],
  rows: number,
): number | undefined {
  const chunks = (n: number): number => Math.ceil(n / grid.chunk);
  const used = new Set(taken.flatMap((t) => range(t.slotBase / grid.chunk, chunks(t.rows))));
  const wanted = chunks(rows);
  const total = Math.floor(grid.rows / grid.chunk);
  for (let first = 0; first + wanted <= total; first++) {
    if (range(first, wanted).every((c) => !used.has(c))) return first * grid.chunk;
  }
  return undefined;
}

function range(first: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => first + i);
}

export interface SlotReset {
  readonly slot: number;
  readonly round: number;
}

/**
 * What each bank of a job's slots is set to before a generation starts, so that whatever the register held, `firstRound` and all later
 * rounds are newer and every earlier one is not equal: two rounds back in the bank of `firstRound`, three in the other.
 */
export function slotResets(p: Placement): readonly SlotReset[] {
  const rounds = [(p.firstRound - 2) >>> 0, (p.firstRound - 3) >>> 0];
  return range(p.slotBase, p.rows).flatMap((slot) => rounds.map((round) => ({ slot, round })));
}
