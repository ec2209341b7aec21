import type { JsonCursor } from "./cursor.ts";
import type {
  FieldType,
  HeaderInstance,
  HeaderStack,
  HeaderType,
  HeaderUnion,
  HeaderUnionStack,
  HeaderUnionType,
} from "./program.ts";

/** p4c's own limit for a bit<W>. */
const maxWidth = 1 << 20;

function readField(cursor: JsonCursor): FieldType {
  const name = cursor.element(0).string();
  const width = cursor.element(1);
  // p4c writes false, true, or for boolean fields 0.
  const third = cursor.elements().length > 2 ? cursor.element(2).value : false;
  const signed = third === true || third === 1;
  if (width.value === "*") return { name, width: "varbit", signed: false };
  const bits = width.integer();
  if (bits < 1 || bits > maxWidth) return width.refuse(`a field can't be ${bits} bits wide`);
  return { name, width: bits, signed };
}

export function readHeaderType(cursor: JsonCursor): HeaderType {
  const fields = cursor.get("fields").elements().map(readField);
  if (cursor.optional("length_exp") !== undefined) {
    cursor.get("length_exp").unsupported("length_exp (P4_14) is not supported; use extract with a length");
  }
  if (fields.filter((field) => field.width === "varbit").length > 1) {
    cursor.get("fields").refuse("a header can have one variable-length field only");
  }
  return {
    name: cursor.get("name").string(),
    fields,
    maxLength: cursor.optional("max_length")?.naturalNumber() ?? 0,
  };
}

export function readHeader(cursor: JsonCursor): HeaderInstance {
  return {
    name: cursor.get("name").string(),
    id: cursor.get("id").integer(),
    type: cursor.get("header_type").string(),
    metadata: cursor.optional("metadata")?.boolean() ?? false,
  };
}

export function readStack(cursor: JsonCursor): HeaderStack {
  return {
    name: cursor.get("name").string(),
    type: cursor.get("header_type").string(),
    headerIds: cursor
      .get("header_ids")
      .elements()
      .map((id) => id.integer()),
  };
}

export function readUnionType(cursor: JsonCursor): HeaderUnionType {
  return {
    name: cursor.get("name").string(),
    members: cursor
      .get("headers")
      .elements()
      .map((member) => ({ name: member.element(0).string(), headerType: member.element(1).string() })),
  };
}

export function readUnion(cursor: JsonCursor): HeaderUnion {
  return {
    name: cursor.get("name").string(),
    id: cursor.get("id").integer(),
    type: cursor.get("union_type").string(),
    headerIds: cursor
      .get("header_ids")
      .elements()
      .map((id) => id.integer()),
  };
}

export function readUnionStack(cursor: JsonCursor): HeaderUnionStack {
  return {
    name: cursor.get("name").string(),
    type: cursor.get("union_type").string(),
    unionIds: cursor
      .get("header_union_ids")
      .elements()
      .map((id) => id.integer()),
  };
}
