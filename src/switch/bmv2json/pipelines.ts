import { readCalculationInput } from "./calculations.ts";
import type { JsonCursor } from "./cursor.ts";
import { readExpression } from "./expression.ts";
import type {
  ActionCall,
  ActionEntry,
  ActionProfile,
  Conditional,
  ConstEntry,
  EntryKey,
  Expression,
  MatchKind,
  Pipeline,
  Table,
  TableKey,
} from "./program.ts";

function readMatchKind(cursor: JsonCursor): MatchKind | "valid" {
  const kind = cursor.string();
  switch (kind) {
    case "exact":
    case "lpm":
    case "ternary":
    case "range":
    case "optional":
    case "valid":
      return kind;
    default:
      return cursor.unsupported(`unknown match type "${kind}"`);
  }
}

function readKeyTarget(cursor: JsonCursor, isValidity: boolean): Expression {
  if (isValidity) return { kind: "field", header: cursor.string(), field: "$valid$", path: cursor.path };
  if (cursor.isObject) return readExpression(cursor);
  return {
    kind: "field",
    header: cursor.element(0).string(),
    field: cursor.element(1).string(),
    path: cursor.path,
  };
}

function readTableKey(cursor: JsonCursor): TableKey {
  const kind = readMatchKind(cursor.get("match_type"));
  const target = readKeyTarget(cursor.get("target"), kind === "valid");
  const written = target.kind === "field" ? `${target.header}.${target.field}` : target.path;
  return {
    name: cursor.optional("name")?.string() ?? written,
    kind: kind === "valid" ? "exact" : kind,
    target,
    mask: cursor.optional("mask")?.hexstr(),
    path: cursor.path,
  };
}

function readActionEntry(cursor: JsonCursor): ActionEntry {
  return {
    actionId: cursor.get("action_id").integer(),
    data: cursor.list("action_data").map((value) => value.hexstr()),
  };
}

function readEntryKey(cursor: JsonCursor): EntryKey {
  const kind = readMatchKind(cursor.get("match_type"));
  switch (kind) {
    case "valid":
      return { kind: "exact", value: cursor.get("key").boolean() ? 1n : 0n };
    case "exact":
      return { kind, value: cursor.get("key").hexstr() };
    case "lpm":
      return {
        kind,
        value: cursor.get("key").hexstr(),
        prefixLength: cursor.get("prefix_length").naturalNumber(),
      };
    case "ternary":
    case "optional":
      return { kind: "ternary", value: cursor.get("key").hexstr(), mask: cursor.get("mask").hexstr() };
    case "range":
      return { kind, low: cursor.get("start").hexstr(), high: cursor.get("end").hexstr() };
  }
}

function readConstEntry(cursor: JsonCursor): ConstEntry {
  return {
    key: cursor.get("match_key").elements().map(readEntryKey),
    action: readActionEntry(cursor.get("action_entry")),
    priority: cursor.optional("priority")?.integer() ?? 0,
    path: cursor.path,
  };
}

function readMatchType(cursor: JsonCursor): Table["matchType"] {
  const type = cursor.string();
  if (type === "exact" || type === "lpm" || type === "ternary" || type === "range") return type;
  return cursor.unsupported(`unknown table match type "${type}"`);
}

function readImplementation(cursor: JsonCursor): Table["implementation"] {
  const type = cursor.string();
  if (type === "simple" || type === "indirect" || type === "indirect_ws") return type;
  return cursor.unsupported(`unknown table type "${type}"`);
}

function nodeName(cursor: JsonCursor): string | null {
  return cursor.isNull ? null : cursor.string();
}

function readTable(cursor: JsonCursor, actionIdsByName: ReadonlyMap<string, number>): Table {
  const next = cursor.get("next_tables");
  const nextByAction = new Map<string, string | null>();
  for (const key of next.keys()) nextByAction.set(key, nodeName(next.get(key)));
  const hasHit = nextByAction.has("__HIT__");
  const hasMiss = nextByAction.has("__MISS__");
  if (hasHit !== hasMiss) next.refuse("needs both __HIT__ and __MISS__, or neither");

  const entries = cursor.optional("entries")?.elements().map(readConstEntry);
  const maxSize = cursor.optional("max_size")?.naturalNumber();
  const defaultEntry = cursor.optional("default_entry");
  const actionIds =
    cursor
      .optional("action_ids")
      ?.elements()
      .map((id) => id.integer()) ??
    cursor
      .list("actions")
      .map(
        (name) => actionIdsByName.get(name.string()) ?? name.refuse(`there is no action "${name.string()}"`),
      );
  return {
    name: cursor.get("name").string(),
    id: cursor.get("id").integer(),
    key: cursor.list("key").map(readTableKey),
    matchType: readMatchType(cursor.get("match_type")),
    implementation: readImplementation(cursor.get("type")),
    actionProfile: (cursor.optional("action_profile") ?? cursor.optional("act_prof_name"))?.string(),
    // BMv2 goes by the entries; more is room for those that the control plane adds, where it may.
    maxSize:
      entries !== undefined
        ? Math.max(entries.length, maxSize ?? 0)
        : (maxSize ?? cursor.get("max_size").naturalNumber()),
    withCounters: cursor.optional("with_counters")?.boolean() ?? false,
    supportsTimeout: cursor.optional("support_timeout")?.boolean() ?? false,
    directMeters: cursor.optional("direct_meters")?.string(),
    actionIds,
    nextByAction,
    nextOnHit: hasHit ? (nextByAction.get("__HIT__") ?? null) : undefined,
    nextOnMiss: hasMiss ? (nextByAction.get("__MISS__") ?? null) : undefined,
    baseDefaultNext: cursor.optional("base_default_next")?.string() ?? null,
    defaultEntry:
      defaultEntry === undefined
        ? undefined
        : {
            ...readActionEntry(defaultEntry),
            isConst:
              (defaultEntry.optional("action_const")?.boolean() ?? false) ||
              (defaultEntry.optional("action_entry_const")?.boolean() ?? false),
          },
    constEntries: entries,
    path: cursor.path,
  };
}

function readActionProfile(cursor: JsonCursor): ActionProfile {
  const selector = cursor.optional("selector");
  return {
    name: cursor.get("name").string(),
    id: cursor.get("id").integer(),
    maxSize: cursor.get("max_size").naturalNumber(),
    selector:
      selector === undefined
        ? undefined
        : {
            algorithm: selector.get("algo").string(),
            inputs: selector.list("input").map(readCalculationInput),
          },
    path: cursor.path,
  };
}

function readConditional(cursor: JsonCursor): Conditional {
  return {
    name: cursor.get("name").string(),
    expression: readExpression(cursor.get("expression")),
    trueNext: cursor.optional("true_next")?.string() ?? null,
    falseNext: cursor.optional("false_next")?.string() ?? null,
    path: cursor.path,
  };
}

function readActionCall(cursor: JsonCursor): ActionCall {
  return {
    name: cursor.get("name").string(),
    actionId: cursor.get("action_id").integer(),
    next: cursor.optional("next_node")?.string() ?? null,
    path: cursor.path,
  };
}

export function readPipeline(cursor: JsonCursor, actionIdsByName: ReadonlyMap<string, number>): Pipeline {
  return {
    name: cursor.get("name").string(),
    init: cursor.optional("init_table")?.string() ?? null,
    tables: cursor.list("tables").map((table) => readTable(table, actionIdsByName)),
    actionProfiles: cursor.list("action_profiles").map(readActionProfile),
    conditionals: cursor.list("conditionals").map(readConditional),
    actionCalls: cursor.list("action_calls").map(readActionCall),
    path: cursor.path,
  };
}
