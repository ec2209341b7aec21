import { encode } from "../p4info/message/binary.ts";
import { EntityError } from "./entity-error.ts";
import { normaliseMatch } from "./match.ts";
import { P4Data } from "./proto/generated/p4data.ts";
import type {
  Action,
  Entity,
  FieldMatch,
  MeterConfig,
  Replica,
  TableAction,
  TableEntry,
} from "./proto/generated/p4runtime.ts";
import type { FieldMap, MatchFieldSchema, Schema } from "./schema.ts";

/** What a server does not give back as it was written, so that it must not be compared. */
export interface Comparison {
  /** Are watch ports of groups given back? PI gives the last member's to all. */
  readonly watchPorts: boolean;
  /** Is the metadata of multicast groups kept? PI loses it. */
  readonly multicastMetadata: boolean;
  /** Are backup replicas kept? */
  readonly backupReplicas: boolean;
}

export const COMPARE_ALL: Comparison = { watchPorts: true, multicastMetadata: true, backupReplicas: true };

/**
 * What makes an entity the one that it is (8.2, 9.1): of a table entry the table, match and priority. Two entities with the same key cannot
 * be on a switch at once. Padding, order of fields and the ways to say "any value" make no difference.
 *
 * @throws EntityError when it does not fit the program.
 */
export function entityKey({ entity }: Entity, schema: Schema): string {
  switch (entity?.case) {
    case undefined:
      return "nothing";
    case "tableEntry":
      return tableKey(entity.value, schema);
    case "actionProfileMember":
      return `member/${entity.value.actionProfileId}/${entity.value.memberId}`;
    case "actionProfileGroup":
      return `group/${entity.value.actionProfileId}/${entity.value.groupId}`;
    case "packetReplicationEngineEntry": {
      const { type } = entity.value;
      return type?.case === "multicastGroupEntry"
        ? `multicast/${type.value.multicastGroupId}`
        : `clone/${type?.value.sessionId ?? 0}`;
    }
    case "counterEntry":
      return `counter/${entity.value.counterId}/${entity.value.index?.index ?? "all"}`;
    case "meterEntry":
      return `meter/${entity.value.meterId}/${entity.value.index?.index ?? "all"}`;
    case "registerEntry":
      return `register/${entity.value.registerId}/${entity.value.index?.index ?? "all"}`;
    case "directCounterEntry":
    case "directMeterEntry": {
      const entry = entity.value.tableEntry;
      return `${entity.case}/${entry === undefined ? "" : tableKey(entry, schema)}`;
    }
    case "valueSetEntry":
      return `valueSet/${entity.value.valueSetId}`;
    case "digestEntry":
      return `digest/${entity.value.digestId}`;
    case "externEntry":
      return `extern/${entity.value.externTypeId}/${entity.value.externId}`;
  }
}

/**
 * What an entity says beside its key, in normal form: equal texts mean that the switch need not be written. Counters and times, which the
 * switch changes by itself, are no part of it (8.2.1); neither is the size of a group, which cannot be changed.
 *
 * @throws EntityError when it does not fit the program.
 */
export function entityContent({ entity }: Entity, schema: Schema, comparison = COMPARE_ALL): string {
  switch (entity?.case) {
    case "tableEntry": {
      const { action, meterConfig, metadata, controllerMetadata, idleTimeoutNs } = entity.value;
      return [
        actionText(action),
        meterText(meterConfig),
        hex(metadata),
        controllerMetadata === 0n ? "" : `${controllerMetadata}`,
        idleTimeoutNs === 0n ? "" : `${idleTimeoutNs}`,
      ].join("|");
    }
    case "actionProfileMember":
      return entity.value.action === undefined ? "" : callText(entity.value.action);
    case "actionProfileGroup":
      return entity.value.members
        .map(({ memberId, weight, watchKind }) => {
          const watch =
            comparison.watchPorts && watchKind?.case === "watchPort" ? `@${digits(watchKind.value)}` : "";
          return `${memberId}*${weight}${watch}`;
        })
        .sort()
        .join(",");
    case "packetReplicationEngineEntry": {
      const { type } = entity.value;
      if (type === undefined) return "";
      const replicas = type.value.replicas
        .map((r) => replicaText(r, comparison))
        .sort()
        .join(",");
      return type.case === "multicastGroupEntry"
        ? `${replicas}|${comparison.multicastMetadata ? hex(type.value.metadata) : ""}`
        : `${replicas}|${type.value.classOfService}|${type.value.packetLengthBytes}`;
    }
    case "meterEntry":
    case "directMeterEntry":
      return meterText(entity.value.config);
    case "registerEntry":
      return entity.value.data === undefined ? "" : dataText(entity.value.data);
    case "valueSetEntry": {
      const fields = schema.valueSets.get(entity.value.valueSetId).fields;
      return entity.value.members
        .map(({ match }) => matchText(fields, match))
        .sort()
        .join(",");
    }
    case "digestEntry": {
      const { config } = entity.value;
      return config === undefined
        ? ""
        : `${config.maxTimeoutNs}|${config.maxListSize}|${config.ackTimeoutNs}`;
    }
    case "externEntry":
      return `${entity.value.entry?.typeUrl ?? ""}|${hex(entity.value.entry?.value ?? new Uint8Array())}`;
    default:
      return "";
  }
}

