import type { Schema, TableSchema } from "../../p4runtime/schema.ts";
import type { Engine } from "../engine/compile.ts";
import { TargetError } from "./target.ts";

/**
 * Check that a P4Info and a program belong together: each object of the P4Info is in the program, with the same shape. Otherwise the first
 * write to a missing object would be the place where a mixed-up pair of files shows.
 *
 * @throws TargetError `bad-program` that names the first difference.
 */
export function checkProgram(schema: Schema, engine: Engine): void {
  for (const table of schema.tables.all) checkTable(schema, table, engine);
  for (const counter of schema.counters.all) {
    const own = present(engine.counters, "counter", counter.name);
    if (own.size !== counter.size) throw mismatch(`counter ${counter.name}`, "cells", counter.size, own.size);
  }
  for (const meter of schema.meters.all) {
    const own = present(engine.meters, "meter", meter.name);
    if (own.size !== meter.size) throw mismatch(`meter ${meter.name}`, "cells", meter.size, own.size);
  }
  for (const register of schema.registers.all) {
    const own = present(engine.registers, "register", register.name);
    if (own.size !== register.size)
      throw mismatch(`register ${register.name}`, "cells", register.size, own.size);
    if (register.bitwidth !== undefined && own.width !== register.bitwidth)
      throw mismatch(`register ${register.name}`, "bits per cell", register.bitwidth, own.width);
  }
  for (const set of schema.valueSets.all) {
    const own = present(engine.valueSets, "value set", set.name);
    const width = set.fields.all.reduce((sum, field) => sum + field.bitwidth, 0);
    if (own.width !== width) throw mismatch(`value set ${set.name}`, "bits", width, own.width);
  }
  for (const profile of schema.actionProfiles.all) present(engine.profiles, "action profile", profile.name);
}

function checkTable(schema: Schema, table: TableSchema, engine: Engine): void {
  const { description } = present(engine.tables, "table", table.name);
  const fields = table.fields.all;
  if (description.key.length !== fields.length)
    throw mismatch(`table ${table.name}`, "key fields", fields.length, description.key.length);
  // Types that are translated for the controller have widths of their own there.
  const isTranslated = Object.keys(schema.info.typeInfo?.newTypes ?? {}).length > 0;
  for (const [index, field] of fields.entries()) {
    const own = description.key[index];
    if (own === undefined) continue;
    if (!isTranslated && own.width !== field.bitwidth)
      throw mismatch(field.where, "bits", field.bitwidth, own.width);
    const kind = field.kind.toLowerCase();
    const isSame = own.kind === kind || (kind === "optional" && own.kind === "ternary");
    if (!isSame) throw mismatch(field.where, "match kind", field.kind, own.kind);
  }
  // Actions that no table runs are not compared: a compiler may list them without their parameters.
  for (const { action } of table.actions.values()) {
    const own = engine.program.actions.filter((candidate) => candidate.name === action.name);
    if (!description.actions.includes(action.name) || own[0] === undefined)
      throw new TargetError(
        "bad-program",
        `P4Info and device config do not belong together: table ${table.name} has no action ${action.name} in the device config`,
      );
    if (own.every((candidate) => candidate.parameters.length !== action.params.all.length))
      throw mismatch(
        `action ${action.name}`,
        "parameters",
        action.params.all.length,
        own[0].parameters.length,
      );
  }
}

function present<T>(objects: ReadonlyMap<string, T>, noun: string, name: string): T {
  const object = objects.get(name);
  if (object === undefined)
    throw new TargetError(
      "bad-program",
      `P4Info and device config do not belong together: the device config has no ${noun} ${name}`,
    );
  return object;
}

function mismatch(
  where: string,
  what: string,
  inInfo: number | string,
  inProgram: number | string,
): TargetError {
  return new TargetError(
    "bad-program",
    `P4Info and device config do not belong together: ${where} has ${what} ${inInfo} in the P4Info and ${inProgram} in the device config`,
  );
}
