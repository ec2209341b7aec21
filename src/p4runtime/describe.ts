import { EntityError } from "./entity-error.ts";
import { formatMatch, type Match, normaliseMatch } from "./match.ts";
import type { Entity, TableEntry, Update } from "./proto/generated/p4runtime.ts";
import type { Named, Schema, TableSchema } from "./schema.ts";
import { bigintOf, formatValue } from "./values.ts";

/** A table entry in the names of the program. */
export interface NamedTableEntry {
  readonly table: string;
  /** By full field name; a field that matches anything is absent. */
  readonly match: Readonly<Record<string, Match>>;
  readonly priority: number;
  readonly isDefault: boolean;
  readonly isConst: boolean;
  /** Full name; undefined when the entry has none or refers to an action profile. */
  readonly action: string | undefined;
  readonly params: Readonly<Record<string, bigint>>;
  readonly member: number | undefined;
  readonly group: number | undefined;
  readonly metadata: Uint8Array;
  readonly counter: { readonly packets: bigint; readonly bytes: bigint } | undefined;
}

/** Put names on a table entry that was read. @throws EntityError when it does not fit the schema */
export function nameTableEntry(schema: Schema, entry: TableEntry): NamedTableEntry {
  const table = schema.tables.get(entry.tableId);
  const spec = entry.action?.type;
  const action = spec?.case === "action" ? schema.actions.get(spec.value.actionId) : undefined;
  const params = spec?.case === "action" ? spec.value.params : [];
  return {
    table: table.name,
    match: Object.fromEntries(matches(table, entry).map(([name, match]) => [name, match])),
    priority: entry.priority,
    isDefault: entry.isDefaultAction,
    isConst: entry.isConst,
    action: action?.name,
    params: Object.fromEntries(
      params.map((param) => [
        action?.params.byId(param.paramId).name ?? `${param.paramId}`,
        bigintOf(param.value),
      ]),
    ),
    member: spec?.case === "actionProfileMemberId" ? spec.value : undefined,
    group: spec?.case === "actionProfileGroupId" ? spec.value : undefined,
    metadata: entry.metadata,
    counter:
      entry.counterData === undefined
        ? undefined
        : { packets: entry.counterData.packetCount, bytes: entry.counterData.byteCount },
  };
}

function matches(
  table: TableSchema,
  entry: TableEntry,
): (readonly [name: string, match: Match, bitwidth: number])[] {
  return entry.match.flatMap((message) => {
    const field = table.fields.byId(message.fieldId);
    const match = normaliseMatch(field, message);
    return match === undefined ? [] : [[field.name, match, field.bitwidth] as const];
  });
}

/** An update for people: `INSERT table ingress.ipv4_lpm {hdr.ipv4.dst = 10.0.0.0/8}`. Never throws. */
export function describeUpdate(update: Update, schema: Schema | undefined): string {
  const entity = update.entity === undefined ? "nothing" : describeEntity(update.entity, schema);
  return `${update.type} ${entity}`;
}

/** An entity for people, with names where the schema has them. Never throws. */
export function describeEntity(message: Entity, schema: Schema | undefined): string {
  const entity = message.entity;
  if (entity === undefined) return "nothing";
  switch (entity.case) {
    case "tableEntry":
      return describeTableEntry(entity.value, schema);
    case "counterEntry":
      return `counter ${nameOf(schema?.counters, entity.value.counterId)}${describeIndex(entity.value.index)}`;
    case "meterEntry":
      return `meter ${nameOf(schema?.meters, entity.value.meterId)}${describeIndex(entity.value.index)}`;
    case "registerEntry":
      return `register ${nameOf(schema?.registers, entity.value.registerId)}${describeIndex(entity.value.index)}`;
    case "directCounterEntry":
      return `counter of ${entity.value.tableEntry === undefined ? "nothing" : describeTableEntry(entity.value.tableEntry, schema)}`;
    case "directMeterEntry":
      return `meter of ${entity.value.tableEntry === undefined ? "nothing" : describeTableEntry(entity.value.tableEntry, schema)}`;
    case "actionProfileMember":
      return `member ${entity.value.memberId} of ${nameOf(schema?.actionProfiles, entity.value.actionProfileId)}`;
    case "actionProfileGroup":
      return `group ${entity.value.groupId} of ${nameOf(schema?.actionProfiles, entity.value.actionProfileId)}`;
    case "packetReplicationEngineEntry": {
      const type = entity.value.type;
      if (type?.case === "multicastGroupEntry") return `multicast group ${type.value.multicastGroupId}`;
      return `clone session ${type?.value.sessionId ?? "without an id"}`;
    }
    case "digestEntry":
      return `digest ${nameOf(schema?.digests, entity.value.digestId)}`;
    case "valueSetEntry":
      return `value set ${nameOf(schema?.valueSets, entity.value.valueSetId)}`;
    case "externEntry":
      return `extern 0x${entity.value.externTypeId.toString(16)}/0x${entity.value.externId.toString(16)}`;
  }
}

function describeTableEntry(entry: TableEntry, schema: Schema | undefined): string {
  const table = schema?.tables.find(entry.tableId);
  const name = `table ${nameOf(schema?.tables, entry.tableId)}`;
  if (entry.isDefaultAction) return `${name} default entry`;
  const key = table === undefined ? `${entry.match.length} fields` : describeKey(table, entry);
  const priority = entry.priority === 0 ? "" : ` priority ${entry.priority}`;
  return `${name} {${key}}${priority}`;
}

function describeKey(table: TableSchema, entry: TableEntry): string {
  try {
    return matches(table, entry)
      .map(([name, match, bitwidth]) => `${name} = ${formatMatch(match, bitwidth)}`)
      .join(", ");
  } catch (error) {
    // The entry may be the very one that the switch refused as malformed.
    if (error instanceof EntityError) return "malformed";
    throw error;
  }
}

function describeIndex(index: { readonly index: bigint } | undefined): string {
  return index === undefined ? "[all]" : `[${index.index}]`;
}

function nameOf(objects: { find(id: number): Named | undefined } | undefined, id: number): string {
  return objects?.find(id)?.name ?? `0x${id.toString(16)}`;
}

/** `port = 3` and so on, for logs. */
export function describeParams(entry: NamedTableEntry, schema: Schema): string {
  const action = entry.action === undefined ? undefined : schema.actions.find(entry.action);
  return Object.entries(entry.params)
    .map(([name, value]) => `${name} = ${formatValue(value, action?.params.byName(name).bitwidth ?? 64)}`)
    .join(", ");
}
