import {
  type ContentList,
  type CopyRules,
  type KeySet,
  NO_ACTION,
  type Program,
  type Table,
  typeName,
} from "../ir/index.ts";

/**
 * Contents of the tables as JSON: what is fixed in the program (entries in winning order, default actions), what the control plane is to
 * write on every switch (`contents`: lists of rows, shared by tables), who fills the rest, clone sessions, and what queues are to be set
 * to. Values are decimal text, since they can pass what a number holds. `gradplane p4rt fill` writes what it says.
 */
export function tableContents(program: Program): string {
  const actions = new Map(program.controls.flatMap((c) => c.actions.map((a) => [a.name, a] as const)));
  const call = (action: string, values: readonly bigint[]) => ({
    action,
    ...(values.length === 0
      ? {}
      : {
          parameters: Object.fromEntries(
            values.map((v, i) => [actions.get(action)?.parameters[i]?.name ?? `${i}`, v.toString()]),
          ),
        }),
  });
  const tableOf = (t: Table) => ({
    name: t.name,
    ...(t.doc === undefined ? {} : { doc: t.doc }),
    size: t.size,
    key: t.key.map((k) => ({ name: k.name, match: k.match, type: typeName(k.expression.type) })),
    actions: t.actions.filter((a) => a !== NO_ACTION),
    ...(t.implementation === undefined ? {} : { actionProfile: t.implementation }),
    default: { ...call(t.defaultAction.action, t.defaultAction.arguments), fixed: t.defaultAction.constant },
    filledBy: t.key.length === 0 ? "program" : filledBy(t),
    ...(t.constEntries.length === 0
      ? {}
      : {
          entries: t.constEntries.map((e) => ({
            match: Object.fromEntries(e.keys.map((k, i) => [t.key[i]?.name ?? `${i}`, keyText(k)])),
            ...call(e.action, e.arguments),
          })),
        }),
    ...(t.contents === undefined
      ? {}
      : {
          contents: {
            list: t.contents.list.name,
            match: t.key.map((k) => k.name),
            action: t.contents.action,
            parameters: (actions.get(t.contents.action)?.parameters ?? []).map((p) => p.name),
          },
        }),
  });
  const tables = program.controls.flatMap((c) => c.tables);
  const lists = [...new Set(tables.flatMap((t) => (t.contents === undefined ? [] : [t.contents.list])))];
  const profiles = program.controls.flatMap((c) =>
    c.actionProfiles.map((p) => ({
      name: p.name,
      size: p.size,
      tables: c.tables.filter((t) => t.implementation === p.name).map((t) => t.name),
    })),
  );
  const content = {
    program: program.name,
    tables: tables.map(tableOf),
    ...(profiles.length === 0 ? {} : { actionProfiles: profiles }),
    ...(lists.length === 0 ? {} : { contents: lists.map(listOf) }),
    ...copies(program.copies),
    ...(program.priorityQueues > 1 ? { priorityQueues: program.priorityQueues } : {}),
    ...(program.queues === undefined ? {} : { queues: program.queues }),
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** Each row is the values of one entry: of the match fields in their order, then of the action's parameters. */
function listOf({ name, doc, rows }: ContentList) {
  return { name, ...(doc === undefined ? {} : { doc }), rows: rows.map((row) => row.join(" ")) };
}

function copies({ cloneSessions, multicastGroups }: CopyRules = {}) {
  return {
    ...(cloneSessions === undefined
      ? {}
      : {
          cloneSessions: {
            doc: cloneSessions.doc,
            columns: ["session", "port"],
            rows: cloneSessions.sessions.map(({ session, port }) => `${session} ${port}`),
          },
        }),
    ...(multicastGroups === undefined ? {} : { multicastGroups: { doc: multicastGroups } }),
  };
}

/** Who writes the entries of a table. */
export function filledBy(t: Table): string {
  if (t.contents !== undefined) return "control plane, from contents in tables.json";
  if (t.entriesAreInitial) return "program at first, then control plane";
  return t.constEntries.length > 0 ? "program" : "control plane";
}

/** As P4Runtime's shells write matches: `5`, `5&&&7`, `5/8`, `5..7`, and `*` for what matches all. */
function keyText(k: KeySet): string {
  switch (k.kind) {
    case "value":
      return k.value.toString();
    case "mask":
      return `${k.value}&&&${k.mask}`;
    case "prefix":
      return `${k.value}/${k.length}`;
    case "range":
      return `${k.low}..${k.high}`;
    case "any":
      return "*";
  }
}
