import type { Field, Init, MessageType, Properties } from "./descriptor.ts";
import { fieldValue, isProperties } from "./descriptor.ts";
import { MessageError } from "./error.ts";

/**
 * Make a complete message from the fields that matter; the others get their defaults, at every depth.
 *
 * @throws MessageError when something that should be a message or a list is not.
 */
export function create<T extends object>(type: MessageType<T>, init?: Init<NoInfer<T>>): T {
  // Built field by field from the description of T, which the type checker cannot follow.
  return createFrom(type, (init ?? {}) as Properties) as T;
}

function createFrom(type: MessageType<object>, init: Properties): Properties {
  const message: Record<string, unknown> = { ...type.defaults };
  for (const field of type.fields) {
    const value = fieldValue(init, field);
    if (value === undefined) continue;
    const where = `${type.typeName}.${field.protoName}`;
    const complete = completeField(field, value, where);
    if (field.oneof === undefined) message[field.name] = complete;
    else message[field.oneof] = { case: field.name, value: complete };
  }
  return message;
}

function completeField(field: Field, value: unknown, where: string): unknown {
  if (field.cardinality === "repeated") {
    if (!Array.isArray(value)) throw new MessageError("invalid-value", where, "expected a list");
    return value.map((element: unknown) => completeValue(field, element, where));
  }
  if (field.cardinality === "map") {
    if (!isProperties(value)) throw new MessageError("invalid-value", where, "expected a record");
    const entries = Object.entries(value).filter(([, element]) => element !== undefined);
    return Object.fromEntries(entries.map(([key, element]) => [key, completeValue(field, element, where)]));
  }
  return completeValue(field, value, where);
}

function completeValue(field: Field, value: unknown, where: string): unknown {
  if (field.type.kind !== "message") return value;
  if (!isProperties(value)) throw new MessageError("invalid-value", where, "expected a message");
  return createFrom(field.type.message, value);
}
