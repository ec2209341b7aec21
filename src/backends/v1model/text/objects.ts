import { type ActionCall, typeName } from "../../../ir/index.ts";
import { comment } from "../../p4text/comments.ts";
import { expression } from "../../p4text/expressions.ts";
import { braces, concat, type Doc, hardline, INDENT, lines, list } from "../../p4text/layout.ts";
import { nameAnnotation, tableText } from "../../p4text/tables.ts";
import type { LoweredAction, LoweredControl, LoweredTable } from "../lowered.ts";
import { storageType, unsigned } from "../storage.ts";
import { scopeOf, stepsText } from "./blocks.ts";

const COUNTER_TYPE = { packets: "packets", bytes: "bytes", both: "packets_and_bytes" } as const;

/** Everything that a control declares before `apply`. */
export function declarations(control: LoweredControl): readonly Doc[] {
  return [
    ...instanceTexts(control.instances),
    ...control.registers.map((r) =>
      documented(
        r.doc,
        concat(nameAnnotation(r.name), `register<${typeName(r.storage)}>(${r.size}) ${r.local};`),
      ),
    ),
    ...control.counters.map((c) =>
      documented(
        [...(c.doc === undefined ? [] : [c.doc]), ...(c.cells ?? []).map((cell, i) => `${i}: ${cell}`)].join(
          "\n",
        ),
        concat(nameAnnotation(c.name), `counter(${c.size}, CounterType.${COUNTER_TYPE[c.unit]}) ${c.local};`),
      ),
    ),
    ...control.directCounters.map((c) =>
      concat(nameAnnotation(c.name), `direct_counter(CounterType.${COUNTER_TYPE.both}) ${c.local};`),
    ),
    ...control.actions.map((a) => actionText(a, control)),
    ...control.tables.map((t) => documented(t.doc, v1modelTable(t, control))),
  ];
}

export function instanceTexts(instances: LoweredControl["instances"]): readonly Doc[] {
  return instances.length === 0 ? [] : [lines(instances.map((i) => `${i.type}() ${i.name};`))];
}

function actionText(action: LoweredAction, control: LoweredControl): Doc {
  const parameterDocs = action.parameters.flatMap((p) =>
    p.doc === undefined ? [] : [`${p.name}: ${p.doc}`],
  );
  return documented(
    [...(action.doc === undefined ? [] : [action.doc]), ...parameterDocs].join("\n"),
    concat(
      nameAnnotation(action.name),
      braces(
        list(
          `action ${action.local}(`,
          action.parameters.map((p) => `${typeName(p.type)} ${p.name}`),
          ")",
        ),
        stepsText(action.steps, control.gress),
      ),
    ),
  );
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
    name: table.name,
    local: table.local,
    key: table.key.map((k) => ({
      name: k.name,
      expression: expression(k.expression, scopeOf(control.gress), true),
      match: k.match,
      type: k.expression.type,
    })),
    actions: table.actions,
    size: table.size,
    defaultAction: {
      ...call(table.defaultAction),
      constant: table.defaultAction.constant,
    },
    entries: table.constEntries.map((e) => ({ ...call(e), keys: e.keys })),
    properties: table.directCounterLocal === undefined ? [] : [`counters = ${table.directCounterLocal};`],
  });
}

/** The declaration with its documentation in front, as it stands inside a control. */
export function documented(doc: string | undefined, declaration: Doc, indent = INDENT): Doc {
  return doc === undefined || doc === "" ? declaration : concat(comment(doc, indent), hardline, declaration);
}
