import type { Diagnostic } from "../diagnostics.ts";
import {
  type ActionCall,
  type ConstEntry,
  type Control,
  type KeySet,
  type MatchKind,
  NO_ACTION,
  type Program,
  type Table,
} from "../program.ts";
import type { SourceLocation } from "../source.ts";
import { sameType, typeName, widthOf } from "../types.ts";
import { checkProfiles } from "./actionprofiles.ts";
import { ContentsChecker } from "./contents.ts";
import { includes, misfit, uncanonical } from "./keysets.ts";
import { checkDigests, checkMeters } from "./meters.ts";
import type { Names } from "./names.ts";
import { isSize } from "./sizes.ts";
import { hasWidth, type TypeChecker } from "./types.ts";

type Report = (d: Diagnostic) => void;

/** Tables, registers and counters as they are declared. */
export function checkTables(program: Program, names: Names, types: TypeChecker, report: Report): void {
  const contents = new ContentsChecker(report);
  for (const control of program.controls) {
    for (const table of control.tables) {
      for (const key of table.key) {
        types.expression(key.expression, { place: { block: control.gress, control }, at: table.at });
      }
      checkTable(table, control, names, types, report);
      contents.table(table, control);
    }
    checkProfiles(control, types, report);
    checkMeters(control, types, report);
    checkDigests(control, report);
    for (const r of control.registers) {
      if (!isSize(r.size))
        report({ code: "GP1604", message: `register ${r.name} has ${r.size} cells`, at: r.at });
      if (r.type.kind === "bool")
        report({ code: "GP1603", message: `register ${r.name} holds bool`, at: r.at });
    }
    for (const c of control.counters) {
      if (!isSize(c.size))
        report({ code: "GP1604", message: `counter ${c.name} has ${c.size} cells`, at: c.at });
    }
  }
}

function checkTable(table: Table, control: Control, names: Names, types: TypeChecker, report: Report): void {
  const at = table.at;
  if (!isSize(table.size)) {
    report({ code: "GP1401", message: `table ${table.name} has size ${table.size}`, at });
  } else if (table.size < table.constEntries.length) {
    const message = `table ${table.name} has size ${table.size} for ${table.constEntries.length} entries`;
    report({ code: "GP1401", message, at });
  }
  const kinds = table.key.map((k) => k.match);
  const lpms = kinds.filter((k) => k === "lpm").length;
  if (lpms > 1) report({ code: "GP1402", message: `table ${table.name} has ${lpms} lpm fields`, at });
  if (lpms > 0 && kinds.some((k) => k !== "lpm" && k !== "exact")) {
    const others = [...new Set(kinds.filter((k) => k !== "lpm" && k !== "exact"))].join(" and ");
    report({ code: "GP1407", message: `table ${table.name} has ${others} beside lpm`, at, target: "tna" });
  }
  const twice = table.actions.find((action, i) => table.actions.indexOf(action) !== i);
  if (twice !== undefined)
    report({ code: "GP1202", message: `table ${table.name} lists action ${twice} twice`, at });
  for (const action of table.actions) {
    if (!names.actions.has(action)) report({ code: "GP1204", message: `there is no action ${action}`, at });
    else if (action !== NO_ACTION && !control.actions.some((a) => a.name === action)) {
      report({ code: "GP1505", message: `table ${table.name} lists ${action} of another control`, at });
    }
  }
  checkCall(table.defaultAction, table, names, types, at, report, "default action");
  if (table.entriesAreInitial)
    report({ code: "GP1412", message: `table ${table.name} has initial entries`, at, target: "v1model" });
  if (table.key.length === 0 && table.constEntries.length > 0)
    report({ code: "GP1408", message: `table ${table.name} has entries and no key`, at });
  const fits = table.constEntries.map((entry) => checkEntry(entry, table, names, types, report));
  table.constEntries.forEach((entry, i) => {
    const before = table.constEntries.findIndex(
      (other, j) => j < i && fits[i] === true && fits[j] === true && covers(other, entry, table),
    );
    if (before < 0 || table.key.length === 0) return;
    const message = `entry ${i + 1} of table ${table.name} comes after entry ${before + 1}`;
    report({ code: "GP1406", message, at: entry.at });
  });
}

