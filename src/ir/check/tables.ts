import type { Diagnostic } from "../diagnostics.ts";
import type { ActionCall, ConstEntry, KeySet, MatchKind, Program, Table } from "../program.ts";
import type { SourceLocation } from "../source.ts";
import { type DataType, rangeOf, widthOf } from "../types.ts";
import type { Names } from "./names.ts";
import { checkKeySet } from "./parser.ts";
import type { TypeChecker } from "./types.ts";

type Report = (d: Diagnostic) => void;

export function checkTables(program: Program, names: Names, types: TypeChecker, report: Report): void {
  for (const control of program.controls) {
    for (const table of control.tables) {
      for (const key of table.key) types.expression(key.expression, { block: control.gress, control });
      checkTable(table, names, types, report);
    }
    for (const r of control.registers) {
      if (!Number.isInteger(r.size) || r.size < 1)
        report({ code: "GP1604", message: `${r.name} has size ${r.size}`, at: r.at });
      if (r.type.kind === "bool") report({ code: "GP1603", message: `${r.name} holds bool`, at: r.at });
    }
    for (const c of control.counters) {
      if (!Number.isInteger(c.size) || c.size < 1)
        report({ code: "GP1604", message: `${c.name} has size ${c.size}`, at: c.at });
    }
  }
}

function checkTable(table: Table, names: Names, types: TypeChecker, report: Report): void {
  const at = table.at;
  if (!Number.isInteger(table.size) || table.size < 1 || table.size < table.constEntries.length) {
    report({ code: "GP1401", message: `${table.name} has size ${table.size}`, at });
  }
  const kinds = table.key.map((k) => k.match);
  const lpms = kinds.filter((k) => k === "lpm").length;
  if (lpms > 1) report({ code: "GP1402", message: table.name, at });
  if (lpms > 0 && kinds.some((k) => k !== "lpm" && k !== "exact")) {
    report({ code: "GP1407", message: table.name, at, target: "tna" });
  }
  for (const action of table.actions) {
    if (!names.actions.has(action)) report({ code: "GP1204", message: `there is no action ${action}`, at });
  }
  checkCall(table.defaultAction, table, names, types, at, report, "default action");
  if (table.key.length === 0 && table.constEntries.length > 0)
    report({ code: "GP1408", message: table.name, at });
  table.constEntries.forEach((entry, i) => {
    checkEntry(entry, table, names, types, report);
    const before = table.constEntries.findIndex((other, j) => j < i && covers(other, entry, table));
    if (before >= 0)
      report({
        code: "GP1406",
        message: `entry ${i + 1} of ${table.name} after entry ${before + 1}`,
        at: entry.at,
      });
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
  const isDefaultNoAction = call.action === "NoAction" && what === "default action";
  if (!table.actions.includes(call.action) && !isDefaultNoAction) {
    report({ code: "GP1403", message: `${what} ${call.action} of ${table.name}`, at });
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
    if (value !== undefined) types.constant(value, p.type, at, `parameter ${p.name} of ${call.action}:`);
  });
}

const allowedSets: { readonly [K in MatchKind]: readonly KeySet["kind"][] } = {
  exact: ["value"],
  lpm: ["value", "prefix", "any"],
  ternary: ["value", "mask", "prefix", "any"],
  range: ["value", "range", "any"],
  optional: ["value", "any"],
};

function checkEntry(entry: ConstEntry, table: Table, names: Names, types: TypeChecker, report: Report): void {
  checkCall(entry, table, names, types, entry.at, report, "entry with action");
  if (entry.keys.length !== table.key.length) {
    report({
      code: "GP1405",
      message: `${entry.keys.length} values for ${table.key.length} fields of ${table.name}`,
      at: entry.at,
    });
  }
  entry.keys.forEach((set, i) => {
    const key = table.key[i];
    if (key === undefined) return;
    if (!allowedSets[key.match].includes(set.kind)) {
      report({
        code: "GP1405",
        message: `${key.name} of ${table.name} is ${key.match}; a ${set.kind} does not go there`,
        at: entry.at,
      });
    } else checkKeySet(set, key.expression.type, "GP1405", `${key.name} of ${table.name}`, entry.at, report);
  });
}

/** Whether `first` takes every packet that `second` would. Sufficient, not necessary: fields one by one. */
function covers(first: ConstEntry, second: ConstEntry, table: Table): boolean {
  // Among prefixes the longest wins, whatever the order.
  if (table.key.some((k) => k.match === "lpm")) return false;
  return table.key.every((key, i) => {
    const [a, b] = [first.keys[i], second.keys[i]];
    return a !== undefined && b !== undefined && includes(a, b, key.expression.type);
  });
}

function includes(a: KeySet, b: KeySet, type: DataType): boolean {
  if (a.kind === "any") return true;
  if (a.kind === "range" || b.kind === "range") {
    const [low, high] = bounds(a, type);
    const [from, to] = bounds(b, type);
    return low <= from && to <= high;
  }
  const [av, am] = valueAndMask(a, type);
  const [bv, bm] = valueAndMask(b, type);
  return (am & bm) === am && (av & am) === (bv & am);
}

function bounds(set: KeySet, type: DataType): readonly [bigint, bigint] {
  if (set.kind === "range") return [set.low, set.high];
  if (set.kind === "value") return [set.value, set.value];
  return rangeOf(type);
}

function valueAndMask(set: KeySet, type: DataType): readonly [bigint, bigint] {
  const width = BigInt(widthOf(type));
  const all = (1n << width) - 1n;
  switch (set.kind) {
    case "value":
      return [set.value, all];
    case "mask":
      return [set.value, set.mask];
    case "prefix":
      return [set.value, all ^ ((1n << (width - BigInt(set.length))) - 1n)];
    default:
      return [0n, 0n];
  }
}
