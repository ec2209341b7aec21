import type * as ir from "../../ir/index.ts";
import type { DataType } from "../../ir/index.ts";
import { NO_ACTION, valueSetsOf, widthOf } from "../../ir/index.ts";
import type {
  Action,
  ActionProfile,
  ControllerPacketMetadata,
  Counter,
  Digest,
  DirectCounter,
  DirectMeter,
  Documentation,
  Init,
  MatchField_MatchType,
  Meter,
  ObjectKind,
  P4DataTypeSpec,
  P4Info,
  P4StructTypeSpec,
  P4TypeInfo,
  Preamble,
  Register,
  Table,
  ValueSet,
} from "../../p4info/index.ts";
import { infoText } from "../p4text/annotations.ts";
import { cellList } from "../p4text/declarations.ts";
import type {
  LoweredBlock,
  LoweredControl,
  LoweredDigest,
  LoweredProgram,
  LoweredTable,
} from "../v1model/lowered.ts";
import { storageType, unsigned } from "../v1model/storage.ts";
import { byBytes, Symbols } from "./symbols.ts";

/**
 * What a controller may know of the v1model program: the same objects, names and ids as in the P4Info that p4c makes of the emitted
 * P4, and besides the documentation of the program.
 */
export function p4info(program: LoweredProgram): Init<P4Info> {
  const symbols = new Symbols(symbolsOf(program));
  const run = tableActions(program);
  const controls = program.controls;
  return {
    pkgInfo: { name: program.source.name, arch: "v1model", ...documentation(program.source.doc) },
    tables: controls.flatMap((c) => c.tables.map((t) => table(t, c, symbols))),
    actions: [
      ...(run.has(NO_ACTION) ? [noAction(symbols)] : []),
      ...controls.flatMap((c) => [
        ...c.actions.filter((a) => run.has(a.name)).map((a) => action(a, symbols)),
        // p4c lists these too, without their parameters, which the call gives.
        ...calledActions(c, run).map((a) => action({ ...a, parameters: [] }, symbols)),
      ]),
    ],
    actionProfiles: controls.flatMap((c) => c.actionProfiles.map((p) => actionProfile(p, c, symbols))),
    counters: controls.flatMap((c) => c.counters.map((counter) => counterArray(counter, symbols))),
    directCounters: controls.flatMap((c) => c.directCounters.map((d) => directCounter(d, symbols))),
    meters: controls.flatMap((c) => c.meters.map((m) => meterArray(m, symbols))),
    directMeters: controls.flatMap((c) => c.directMeters.map((m) => directMeter(m, symbols))),
    digests: controls.flatMap((c) => c.digests.map((d) => digest(d, symbols))),
    ...typeInfo(controls.flatMap((c) => c.digests)),
    controllerPacketMetadata: controllerHeaders(program, symbols),
    valueSets: valueSetsOf(program.source).map((v) => valueSet(v, symbols)),
    registers: controls.flatMap((c) => c.registers.map((r) => registerArray(r, symbols))),
  };
}

function valueSet({ name, fields, size, doc }: ir.ValueSet, symbols: Symbols): Init<ValueSet> {
  return {
    preamble: preamble("value set", name, symbols, doc),
    match: fields.map((f, i) => ({
      id: i + 1,
      name: f.name,
      bitwidth: widthOf(f.type),
      match: { case: "matchType", value: "EXACT" },
    })),
    size,
  };
}

function symbolsOf(program: LoweredProgram): readonly (readonly [ObjectKind, string, number?])[] {
  const of = (kind: ObjectKind, objects: readonly { readonly name: string; readonly id?: number }[]) =>
    objects.map((o): readonly [ObjectKind, string, number?] =>
      o.id === undefined ? [kind, o.name] : [kind, o.name, o.id],
    );
  const run = tableActions(program);
  return [
    ...(run.has(NO_ACTION) ? [["action", NO_ACTION] as const] : []),
    ...program.controls.flatMap((c) => [
      ...of(
        "action",
        c.actions.filter((a) => run.has(a.name)),
      ),
      ...of("action", calledActions(c, run)),
      ...of("table", c.tables),
      ...of("action profile", c.actionProfiles),
      ...of("counter", c.counters),
      ...of("direct counter", c.directCounters),
      ...of("meter", c.meters),
      ...of("direct meter", c.directMeters),
      ...of("digest", c.digests),
      ...of("register", c.registers),
    ]),
    ...of("value set", valueSetsOf(program.source)),
    ...of(
      "controller header",
      program.headerTypes.filter((t) => t.controllerHeader !== undefined),
    ),
  ];
}

