import type { NamedEntity } from "../../p4runtime/index.ts";

/** Entities for people: one line each, what is of one kind and name below one heading. */
export function entityLines(entities: readonly NamedEntity[]): readonly string[] {
  const sections = new Map<string, NamedEntity[]>();
  for (const entity of entities) {
    const heading = [entity.kind === "entry" ? "table" : entity.kind, entity.name ?? ""].join(" ").trim();
    const section = sections.get(heading);
    if (section === undefined) sections.set(heading, [entity]);
    else section.push(entity);
  }
  return [...sections].flatMap(([heading, members]) => [heading, ...aligned(members.map(cells))]);
}

/** One entity in one line. */
export function entityLine(entity: NamedEntity): string {
  const heading = [entity.kind === "entry" ? "table" : entity.kind, entity.name ?? ""].join(" ").trim();
  return `${heading}: ${cells(entity)
    .filter((cell) => cell !== "")
    .join("  ")}`;
}

function cells(entity: NamedEntity): readonly string[] {
  const { match, action, params, ...rest } = entity;
  const key = match === undefined ? [] : [pairs(match) || "(anything)"];
  const call = action === undefined ? [] : [`-> ${String(action)}(${pairs(params)})`];
  const others = Object.entries(rest)
    .filter(([name]) => name !== "kind" && name !== "name")
    .map(([name, value]) => `${name} ${shown(value)}`);
  return [...key, ...call, others.join(", ")];
}

function pairs(record: unknown): string {
  if (typeof record !== "object" || record === null) return "";
  return Object.entries(record)
    .map(([name, value]) => `${name}=${shown(value)}`)
    .join(", ");
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(shown).join(" ")}]`;
  if (typeof value === "object" && value !== null) return `{${pairs(value)}}`;
  return String(value);
}

/** Columns of equal width, indented. */
export function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = [];
  for (const row of rows)
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, Math.min(cell.length, 60));
  return rows.map((row) => `  ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ")}`.trimEnd());
}
