import type { Field, Init, MessageType, Properties } from "./descriptor.ts";
import { defaultOf, fieldValue, isProperties } from "./descriptor.ts";
import { MessageError } from "./error.ts";

/**
 * The text form of a message (protobuf text format), laid out as `protoc --decode` lays it out: one field per line, two spaces for each
 * level, fields in the order of their numbers, maps in the order of their keys, defaults left out.
 *
 * @throws MessageError when a value does not fit its field.
 */
export function printText<T extends object>(type: MessageType<T>, message: Init<NoInfer<T>>): string {
  const lines: string[] = [];
  // Read field by field through the description of T, which the type checker cannot follow.
  printMessage(type, message as Properties, "", lines);
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

function printMessage(type: MessageType<object>, message: Properties, indent: string, lines: string[]): void {
  for (const field of type.fields) {
    const value = fieldValue(message, field);
    if (value === undefined) continue;
    const where = `${type.typeName}.${field.protoName}`;
    if (field.cardinality === "repeated") {
      if (!Array.isArray(value)) throw new MessageError("invalid-value", where, "expected a list");
      for (const element of value) printField(field, element, indent, lines, where);
    } else if (field.cardinality === "map") {
      printMap(field, value, indent, lines, where);
    } else if (field.oneof !== undefined || !isDefault(field, value)) {
      printField(field, value, indent, lines, where);
    }
  }
}

function printMap(field: Field, value: unknown, indent: string, lines: string[], where: string): void {
  if (!isProperties(value)) throw new MessageError("invalid-value", where, "expected a record");
  const keys = Object.keys(value).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  for (const key of keys) {
    const element = value[key];
    if (element === undefined) continue;
    lines.push(`${indent}${field.protoName} {`, `${indent}  key: ${quote(new TextEncoder().encode(key))}`);
    printField({ ...field, protoName: "value" }, element, `${indent}  `, lines, where);
    lines.push(`${indent}}`);
  }
}

function isDefault(field: Field, value: unknown): boolean {
  if (value instanceof Uint8Array) return value.length === 0;
  return value === 0 || value === defaultOf(field);
}

function printField(field: Field, value: unknown, indent: string, lines: string[], where: string): void {
  if (field.type.kind === "message") {
    if (!isProperties(value)) throw new MessageError("invalid-value", where, "expected a message");
    lines.push(`${indent}${field.protoName} {`);
    printMessage(field.type.message, value, `${indent}  `, lines);
    lines.push(`${indent}}`);
    return;
  }
  lines.push(`${indent}${field.protoName}: ${printScalar(value, field.type.kind === "enum", where)}`);
}

function printScalar(value: unknown, isEnum: boolean, where: string): string {
  if (value instanceof Uint8Array) return quote(value);
  switch (typeof value) {
    case "string":
      return isEnum ? value : quote(new TextEncoder().encode(value));
    case "number":
    case "bigint":
    case "boolean":
      return String(value);
    default:
      throw new MessageError("invalid-value", where, `a ${typeof value} cannot be written as text`);
  }
}

const ESCAPES: ReadonlyMap<number, string> = new Map([
  [0x0a, "\\n"],
  [0x0d, "\\r"],
  [0x09, "\\t"],
  [0x22, '\\"'],
  [0x27, "\\'"],
  [0x5c, "\\\\"],
]);

/** A quoted string with C escapes, octal for bytes that are not printable ASCII. */
function quote(bytes: Uint8Array): string {
  let text = '"';
  for (const byte of bytes) {
    const escaped = ESCAPES.get(byte);
    if (escaped !== undefined) text += escaped;
    else if (byte >= 0x20 && byte < 0x7f) text += String.fromCharCode(byte);
    else text += `\\${byte.toString(8).padStart(3, "0")}`;
  }
  return `${text}"`;
}
