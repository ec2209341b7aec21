import type { Field, Init, MessageType, Properties } from "./descriptor.ts";
import { fieldValue, isProperties } from "./descriptor.ts";
import { MessageError } from "./error.ts";

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * A message as JSON, in the mapping of proto3: 64-bit integers are texts, bytes are base64, enum values are names, and what has its default
 * is left out. (`JSON.stringify` refuses the messages themselves, since they have bigints.)
 *
 * @throws MessageError when a value does not fit its field.
 */
export function toJson<T extends object>(type: MessageType<T>, message: Init<NoInfer<T>>): Json {
  // Read field by field through the description of T, which the type checker cannot follow.
  return messageJson(type, message as Properties);
}

function messageJson(type: MessageType<object>, message: Properties): Json {
  const json: Record<string, Json> = {};
  for (const field of type.fields) {
    const value = fieldValue(message, field);
    const isLeftOut = value === undefined || (field.oneof === undefined && isDefault(type, field, value));
    if (!isLeftOut) json[field.name] = fieldJson(field, value, `${type.typeName}.${field.protoName}`);
  }
  return json;
}

function isDefault(type: MessageType<object>, field: Field, value: unknown): boolean {
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length === 0;
  if (field.cardinality === "map") return isProperties(value) && Object.keys(value).length === 0;
  return value === 0 || value === type.defaults[field.name];
}

function fieldJson(field: Field, value: unknown, where: string): Json {
  if (field.cardinality === "repeated") {
    if (!Array.isArray(value)) throw new MessageError("invalid-value", where, "expected a list");
    return value.map((element: unknown) => valueJson(field, element, where));
  }
  if (field.cardinality === "map") {
    if (!isProperties(value)) throw new MessageError("invalid-value", where, "expected a record");
    return Object.fromEntries(
      Object.entries(value).map(([key, element]) => [key, valueJson(field, element, where)]),
    );
  }
  return valueJson(field, value, where);
}

function valueJson(field: Field, value: unknown, where: string): Json {
  if (field.type.kind === "message") {
    if (!isProperties(value)) throw new MessageError("invalid-value", where, "expected a message");
    return messageJson(field.type.message, value);
  }
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  switch (typeof value) {
    case "bigint":
      return value.toString();
    case "string":
    case "number":
    case "boolean":
      return value;
    default:
      throw new MessageError("invalid-value", where, `a ${typeof value} has no form in JSON`);
  }
}
