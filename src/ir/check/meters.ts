import type { Diagnostic } from "../diagnostics.ts";
import { colourType } from "../externs.ts";
import { type Control, NO_ACTION, type Table } from "../program.ts";
import { typeName } from "../types.ts";
import { statementsOf } from "../walk.ts";
import { isSize } from "./sizes.ts";
import type { TypeChecker } from "./types.ts";

type Report = (d: Diagnostic) => void;

/** Meters of a control, and those of its tables. */
export function checkMeters(control: Control, types: TypeChecker, report: Report): void {
  for (const m of control.meters) {
    if (!isSize(m.size)) report({ code: "GP1605", message: `meter ${m.name} has ${m.size} cells`, at: m.at });
  }
  for (const table of control.tables) checkDirectMeter(table, control, types, report);
}

function checkDirectMeter(table: Table, control: Control, types: TypeChecker, report: Report): void {
  const { directMeter, at } = table;
  if (directMeter === undefined) return;
  const wrong = (message: string): void => report({ code: "GP1605", message, at });
  const kind: string = directMeter.into.kind;
  if (kind !== "metadata") {
    wrong(`meter ${directMeter.name} writes its colour to a ${kind}`);
    return;
  }
  types.expression(directMeter.into, { place: { block: control.gress, control }, at, isWritten: true });
  types.same(colourType, directMeter.into.type, `colour of ${directMeter.name}`, at);
  for (const action of table.actions) {
    if (action === NO_ACTION) wrong(`NoAction among the actions of ${table.name} would not be metered`);
    else if (usesOf(action, control) > 1) wrong(`action ${action} of ${table.name} is used elsewhere too`);
  }
  if (table.actions.includes(table.defaultAction.action))
    wrong(`default action ${table.defaultAction.action} of ${table.name} is one of its entries' too`);
}

/** One place for each digest: compilers make a list of its values at each, and the control plane knows one. */
export function checkDigests(control: Control, report: Report): void {
  const places = new Map<string, number>();
  const send = (digest: string, times: number): void =>
    void places.set(digest, (places.get(digest) ?? 0) + times);
  for (const a of control.actions)
    for (const s of a.body) if (s.kind === "digest") send(s.digest, usesOf(a.name, control));
  for (const s of statementsOf(control.apply)) if (s.kind === "digest") send(s.digest, 1);
  for (const d of control.digests) {
    if ((places.get(d.name) ?? 0) > 1)
      report({ code: "GP1606", message: `digest ${d.name} is sent in several places`, at: d.at });
    // The P4Runtime server of simple_switch refuses the program otherwise.
    const other = d.fields.find((f) => f.type.kind !== "bit");
    if (other !== undefined)
      report({
        code: "GP1606",
        message: `field ${other.name} of ${d.name} is ${typeName(other.type)}`,
        at: d.at,
      });
    if (d.fields.length === 0)
      report({ code: "GP1606", message: `digest ${d.name} has no fields`, at: d.at });
  }
}

/** How many tables and calls of the control run an action. */
function usesOf(action: string, control: Control): number {
  const calls = [...statementsOf(control.apply)].filter(
    (s) => s.kind === "callAction" && s.action === action,
  );
  const tables = control.tables.filter(
    (t) => t.actions.includes(action) || t.defaultAction.action === action,
  );
  return calls.length + tables.length;
}
