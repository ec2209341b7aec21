import type { Any } from "../p4info/generated/any.ts";
import { create } from "../p4info/message/create.ts";
import type { Init } from "../p4info/message/descriptor.ts";
import {
  type ActionInput,
  actionMessage,
  checkSize,
  checkWeight,
  type Params,
  tableAction,
  watch,
} from "./action-choice.ts";
import { type DataInput, dataMessage } from "./data-message.ts";
import { EntityError } from "./entity-error.ts";
import { fieldValues } from "./field-values.ts";
import { encodeMatch, type MatchInput, parseMatch } from "./match.ts";
import {
  CounterData,
  type DigestEntry_Config,
  Entity,
  type FieldMatch,
  MeterConfig,
  type PacketMetadata,
  type Replica,
  type TableAction,
  type TableEntry,
} from "./proto/generated/p4runtime.ts";
import type { FieldMap, MatchFieldSchema, PacketHeaderSchema, Schema, TableSchema } from "./schema.ts";
import { bigintOf, bytesOf, encodeValue } from "./values.ts";

export type { ActionInput, Params, WeightedAction } from "./action-choice.ts";
export { insert, modify, remove } from "./updates.ts";

/** Matches by field name; a field that is left out matches anything. */
export type MatchInputs = Readonly<Record<string, MatchInput>>;
export interface TableEntryOptions {
  /** Needed above 0 where some field is ternary, range or optional; higher wins. */
  readonly priority?: number;
  /** Kept by the switch and given back with the entry. */
  readonly metadata?: Uint8Array;
  readonly counterData?: Init<CounterData>;
  readonly meterConfig?: Init<MeterConfig>;
  /** Nanoseconds without a hit after which the switch tells the controller (9.1.8). */
  readonly idleTimeout?: bigint;
}

/** What a read of entries selects, beside the table (9.1.6), and what it asks for with them. */
export interface EntryFilter {
  readonly priority?: number;
  /** Only entries that run this action; with `params`, with these arguments. */
  readonly action?: string;
  readonly params?: Params;
  readonly metadata?: Uint8Array;
  /** Give direct counters with the entries. */
  readonly counters?: boolean;
  /** Give direct meters with the entries. */
  readonly meters?: boolean;
  /** Give the time since the last hit. */
  readonly lastHit?: boolean;
}

/** A member of a group. */
export interface GroupMember {
  readonly member: number;
  /** 1 unless given. */
  readonly weight?: number;
  /** The member is left out while this port is down. */
  readonly watchPort?: number;
}

export interface ReplicaInput {
  readonly port: number;
  readonly instance?: number;
  /** Ports that take over, in this order, while `port` is down (1.5). */
  readonly backups?: readonly { readonly port: number; readonly instance?: number }[];
}

/**
 * Makes P4Runtime entities from the names and values of a program. Everything is checked here, before a switch sees it: names ("did you
 * mean"), widths, match kinds, priorities, missing and superfluous parameters.
 *
 * All methods throw EntityError that names the object and the field.
 */
export class EntityBuilder {
  readonly schema: Schema;
  /** `port` in replicas came with 1.4; servers before it (PI of BMv2 among them, which refuses port 0 there) know `egress_port`. */
  readonly #hasReplicaPort: boolean;
  readonly #hasBackups: boolean;

  /** @param apiVersion of the server, as Capabilities says it. */
  constructor(schema: Schema, apiVersion = "1.4.0") {
    this.schema = schema;
    const [major = 1, minor = 0] = apiVersion.split(".").map(Number);
    this.#hasReplicaPort = major > 1 || minor >= 4;
    this.#hasBackups = major > 1 || minor >= 5;
  }

  /**
   * An entry of a table: `tableEntry("ingress.ipv4_lpm", { dst: "10.0.0.0/8" }, "forward", { port: 1 })`.
   *
   * Without an action it is a key, for deleting and reading.
   */
  tableEntry(
    table: string,
    match: MatchInputs,
    action?: string | ActionInput,
    params: Params = {},
    options: TableEntryOptions = {},
  ): Entity {
    const schema = this.schema.tables.get(table);
    const priority = options.priority ?? 0;
    if (schema.fields.all.length === 0)
      throw new EntityError("unexpected", `table ${schema.name}`, "it has no key, so only a default entry");
    checkPriority(schema, priority);
    return tableEntity(
      schema.id,
      matchMessages(schema.fields, match),
      this.#tableAction(schema, action, params),
      priority,
      options,
    );
  }

