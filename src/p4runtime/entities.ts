import { create } from "../p4info/message/create.ts";
import type { Init } from "../p4info/message/descriptor.ts";
import { EntityError } from "./entity-error.ts";
import { encodeMatch, type MatchInput, parseMatch } from "./match.ts";
import {
  type Action,
  CounterData,
  Entity,
  type FieldMatch,
  MeterConfig,
  type PacketMetadata,
  type Replica,
  TableAction,
  type TableEntry,
  type Update,
} from "./proto/generated/p4runtime.ts";
import type { ActionSchema, PacketHeaderSchema, Schema, TableSchema } from "./schema.ts";
import { bigintOf, bytesOf, encodeValue, type Value } from "./values.ts";

/** Matches by field name; a field that is left out matches anything. */
export type MatchInputs = Readonly<Record<string, MatchInput>>;
/** Arguments by parameter name. */
export type Params = Readonly<Record<string, Value>>;

export interface TableEntryOptions {
  /** Needed above 0 where some field is ternary, range or optional; higher wins. */
  readonly priority?: number;
  /** Kept by the switch and given back with the entry. */
  readonly metadata?: Uint8Array;
  readonly counterData?: Init<CounterData>;
  readonly meterConfig?: Init<MeterConfig>;
}

/** What a hit does: an action with arguments, a member or a group of an action profile, or a one-shot set of weighted actions. */
export type ActionInput =
  | { readonly action: string; readonly params?: Params }
  | { readonly member: number }
  | { readonly group: number }
  | { readonly oneShot: readonly WeightedAction[] };

export interface WeightedAction {
  readonly action: string;
  readonly params?: Params;
  /** 1 unless given. */
  readonly weight?: number;
  readonly watchPort?: number;
}

export interface ReplicaInput {
  readonly port: number;
  readonly instance?: number;
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

  /** @param apiVersion of the server, as Capabilities says it. */
  constructor(schema: Schema, apiVersion = "1.4.0") {
    this.schema = schema;
    const [major = 1, minor = 0] = apiVersion.split(".").map(Number);
    this.#hasReplicaPort = major > 1 || minor >= 4;
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
    checkPriority(schema, priority);
    return tableEntity(
      schema.id,
      matchMessages(schema, match),
      this.#tableAction(schema, action, params),
      priority,
      options,
    );
  }

  /** The default entry of a table. Without an action, MODIFY puts the program's own back. */
  defaultEntry(table: string, action?: string, params: Params = {}): Entity {
    const schema = this.schema.tables.get(table);
    const spec = action === undefined ? undefined : this.#tableAction(schema, action, params);
    return tableEntity(schema.id, [], spec, 0, {}, true);
  }

  /** For reading: all entries of a table, or of all tables. */
  allEntries(table?: string): Entity {
    return tableEntity(table === undefined ? 0 : this.schema.tables.get(table).id, [], undefined, 0, {});
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

  /** A cell of a register, or all without an index; with a value for writing. Only registers of unsigned integers. */
  register(name: string, index?: number | bigint, value?: Value): Entity {
    const schema = this.schema.registers.get(name);
    const where = `register ${schema.name}`;
    if (schema.bitwidth === undefined)
      throw new EntityError("invalid-value", where, "its cells are no plain integers");
    const bytes = value === undefined ? undefined : encodeValue(value, { bitwidth: schema.bitwidth, where });
    return entity({
      case: "registerEntry",
      value: {
        registerId: schema.id,
        index: indexOf(index),
        data: bytes === undefined ? undefined : { data: { case: "bitstring", value: bytes } },
      },
    });
  }

  member(profile: string, memberId: number, action?: string, params: Params = {}): Entity {
    const schema = this.schema.actionProfiles.get(profile);
    const spec = action === undefined ? undefined : actionMessage(this.schema.actions.get(action), params);
    return entity({
      case: "actionProfileMember",
      value: { actionProfileId: schema.id, memberId, action: spec },
    });
  }

  /** A group of members with weights: `group("selector", 1, { 10: 1, 11: 2 }, 4)`. */
  group(
    profile: string,
    groupId: number,
    weights: Readonly<Record<number, number>> = {},
    maxSize = 0,
  ): Entity {
    const schema = this.schema.actionProfiles.get(profile);
    const members = Object.entries(weights).map(([memberId, weight]) => ({
      memberId: Number(memberId),
      weight,
    }));
    return entity({
      case: "actionProfileGroup",
      value: { actionProfileId: schema.id, groupId, members, maxSize },
    });
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
          value: { multicastGroupId, replicas: replicas.map((r) => this.#replica(r)), metadata },
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
          value: { sessionId, replicas: replicas.map((r) => this.#replica(r)), ...options },
        },
      },
    });
  }

  #replica({ port, instance = 0 }: ReplicaInput): Init<Replica> {
    const portKind: Init<Replica>["portKind"] = this.#hasReplicaPort
      ? { case: "port", value: bytesOf(BigInt(port)) }
      : { case: "egressPort", value: port };
    return { portKind, instance };
  }

