import type { CounterSchema } from "./schema.ts";

/** What the cells of a counter are called, read from its documentation in P4Info as gradplane writes it. */
interface CellNames {
  readonly names: ReadonlyMap<number, string>;
  readonly per: { readonly name: string; readonly cells: number } | undefined;
}

const known = new WeakMap<CounterSchema, CellNames>();

/**
 * The name of a cell of a counter: `forwarding.no_route`, or `port 3 forwarding.no_route` where there are as many cells for each port.
 * Undefined for cells without a name, and for counters of other programs.
 */
export function cellName(counter: CounterSchema, index: number): string | undefined {
  let names = known.get(counter);
  if (names === undefined) {
    names = readNames(counter.description);
    known.set(counter, names);
  }
  const { per } = names;
  if (per === undefined) return names.names.get(index);
  const place = `${per.name} ${Math.floor(index / per.cells)}`;
  if (per.cells === 1) return place;
  const name = names.names.get(index % per.cells);
  return name === undefined ? undefined : `${place} ${name}`;
}

function readNames(description: string): CellNames {
  const [, count, place, list] = /^(one|\d+) for each (\w+)(?:: (.*))?$/s.exec(description) ?? [];
  const names = new Map<number, string>();
  for (const part of (list ?? (place === undefined ? description : "")).split(", ")) {
    const [, index, name] = /^(\d+): ([\w.]+)$/.exec(part) ?? [];
    if (index !== undefined && name !== undefined) names.set(Number(index), name);
  }
  const per = place === undefined ? undefined : { name: place, cells: count === "one" ? 1 : Number(count) };
  return { names, per };
}
