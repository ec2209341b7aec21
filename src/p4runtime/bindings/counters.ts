import type { MatchInputs } from "../entities.ts";
import type { CounterData } from "../proto/generated/p4runtime.ts";
import type { CounterSchema } from "../schema.ts";
import { type Cells, cells } from "./cells.ts";
import type { BoundClient } from "./client.ts";
import { type DirectCells, directCells } from "./direct-cells.ts";
import type { EntryKind } from "./entries.ts";

export type CounterUnit = CounterSchema["unit"];

/** What a counter counts, by its unit in the program. */
export type Count<Unit extends CounterUnit> = Unit extends "PACKETS"
  ? { readonly packets: bigint }
  : Unit extends "BYTES"
    ? { readonly bytes: bigint }
    : { readonly packets: bigint; readonly bytes: bigint };

/** A counter that is an array of cells (9.3). */
export function bindCounter<Unit extends CounterUnit>(
  client: BoundClient,
  name: string,
): Cells<Count<Unit>, Count<Unit>> {
  const schema = () => client.schema.counters.get(name);
  return cells<Count<Unit>, Count<Unit>>(client, {
    where: `counter ${name}`,
    size: () => schema().size,
    entity: (index, value) =>
      client.entities.counter(name, index, value === undefined ? undefined : dataOf(value)),
    decode: ({ entity }) =>
      entity?.case === "counterEntry"
        ? { index: entity.value.index?.index ?? 0n, value: countOf<Unit>(schema().unit, entity.value.data) }
        : undefined,
  });
}

/** A counter for each entry of a table (9.3). */
export function bindDirectCounter<M extends MatchInputs, Kind extends EntryKind, Unit extends CounterUnit>(
  client: BoundClient,
  table: string,
): DirectCells<M, Kind, Count<Unit>, Count<Unit>> {
  return directCells<M, Kind, Count<Unit>, Count<Unit>>(client, table, {
    entity: (match, priority, value) =>
      client.entities.directCounter(table, match, priority, value === undefined ? undefined : dataOf(value)),
    decode: ({ entity }) =>
      entity?.case === "directCounterEntry" && entity.value.tableEntry !== undefined
        ? {
            entry: entity.value.tableEntry,
            value: countOf<Unit>(
              client.schema.tables.get(table).directCounter?.unit ?? "BOTH",
              entity.value.data,
            ),
          }
        : undefined,
  });
}

function dataOf(count: Partial<Count<"BOTH">>): Partial<CounterData> {
  return { packetCount: count.packets ?? 0n, byteCount: count.bytes ?? 0n };
}

function countOf<Unit extends CounterUnit>(unit: CounterUnit, data: CounterData | undefined): Count<Unit> {
  const count = {
    ...(unit === "BYTES" ? {} : { packets: data?.packetCount ?? 0n }),
    ...(unit === "PACKETS" ? {} : { bytes: data?.byteCount ?? 0n }),
  };
  // The unit of the program is the one that the type was made from.
  return count as Count<Unit>;
}
