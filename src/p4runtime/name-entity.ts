import { readCall, readChoice } from "./bindings/actions.ts";
import { cellName } from "./cell-name.ts";
import { formatMatch, normaliseMatch } from "./match.ts";
import type { Entity, FieldMatch, MeterConfig, Replica, TableEntry } from "./proto/generated/p4runtime.ts";
import type { FieldMap, MatchFieldSchema, Schema } from "./schema.ts";
import { bigintOf, formatValue } from "./values.ts";

/** An entity in the names of the program, as plain data that JSON can hold: numbers above 2^53 and addresses are text. */
export interface NamedEntity {
  readonly kind: string;
  /** Full name of the table, counter, ... ; absent where there is none. */
  readonly name?: string;
  readonly [field: string]: unknown;
}

/** Put names on any entity. @throws EntityError when it does not fit the program */
export function nameEntity(schema: Schema, message: Entity): NamedEntity {
  const { entity } = message;
  switch (entity?.case) {
    case undefined:
      return { kind: "nothing" };
    case "tableEntry":
      return nameEntry(schema, entity.value);
    case "actionProfileMember": {
      const { actionProfileId, memberId, action } = entity.value;
      const name = schema.actionProfiles.get(actionProfileId).name;
      const call = action === undefined ? {} : callFields(schema, readCall(schema, action));
      return { kind: "member", name, member: memberId, ...call };
    }
    case "actionProfileGroup": {
      const { actionProfileId, groupId, members, maxSize } = entity.value;
      const name = schema.actionProfiles.get(actionProfileId).name;
      const list = members.map(({ memberId, weight, watchKind }) => ({
        member: memberId,
        weight,
        ...(watchKind?.case === "watchPort" ? { watchPort: Number(bigintOf(watchKind.value)) } : {}),
      }));
      return { kind: "group", name, group: groupId, members: list, ...(maxSize === 0 ? {} : { maxSize }) };
    }
    case "packetReplicationEngineEntry": {
      const { type } = entity.value;
      const replicas = (type?.value.replicas ?? []).map(replicaOf);
      return type?.case === "cloneSessionEntry"
        ? { kind: "clone", session: type.value.sessionId, replicas }
        : { kind: "multicast", group: type?.value.multicastGroupId ?? 0, replicas };
    }
    case "counterEntry": {
      const { counterId, index, data } = entity.value;
      const counter = schema.counters.get(counterId);
      const cell = cellName(counter, Number(index?.index ?? 0n));
      return {
        kind: "counter",
        name: counter.name,
        index: number(index?.index ?? 0n),
        ...(cell === undefined ? {} : { cell }),
        packets: number(data?.packetCount ?? 0n),
        bytes: number(data?.byteCount ?? 0n),
      };
    }
    case "directCounterEntry": {
      const { tableEntry, data } = entity.value;
      const entry = tableEntry === undefined ? {} : keyOf(schema, tableEntry);
      const counts = { packets: number(data?.packetCount ?? 0n), bytes: number(data?.byteCount ?? 0n) };
      return { ...entry, kind: "direct-counter", ...counts };
    }
    case "meterEntry": {
      const { meterId, index, config } = entity.value;
      const name = schema.meters.get(meterId).name;
      return { kind: "meter", name, index: number(index?.index ?? 0n), ...ratesOf(config) };
    }
    case "directMeterEntry": {
      const { tableEntry, config } = entity.value;
      return {
        ...(tableEntry === undefined ? {} : keyOf(schema, tableEntry)),
        kind: "direct-meter",
        ...ratesOf(config),
      };
    }
    case "registerEntry": {
      const { registerId, index, data } = entity.value;
      const register = schema.registers.get(registerId);
      const value = data?.data?.case === "bitstring" ? number(bigintOf(data.data.value)) : data;
      return { kind: "register", name: register.name, index: number(index?.index ?? 0n), value };
    }
    case "valueSetEntry": {
      const set = schema.valueSets.get(entity.value.valueSetId);
      const members = entity.value.members.map(({ match }) => matchOf(set.fields, match));
      return { kind: "value-set", name: set.name, members };
    }
    case "digestEntry": {
      const { digestId, config } = entity.value;
      const name = schema.digests.get(digestId).name;
      return {
        kind: "digest",
        name,
        timeout: number(config?.maxTimeoutNs ?? 0n),
        size: config?.maxListSize ?? 0,
        ackTimeout: number(config?.ackTimeoutNs ?? 0n),
      };
    }
    case "externEntry":
      return { kind: "extern", type: entity.value.externTypeId, id: entity.value.externId };
  }
}

