import type { ConstEntry, Table } from "../../ir/index.ts";
import { atomsOf } from "./stages.ts";

/** Entries of a table that matches exactly are no more than its key has values; the compiler would warn of it. */
export function sizeOf(t: Table): number {
  if (t.key.length === 0 || t.key.some((k) => k.match !== "exact")) return t.size;
  const bits = new Set(
    t.key.flatMap((k) =>
      atomsOf(k.expression).flatMap(({ key, low, high }) =>
        Array.from({ length: high - low + 1 }, (_, i) => `${key} ${low + i}`),
      ),
    ),
  );
  const validities = t.key.filter((k) => k.expression.kind === "valid").length;
  return Math.min(t.size, 2 ** Math.min(bits.size + validities, 52));
}

/** The entries without those that match what an earlier one matches: the driver would refuse to enter the same match again. */
export function entriesOf(t: Table): readonly ConstEntry[] {
  const known = new Set<string>();
  return t.constEntries.filter(({ keys }) => {
    const match = keys
      .map((k) => Object.entries(k).flatMap(([name, v]) => (name === "named" ? [] : [`${name} ${v}`])))
      .join();
    const isNew = !known.has(match);
    known.add(match);
    return isNew;
  });
}
