import type { Schema } from "../../p4runtime/index.ts";
import { aligned } from "./lines.ts";

/** What a program has, as data. */
export function programData(schema: Schema): object {
  return {
    name: schema.info.pkgInfo?.name ?? "",
    architecture: schema.info.pkgInfo?.arch ?? "",
    tables: schema.tables.all.map((t) => ({
      name: t.name,
      size: t.size,
      fields: t.fields.all.map((f) => ({ name: f.name, bits: f.bitwidth, match: f.kind.toLowerCase() })),
      actions: [...t.actions.values()].map((ref) => ref.action.name),
      ...(t.isConst ? { const: true } : {}),
      ...(t.implementation === undefined ? {} : { profile: t.implementation.name }),
    })),
    actions: schema.actions.all.map((a) => ({
      name: a.name,
      params: a.params.all.map((p) => ({ name: p.name, bits: p.bitwidth })),
    })),
    profiles: schema.actionProfiles.all.map(({ name, withSelector, size }) => ({ name, withSelector, size })),
    counters: schema.counters.all.map(({ name, size, unit }) => ({ name, size, unit })),
    meters: schema.meters.all.map(({ name, size, unit }) => ({ name, size, unit })),
    registers: schema.registers.all.map(({ name, size, bitwidth }) => ({ name, size, bits: bitwidth })),
    digests: schema.digests.all.map(({ name }) => ({ name })),
    valueSets: schema.valueSets.all.map(({ name, size }) => ({ name, size })),
  };
}

/** The same for people. */
export function programLines(schema: Schema): readonly string[] {
  const section = (title: string, rows: readonly (readonly string[])[]): readonly string[] =>
    rows.length === 0 ? [] : [title, ...aligned(rows)];
  const fields = (all: readonly { readonly name: string; readonly bitwidth: number }[]): string =>
    all.map((f) => `${f.name}: bit<${f.bitwidth}>`).join(", ");
  return [
    ...section(
      "tables",
      schema.tables.all.map((t) => [
        t.name,
        t.fields.all.map((f) => `${f.name}: bit<${f.bitwidth}> ${f.kind.toLowerCase()}`).join(", ") ||
          "(no key)",
        `${t.size} entries${t.isConst ? ", constant" : ""}`,
        [...t.actions.values()].map((ref) => ref.action.alias).join(" | "),
      ]),
    ),
    ...section(
      "actions",
      schema.actions.all.map((a) => [a.name, `(${fields(a.params.all)})`]),
    ),
    ...section(
      "action profiles",
      schema.actionProfiles.all.map((p) => [p.name, p.withSelector ? "selector" : "members", `${p.size}`]),
    ),
    ...section(
      "counters",
      schema.counters.all.map((c) => [c.name, `${c.size} cells`, c.unit.toLowerCase()]),
    ),
    ...section(
      "meters",
      schema.meters.all.map((m) => [m.name, `${m.size} cells`, m.unit.toLowerCase()]),
    ),
    ...section(
      "registers",
      schema.registers.all.map((r) => [
        r.name,
        `${r.size} cells`,
        r.bitwidth === undefined ? "" : `bit<${r.bitwidth}>`,
      ]),
    ),
    ...section(
      "digests",
      schema.digests.all.map((d) => [d.name]),
    ),
    ...section(
      "value sets",
      schema.valueSets.all.map((v) => [v.name, `${v.size} members`]),
    ),
    ...(schema.packetIn === undefined ? [] : section("packet in", [[fields(schema.packetIn.metadata.all)]])),
    ...(schema.packetOut === undefined
      ? []
      : section("packet out", [[fields(schema.packetOut.metadata.all)]])),
  ];
}