  /** The default entry of a table. Without an action, MODIFY puts the program's own back. */
  defaultEntry(table: string, action?: string, params: Params = {}): Entity {
    const schema = this.schema.tables.get(table);
    if (action === undefined) return tableEntity(schema.id, [], undefined, 0, {}, true);
    if (schema.constDefaultAction)
      throw new EntityError("unexpected", `table ${schema.name}`, "its default entry is constant");
    if (schema.implementation !== undefined)
      throw new EntityError(
        "unexpected",
        `table ${schema.name}`,
        "it has an action profile, so no default entry to set",
      );
    const spec = tableAction(this.schema, schema, { action, params }, "default");
    return tableEntity(schema.id, [], spec, 0, {}, true);
  }

  /** For reading: all entries of a table, or of all tables, that the filter lets through. */
  allEntries(table?: string, filter: EntryFilter = {}): Entity {
    const schema = table === undefined ? undefined : this.schema.tables.get(table);
    const entity = tableEntity(
      schema?.id ?? 0,
      [],
      filter.action === undefined ? undefined : this.#filterAction(schema, filter.action, filter.params),
      filter.priority ?? 0,
      {
        ...(filter.metadata === undefined ? {} : { metadata: filter.metadata }),
        ...(filter.counters === true ? { counterData: {} } : {}),
        ...(filter.meters === true ? { meterConfig: {} } : {}),
      },
    );
    if (filter.lastHit !== true || entity.entity?.case !== "tableEntry") return entity;
    const value = { ...entity.entity.value, timeSinceLastHit: { elapsedNs: 0n } };
    return { entity: { case: "tableEntry", value } };
  }

