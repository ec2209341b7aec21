import type { Dependencies, Dependency } from "./dependencies.ts";
import type { FitTable } from "./tables.ts";

/** One table of a chain, and why it waits for the one before. */
export interface ChainLink {
  readonly table: FitTable;
  readonly waits?: Dependency;
}

/**
 * The chain of tables that needs the most stages, whatever else the program does: from the first to the last, each a stage after the one
 * before.
 */
export function costliestChain(tables: readonly FitTable[], deps: Dependencies): readonly ChainLink[] {
  const ends = new Map<FitTable, { readonly length: number; readonly by?: Dependency }>();
  // In the order of the program all that comes before is known.
  for (const t of tables) {
    let best: { readonly length: number; readonly by?: Dependency } = { length: 0 };
    for (const d of deps.before(t)) {
      const length = (ends.get(d.before)?.length ?? 0) + (d.kind === "order" ? 0 : 1);
      if (length > best.length) best = { length, by: d };
    }
    ends.set(t, best);
  }
  let last = tables[0];
  for (const t of tables)
    if ((ends.get(t)?.length ?? 0) > (last ? (ends.get(last)?.length ?? 0) : 0)) last = t;
  const chain: ChainLink[] = [];
  for (let t = last; t !== undefined; ) {
    const by: Dependency | undefined = ends.get(t)?.by;
    chain.unshift({ table: t, ...(by === undefined ? {} : { waits: by }) });
    t = by?.before;
  }
  return chain;
}
