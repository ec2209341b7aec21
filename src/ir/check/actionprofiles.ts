import type { Diagnostic } from "../diagnostics.ts";
import { type ActionProfile, hashAlgorithms } from "../externs.ts";
import { type Control, NO_ACTION, type Table } from "../program.ts";
import { wrongInputs } from "./externstatements.ts";
import { isSize } from "./sizes.ts";
import type { TypeChecker } from "./types.ts";

type Report = (d: Diagnostic) => void;

/** Action profiles and selectors of a control, and the tables that use them. */
export function checkProfiles(control: Control, types: TypeChecker, report: Report): void {
  for (const profile of control.actionProfiles) {
    checkProfile(profile, control, types, report);
    const tables = control.tables.filter((t) => t.implementation === profile.name);
    for (const table of tables.slice(1)) {
      const [first] = tables;
      if (first === undefined || hasActionsOf(table, first)) continue;
      // A member may be run by any of them.
      const message = `tables ${first.name} and ${table.name} share ${profile.name} but have different actions`;
      report({ code: "GP1410", message, at: table.at });
    }
  }
  for (const table of control.tables)
    if (table.implementation !== undefined) checkTable(table, control, report);
}

function checkProfile(p: ActionProfile, control: Control, types: TypeChecker, report: Report): void {
  const wrong = (message: string): void => report({ code: "GP1409", message, at: p.at });
  if (!isSize(p.size)) wrong(`action profile ${p.name} has size ${p.size}`);
  const { selector } = p;
  if (selector === undefined) return;
  const { algorithm, keys, maxGroupSize } = selector;
  if (maxGroupSize !== undefined && (!isSize(maxGroupSize) || maxGroupSize > p.size))
    wrong(`groups of ${p.name} have ${maxGroupSize} members, of ${p.size} in all`);
  if (!(algorithm in hashAlgorithms)) {
    const known = Object.keys(hashAlgorithms).join(", ");
    report({ code: "GP1109", message: `there is no algorithm ${algorithm}; there are ${known}`, at: p.at });
    return;
  }
  if (keys.length === 0) {
    wrong(`selector ${p.name} has no keys: all packets would take the same member`);
    return;
  }
  for (const key of keys) {
    // Data that was not made by the type checker's rules may hold anything.
    const kind: string = key.kind;
    if (kind !== "field" && kind !== "metadata") {
      wrong(`a key of selector ${p.name} is computed: set a metadata field to it`);
      return;
    }
    types.expression(key, { place: { block: control.gress, control }, at: p.at });
  }
  const inputs = wrongInputs(algorithm, keys);
  if (inputs !== undefined) report({ code: "GP1109", message: `selector ${p.name}: ${inputs}`, at: p.at });
}

function checkTable(table: Table, control: Control, report: Report): void {
  const { name, at, implementation } = table;
  const wrong = (message: string): void => report({ code: "GP1410", message, at });
  if (!control.actionProfiles.some((p) => p.name === implementation)) {
    const message = `${control.name} has no action profile ${implementation} for table ${name}`;
    report({ code: "GP1204", message, at });
  }
  if (table.key.length === 0) wrong(`table ${name} has no key`);
  if (table.constEntries.length > 0) wrong(`table ${name} has entries of its own`);
  const { action, constant } = table.defaultAction;
  if (action !== NO_ACTION) wrong(`table ${name} has default action ${action}, which BMv2 would not run`);
  else if (constant) wrong(`table ${name} has a constant default action, and BMv2 none`);
}

function hasActionsOf(a: Table, b: Table): boolean {
  const [x, y] = [new Set(a.actions), new Set(b.actions)];
  return x.size === y.size && [...x].every((name) => y.has(name));
}
