import { type ActionCall, colours, type MatchKind, type MeterUnit, typeName } from "../../../ir/index.ts";
import { actionText, documented, memberTexts, objectTexts } from "../../p4text/declarations.ts";
import { expression } from "../../p4text/expressions.ts";
import { braces, concat, type Doc, hardline, lines, list } from "../../p4text/layout.ts";
import { nameAnnotation, tableText } from "../../p4text/tables.ts";
import type {
  HeaderTypeText,
  Member,
  StatefulProgram,
  TnaAction,
  TnaActionProfile,
  TnaControl,
  TnaPipeline,
  TnaTable,
  Unit,
} from "../lowered.ts";
import { cellText, type Place, scopeOf, stepsText } from "./blocks.ts";
import { UNUSED, unusedIn, unusedParameters } from "./unused.ts";

const COUNTER_TYPE = { packets: "PACKETS", bytes: "BYTES", both: "PACKETS_AND_BYTES" } as const;

/** Everything that a control declares before `apply`. */
export function declarations(control: TnaControl, place: Place): readonly Doc[] {
  const isUnused = unusedIn(control);
  const object = (local: string, text: string): string => (isUnused(local) ? `${UNUSED} ${text}` : text);
  return [
    ...instanceTexts(control),
    ...objectTexts(
      control.registers.map((r) => ({
        ...r,
        text: object(
          r.local,
          `Register<${typeName(r.type)}, ${typeName(r.indexType)}>(${r.size}, 0) ${r.local};`,
        ),
      })),
    ),
    ...objectTexts(
      control.counters.map((c) => ({
        ...c,
        text: object(
          c.local,
          `Counter<bit<64>, ${typeName(c.indexType)}>(${c.size}, CounterType_t.${COUNTER_TYPE[c.unit]}) ${c.local};`,
        ),
      })),
    ),
    ...objectTexts(
      control.directCounters.map((c) => ({
        name: c.name,
        text: `DirectCounter<bit<64>>(CounterType_t.${COUNTER_TYPE.both}) ${c.local};`,
      })),
    ),
    ...objectTexts(
      control.meters.map((m) => ({
        ...m,
        text: object(
          m.local,
          `Meter<${typeName(m.cells.indexType)}>(${m.cells.size}, ${meterArguments(m.unit)}) ${m.local};`,
        ),
      })),
    ),
    ...objectTexts(
      control.directMeters.map((m) => ({ ...m, text: `DirectMeter(${meterArguments(m.unit)}) ${m.local};` })),
    ),
    ...control.actionProfiles.flatMap(profileTexts),
    ...actionTexts(control.actions, place),
    ...control.tables.map((t) => {
      const text = tnaTable(t, control, place);
      return documented(t.doc, isUnused(t.local) ? concat(UNUSED, hardline, text) : text);
    }),
  ];
}

/** The colours that programs know (v1model's): red is 2 there, and 3 in TNA if nothing is said. */
function meterArguments(unit: MeterUnit): string {
  return `MeterType_t.${unit.toUpperCase()}, ${colours.red}, ${colours.yellow}, ${colours.green}`;
}

/** Bits of the hash by which a fair selector takes a member. */
const SELECTOR_HASH_BITS = 14;

function profileTexts(p: TnaActionProfile): readonly Doc[] {
  const members = objectTexts([{ ...p, text: `ActionProfile(${p.size}) ${p.local};` }]);
  if (p.selector === undefined) return members;
  const { name, local, algorithm, hashLocal, groupSize, groups } = p.selector;
  const selector = list(
    "ActionSelector(",
    [p.local, hashLocal, "SelectorMode_t.FAIR", `${groupSize}`, `${groups}`],
    `) ${local};`,
  );
  return [
    lines([
      ...members,
      `Hash<bit<${SELECTOR_HASH_BITS}>>(HashAlgorithm_t.${algorithm}) ${hashLocal};`,
      concat(nameAnnotation(name), selector),
    ]),
  ];
}

