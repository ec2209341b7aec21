import { resetRounds } from "../numeric/aggregator.ts";

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
  /** The header's `scale` of the job's packets: its unit. */
  readonly scale: number;
  /** First round of this generation; 32-bit serial number. */
  readonly firstRound: number;
  /** Numbers of workers that take no part now: dead, or done. */
  readonly absent?: readonly number[];
  /** How often each worker has started again, modulo 256; nobody has when it is not given. */
  readonly lives?: readonly number[];
}

/** Who takes part in a placement, by member number. */
export function membersOf(
  p: Placement,
): readonly { readonly member: number; readonly name: string; readonly life: number }[] {
  return p.workers.flatMap((name, member) =>
    p.absent?.includes(member) === true ? [] : [{ member, name, life: p.lives?.[member] ?? 0 }],
  );
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

/** The RESETs of a placement: both banks of each of its slots. */
export function slotResets(p: Placement): readonly SlotReset[] {
  return range(p.slotBase, p.rows).flatMap((slot) =>
    resetRounds(p.firstRound).map((round) => ({ slot, round })),
  );
}
