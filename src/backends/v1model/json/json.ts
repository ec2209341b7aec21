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
  return `${layout(json, 0, 0)}\n`;
}

/** @param taken columns in front of the value on its first line. */
function layout(json: Json, indent: number, taken: number): string {
  const flat = oneLine(json);
  if (typeof json !== "object" || json === null || indent + taken + flat.length <= LINE) return flat;
  const inner = " ".repeat(indent + 2);
  const lines = Array.isArray(json)
    ? json.map((item: Json) => `${inner}${layout(item, indent + 2, 1)}`)
    : Object.entries(json).map(([key, item]) => {
        const name = `${JSON.stringify(key)}: `;
        return `${inner}${name}${layout(item, indent + 2, name.length + 1)}`;
      });
  const [open, close] = Array.isArray(json) ? ["[", "]"] : ["{", "}"];
  return `${open}\n${lines.join(",\n")}\n${" ".repeat(indent)}${close}`;
}

function oneLine(json: Json): string {
  if (typeof json !== "object" || json === null) return JSON.stringify(json);
  if (Array.isArray(json)) return `[${json.map(oneLine).join(", ")}]`;
  const members = Object.entries(json).map(([key, item]) => `${JSON.stringify(key)}: ${oneLine(item)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}