function tableKey(entry: TableEntry, schema: Schema): string {
  if (entry.isDefaultAction) return `default/${entry.tableId}`;
  const table = schema.tables.get(entry.tableId);
  const match = matchText(table.fields, entry.match);
  return `entry/${entry.tableId}/${entry.priority === 0 ? "" : entry.priority}/${match}`;
}

function matchText(fields: FieldMap<MatchFieldSchema>, match: readonly FieldMatch[]): string {
  const texts: (readonly [id: number, text: string])[] = [];
  for (const message of match) {
    const text = fieldText(fields, message);
    if (text !== undefined) texts.push([message.fieldId, text]);
  }
  if (texts.length > 1) texts.sort((a, b) => a[0] - b[0]);
  let joined = "";
  for (const [id, text] of texts) joined += `${id}=${text};`;
  return joined;
}

/** Tables have hundreds of thousands of entries, and most fields are exact: those need no number to be made. */
function fieldText(fields: FieldMap<MatchFieldSchema>, message: FieldMatch): string | undefined {
  const form = message.fieldMatchType;
  if (form?.case === "exact" || form?.case === "optional") return digits(form.value.value);
  if (form?.case === "lpm" && form.value.prefixLen > 0)
    return `${digits(form.value.value)}/${form.value.prefixLen}`;
  const match = normaliseMatch(fields.byId(message.fieldId), message);
  switch (match?.kind) {
    case undefined:
      return undefined;
    case "TERNARY":
      return `${match.value.toString(16)}&${match.mask.toString(16)}`;
    case "RANGE":
      return `${match.low.toString(16)}-${match.high.toString(16)}`;
    default:
      throw new EntityError("invalid-value", fields.byId(message.fieldId).where, "the match has no value");
  }
}

function actionText(action: TableAction | undefined): string {
  const type = action?.type;
  switch (type?.case) {
    case undefined:
      return "";
    case "action":
      return callText(type.value);
    case "actionProfileMemberId":
      return `member ${type.value}`;
    case "actionProfileGroupId":
      return `group ${type.value}`;
    case "actionProfileActionSet":
      return type.value.actionProfileActions
        .map(({ action: call, weight, watchKind }) => {
          const watch = watchKind?.case === "watchPort" ? `@${digits(watchKind.value)}` : "";
          return `${call === undefined ? "" : callText(call)}*${weight}${watch}`;
        })
        .sort()
        .join(",");
  }
}

function callText({ actionId, params }: Action): string {
  const sorted = isSorted(params) ? params : [...params].sort((a, b) => a.paramId - b.paramId);
  let text = `${actionId}`;
  for (const { paramId, value } of sorted) text += `,${paramId}=${digits(value)}`;
  return text;
}

function isSorted(params: Action["params"]): boolean {
  let before = 0;
  for (const { paramId } of params) {
    if (paramId < before) return false;
    before = paramId;
  }
  return true;
}

/** An unset meter is the one that marks everything green; some servers spell that out. */
function meterText(config: MeterConfig | undefined): string {
  if (config === undefined) return "";
  const { cir, cburst, pir, pburst, eburst } = config;
  const isUnlimited = [cir, cburst, pir, pburst].every((n) => n < 0n || n >= 0xffff_ffffn);
  return isUnlimited ? "" : `meter ${cir}/${cburst}/${pir}/${pburst}/${eburst}`;
}

function replicaText({ portKind, instance, backupReplicas }: Replica, comparison: Comparison): string {
  const port = portKind?.case === "port" ? digits(portKind.value) : (portKind?.value ?? 0).toString(16);
  const backups = comparison.backupReplicas
    ? backupReplicas.map((b) => `>${digits(b.port)}.${b.instance}`).join("")
    : "";
  return `${port.padStart(8, "0")}.${instance}${backups}`;
}

function dataText(data: P4Data): string {
  return data.data?.case === "bitstring" ? digits(data.data.value) : hex(encode(P4Data, data));
}

/** Bytes as a number in hexadecimal without leading zeros, whatever their padding. */
function digits(bytes: Uint8Array): string {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const length = bytes.length - start;
  if (length <= 6) {
    let value = 0;
    for (let i = start; i < bytes.length; i++) value = value * 256 + (bytes[i] ?? 0);
    return value.toString(16);
  }
  return hex(start === 0 ? bytes : bytes.subarray(start)).replace(/^0/, "");
}

function hex(bytes: Uint8Array): string {
  if (bytes.length === 0) return "";
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}