export function actionTexts(actions: readonly TnaAction[], place: Place): readonly Doc[] {
  return actions.flatMap((a) => {
    const unused = unusedParameters(a);
    const parameters = a.parameters.map((p) =>
      unused.has(p.name) ? { ...p, annotations: [...(p.annotations ?? []), { text: UNUSED }] } : p,
    );
    return [
      ...(a.units.length === 0 ? [] : [lines(a.units.map(unitText))]),
      ...a.updates.map((u) => programText(u, place)),
      actionText({ ...a, parameters }, stepsText(a.steps, place)),
    ];
  });
}

function unitText(u: Unit): string {
  if (u.kind === "random") return `Random<bit<${u.bits}>>() ${u.local};`;
  return `Hash<bit<${u.bits}>>(HashAlgorithm_t.${u.algorithm}) ${u.local};`;
}

export function instanceTexts(scope: TnaControl | TnaPipeline): readonly Doc[] {
  if (scope.instances.length === 0) return [];
  const isUnused = unusedIn(scope);
  return [lines(scope.instances.map((i) => `${isUnused(i.name) ? `${UNUSED} ` : ""}${i.type}() ${i.name};`))];
}

function programText(p: StatefulProgram, place: Place): Doc {
  const output = typeName(p.outputType ?? p.type);
  const parameters = [
    `inout ${typeName(p.type)} value`,
    ...(p.outputType === undefined ? [] : [`out ${typeName(p.outputType)} result`]),
  ];
  return documented(
    p.why,
    concat(
      braces(
        `RegisterAction<${typeName(p.type)}, ${typeName(p.indexType)}, ${output}>(${p.register}) ${p.local} =`,
        [braces(list("void apply(", parameters, ")"), cellText(p.body, place))],
      ),
      ";",
    ),
  );
}

function tnaTable(table: TnaTable, control: TnaControl, place: Place): Doc {
  const actions = new Map(control.actions.map((a) => [a.name, a]));
  const profile = control.actionProfiles.find((p) => p.name === table.implementation);
  const call = ({ action: name, arguments: values, named }: ActionCall) => ({
    local: table.actions.find((a) => a.name === name)?.local ?? name,
    arguments: values.map((value, i) => ({
      value,
      type: actions.get(name)?.parameters[i]?.type ?? { kind: "bit" as const, width: 32 },
      name: named?.[i]?.name,
    })),
  });
  return tableText({
    ...table,
    key: table.key.map((k) => ({
      ...k,
      expression: expression(k.expression, scopeOf(place), true),
      match: matchOf(k.match, table),
      type: k.expression.type,
    })),
    actions: table.actions,
    size: table.size,
    defaultAction: {
      ...call(table.defaultAction),
      constant: table.defaultAction.constant,
    },
    entries: table.constEntries.map((e) => ({ ...call(e), keys: e.keys })),
    entriesAreInitial: table.entriesAreInitial,
    selectors: (profile?.selector?.keys ?? []).map((k) => expression(k, scopeOf(place))),
    properties: [
      // Left out, it would be 512.
      ...(table.constEntries.length > 0 && !table.entriesAreInitial
        ? [`size = ${table.constEntries.length};`]
        : []),
      ...(table.directCounterLocal === undefined ? [] : [`counters = ${table.directCounterLocal};`]),
      ...(table.directMeterLocal === undefined ? [] : [`meters = ${table.directMeterLocal};`]),
      ...(profile === undefined ? [] : [`implementation = ${(profile.selector ?? profile).local};`]),
    ],
  });
}

/** Tofino has no optional keys, and no constant entries in a table with a prefix: their winning order is that of the entries. */
export function matchOf(match: MatchKind, table: TnaTable): MatchKind {
  if (match === "optional" || (match === "lpm" && table.constEntries.length > 0)) return "ternary";
  return match;
}

export function headerTypeText(type: HeaderTypeText): Doc {
  return documented(type.doc, braces(`header ${type.name}`, members(type.fields)), 0);
}

export function members(fields: readonly Member[]): readonly Doc[] {
  return memberTexts(
    fields.map((f) => ({
      text: `${f.isPadding === true ? "@padding " : ""}${f.typeName ?? typeName(f.type)} ${f.name};`,
      doc: f.doc,
    })),
  );
}
