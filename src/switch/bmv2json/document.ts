import { SwitchConfigError } from "./config-error.ts";
import { JsonCursor } from "./cursor.ts";

/** A program as it may be handed over: JSON text, its bytes, or the parsed value. */
export type Bmv2JsonSource = string | Uint8Array | object;

const longDigits = /\d{16}/;
const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** JSON.parse rounds integers above 2^53 without a word; such a program is refused instead. */
function refuseInexactIntegers(text: string): void {
  if (!longDigits.test(text)) return;
  for (const match of text.matchAll(stringOrNumber)) {
    const token = match[0];
    if (token.startsWith('"') || /[.eE]/.test(token)) continue;
    if (!Number.isSafeInteger(Number(token))) {
      const line = text.slice(0, match.index).split("\n").length;
      throw new SwitchConfigError(
        "INEXACT_INTEGER",
        "",
        `line ${line}: the integer ${token} is above 2^53 and would be rounded; write it as a hexstr`,
      );
    }
  }
}

/** Opens a BMv2 JSON document. Text is checked for integers that JSON.parse would round. */
export function openDocument(source: Bmv2JsonSource): JsonCursor {
  if (typeof source !== "string" && !(source instanceof Uint8Array)) return new JsonCursor(source);
  const text = typeof source === "string" ? source : new TextDecoder().decode(source);
  refuseInexactIntegers(text);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new SwitchConfigError("JSON_SYNTAX", "", error instanceof Error ? error.message : String(error));
  }
  return new JsonCursor(value);
}
