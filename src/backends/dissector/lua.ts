/** A text as a Lua literal. */
export function luaText(text: string): string {
  const escaped = text.replace(/[\\"\p{Cc}]/gu, (c) =>
    c === "\\" || c === '"' ? `\\${c}` : `\\${String(c.codePointAt(0) ?? 0).padStart(3, "0")}`,
  );
  return `"${escaped}"`;
}

/** `{ [1] = "CONTRIBUTION", [2] = "NULL" }` */
export function luaNames(names: Readonly<Record<string, number>>): string {
  const entries = Object.entries(names).map(([name, value]) => `[${value}] = ${luaText(name)}`);
  return `{ ${entries.join(", ")} }`;
}

const KEYWORDS = new Set(
  "and break do else elseif end false for function goto if in local nil not or repeat return then true until while".split(
    " ",
  ),
);

/** Access to a table's member whose name may be a keyword: `f.kind`, `f["end"]`. */
export function luaMember(table: string, name: string): string {
  return /^[A-Za-z_]\w*$/.test(name) && !KEYWORDS.has(name)
    ? `${table}.${name}`
    : `${table}[${luaText(name)}]`;
}
