import type { CallOptions } from "../connection.ts";
import { type MatchInputs, modify } from "../entities.ts";
import { EntityError } from "../entity-error.ts";
import type { Entity, TableEntry } from "../proto/generated/p4runtime.ts";
import type { BoundClient } from "./client.ts";
import { type EntryKind, type KeyOptions, type Priority, readMatch } from "./entries.ts";
import type { ReadFields } from "./fields.ts";

/** What belongs to each entry of a table: its direct counter or direct meter. */
export interface DirectCells<M, Kind extends EntryKind, In, Out> {
  /** @throws P4RuntimeError NOT_FOUND when there is no such entry. */
  read(match: M, ...options: KeyOptions<Kind>): Promise<Out>;
  readAll(options?: CallOptions): AsyncGenerator<DirectCell<M, Out>, void>;
  write(match: M, value: In, ...options: KeyOptions<Kind>): Promise<void>;
}

export interface DirectCell<M, Out> {
  readonly match: ReadFields<M>;
  readonly priority: number;
  readonly value: Out;
}

/** How the cells that belong to table entries are coded: direct counters and direct meters. */
export interface DirectCode<In, Out> {
  readonly entity: (match?: MatchInputs, priority?: number, value?: In) => Entity;
  readonly decode: (entity: Entity) => { readonly entry: TableEntry; readonly value: Out } | undefined;
}

export function directCells<M extends MatchInputs, Kind extends EntryKind, In, Out>(
  client: BoundClient,
  table: string,
  code: DirectCode<In, Out>,
): DirectCells<M, Kind, In, Out> {
  const where = `table ${table}`;
  const bound = {
    async read(match: M, options: CallOptions & Partial<Priority> = {}): Promise<Out> {
      // Checked as the key of an entry: where nothing is given, a read would mean all entries.
      const key = client.entities.tableEntry(table, match, undefined, {}, options).entity;
      const fields = key?.case === "tableEntry" ? key.value.match.length : 0;
      for await (const entity of client.read([code.entity(match, options.priority)], options)) {
        const cell = code.decode(entity);
        if (cell !== undefined && Object.keys(matchOf(client, table, cell.entry)).length === fields)
          return cell.value;
      }
      throw new EntityError("missing", where, "the switch has no such entry");
    },
    async *readAll(options?: CallOptions): AsyncGenerator<DirectCell<M, Out>, void> {
      for await (const entity of client.read([code.entity()], options)) {
        const cell = code.decode(entity);
        if (cell === undefined) continue;
        const match = matchOf(client, table, cell.entry) as ReadFields<M>; // M was made from the same program
        yield { match, priority: cell.entry.priority, value: cell.value };
      }
    },
    write: async (match: M, value: In, options: CallOptions & Partial<Priority> = {}): Promise<void> =>
      client.write([modify(code.entity(match, options.priority, value))], options),
  };
  // The options are optional here and needed in the type where they hold the priority; EntityBuilder checks it again.
  return bound as unknown as DirectCells<M, Kind, In, Out>;
}

function matchOf(client: BoundClient, table: string, entry: TableEntry): Readonly<Record<string, unknown>> {
  return readMatch(client.schema.tables.get(table), entry.match);
}