/** Actions that some table may run. */
function tableActions(program: LoweredProgram): ReadonlySet<string> {
  return new Set(program.controls.flatMap((c) => c.tables.flatMap((t) => t.actions.map((a) => a.name))));
}

/** Actions of a control that are only called by name. */
function calledActions(control: LoweredControl, run: ReadonlySet<string>): LoweredControl["actions"] {
  const called = new Set(callsIn(control.block));
  return control.actions.filter((a) => called.has(a.name) && !run.has(a.name));
}

function callsIn(block: LoweredBlock): readonly string[] {
  return block.flatMap((s) => {
    switch (s.kind) {
      case "callAction":
        return [s.action];
      case "if":
        return [...callsIn(s.whenTrue), ...callsIn(s.whenFalse)];
      case "applyTable":
        return [...callsIn(s.hit), ...callsIn(s.miss)];
      default:
        return [];
    }
  });
}

function preamble(
  kind: ObjectKind,
  name: string,
  symbols: Symbols,
  doc?: string,
  annotations: readonly string[] = [],
): Init<Preamble> {
  return {
    id: symbols.id(kind, name),
    name,
    alias: symbols.alias(name),
    annotations,
    ...documentation(doc),
  };
}

function infoTexts({ annotations = [] }: ir.Annotated): readonly string[] {
  return annotations.map((a) => infoText(a.text));
}

function documentation(doc: string | undefined): { readonly doc?: Init<Documentation> } {
  return doc === undefined || doc === "" ? {} : { doc: { brief: doc } };
}

const MATCH: Readonly<Record<LoweredTable["key"][number]["match"], MatchField_MatchType>> = {
  exact: "EXACT",
  lpm: "LPM",
  ternary: "TERNARY",
  range: "RANGE",
  optional: "OPTIONAL",
};

function table(t: LoweredTable, control: LoweredControl, symbols: Symbols): Init<Table> {
  const parameters = control.actions.find((a) => a.name === t.defaultAction.action)?.parameters ?? [];
  return {
    preamble: preamble("table", t.name, symbols, t.doc, infoTexts(t)),
    matchFields: t.key.map((k, i) => ({
      id: i + 1,
      name: k.name,
      annotations: infoTexts(k),
      bitwidth: widthOf(k.expression.type),
      match: { case: "matchType", value: MATCH[k.match] },
      ...documentation(k.doc),
    })),
    actionRefs: t.actions.map((a) => ({
      id: symbols.id("action", a.name),
      scope: a.defaultOnly ? "DEFAULT_ONLY" : "TABLE_AND_DEFAULT",
      annotations: a.defaultOnly ? ["@defaultonly"] : [],
    })),
    constDefaultActionId: t.defaultAction.constant ? symbols.id("action", t.defaultAction.action) : 0,
    initialDefaultAction: {
      actionId: symbols.id("action", t.defaultAction.action),
      arguments: t.defaultAction.arguments.map((value, i) => ({
        paramId: i + 1,
        value: canonicalBytes(value, parameters[i]?.type ?? { kind: "bit", width: 32 }),
      })),
    },
    implementationId: t.profile === undefined ? 0 : symbols.id("action profile", t.profile.name),
    directResourceIds: [
      ...(t.directCounter === undefined ? [] : [symbols.id("direct counter", t.directCounter)]),
      ...(t.directMeter === undefined ? [] : [symbols.id("direct meter", t.directMeter.name)]),
    ],
    // The P4 text states a size only where the control plane inserts entries; p4c then gives the default one.
    size: BigInt(t.key.length === 0 || isConst(t) ? DEFAULT_SIZE : t.size),
    isConstTable: isConst(t),
    hasInitialEntries: t.constEntries.length > 0,
  };
}

/** No entry can be changed or added. */
function isConst({ constEntries, entriesAreInitial }: LoweredTable): boolean {
  return constEntries.length > 0 && entriesAreInitial !== true;
}

function actionProfile(
  p: LoweredControl["actionProfiles"][number],
  control: LoweredControl,
  symbols: Symbols,
): Init<ActionProfile> {
  const tables = control.tables
    .filter((t) => t.profile?.name === p.name)
    .map((t) => t.name)
    .sort(byBytes);
  return {
    preamble: preamble("action profile", p.name, symbols, p.doc, infoTexts(p)),
    tableIds: tables.map((name) => symbols.id("table", name)),
    withSelector: p.selector !== undefined,
    size: BigInt(p.size),
    maxGroupSize: p.selector?.maxGroupSize ?? 0,
  };
}

/** Size of a table that states none (v1model). */
const DEFAULT_SIZE = 1024;

