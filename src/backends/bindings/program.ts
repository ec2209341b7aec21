import type {
  CounterSpec,
  Documentation,
  MatchField,
  MeterSpec,
  P4DataTypeSpec,
  P4Info,
  P4TypeInfo,
  Preamble,
} from "../../p4info/index.ts";
import { BackendError } from "../backenderror.ts";

/** What a control plane sees of a program, with the references between its objects followed. Order is the P4Info's. */
export interface BoundProgram {
  readonly doc: Documentation | undefined;
  readonly tables: readonly BoundTable[];
  readonly actions: readonly BoundAction[];
  readonly profiles: readonly BoundProfile[];
  readonly counters: readonly BoundCounter[];
  readonly meters: readonly BoundMeter[];
  readonly registers: readonly BoundRegister[];
  /** Registers whose cells are no integers. */
  readonly otherRegisters: readonly string[];
  readonly digests: readonly BoundDigest[];
  readonly valueSets: readonly BoundValueSet[];
  readonly packetIn: BoundHeader | undefined;
  readonly packetOut: BoundHeader | undefined;
  readonly types: P4TypeInfo | undefined;
}

interface BoundObject {
  readonly name: string;
  readonly doc: Documentation | undefined;
}

/** A value with a width; width 0 is text. */
export interface BoundField extends BoundObject {
  readonly bitwidth: number;
}

export type BoundMatchKind = "EXACT" | "LPM" | "TERNARY" | "RANGE" | "OPTIONAL";

export interface BoundMatchField extends BoundField {
  readonly kind: BoundMatchKind;
}

export interface BoundAction extends BoundObject {
  readonly params: readonly BoundField[];
}

export interface BoundTable extends BoundObject {
  readonly fields: readonly BoundMatchField[];
  readonly hasPriority: boolean;
  /** Actions of entries, by name. */
  readonly actions: readonly string[];
  /** Actions of the default entry, by name. */
  readonly defaultActions: readonly string[];
  readonly size: bigint;
  readonly isConst: boolean;
  readonly hasConstDefault: boolean;
  readonly implementation: "profile" | "selector" | undefined;
  readonly counter: BoundCounter | undefined;
  readonly meter: BoundMeter | undefined;
}

export interface BoundProfile extends BoundObject {
  readonly withSelector: boolean;
  readonly size: bigint;
  readonly actions: readonly string[];
}

export interface BoundCounter extends BoundObject {
  readonly unit: "PACKETS" | "BYTES" | "BOTH";
  readonly size: bigint;
}

export interface BoundMeter extends BoundObject {
  readonly unit: "PACKETS" | "BYTES";
  readonly type: "TWO_RATE_THREE_COLOR" | "SINGLE_RATE_THREE_COLOR" | "SINGLE_RATE_TWO_COLOR";
  readonly size: bigint;
}

export interface BoundRegister extends BoundObject {
  readonly bitwidth: number;
  readonly isSigned: boolean;
  readonly size: number;
}

export interface BoundDigest extends BoundObject {
  readonly typeSpec: P4DataTypeSpec | undefined;
}

/** Values that the parser compares with; the one field of a `value_set<bit<W>>` has no name. */
export interface BoundValueSet extends BoundObject {
  readonly fields: readonly BoundMatchField[];
  readonly size: number;
}

export interface BoundHeader extends BoundObject {
  readonly fields: readonly BoundField[];
}

/**
 * @throws BackendError GP2001 for a reference to nothing or two objects of one kind with one name, GP2004 for a match kind that
 *   P4Runtime's client does not know.
 */
export function boundProgram(info: P4Info): BoundProgram {
  const actionNames = new Map(info.actions.map(({ preamble }) => [preamble?.id ?? 0, preamble?.name ?? ""]));
  const nameOf = (id: number, owner: string): string => {
    const name = actionNames.get(id);
    if (name === undefined) throw missing(owner, "action", id);
    return name;
  };
  const tables = info.tables.map((table) => boundTable(info, table, nameOf));
  const actionsOf = (id: number): readonly string[] =>
    tables.find((_, index) => info.tables[index]?.preamble?.id === id)?.actions ?? [];
  const header = (name: string): BoundHeader | undefined => {
    const found = info.controllerPacketMetadata.find(({ preamble }) => preamble?.name === name);
    if (found === undefined) return undefined;
    const fields = found.metadata.map((field) => ({
      name: field.name,
      bitwidth: field.bitwidth,
      doc: undefined,
    }));
    return { ...object(found.preamble), fields: distinct(name, fields) };
  };
  const registers = info.registers.map((register) => ({ ...object(register.preamble), register }));
  return {
    doc: info.pkgInfo?.doc,
    tables: distinct("table", tables),
    actions: distinct(
      "action",
      info.actions.map(({ preamble, params }) => ({
        ...object(preamble),
        params: distinct(`action ${preamble?.name}`, params.map(field)),
      })),
    ),
    profiles: distinct(
      "action profile",
      info.actionProfiles.map(({ preamble, withSelector, size, tableIds }) => ({
        ...object(preamble),
        withSelector,
        size,
        actions: [...new Set(tableIds.flatMap(actionsOf))],
      })),
    ),
    counters: distinct(
      "counter",
      info.counters.map(({ preamble, spec, size }) => ({
        ...object(preamble),
        unit: counterUnit(spec),
        size,
      })),
    ),
    meters: distinct(
      "meter",
      info.meters.map(({ preamble, spec, size }) => ({ ...object(preamble), ...meterSpec(spec), size })),
    ),
    registers: distinct(
      "register",
      registers.flatMap(({ register, ...named }) => {
        const bits = integerOf(register.typeSpec);
        return bits === undefined ? [] : [{ ...named, ...bits, size: register.size }];
      }),
    ),
    otherRegisters: registers.flatMap(({ register, name }) =>
      integerOf(register.typeSpec) === undefined ? [name] : [],
    ),
    digests: distinct(
      "digest",
      info.digests.map(({ preamble, typeSpec }) => ({ ...object(preamble), typeSpec })),
    ),
    valueSets: distinct(
      "value set",
      info.valueSets.map(({ preamble, match, size }) => {
        const owner = `value set ${preamble?.name}`;
        const fields = match.map((each) => ({ ...field(each), kind: matchKind(owner, each) }));
        return { ...object(preamble), fields: distinct(owner, fields), size };
      }),
    ),
    packetIn: header("packet_in"),
    packetOut: header("packet_out"),
    types: info.typeInfo,
  };
}