  /** The metadata of a packet for the switch. Every field of the packet_out header must be there; padding may be left out. */
  packetOut(metadata: Params): PacketMetadata[] {
    const header = packetHeader(this.schema.packetOut, "packet_out");
    const values = byField(metadata, (name) => header.metadata.byName(name));
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
    return { tableId: schema.id, match: isAll ? [] : matchMessages(schema, match), priority };
  }

  #tableAction(
    table: TableSchema,
    input: string | ActionInput | undefined,
    params: Params,
  ): TableAction | undefined {
    if (input === undefined) return undefined;
    if (typeof input === "string") return this.#tableAction(table, { action: input, params }, {});
    if ("member" in input) return { type: { case: "actionProfileMemberId", value: input.member } };
    if ("group" in input) return { type: { case: "actionProfileGroupId", value: input.group } };
    if ("action" in input)
      return {
        type: {
          case: "action",
          value: actionMessage(this.#actionOf(table, input.action), input.params ?? {}),
        },
      };
    return create(TableAction, {
      type: {
        case: "actionProfileActionSet",
        value: {
          actionProfileActions: input.oneShot.map((member) => ({
            action: actionMessage(this.#actionOf(table, member.action), member.params ?? {}),
            weight: member.weight ?? 1,
            watchKind:
              member.watchPort === undefined
                ? undefined
                : { case: "watchPort" as const, value: bytesOf(BigInt(member.watchPort)) },
          })),
        },
      },
    });
  }

  #actionOf(table: TableSchema, name: string): ActionSchema {
    const action = this.schema.actions.get(name);
    if (!table.actions.has(action.id)) {
      const names = [...table.actions.values()].map((ref) => ref.action.alias).join(", ");
      throw new EntityError(
        "unexpected",
        `table ${table.name}`,
        `${action.name} is not one of its actions, which are ${names}`,
      );
    }
    return action;
  }
}

/** Put a new entity in. */
export function insert(entity: Entity): Update {
  return { type: "INSERT", entity };
}

/** Change an entity that is there. */
export function modify(entity: Entity): Update {
  return { type: "MODIFY", entity };
}

/** Take an entity out. */
export function remove(entity: Entity): Update {
  return { type: "DELETE", entity };
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
    idleTimeoutNs: 0n,
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

function matchMessages(table: TableSchema, inputs: MatchInputs): FieldMatch[] {
  const values = byField(inputs, (name) => table.fields.byName(name));
  const messages: FieldMatch[] = [];
  for (const field of table.fields.all) {
    const match = parseMatch(field, values.get(field.id));
    if (match !== undefined) messages.push(encodeMatch(field, match));
  }
  return messages;
}

function actionMessage(action: ActionSchema, params: Params): Action {
  const values = byField(params, (name) => action.params.byName(name));
  return {
    actionId: action.id,
    params: action.params.all.map((field) => {
      const value = values.get(field.id);
      if (value === undefined) throw new EntityError("missing", field.where, "it is not given");
      return { paramId: field.id, value: encodeValue(value, field) };
    }),
  };
}

/** Values by field id; two names of one field are refused. */
function byField<V, F extends { readonly id: number; readonly where: string }>(
  values: Readonly<Record<string, V>>,
  find: (name: string) => F,
): Map<number, V> {
  const found = new Map<number, V>();
  for (const [name, value] of Object.entries(values)) {
    const field = find(name);
    if (found.has(field.id)) throw new EntityError("unexpected", field.where, "it is given twice");
    found.set(field.id, value);
  }
  return found;
}

function packetHeader(header: PacketHeaderSchema | undefined, name: string): PacketHeaderSchema {
  if (header === undefined) throw new EntityError("unknown-name", "this program", `it has no ${name} header`);
  return header;
}

/** How programs name fields that only fill up a byte. */
function isPadding(name: string): boolean {
  return /^_?pad(ding)?\d*_?$/i.test(name) || /^_$/.test(name);
}
