import type { ObjectKind } from "../p4info/ids.ts";
import type {
  Action,
  MatchField,
  P4DataTypeSpec,
  P4Info,
  P4TypeInfo,
  Preamble,
  Table,
} from "../p4info/index.ts";
import { didYouMean } from "../p4info/suggest.ts";
import { EntityError } from "./entity-error.ts";
import type { MatchKind } from "./match.ts";
import { bigintOf } from "./values.ts";

/** What every object of a program has: an id, its full name (`ingress.ipv4_lpm`) and a short one (`ipv4_lpm`). */
export interface Named {
  readonly id: number;
  readonly name: string;
  readonly alias: string;
}

/** A value with a width that belongs to an object: a match field, an action parameter, a member of a packet header. */
export interface FieldSchema {
  readonly id: number;
  readonly name: string;
  readonly bitwidth: number;
  /** How messages speak of it: `table ingress.ipv4_lpm, field hdr.ipv4.dst`. */
  readonly where: string;
  /** Names that values may be written by: the members of a serializable enum (8.4.5). */
  readonly names?: ReadonlyMap<string, bigint> | undefined;
}

export interface MatchFieldSchema extends FieldSchema {
  readonly kind: MatchKind;
}

export interface ActionSchema extends Named {
  readonly params: FieldMap<FieldSchema>;
}

export type ActionScope = "TABLE_AND_DEFAULT" | "TABLE_ONLY" | "DEFAULT_ONLY";

export interface TableSchema extends Named {
  readonly fields: FieldMap<MatchFieldSchema>;
  readonly actions: ReadonlyMap<number, { readonly action: ActionSchema; readonly scope: ActionScope }>;
  readonly size: number;
  /** Entries of such tables carry a priority above 0 (9.1.1): some field is ternary, range or optional. */
  readonly needsPriority: boolean;
  readonly isConst: boolean;
  /** The program brings entries of its own. */
  readonly hasInitialEntries: boolean;
  readonly constDefaultAction: boolean;
  /** Id of the action of the program's own default entry, where the P4Info tells it. */
  readonly initialDefaultAction: number | undefined;
  /** The action profile that implements the table. */
  readonly implementation: ActionProfileSchema | undefined;
  readonly directCounter: CounterSchema | undefined;
  readonly directMeter: MeterSchema | undefined;
  readonly supportsIdleTimeout: boolean;
}

export interface CounterSchema extends Named {
  readonly unit: "BYTES" | "PACKETS" | "BOTH";
  /** Number of cells; 0 for a direct counter. */
  readonly size: number;
  /** What its documentation says in P4Info beside the short form; empty when nothing. */
  readonly description: string;
}

export type MeterType = "TWO_RATE_THREE_COLOR" | "SINGLE_RATE_THREE_COLOR" | "SINGLE_RATE_TWO_COLOR";

export interface MeterSchema extends Named {
  readonly unit: "BYTES" | "PACKETS";
  readonly type: MeterType;
  /** Number of cells; 0 for a direct meter. */
  readonly size: number;
}

export interface RegisterSchema extends Named {
  readonly size: number;
  /** Width of a cell that is a plain integer; undefined for structs and the like. */
  readonly bitwidth: number | undefined;
  readonly isSigned: boolean;
  readonly typeSpec: P4DataTypeSpec | undefined;
}

export interface ActionProfileSchema extends Named {
  readonly tableIds: readonly number[];
  readonly withSelector: boolean;
  readonly size: number;
  readonly maxGroupSize: number;
  /** Does `maxGroupSize` count members, and not their weights (1.4)? */
  readonly countsMembers: boolean;
  readonly weightsDisallowed: boolean;
}

/** The header that a packet to or from the controller carries: `packet_in` or `packet_out`. */
export interface PacketHeaderSchema extends Named {
  readonly metadata: FieldMap<FieldSchema>;
  /** Bytes of the header in front of the packet. */
  readonly byteLength: number;
}

/** A set of values that the parser compares with (9.6). */
export interface ValueSetSchema extends Named {
  readonly fields: FieldMap<MatchFieldSchema>;
  readonly size: number;
}

export interface DigestSchema extends Named {
  readonly typeSpec: P4DataTypeSpec | undefined;
}