  #filterAction(table: TableSchema | undefined, name: string, params: Params | undefined): TableAction {
    const action = this.schema.actions.get(name);
    if (table !== undefined && !table.actions.has(action.id))
      throw new EntityError("unexpected", `table ${table.name}`, `${action.name} is not one of its actions`);
    const value = params === undefined ? { actionId: action.id, params: [] } : actionMessage(action, params);
    return { type: { case: "action", value } };
  }

  /** For writing with data; for reading without, one cell or all. */
  counter(name: string, index?: number | bigint, data?: Init<CounterData>): Entity {
    const counterId = this.schema.counters.get(name).id;
    return entity({ case: "counterEntry", value: { counterId, index: indexOf(index), data } });
  }

  /** The counter of a table entry; without a match that of all entries. */
  directCounter(table: string, match: MatchInputs = {}, priority = 0, data?: Init<CounterData>): Entity {
    return entity({
      case: "directCounterEntry",
      value: { tableEntry: this.#key(table, match, priority), data },
    });
  }

  meter(name: string, index?: number | bigint, config?: Init<MeterConfig>): Entity {
    const meterId = this.schema.meters.get(name).id;
    return entity({ case: "meterEntry", value: { meterId, index: indexOf(index), config } });
  }

  directMeter(table: string, match: MatchInputs = {}, priority = 0, config?: Init<MeterConfig>): Entity {
    return entity({
      case: "directMeterEntry",
      value: { tableEntry: this.#key(table, match, priority), config },
    });
  }

  /**
   * A cell of a register, or all without an index; with a value for writing: a number, or for a register of structs a record by member
   * names.
   */
  register(name: string, index?: number | bigint, value?: DataInput): Entity {
    const { id: registerId, typeSpec, name: full } = this.schema.registers.get(name);
    const where = `register ${full}`;
    const data =
      value === undefined ? undefined : dataMessage(typeSpec, this.schema.info.typeInfo, value, where);
    return entity({ case: "registerEntry", value: { registerId, index: indexOf(index), data } });
  }

  member(profile: string, memberId: number, action?: string, params: Params = {}): Entity {
    const schema = this.schema.actionProfiles.get(profile);
    const spec = action === undefined ? undefined : actionMessage(this.schema.actions.get(action), params);
    return entity({
      case: "actionProfileMember",
      value: { actionProfileId: schema.id, memberId, action: spec },
    });
  }

  /** A group of members: with weights by member number `{ 10: 1, 11: 2 }`, or as a list where ports are watched. */
  group(
    profile: string,
    groupId: number,
    members: Readonly<Record<number, number>> | readonly GroupMember[] = [],
    maxSize?: number,
  ): Entity {
    const schema = this.schema.actionProfiles.get(profile);
    const where = `group ${groupId} of ${schema.name}`;
    if (!schema.withSelector)
      throw new EntityError("unexpected", where, "the action profile has no selector, so no groups");
    const list = isList(members)
      ? members
      : Object.entries(members).map(([member, weight]): GroupMember => ({ member: Number(member), weight }));
    for (const { weight = 1 } of list) checkWeight(where, schema, weight);
    if (new Set(list.map(({ member }) => member)).size !== list.length)
      throw new EntityError("unexpected", where, "a member is named twice");
    checkSize(where, schema, list);
    return entity({
      case: "actionProfileGroup",
      value: {
        actionProfileId: schema.id,
        groupId,
        members: list.map(({ member: memberId, weight = 1, watchPort }) => ({
          memberId,
          weight,
          watchKind: watch(watchPort),
        })),
        // The specification has none of 0 where the program bounds groups (9.2.2); a question asks for all.
        maxSize: maxSize ?? (groupId === 0 ? 0 : schema.maxGroupSize),
      },
    });
  }

  /** For writing with members, each by field name; for reading without, one value set or all when there is no name. */
  valueSet(name?: string, members: readonly MatchInputs[] = []): Entity {
    const schema = name === undefined ? undefined : this.schema.valueSets.get(name);
    if (schema === undefined) return entity({ case: "valueSetEntry", value: {} });
    if (schema.size > 0 && members.length > schema.size)
      throw new EntityError(
        "out-of-range",
        `value set ${schema.name}`,
        `it has room for ${schema.size} members, not ${members.length}`,
      );
    const list = members.map((inputs) => ({ match: matchMessages(schema.fields, inputs) }));
    return entity({ case: "valueSetEntry", value: { valueSetId: schema.id, members: list } });
  }

  /** How a digest is sent (9.8); without a configuration for deleting and reading. */
  digest(name: string, config?: Init<DigestEntry_Config>): Entity {
    return entity({ case: "digestEntry", value: { digestId: this.schema.digests.get(name).id, config } });
  }

  /** An entry of an extern that P4Runtime has no message for (9.9): whatever the target's documentation says. */
  extern(externTypeId: number, externId: number, entry: Init<Any>): Entity {
    return entity({ case: "externEntry", value: { externTypeId, externId, entry } });
  }

  multicastGroup(
    multicastGroupId: number,
    replicas: readonly ReplicaInput[] = [],
    metadata: Uint8Array = NO_METADATA,
  ): Entity {
    return entity({
      case: "packetReplicationEngineEntry",
      value: {
        type: {
          case: "multicastGroupEntry",
          value: {
            multicastGroupId,
            replicas: this.#replicas(`multicast group ${multicastGroupId}`, replicas),
            metadata,
          },
        },
      },
    });
  }

  cloneSession(
    sessionId: number,
    replicas: readonly ReplicaInput[] = [],
    options: { readonly classOfService?: number; readonly packetLengthBytes?: number } = {},
  ): Entity {
    return entity({
      case: "packetReplicationEngineEntry",
      value: {
        type: {
          case: "cloneSessionEntry",
          value: {
            sessionId,
            replicas: this.#replicas(`clone session ${sessionId}`, replicas),
            ...options,
          },
        },
      },
    });
  }

  #replicas(where: string, replicas: readonly ReplicaInput[]): Init<Replica>[] {
    const seen = new Set<string>();
    return replicas.map(({ port, instance = 0, backups = [] }) => {
      const key = `port ${port} instance ${instance}`;
      if (seen.has(key)) throw new EntityError("unexpected", where, `${key} is there twice`);
      seen.add(key);
      if (backups.length > 0 && !this.#hasBackups)
        throw new EntityError(
          "unexpected",
          where,
          "the switch knows no backup replicas (they came with 1.5)",
        );
      const portKind: Init<Replica>["portKind"] = this.#hasReplicaPort
        ? { case: "port", value: bytesOf(BigInt(port)) }
        : { case: "egressPort", value: port };
      const backupReplicas = backups.map((b) => ({
        port: bytesOf(BigInt(b.port)),
        instance: b.instance ?? 0,
      }));
      return { portKind, instance, backupReplicas };
    });
  }

  /** The metadata of a packet for the switch. Every field of the packet_out header must be there; padding may be left out. */
  packetOut(metadata: Params): PacketMetadata[] {
    const header = packetHeader(this.schema.packetOut, "packet_out");
    const values = fieldValues(metadata, header.metadata);
    return header.metadata.all.map((field) => {
      const value = values.get(field.id) ?? (isPadding(field.name) ? 0 : undefined);
      if (value === undefined) throw new EntityError("missing", field.where, "it is not given");
      return { metadataId: field.id, value: encodeValue(value, field) };
    });
  }

  /** The metadata of a packet from the switch by name. */
  packetIn(metadata: readonly PacketMetadata[]): Record<string, bigint> {
    const header = packetHeader(this.schema.packetIn, "packet_in");
    return Object.fromEntries(
      metadata.map(({ metadataId, value }) => [header.metadata.byId(metadataId).name, bigintOf(value)]),
    );
  }

  #key(table: string, match: MatchInputs, priority: number): Init<TableEntry> {
    const schema = this.schema.tables.get(table);
    const isAll = Object.keys(match).length === 0 && priority === 0;
    if (!isAll) checkPriority(schema, priority);
    return { tableId: schema.id, match: isAll ? [] : matchMessages(schema.fields, match), priority };
  }

  #tableAction(
    table: TableSchema,
    input: string | ActionInput | undefined,
    params: Params,
  ): TableAction | undefined {
    if (input === undefined) return undefined;
    const choice = typeof input === "string" ? { action: input, params } : input;
    return tableAction(this.schema, table, choice, "entry");
  }
}