function boundTable(
  info: P4Info,
  table: P4Info["tables"][number],
  actionName: (id: number, owner: string) => string,
): BoundTable {
  const named = object(table.preamble);
  const owner = `table ${named.name}`;
  const fields = table.matchFields.map((match) => ({ ...field(match), kind: matchKind(owner, match) }));
  const actions = (excluded: string): readonly string[] =>
    table.actionRefs.filter(({ scope }) => scope !== excluded).map(({ id }) => actionName(id, owner));
  const profile = info.actionProfiles.find(({ preamble }) => preamble?.id === table.implementationId);
  if (table.implementationId !== 0 && profile === undefined)
    throw missing(owner, "action profile", table.implementationId);
  const isDirect = ({ preamble }: { readonly preamble?: Preamble | undefined }): boolean =>
    table.directResourceIds.includes(preamble?.id ?? 0);
  const counter = info.directCounters.find(isDirect);
  const meter = info.directMeters.find(isDirect);
  return {
    ...named,
    fields: distinct(owner, fields),
    hasPriority: fields.some(({ kind }) => kind !== "EXACT" && kind !== "LPM"),
    actions: actions("DEFAULT_ONLY"),
    defaultActions: actions("TABLE_ONLY"),
    size: table.size,
    isConst: table.isConstTable,
    hasConstDefault: table.constDefaultActionId !== 0,
    implementation: profile === undefined ? undefined : profile.withSelector ? "selector" : "profile",
    counter: counter && { ...object(counter.preamble), unit: counterUnit(counter.spec), size: 0n },
    meter: meter && { ...object(meter.preamble), ...meterSpec(meter.spec), size: 0n },
  };
}

function object(preamble: Preamble | undefined): BoundObject {
  return { name: preamble?.name ?? "", doc: preamble?.doc };
}

function field(message: {
  readonly name: string;
  readonly bitwidth: number;
  readonly doc?: Documentation | undefined;
}): BoundField {
  return { name: message.name, bitwidth: message.bitwidth, doc: message.doc };
}

function matchKind(owner: string, { name, match }: MatchField): BoundMatchKind {
  switch (match?.value) {
    case "EXACT":
    case "LPM":
    case "TERNARY":
    case "RANGE":
    case "OPTIONAL":
      return match.value;
    default:
      throw new BackendError(
        "GP2004",
        "bindings",
        `${owner}, field ${name}: match kind ${match?.value ?? "none"} is not supported`,
      );
  }
}

function counterUnit(spec: CounterSpec | undefined): BoundCounter["unit"] {
  return spec?.unit === "BYTES" || spec?.unit === "PACKETS" ? spec.unit : "BOTH";
}

function meterSpec(spec: MeterSpec | undefined): Pick<BoundMeter, "unit" | "type"> {
  const type = spec?.type;
  return {
    unit: spec?.unit === "BYTES" ? "BYTES" : "PACKETS",
    type:
      type === "SINGLE_RATE_THREE_COLOR" || type === "SINGLE_RATE_TWO_COLOR" ? type : "TWO_RATE_THREE_COLOR",
  };
}

function integerOf(
  spec: P4DataTypeSpec | undefined,
): Pick<BoundRegister, "bitwidth" | "isSigned"> | undefined {
  const bits = spec?.typeSpec?.case === "bitstring" ? spec.typeSpec.value.typeSpec : undefined;
  if (bits?.case !== "bit" && bits?.case !== "int") return undefined;
  return { bitwidth: bits.value.bitwidth, isSigned: bits.case === "int" };
}

function missing(owner: string, kind: string, id: number): BackendError {
  return new BackendError("GP2001", "bindings", `${owner}: there is no ${kind} with id 0x${id.toString(16)}`);
}

/** Two objects with one name would have one place in the module. */
function distinct<T extends { readonly name: string }>(kind: string, objects: readonly T[]): readonly T[] {
  const seen = new Set<string>();
  for (const { name } of objects) {
    if (seen.has(name)) throw new BackendError("GP2001", "bindings", `${kind}: two have the name "${name}"`);
    seen.add(name);
  }
  return objects;
}
