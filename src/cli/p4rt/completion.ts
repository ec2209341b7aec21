import type { Schema } from "../../p4runtime/index.ts";
import { KINDS, UPDATE_WORDS } from "./statement.ts";

/** Commands of the shell beside updates. */
export const SHELL_WORDS = ["read", "info", "help", "exit"] as const;

/** What may stand at the end of a line of the shell: names of the program that fit there and begin with what is written. */
export function completions(line: string, schema: Schema): readonly string[] {
  const words = line.split(/\s+/);
  const last = words.pop() ?? "";
  return candidates(
    words.filter((w) => w !== ""),
    schema,
  ).filter((word) => word.startsWith(last));
}

function candidates(words: readonly string[], schema: Schema): readonly string[] {
  const [command, first, ...rest] = words;
  if (command === undefined) return [...UPDATE_WORDS, ...SHELL_WORDS];
  const isUpdate = UPDATE_WORDS.some((word) => word === command);
  if (!isUpdate && command !== "read") return [];
  const tables = schema.tables.all.map((t) => t.alias);
  if (first === undefined) return [...tables, ...KINDS];
  const kind = KINDS.find((k) => k === first);
  if (kind !== undefined && kind !== "table" && rest.length === 0) return namesOf(kind, schema);
  if (kind === "table" && rest.length === 0) return tables;
  if (!isUpdate) return [];
  const name = kind === undefined ? first : rest[0];
  const table =
    kind === undefined || kind === "table" || kind === "default" ? schema.tables.find(name ?? "") : undefined;
  const behindDo = words.lastIndexOf("do");
  if (behindDo >= 0) {
    const action = words[behindDo + 1];
    if (action === undefined) {
      if (table === undefined) return schema.actions.all.map((a) => a.alias);
      return table.implementation === undefined
        ? [...table.actions.values()].map((ref) => ref.action.alias)
        : ["member", "group"];
    }
    const given = words.slice(behindDo + 2).map((word) => word.split("=")[0]);
    return (schema.actions.find(action)?.params.all ?? [])
      .filter((p) => !given.includes(p.name))
      .map((p) => `${p.name}=`);
  }
  if (table === undefined) return kind === "member" ? ["do"] : [];
  const given = words.map((word) => word.split("=")[0]);
  const fields =
    kind === "default"
      ? []
      : table.fields.all.filter((f) => !given.includes(f.name)).map((f) => `${f.name}=`);
  const priority =
    table.needsPriority && kind !== "default" && !given.includes("priority") ? ["priority="] : [];
  return [...fields, ...priority, ...(command === "delete" ? [] : ["do"])];
}

function namesOf(kind: (typeof KINDS)[number], schema: Schema): readonly string[] {
  const aliases = (objects: readonly { readonly alias: string }[]): readonly string[] =>
    objects.map((o) => o.alias);
  switch (kind) {
    case "counter":
      return aliases(schema.counters.all);
    case "meter":
      return aliases(schema.meters.all);
    case "register":
      return aliases(schema.registers.all);
    case "member":
    case "group":
      return aliases(schema.actionProfiles.all);
    case "digest":
      return aliases(schema.digests.all);
    case "value-set":
      return aliases(schema.valueSets.all);
    case "default":
    case "direct-counter":
    case "direct-meter":
      return aliases(schema.tables.all);
    default:
      return [];
  }
}