/** A value in the fewest bytes, at least one (P4Runtime specification 8.4). */
export function canonicalBytes(value: bigint, type: DataType): Uint8Array {
  const hex = unsigned(value, storageType(type)).toString(16);
  return Uint8Array.from(Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex"));
}

function action(a: LoweredControl["actions"][number], symbols: Symbols): Init<Action> {
  return {
    preamble: preamble("action", a.name, symbols, a.doc, infoTexts(a)),
    params: a.parameters.map((p, i) => ({
      id: i + 1,
      name: p.name,
      annotations: infoTexts(p),
      bitwidth: widthOf(p.type),
      ...documentation(p.doc),
    })),
  };
}

function noAction(symbols: Symbols): Init<Action> {
  // The annotation stands at the action's declaration in core.p4.
  return { preamble: preamble("action", NO_ACTION, symbols, undefined, ['@noWarn("unused")']) };
}

const UNIT = { packets: "PACKETS", bytes: "BYTES", both: "BOTH" } as const;

function counterArray(c: LoweredControl["counters"][number], symbols: Symbols): Init<Counter> {
  const cells = cellList(c.cells, c.per, ": ");
  const doc: Init<Documentation> = {
    ...(c.doc === undefined ? {} : { brief: c.doc }),
    ...(cells === undefined ? {} : { description: cells }),
  };
  return {
    preamble: {
      ...preamble("counter", c.name, symbols, undefined, infoTexts(c)),
      ...(Object.keys(doc).length === 0 ? {} : { doc }),
    },
    spec: { unit: UNIT[c.unit] },
    size: BigInt(c.size),
  };
}

function directCounter(d: LoweredControl["directCounters"][number], symbols: Symbols): Init<DirectCounter> {
  return {
    preamble: preamble("direct counter", d.name, symbols),
    spec: { unit: UNIT.both },
    directTableId: symbols.id("table", d.table),
  };
}

const METER_UNIT = { packets: "PACKETS", bytes: "BYTES" } as const;

function meterArray(m: LoweredControl["meters"][number], symbols: Symbols): Init<Meter> {
  return {
    preamble: preamble("meter", m.name, symbols, m.doc, infoTexts(m)),
    spec: { unit: METER_UNIT[m.unit] },
    size: BigInt(m.size),
  };
}

function directMeter(m: LoweredControl["directMeters"][number], symbols: Symbols): Init<DirectMeter> {
  return {
    preamble: preamble("direct meter", m.name, symbols),
    spec: { unit: METER_UNIT[m.unit] },
    directTableId: symbols.id("table", m.table),
  };
}

function digest(d: LoweredDigest, symbols: Symbols): Init<Digest> {
  return {
    preamble: preamble("digest", d.name, symbols, d.doc),
    typeSpec: { typeSpec: { case: "struct", value: { name: d.name } } },
  };
}

/** The structs of digests. */
function typeInfo(digests: readonly LoweredDigest[]): { readonly typeInfo?: Init<P4TypeInfo> } {
  if (digests.length === 0) return {};
  const structs = digests.map((d): [string, Init<P4StructTypeSpec>] => [
    d.name,
    { members: d.fields.map((f) => ({ name: f.name, typeSpec: dataType(f.type) })) },
  ]);
  return { typeInfo: { structs: Object.fromEntries(structs.sort(([a], [b]) => byBytes(a, b))) } };
}

function dataType(type: DataType): Init<P4DataTypeSpec> {
  if (type.kind === "bool") return { typeSpec: { case: "bool", value: {} } };
  const value = { bitwidth: type.width };
  const typeSpec = type.kind === "bit" ? { case: "bit" as const, value } : { case: "int" as const, value };
  return { typeSpec: { case: "bitstring", value: { typeSpec } } };
}

function registerArray(r: LoweredControl["registers"][number], symbols: Symbols): Init<Register> {
  return {
    preamble: preamble("register", r.name, symbols, r.doc, infoTexts(r)),
    typeSpec: {
      typeSpec: {
        case: "bitstring",
        value: { typeSpec: { case: "bit", value: { bitwidth: widthOf(r.storage) } } },
      },
    },
    size: r.size,
  };
}

function controllerHeaders(
  program: LoweredProgram,
  symbols: Symbols,
): readonly Init<ControllerPacketMetadata>[] {
  return program.headerTypes.flatMap((t) =>
    t.controllerHeader === undefined
      ? []
      : [
          {
            preamble: {
              // The id comes from the header's type, the name from its annotation.
              id: symbols.id("controller header", t.name),
              name: t.controllerHeader,
              alias: t.controllerHeader,
              annotations: [`@controller_header("${t.controllerHeader}")`],
              ...documentation(t.doc),
            },
            metadata: t.fields.map((f, i) => ({ id: i + 1, name: f.name, bitwidth: widthOf(f.type) })),
          },
        ],
  );
}