function nameEntry(schema: Schema, entry: TableEntry): NamedEntity {
  const choice = readChoice(schema, entry.action);
  const hasCall = typeof choice === "object" && choice !== null && "action" in choice;
  const call =
    hasCall && entry.action?.type?.case === "action" ? readCall(schema, entry.action.type.value) : undefined;
  return {
    ...keyOf(schema, entry),
    ...(call === undefined ? (choice ?? {}) : callFields(schema, call)),
    ...(entry.isConst ? { const: true } : {}),
    ...(entry.idleTimeoutNs === 0n ? {} : { idleTimeout: number(entry.idleTimeoutNs) }),
    ...(entry.metadata.length === 0 ? {} : { metadata: metadataText(entry.metadata) }),
    ...(entry.counterData === undefined
      ? {}
      : { packets: number(entry.counterData.packetCount), bytes: number(entry.counterData.byteCount) }),
  };
}

function keyOf(schema: Schema, entry: TableEntry): NamedEntity {
  const table = schema.tables.get(entry.tableId);
  if (entry.isDefaultAction) return { kind: "default", name: table.name };
  return {
    kind: "entry",
    name: table.name,
    match: matchOf(table.fields, entry.match),
    ...(entry.priority === 0 ? {} : { priority: entry.priority }),
  };
}

function matchOf(
  fields: FieldMap<MatchFieldSchema>,
  messages: readonly FieldMatch[],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    messages.flatMap((message) => {
      const field = fields.byId(message.fieldId);
      const match = normaliseMatch(field, message);
      return match === undefined ? [] : [[field.name, formatMatch(match, field.bitwidth)] as const];
    }),
  );
}

function callFields(
  schema: Schema,
  { action, params }: { readonly action: string; readonly params: object },
): { readonly action: string; readonly params: Readonly<Record<string, unknown>> } {
  const fields = schema.actions.get(action).params;
  const named = Object.entries(params).map(
    ([name, value]) =>
      [name, typeof value === "bigint" ? formatValue(value, fields.byName(name).bitwidth) : value] as const,
  );
  return { action, params: Object.fromEntries(named) };
}

function replicaOf({ portKind, instance, backupReplicas }: Replica): object {
  const port = portKind?.case === "port" ? Number(bigintOf(portKind.value)) : (portKind?.value ?? 0);
  const backups = backupReplicas.map((b) => ({ port: Number(bigintOf(b.port)), instance: b.instance }));
  return { port, instance, ...(backups.length === 0 ? {} : { backups }) };
}

function ratesOf(config: MeterConfig | undefined): object {
  if (config === undefined) return {};
  return Object.fromEntries(Object.entries(config).map(([name, rate]) => [name, number(rate)]));
}

/** Text that somebody put there to be read, or hexadecimal. */
function metadataText(metadata: Uint8Array): string {
  const isText = metadata.every((byte) => byte >= 0x20 && byte < 0x7f);
  return isText ? new TextDecoder().decode(metadata) : `0x${Buffer.from(metadata).toString("hex")}`;
}

function number(value: bigint): number | string {
  const small = Number(value);
  return Number.isSafeInteger(small) ? small : value.toString();
}
