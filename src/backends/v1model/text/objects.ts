import { type ActionCall, bit, hashAlgorithms, typeName, widthOf } from "../../../ir/index.ts";
import { actionText, counterDoc, documented, objectTexts } from "../../p4text/declarations.ts";

import { expression } from "../../p4text/expressions.ts";
import { type Doc, lines } from "../../p4text/layout.ts";
import { tableText } from "../../p4text/tables.ts";
import type { LoweredControl, LoweredTable } from "../lowered.ts";
import { storageType, unsigned } from "../storage.ts";
import { algorithmText, scopeOf, stepsText } from "./blocks.ts";
import { bitsText, isSignedAsBits, withoutSign } from "./signedkeys.ts";

const COUNTER_TYPE = { packets: "packets", bytes: "bytes", both: "packets_and_bytes" } as const;

/** Everything that a control declares before `apply`. */
export function declarations(control: LoweredControl): readonly Doc[] {
  return [
    ...instanceTexts(control.instances),
    ...objectTexts(
      control.registers.map((r) => ({
        ...r,
        text: `register<${typeName(r.storage)}>(${r.size}) ${r.local};`,
      })),
    ),
    ...objectTexts(
      control.counters.map((c) => ({
        ...c,
        doc: counterDoc(c.doc, c.cells, c.per),
        text: `counter(${c.size}, CounterType.${COUNTER_TYPE[c.unit]}) ${c.local};`,
      })),
    ),
    ...objectTexts(
      control.directCounters.map((c) => ({
        name: c.name,
        text: `direct_counter(CounterType.${COUNTER_TYPE.both}) ${c.local};`,
      })),
    ),
    ...objectTexts(
      control.meters.map((m) => ({
        ...m,
        text: `meter(${m.size}, MeterType.${m.unit}) ${m.local};`,
      })),
    ),
    ...objectTexts(
      control.directMeters.map((m) => ({
        name: m.name,
        text: `direct_meter<${typeName(m.into.type)}>(MeterType.${m.unit}) ${m.local};`,
      })),
    ),
    ...objectTexts(control.actionProfiles.map((p) => ({ ...p, text: profileText(p) }))),
    ...control.actions.map((a) => actionText(a, stepsText(a.steps, control.gress))),
    ...control.tables.map((t) => documented(t.doc, v1modelTable(t, control))),
  ];
}

function profileText({ local, size, selector }: LoweredControl["actionProfiles"][number]): string {
  if (selector === undefined) return `action_profile(${size}) ${local};`;
  const { algorithm, maxGroupSize } = selector;
  const limit = maxGroupSize === undefined ? "" : `@max_group_size(${maxGroupSize}) `;
  return `${limit}action_selector(${algorithmText(algorithm)}, ${size}, ${hashAlgorithms[algorithm]}) ${local};`;
}

export function instanceTexts(instances: LoweredControl["instances"]): readonly Doc[] {
  return instances.length === 0 ? [] : [lines(instances.map((i) => `${i.type}() ${i.name};`))];
}

function v1modelTable(table: LoweredTable, control: LoweredControl): Doc {
  const actions = new Map(control.actions.map((a) => [a.name, a]));
  const call = ({ action: name, arguments: values, named }: ActionCall) => ({
    local: table.actions.find((a) => a.name === name)?.local ?? name,
    arguments: values.map((value, i) => {
      const type = storageType(actions.get(name)?.parameters[i]?.type ?? { kind: "bit", width: 32 });
      const constant = named?.[i];
      // A signed one would not have the parameter's type.
      const text = constant?.type.kind === "bit" ? { name: constant.name } : {};
      return { value: unsigned(value, type), type, ...text };
    }),
  });
  return tableText({
    ...table,
    key: table.key.map((k, i) => {
      const type = k.expression.type;
      const asBits = isSignedAsBits(
        type,
        table.constEntries.map((e) => e.keys[i]),
      );
      const scope = scopeOf(control.gress);
      return {
        ...k,
        expression: asBits ? bitsText(k.expression, scope) : expression(k.expression, scope, true),
        match: k.match,
        type: asBits ? bit(widthOf(type)) : type,
      };
    }),
    actions: table.actions,
    size: table.size,
    defaultAction: {
      ...call(table.defaultAction),
      constant: table.defaultAction.constant,
    },
    entries: table.constEntries.map((e) => ({
      ...call(e),
      keys: e.keys.map((set, i) => {
        const type = table.key[i]?.expression.type;
        const sets = table.constEntries.map((other) => other.keys[i]);
        return type !== undefined && isSignedAsBits(type, sets) ? withoutSign(set, widthOf(type)) : set;
      }),
    })),
    entriesAreInitial: table.entriesAreInitial,
    selectors: (table.profile?.selector?.keys ?? []).map((k) => expression(k, scopeOf(control.gress))),
    properties: [
      ...(table.directCounterLocal === undefined ? [] : [`counters = ${table.directCounterLocal};`]),
      ...(table.directMeterLocal === undefined ? [] : [`meters = ${table.directMeterLocal};`]),
      ...(table.profile === undefined ? [] : [`implementation = ${table.profile.local};`]),
    ],
  });
}
