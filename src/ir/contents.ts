import type { Program } from "./program.ts";

/**
 * Entries that the control plane is to write: the same on every switch of the program, whatever the network, but too many, or too
 * changeable, to stand in the program itself. The table's fields are matched exactly.
 */
export interface TableContents {
  readonly action: string;
  readonly list: ContentList;
}

/** The values of such entries. Tables whose entries have the same values share a list. */
export interface ContentList {
  readonly name: string;
  readonly doc?: string;
  /** One row for each entry: the values of the match fields in their order, then those of the action's parameters. None is negative. */
  readonly rows: readonly (readonly number[])[];
}

/** A clone session: a copy of what is cloned to it leaves by the port. */
export interface CloneSession {
  readonly session: number;
  readonly port: number;
}

/** What the control plane sets up for copies of packets, beside the tables. */
export interface CopyRules {
  /** One for each port that is in use; the program counts on their numbers. */
  readonly cloneSessions?: { readonly doc: string; readonly sessions: readonly CloneSession[] };
  /** In words, which multicast groups there have to be: they depend on what runs on the network. */
  readonly multicastGroups?: string;
}

/** One of those entries, by name. */
export interface ContentEntry {
  readonly table: string;
  readonly match: Readonly<Record<string, number>>;
  readonly action: string;
  readonly params: Readonly<Record<string, number>>;
}

/** All entries that the control plane is to write on every switch of the program; made anew each time that they are gone through. */
export function contentsOf(program: Pick<Program, "controls">): Iterable<ContentEntry> {
  return { [Symbol.iterator]: () => entries(program) };
}

function* entries(program: Pick<Program, "controls">): Generator<ContentEntry> {
  for (const { tables, actions } of program.controls)
    for (const { name: table, key, contents } of tables) {
      if (contents === undefined) continue;
      const { action, list } = contents;
      const fields = key.map((k) => k.name);
      const parameters = actions.find((a) => a.name === action)?.parameters.map((p) => p.name) ?? [];
      for (const row of list.rows)
        yield {
          table,
          match: named(fields, row, 0),
          action,
          params: named(parameters, row, fields.length),
        };
    }
}

function named(names: readonly string[], row: readonly number[], from: number): Record<string, number> {
  const values: Record<string, number> = {};
  for (const [i, name] of names.entries()) values[name] = row[from + i] ?? 0;
  return values;
}
