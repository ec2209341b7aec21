import type { EntityBuilder } from "./entities.ts";
import { EntityError } from "./entity-error.ts";
import type { Entity } from "./proto/generated/p4runtime.ts";

/** What `tables.json` says that the control plane is to write on every switch of a program. */
export interface TableContents {
  readonly program: string;
  /** How many table entries `entries` gives. */
  readonly count: number;
  readonly cloneSessions: readonly { readonly session: number; readonly port: number }[];
  entries(): Iterable<ContentEntry>;
}

export interface ContentEntry {
  readonly table: string;
  readonly match: Readonly<Record<string, string>>;
  readonly action: string;
  readonly params: Readonly<Record<string, string>>;
}

/**
 * Reads a `tables.json` that was generated beside a program.
 *
 * @param file for messages
 * @throws EntityError when it is none
 */
export function tableContentsFromFile(text: string, file: string): TableContents {
  const fail = (what: string): never => {
    throw new EntityError(
      "invalid-value",
      file,
      `${what}; it is a tables.json, as gradplane build writes it`,
    );
  };
  const root = recordOf(parsed(text, fail), "the file", fail);
  const lists = new Map(
    listOf(root.contents ?? [], "contents", fail).map((value, i) => {
      const { name, rows } = recordOf(value, `contents[${i}]`, fail);
      return [textOf(name, "name", fail), textsOf(rows, "rows", fail).map((row) => row.split(" "))] as const;
    }),
  );
  const tables = listOf(root.tables, "tables", fail).flatMap((value, i) => {
    const { name, contents } = recordOf(value, `tables[${i}]`, fail);
    if (contents === undefined) return [];
    const table = textOf(name, "name", fail);
    const { list, match, action, parameters } = recordOf(contents, `contents of ${table}`, fail);
    const fields = textsOf(match, "match", fail);
    const names = textsOf(parameters, "parameters", fail);
    const rows = lists.get(textOf(list, "list", fail)) ?? fail(`contents of ${table}: there is no list`);
    const odd = rows.find((row) => row.length !== fields.length + names.length);
    if (odd !== undefined) fail(`contents of ${table}: row "${odd.join(" ")}"`);
    return [{ table, fields, action: textOf(action, "action", fail), names, rows }];
  });
  const sessions =
    root.cloneSessions === undefined ? { rows: [] } : recordOf(root.cloneSessions, "cloneSessions", fail);
  return {
    program: textOf(root.program, "program", fail),
    count: tables.reduce((sum, { rows }) => sum + rows.length, 0),
    cloneSessions: textsOf(sessions.rows, "rows of cloneSessions", fail).map((row) => {
      const [session = Number.NaN, port = Number.NaN, ...more] = row.split(" ").map(Number);
      if (!Number.isInteger(session) || !Number.isInteger(port) || more.length > 0)
        fail(`row "${row}" of cloneSessions`);
      return { session, port };
    }),
    *entries() {
      for (const { table, fields, action, names, rows } of tables)
        for (const row of rows)
          yield { table, match: named(fields, row, 0), action, params: named(names, row, fields.length) };
    },
  };
}

/**
 * The same as entities of a switch.
 *
 * @param ports that get clone sessions; all when left out
 * @throws EntityError when the switch has another program
 */
export function contentEntities(
  { entries, cloneSessions }: TableContents,
  entities: EntityBuilder,
  ports?: ReadonlySet<number>,
): readonly Entity[] {
  return [
    ...cloneSessions
      .filter(({ port }) => ports === undefined || ports.has(port))
      .map(({ session, port }) => entities.cloneSession(session, [{ port, instance: 1 }])),
    ...Array.from(entries(), (e) => entities.tableEntry(e.table, e.match, e.action, e.params)),
  ];
}

type Fail = (what: string) => never;

function parsed(text: string, fail: Fail): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    return fail(error instanceof Error ? error.message : String(error));
  }
}

function recordOf(value: unknown, what: string, fail: Fail): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    return fail(`${what} is no object`);
  return { ...value };
}

function listOf(value: unknown, what: string, fail: Fail): readonly unknown[] {
  return Array.isArray(value) ? value : fail(`${what} is no list`);
}

function textOf(value: unknown, what: string, fail: Fail): string {
  return typeof value === "string" ? value : fail(`${what} is no text`);
}

function textsOf(value: unknown, what: string, fail: Fail): readonly string[] {
  return listOf(value, what, fail).map((text) => textOf(text, what, fail));
}

function named(names: readonly string[], row: readonly string[], from: number): Record<string, string> {
  return Object.fromEntries(names.map((name, i) => [name, row[from + i] ?? ""]));
}
