/** JSON values, for the parts of the BMv2 document. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/** A number as BMv2 reads it: hexadecimal, padded to `bytes` when given, with a minus sign in front of negative ones. */
export function hexstr(value: bigint, bytes = 0): string {
  const magnitude = value < 0n ? -value : value;
  return `${value < 0n ? "-" : ""}0x${magnitude.toString(16).padStart(bytes * 2, "0")}`;
}

export function bytesFor(width: number): number {
  return Math.ceil(width / 8);
}

/** Width up to which a value stands on one line. */
const LINE = 110;

/** JSON text with short values on one line, so that a reader sees a primitive or a key at a glance. */
export function jsonText(json: Json): string {
  return `${layout(measured(json), 0, 0)}\n`;
}

/** A value, and its text on one line unless that is too long for any line. */
interface Measured {
  readonly flat: string | undefined;
  readonly brackets: "[]" | "{}";
  readonly members: readonly { readonly name: string; readonly value: Measured }[];
}

function measured(json: Json): Measured {
  if (typeof json !== "object" || json === null)
    return { flat: JSON.stringify(json), brackets: "[]", members: [] };
  if (Array.isArray(json)) {
    const members = json.map((item: Json) => ({ name: "", value: measured(item) }));
    return { flat: onOneLine("[", members, "]"), brackets: "[]", members };
  }
  const members = Object.entries(json).map(([key, item]) => ({
    name: `${JSON.stringify(key)}: `,
    value: measured(item),
  }));
  const flat = members.length === 0 ? "{}" : onOneLine("{ ", members, " }");
  return { flat, brackets: "{}", members };
}

function onOneLine(open: string, members: Measured["members"], close: string): string | undefined {
  let text = open;
  for (const { name, value } of members) {
    if (value.flat === undefined) return undefined;
    text += (text === open ? "" : ", ") + name + value.flat;
    if (text.length + close.length > LINE) return undefined;
  }
  return text + close;
}

/** @param taken columns in front of the value on its first line. */
function layout({ flat, brackets, members }: Measured, indent: number, taken: number): string {
  if (flat !== undefined && (members.length === 0 || indent + taken + flat.length <= LINE)) return flat;
  const inner = " ".repeat(indent + 2);
  const lines = members.map(
    ({ name, value }) => `${inner}${name}${layout(value, indent + 2, name.length + 1)}`,
  );
  return `${brackets[0]}\n${lines.join(",\n")}\n${" ".repeat(indent)}${brackets[1]}`;
}
