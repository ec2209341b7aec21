import type { KeySet, MatchKind, TableKey } from "../../../ir/index.ts";
import { widthOf } from "../../../ir/index.ts";
import { BackendError } from "../../backenderror.ts";
import { prefixMask } from "../../p4text/literals.ts";
import type { LoweredControl, LoweredTable } from "../lowered.ts";
import { storageType, unsigned } from "../storage.ts";
import type { Actions } from "./actionlist.ts";
import { bytesFor, hexstr, type Json, type JsonObject } from "./json.ts";

/** Size of a table that states none; BMv2 looks at it for tables without a key too. */
const DEFAULT_SIZE = 1024;

function tableSize(table: LoweredTable): number {
  // BMv2 has room for the program's own entries alone; others, for as many as are asked for.
  if (table.constEntries.length > 0 && !table.entriesAreInitial) return table.constEntries.length;
  return table.key.length === 0 ? DEFAULT_SIZE : table.size;
}

/**
 * The JSON of a table.
 *
 * @param next what follows whatever happens; null when `nextTables` tells hits from misses.
 */
export function tableJson(
  {
    table,
    control,
    key,
  }: { readonly table: LoweredTable; readonly control: LoweredControl; readonly key: readonly JsonObject[] },
  actions: Actions,
  id: number,
  next: string | null,
  nextTables: JsonObject,
): JsonObject {
  const call = (action: string, values: readonly bigint[]): readonly [number, readonly string[]] => [
    actions.id(action),
    values.map((v, i) => {
      const type = control.actions.find((a) => a.name === action)?.parameters[i]?.type;
      return hexstr(type === undefined ? v : unsigned(v, storageType(type)));
    }),
  ];
  const [defaultId, defaultData] = call(table.defaultAction.action, table.defaultAction.arguments);
  return {
    name: table.name,
    id,
    key,
    match_type: tableMatch(table.key),
    ...implementation(table),
    max_size: tableSize(table),
    with_counters: table.directCounter !== undefined,
    support_timeout: false,
    direct_meters: table.directMeter?.name ?? null,
    action_ids: table.actions.map((a) => actions.id(a.name)),
    actions: table.actions.map((a) => a.name),
    base_default_next: next,
    next_tables: nextTables,
    // BMv2 has none for tables whose actions stand in a profile.
    ...(table.profile !== undefined
      ? {}
      : {
          default_entry: {
            action_id: defaultId,
            action_const: table.defaultAction.constant,
            action_data: defaultData,
            action_entry_const: table.defaultAction.constant,
          },
        }),
    ...(table.constEntries.length === 0
      ? {}
      : {
          entries: table.constEntries.map((e, i) => {
            const [actionId, data] = call(e.action, e.arguments);
            return {
              match_key: e.keys.map((set, k) => matchKey(set, table.key[k])),
              action_entry: { action_id: actionId, action_data: data },
              priority: i + 1,
            };
          }),
        }),
  };
}

/** Where the actions of the entries stand: in the table, in a profile, or in a profile with groups. */
function implementation({ profile }: LoweredTable): JsonObject {
  if (profile === undefined) return { type: "simple" };
  const type = profile.selector === undefined ? "indirect" : "indirect_ws";
  return { type, action_profile: profile.name };
}

/** A table without a key, which runs its only action for every packet that comes by. */
export function hiddenTable(
  { name, action }: { readonly name: string; readonly action: string },
  id: number,
  actionId: number,
  next: string | null,
): JsonObject {
  return {
    name,
    id,
    key: [],
    match_type: "exact",
    type: "simple",
    max_size: DEFAULT_SIZE,
    with_counters: false,
    support_timeout: false,
    direct_meters: null,
    action_ids: [actionId],
    actions: [action],
    base_default_next: next,
    next_tables: { [action]: next },
    default_entry: { action_id: actionId, action_const: true, action_data: [], action_entry_const: true },
  };
}

/** BMv2 has no match kind of its own for optional: it is ternary with a full or an empty mask. */
export function bmv2Match(kind: MatchKind): string {
  return kind === "optional" ? "ternary" : kind;
}

/** A table's kind: range before ternary before lpm before exact. */
function tableMatch(keys: readonly TableKey[]): string {
  const kinds = new Set(keys.map((k) => bmv2Match(k.match)));
  return ["range", "ternary", "lpm"].find((k) => kinds.has(k)) ?? "exact";
}

function matchKey(set: KeySet, key: TableKey | undefined): JsonObject {
  if (key === undefined) throw new BackendError("GP2001", "v1model", "an entry has more keys than its table");
  const width = widthOf(key.expression.type);
  const bytes = bytesFor(width);
  const hex = (v: bigint): Json => hexstr(BigInt.asUintN(width, v), bytes);
  const ones = (1n << BigInt(width)) - 1n;
  const match_type = bmv2Match(key.match);
  const unfit = (): never => {
    throw new BackendError(
      "GP2004",
      "v1model",
      `a ${set.kind} cannot stand for the ${key.match} key ${key.name}`,
    );
  };
  switch (key.match) {
    case "exact":
      return set.kind === "value" ? { match_type, key: hex(set.value) } : unfit();
    case "lpm":
      switch (set.kind) {
        case "value":
          return { match_type, key: hex(set.value), prefix_length: width };
        case "any":
          return { match_type, key: hex(0n), prefix_length: 0 };
        case "prefix":
          return {
            match_type,
            key: hex(set.value & prefixMask(set.length, width)),
            prefix_length: set.length,
          };
        case "mask": {
          const length = Array.from({ length: width + 1 }, (_, n) => n).find(
            (n) => prefixMask(n, width) === set.mask,
          );
          return length === undefined
            ? unfit()
            : { match_type, key: hex(set.value & set.mask), prefix_length: length };
        }
        default:
          return unfit();
      }
    case "ternary":
    case "optional":
      switch (set.kind) {
        case "value":
          return { match_type, key: hex(set.value), mask: hex(ones) };
        case "any":
          return { match_type, key: hex(0n), mask: hex(0n) };
        case "mask":
          return { match_type, key: hex(set.value & set.mask), mask: hex(set.mask) };
        case "prefix": {
          const mask = prefixMask(set.length, width);
          return { match_type, key: hex(set.value & mask), mask: hex(mask) };
        }
        default:
          return unfit();
      }
    case "range":
      switch (set.kind) {
        case "value":
          return { match_type, start: hex(set.value), end: hex(set.value) };
        case "range":
          return { match_type, start: hex(set.low), end: hex(set.high) };
        case "any":
          return { match_type, start: hex(0n), end: hex(ones) };
        default:
          return unfit();
      }
  }
}