/** Fields of one object by id, by name, and by the last part of the name where that is unambiguous. */
export class FieldMap<F extends FieldSchema> {
  readonly all: readonly F[];
  readonly #owner: string;
  readonly #noun: string;
  readonly #byId: ReadonlyMap<number, F>;
  readonly #byName: ReadonlyMap<string, F | "ambiguous">;

  constructor(owner: string, noun: string, fields: readonly F[]) {
    this.all = fields;
    this.#owner = owner;
    this.#noun = noun;
    this.#byId = new Map(fields.map((field) => [field.id, field]));
    this.#byName = namesOf(fields.map((field) => [field, [field.name]]));
  }

  /** @throws EntityError `unknown-name` */
  byId(id: number): F {
    const field = this.#byId.get(id);
    if (field === undefined)
      throw new EntityError("unknown-name", this.#owner, `there is no ${this.#noun} with id ${id}`);
    return field;
  }

  /** @throws EntityError `unknown-name` with the name that may have been meant, or `ambiguous-name` */
  byName(name: string): F {
    return lookUp(this.#byName, name, this.#owner, this.#noun);
  }
}

/** Objects of one kind by id, full name, alias, and last part of the name where that is unambiguous. */
export class ObjectMap<T extends Named> {
  readonly all: readonly T[];
  readonly kind: ObjectKind;
  readonly #byId: ReadonlyMap<number, T>;
  readonly #byName: ReadonlyMap<string, T | "ambiguous">;

  constructor(kind: ObjectKind, objects: readonly T[]) {
    this.kind = kind;
    this.all = objects;
    this.#byId = new Map(objects.map((object) => [object.id, object]));
    this.#byName = namesOf(objects.map((object) => [object, [object.name, object.alias]]));
  }

  find(key: number | string): T | undefined {
    const found = typeof key === "number" ? this.#byId.get(key) : this.#byName.get(key);
    return found === "ambiguous" ? undefined : found;
  }

  /** @throws EntityError `unknown-name` with the name that may have been meant, or `ambiguous-name` */
  get(key: number | string): T {
    if (typeof key === "string") return lookUp(this.#byName, key, "this program", this.kind);
    const found = this.#byId.get(key);
    if (found === undefined)
      throw new EntityError(
        "unknown-name",
        "this program",
        `there is no ${this.kind} with id ${key} (0x${key.toString(16)})`,
      );
    return found;
  }
}

function namesOf<T>(
  entries: readonly (readonly [T, readonly string[]])[],
): ReadonlyMap<string, T | "ambiguous"> {
  const names = new Map<string, T | "ambiguous">();
  for (const [object, full] of entries) {
    for (const name of full) {
      const last = name.slice(name.lastIndexOf(".") + 1);
      const before = names.get(last);
      names.set(last, before === undefined || before === object ? object : "ambiguous");
    }
  }
  // Full names and aliases go last: they win over another object's last part.
  for (const [object, full] of entries) for (const name of full.toReversed()) names.set(name, object);
  return names;
}

function lookUp<T>(
  names: ReadonlyMap<string, T | "ambiguous">,
  name: string,
  owner: string,
  noun: string,
): T {
  const found = names.get(name);
  if (found === "ambiguous")
    throw new EntityError(
      "ambiguous-name",
      owner,
      `several have the name "${name}"; give the full name of the ${noun}`,
    );
  if (found === undefined)
    throw new EntityError(
      "unknown-name",
      owner,
      `there is no ${noun} "${name}"${didYouMean(name, names.keys())}`,
    );
  return found;
}

/**
 * A P4Info with its objects by id, name and alias, and the references between them followed.
 *
 * @throws EntityError when the P4Info contradicts itself (an id used twice, a reference to nothing).
 */
export class Schema {
  readonly info: P4Info;
  readonly tables: ObjectMap<TableSchema>;
  readonly actions: ObjectMap<ActionSchema>;
  readonly actionProfiles: ObjectMap<ActionProfileSchema>;
  readonly counters: ObjectMap<CounterSchema>;
  readonly meters: ObjectMap<MeterSchema>;
  readonly registers: ObjectMap<RegisterSchema>;
  readonly digests: ObjectMap<DigestSchema>;
  readonly valueSets: ObjectMap<ValueSetSchema>;
  readonly packetIn: PacketHeaderSchema | undefined;
  readonly packetOut: PacketHeaderSchema | undefined;

  constructor(info: P4Info) {
    this.info = info;
    checkIds(info);
    this.actions = new ObjectMap(
      "action",
      info.actions.map((action) => actionOf(action, info.typeInfo)),
    );
    this.actionProfiles = new ObjectMap(
      "action profile",
      info.actionProfiles.map((profile) => ({
        ...named(profile.preamble),
        tableIds: profile.tableIds,
        withSelector: profile.withSelector,
        size: Number(profile.size),
        maxGroupSize: profile.maxGroupSize,
        countsMembers: profile.selectorSizeSemantics?.case === "sumOfMembers",
        weightsDisallowed: profile.weightsDisallowed,
      })),
    );
    this.counters = new ObjectMap(
      "counter",
      info.counters.map((counter) => ({
        ...named(counter.preamble),
        unit: counterUnit(counter.spec?.unit),
        size: Number(counter.size),
        description: counter.preamble?.doc?.description ?? "",
      })),
    );
    this.meters = new ObjectMap(
      "meter",
      info.meters.map((meter) => ({
        ...named(meter.preamble),
        ...meterSpec(meter.spec),
        size: Number(meter.size),
      })),
    );
    this.registers = new ObjectMap("register", info.registers.map(registerOf));
    this.digests = new ObjectMap(
      "digest",
      info.digests.map((digest) => ({ ...named(digest.preamble), typeSpec: digest.typeSpec })),
    );
    this.valueSets = new ObjectMap(
      "value set",
      info.valueSets.map((set) => {
        const base = named(set.preamble);
        const owner = `value set ${base.name}`;
        const fields = set.match.map((field) => matchFieldOf(owner, field, info.typeInfo));
        return { ...base, fields: new FieldMap(owner, "match field", fields), size: set.size };
      }),
    );
    this.tables = new ObjectMap(
      "table",
      info.tables.map((table) => this.#tableOf(table)),
    );
    this.packetIn = packetHeader(info, "packet_in");
    this.packetOut = packetHeader(info, "packet_out");
  }

  #tableOf(table: Table): TableSchema {
    const base = named(table.preamble);
    const owner = `table ${base.name}`;
    const fields = table.matchFields.map((field) => matchFieldOf(owner, field, this.info.typeInfo));
    const actions = table.actionRefs.map((ref) => {
      const scope =
        ref.scope === "TABLE_ONLY" || ref.scope === "DEFAULT_ONLY" ? ref.scope : "TABLE_AND_DEFAULT";
      return [ref.id, { action: this.actions.get(ref.id), scope }] as const;
    });
    const direct = (id: number): boolean => table.directResourceIds.includes(id);
    const counter = this.info.directCounters.find((candidate) => direct(candidate.preamble?.id ?? 0));
    const meter = this.info.directMeters.find((candidate) => direct(candidate.preamble?.id ?? 0));
    return {
      ...base,
      fields: new FieldMap(owner, "match field", fields),
      actions: new Map(actions),
      size: Number(table.size),
      needsPriority: fields.some((field) => field.kind !== "EXACT" && field.kind !== "LPM"),
      isConst: table.isConstTable,
      hasInitialEntries: table.hasInitialEntries,
      constDefaultAction: table.constDefaultActionId !== 0,
      initialDefaultAction: table.initialDefaultAction?.actionId,
      implementation:
        table.implementationId === 0 ? undefined : this.actionProfiles.get(table.implementationId),
      directCounter:
        counter === undefined
          ? undefined
          : { ...named(counter.preamble), unit: counterUnit(counter.spec?.unit), size: 0, description: "" },
      directMeter:
        meter === undefined ? undefined : { ...named(meter.preamble), ...meterSpec(meter.spec), size: 0 },
      supportsIdleTimeout: table.idleTimeoutBehavior === "NOTIFY_CONTROL",
    };
  }
}

function named(preamble: Preamble | undefined): Named {
  const name = preamble?.name ?? "";
  return { id: preamble?.id ?? 0, name, alias: preamble?.alias || name };
}

function checkIds(info: P4Info): void {
  const seen = new Map<number, string>();
  const objects = [
    info.tables,
    info.actions,
    info.actionProfiles,
    info.counters,
    info.directCounters,
    info.meters,
    info.directMeters,
    info.controllerPacketMetadata,
    info.valueSets,
    info.registers,
    info.digests,
  ].flat();
  for (const object of objects) {
    const { id, name } = named(object.preamble);
    if (id === 0) throw new EntityError("missing", name || "an object of the P4Info", "it has no id");
    const before = seen.get(id);
    if (before !== undefined)
      throw new EntityError(
        "invalid-value",
        name,
        `it has the id 0x${id.toString(16)}, which ${before} has already`,
      );
    seen.set(id, name);
  }
}

function matchFieldOf(owner: string, field: MatchField, types: P4TypeInfo | undefined): MatchFieldSchema {
  return {
    id: field.id,
    name: field.name,
    bitwidth: field.bitwidth,
    kind: matchKind(owner, field.name, field.match),
    where: `${owner}, field ${field.name}`,
    names: enumNames(field.typeName?.name, types),
  };
}

/** The members of a serializable enum, by name; undefined for other types. */
function enumNames(
  typeName: string | undefined,
  types: P4TypeInfo | undefined,
): ReadonlyMap<string, bigint> | undefined {
  const members = typeName === undefined ? undefined : types?.serializableEnums[typeName]?.members;
  return members && new Map(members.map(({ name, value }) => [name, bigintOf(value)]));
}

function actionOf(action: Action, types: P4TypeInfo | undefined): ActionSchema {
  const base = named(action.preamble);
  const params = action.params.map((param) => ({
    id: param.id,
    name: param.name,
    bitwidth: param.bitwidth,
    where: `action ${base.name}, parameter ${param.name}`,
    names: enumNames(param.typeName?.name, types),
  }));
  return { ...base, params: new FieldMap(`action ${base.name}`, "parameter", params) };
}

function matchKind(
  owner: string,
  name: string,
  match: P4Info["tables"][number]["matchFields"][number]["match"],
): MatchKind {
  const value = match?.case === "matchType" ? match.value : undefined;
  switch (value) {
    case "EXACT":
    case "LPM":
    case "TERNARY":
    case "RANGE":
    case "OPTIONAL":
      return value;
    default:
      throw new EntityError(
        "invalid-value",
        `${owner}, field ${name}`,
        `match kind ${String(match?.value ?? "none")} is not supported`,
      );
  }
}

function counterUnit(unit: unknown): CounterSchema["unit"] {
  return unit === "BYTES" || unit === "PACKETS" ? unit : "BOTH";
}

function meterSpec(spec: P4Info["meters"][number]["spec"]): Pick<MeterSchema, "unit" | "type"> {
  const type = spec?.type;
  return {
    unit: spec?.unit === "BYTES" ? "BYTES" : "PACKETS",
    type:
      type === "SINGLE_RATE_THREE_COLOR" || type === "SINGLE_RATE_TWO_COLOR" ? type : "TWO_RATE_THREE_COLOR",
  };
}

function registerOf(register: P4Info["registers"][number]): RegisterSchema {
  const spec = register.typeSpec?.typeSpec;
  const bits = spec?.case === "bitstring" ? spec.value.typeSpec : undefined;
  return {
    ...named(register.preamble),
    size: register.size,
    bitwidth: bits?.case === "bit" || bits?.case === "int" ? bits.value.bitwidth : undefined,
    isSigned: bits?.case === "int",
    typeSpec: register.typeSpec,
  };
}

function packetHeader(info: P4Info, name: string): PacketHeaderSchema | undefined {
  const header = info.controllerPacketMetadata.find((candidate) => candidate.preamble?.name === name);
  if (header === undefined) return undefined;
  const metadata = header.metadata.map((field) => ({
    id: field.id,
    name: field.name,
    bitwidth: field.bitwidth,
    where: `${name} metadata ${field.name}`,
  }));
  const bits = metadata.reduce((sum, field) => sum + field.bitwidth, 0);
  return {
    ...named(header.preamble),
    metadata: new FieldMap(`${name} metadata`, "field", metadata),
    byteLength: Math.ceil(bits / 8),
  };
}
