import type { CallOptions } from "../connection.ts";
import { type ActionInput, insert, type MatchInputs, modify, remove } from "../entities.ts";
import { type Match, normaliseMatch } from "../match.ts";
import type { Entity, FieldMatch, TableEntry } from "../proto/generated/p4runtime.ts";
import type { MatchFieldSchema, Schema, TableSchema } from "../schema.ts";
import { type ActionCall, type ReadChoice, readChoice, readValue } from "./actions.ts";
import type { BoundClient } from "./client.ts";
import type { ReadFields } from "./fields.ts";

/** Do the entries of a table have a priority? They must where a field is ternary, range or optional, and must not elsewhere (9.1.1). */
export type EntryKind = "priority" | "no priority";

export interface Priority {
  /** 1 or more; of the entries that match, the one with the highest wins. */
  readonly priority: number;
}

export interface AttachedData extends CallOptions {
  /** Kept by the switch and given back with the entry. */
  readonly metadata?: Uint8Array;
}

/** The options behind a match: needed where they hold the priority. */
export type KeyOptions<Kind extends EntryKind> = Kind extends "priority"
  ? [options: CallOptions & Priority]
  : [options?: CallOptions];

/** The options behind a match and an action. */
export type EntryOptions<Kind extends EntryKind> = Kind extends "priority"
  ? [options: AttachedData & Priority]
  : [options?: AttachedData];

/**
 * A table as generated bindings show it.
 *
 * Whatever does not fit the program (widths, priorities, names that came around the type checker) is an EntityError with the name of the
 * table and the field, before anything is sent. What the switch refuses is a P4RuntimeWriteError.
 */
export interface Entries<M extends MatchInputs, A extends ActionInput, Kind extends EntryKind>
  extends ReadableEntries<M, A> {
  /** Put an entry in. */
  insert(match: M, action: A, ...options: EntryOptions<Kind>): Promise<void>;
  /** Give an entry that is there another action. */
  modify(match: M, action: A, ...options: EntryOptions<Kind>): Promise<void>;
  /** Take an entry out. */
  delete(match: M, ...options: KeyOptions<Kind>): Promise<void>;
  /** The entity of an entry, for several updates in one write: `client.write([insert(table.entry(...)), ...])`. */
  entry(match: M, action: A, ...options: EntryOptions<Kind>): Entity;
  /** The entity that names an entry, to delete it among other updates. */
  key(match: M, ...options: KeyOptions<Kind>): Entity;
}

export interface ReadableEntries<M, A> {
  /** All entries but the default one. */
  read(options?: CallOptions): AsyncGenerator<ReadEntry<M, A>, void>;
}

/** An entry that was read. */
export interface ReadEntry<M, A> {
  /** Fields that match anything are absent. */
  readonly match: ReadFields<M>;
  readonly action: ReadChoice<A> | undefined;
  /** 0 in tables without priorities. */
  readonly priority: number;
  readonly isConst: boolean;
  readonly metadata: Uint8Array;
  /** As the switch sent it, to be written again or deleted. */
  readonly entity: Entity;
}

/** The default entry of a table: what is done with packets that no entry matches. */
export interface DefaultEntry<A> {
  setDefault(action: A, options?: CallOptions): Promise<void>;
  /** Back to the program's own default. */
  resetDefault(options?: CallOptions): Promise<void>;
  readDefault(options?: CallOptions): Promise<ReadChoice<A> | undefined>;
}

/** The entries of a table that the control plane may write. */
export function bindEntries<M extends MatchInputs, A extends ActionInput, Kind extends EntryKind>(
  client: BoundClient,
  table: string,
): Entries<M, A, Kind> {
  const entry = (match: M, action: A, options: AttachedData & Partial<Priority> = {}): Entity =>
    client.entities.tableEntry(table, match, action, {}, options);
  const key = (match: M, options: Partial<Priority> = {}): Entity =>
    client.entities.tableEntry(table, match, undefined, {}, options);
  const bound = {
    ...bindReadableEntries<M, A>(client, table),
    entry,
    key,
    insert: async (match: M, action: A, options: AttachedData & Partial<Priority> = {}): Promise<void> =>
      client.write([insert(entry(match, action, options))], options),
    modify: async (match: M, action: A, options: AttachedData & Partial<Priority> = {}): Promise<void> =>
      client.write([modify(entry(match, action, options))], options),
    delete: async (match: M, options: CallOptions & Partial<Priority> = {}): Promise<void> =>
      client.write([remove(key(match, options))], options),
  };
  // The options are optional here and needed in the type where they hold a priority; EntityBuilder checks it again.
  return bound as unknown as Entries<M, A, Kind>;
}

/** The entries of a table that the control plane may only read. */
export function bindReadableEntries<M extends MatchInputs, A extends ActionInput>(
  client: BoundClient,
  table: string,
): ReadableEntries<M, A> {
  return {
    async *read(options?: CallOptions) {
      for await (const entity of client.read([client.entities.allEntries(table)], options)) {
        if (entity.entity?.case !== "tableEntry" || entity.entity.value.isDefaultAction) continue;
        yield readEntry<M, A>(client.schema, entity, entity.entity.value);
      }
    },
  };
}

function readEntry<M, A>(schema: Schema, entity: Entity, entry: TableEntry): ReadEntry<M, A> {
  const table = schema.tables.get(entry.tableId);
  return {
    // The names and widths of the program decide what is read; M and A were made from the same program.
    match: readMatch(table, entry.match) as ReadFields<M>,
    action: readChoice(schema, entry.action) as ReadChoice<A> | undefined,
    priority: entry.priority,
    isConst: entry.isConst,
    metadata: entry.metadata,
    entity,
  };
}

/** A match by field name, in the forms of `ReadField`. */
export function readMatch(
  table: Pick<TableSchema, "fields">,
  messages: readonly FieldMatch[],
): Readonly<Record<string, unknown>> {
  const fields = messages.flatMap((message) => {
    const field = table.fields.byId(message.fieldId);
    const match = normaliseMatch(field, message);
    return match === undefined ? [] : [[field.name, readField(field, match, message)] as const];
  });
  return Object.fromEntries(fields);
}

function readField(field: MatchFieldSchema, match: Match, { fieldMatchType: form }: FieldMatch): unknown {
  switch (match.kind) {
    case "EXACT":
    case "OPTIONAL":
      return form?.case === "exact" || form?.case === "optional"
        ? readValue(field, form.value.value)
        : match.value;
    case "LPM":
      return { value: match.value, prefixLength: match.prefixLength };
    case "TERNARY":
      return { value: match.value, mask: match.mask };
    case "RANGE":
      return { low: match.low, high: match.high };
  }
}

/** The default entry of a table whose default is not constant. */
export function bindDefaultEntry<A extends ActionCall>(client: BoundClient, table: string): DefaultEntry<A> {
  return {
    setDefault: async (action, options) =>
      client.write([modify(client.entities.defaultEntry(table, action.action, action.params))], options),
    resetDefault: async (options) => client.write([modify(client.entities.defaultEntry(table))], options),
    readDefault: async (options) => {
      for await (const { entity } of client.read([client.entities.defaultEntry(table)], options)) {
        if (entity?.case === "tableEntry")
          return readChoice(client.schema, entity.value.action) as ReadChoice<A> | undefined;
      }
      return undefined;
    },
  };
}