function isList(
  members: Readonly<Record<number, number>> | readonly GroupMember[],
): members is readonly GroupMember[] {
  return Array.isArray(members);
}

function entity(value: Init<Entity>["entity"]): Entity {
  return create(Entity, { entity: value });
}

/** Written out, not made by `create`: tables have hundreds of thousands of entries. */
function tableEntity(
  tableId: number,
  match: readonly FieldMatch[],
  action: TableAction | undefined,
  priority: number,
  options: TableEntryOptions,
  isDefaultAction = false,
): Entity {
  const value: TableEntry = {
    tableId,
    match,
    action,
    priority,
    controllerMetadata: 0n,
    meterConfig: options.meterConfig === undefined ? undefined : create(MeterConfig, options.meterConfig),
    counterData: options.counterData === undefined ? undefined : create(CounterData, options.counterData),
    isDefaultAction,
    idleTimeoutNs: options.idleTimeout ?? 0n,
    metadata: options.metadata ?? NO_METADATA,
    isConst: false,
  };
  return { entity: { case: "tableEntry", value } };
}

const NO_METADATA = new Uint8Array(0);

function indexOf(index: number | bigint | undefined): { readonly index: bigint } | undefined {
  return index === undefined ? undefined : { index: BigInt(index) };
}

function checkPriority(table: TableSchema, priority: number): void {
  const where = `table ${table.name}`;
  if (table.needsPriority && priority <= 0)
    throw new EntityError("missing", where, `its entries need a priority above 0, not ${priority}`);
  if (!table.needsPriority && priority !== 0)
    throw new EntityError(
      "unexpected",
      where,
      "its entries have no priority, as all fields are exact or LPM",
    );
}

function matchMessages(fields: FieldMap<MatchFieldSchema>, inputs: MatchInputs): FieldMatch[] {
  const values = fieldValues(inputs, fields);
  const messages: FieldMatch[] = [];
  for (const field of fields.all) {
    const match = parseMatch(field, values.get(field.id));
    if (match !== undefined) messages.push(encodeMatch(field, match));
  }
  return messages;
}

function packetHeader(header: PacketHeaderSchema | undefined, name: string): PacketHeaderSchema {
  if (header === undefined) throw new EntityError("unknown-name", "this program", `it has no ${name} header`);
  return header;
}

/** How programs name fields that only fill up a byte. */
function isPadding(name: string): boolean {
  return /^_?pad(ding)?\d*_?$/i.test(name) || /^_$/.test(name);
}