function checkCall(
  call: ActionCall,
  table: Table,
  names: Names,
  types: TypeChecker,
  at: SourceLocation | undefined,
  report: Report,
  what: string,
): void {
  const isDefaultNoAction = call.action === NO_ACTION && what === "default action";
  if (!table.actions.includes(call.action) && !isDefaultNoAction) {
    report({
      code: "GP1403",
      message: `${what} ${call.action} is not among the actions of table ${table.name}`,
      at,
    });
  }
  const action = names.actions.get(call.action);
  if (action === undefined) return;
  if (action.parameters.length !== call.arguments.length) {
    report({
      code: "GP1404",
      message: `${call.action} takes ${action.parameters.length} arguments, not ${call.arguments.length}`,
      at,
    });
  }
  action.parameters.forEach((p, i) => {
    const value = call.arguments[i];
    if (value === undefined) return;
    const named = call.named?.[i];
    if (named !== undefined && !sameType(named.type, p.type)) {
      const message = `parameter ${p.name} of ${call.action} is ${typeName(p.type)}, ${named.name} is ${typeName(named.type)}`;
      report({ code: "GP1104", message, at });
    } else types.constant(value, p.type, at, `parameter ${p.name} of ${call.action}:`);
  });
}

const allowedSets: { readonly [K in MatchKind]: readonly KeySet["kind"][] } = {
  exact: ["value"],
  lpm: ["value", "prefix", "any"],
  ternary: ["value", "mask", "prefix", "any"],
  range: ["value", "range", "any"],
  optional: ["value", "any"],
};

/** Reports what is wrong with an entry; whether its key can be compared with those of others. */
function checkEntry(
  entry: ConstEntry,
  table: Table,
  names: Names,
  types: TypeChecker,
  report: Report,
): boolean {
  checkCall(entry, table, names, types, entry.at, report, "entry with action");
  const wrong: string[] = [];
  if (entry.keys.length !== table.key.length) {
    wrong.push(`${entry.keys.length} values for ${table.key.length} fields of table ${table.name}`);
  }
  entry.keys.forEach((set, i) => {
    const key = table.key[i];
    if (key === undefined) return;
    const { type } = key.expression;
    const why = allowedSets[key.match].includes(set.kind)
      ? (misfit(set, type) ?? uncanonical(set, type))
      : `a ${set.kind} does not go with match kind ${key.match}`;
    if (why !== undefined) wrong.push(`${key.name} of table ${table.name}: ${why}`);
    if (key.match === "optional" && type.kind === "bool" && set.kind === "value") {
      const message = `${key.name} of table ${table.name}: BMv2's compiler takes no optional truth; match exactly, or on toBit()`;
      report({ code: "GP1405", message, at: entry.at, target: "v1model" });
    }
    // It looks at the lowest 64 bits of the mask alone, and finds another length or none.
    if (
      key.match === "lpm" &&
      set.kind === "prefix" &&
      set.length > 0 &&
      hasWidth(type) &&
      widthOf(type) > 64
    ) {
      const message = `${key.name} of table ${table.name}: BMv2's compiler takes no prefix in an entry of more than 64 bits; match it as ternary`;
      report({ code: "GP1405", message, at: entry.at, target: "v1model" });
    }
  });
  for (const message of wrong) report({ code: "GP1405", message, at: entry.at });
  return wrong.length === 0;
}

/** Whether `first` takes every packet that `second` would. Sufficient, not necessary: fields one by one. */
export function covers(first: ConstEntry, second: ConstEntry, table: Table): boolean {
  return table.key.every((key, i) => {
    const [a, b] = [first.keys[i], second.keys[i]];
    const { type } = key.expression;
    if (a === undefined || b === undefined || !hasWidth(type)) return false;
    // Among prefixes the longest wins, whatever the order: only the same one comes too late.
    return includes(a, b, type) && (key.match !== "lpm" || includes(b, a, type));
  });
}
