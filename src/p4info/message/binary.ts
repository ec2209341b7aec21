import protobuf from "google-protobuf";
import { ByteWriter } from "./byte-writer.ts";
import type { EnumType, Field, Init, MessageType, Properties, ScalarKind } from "./descriptor.ts";
import { fieldValue, isProperties, NO_ELEMENTS, NO_ENTRIES } from "./descriptor.ts";
import { MessageError } from "./error.ts";

interface Reader {
  readonly bytes: protobuf.BinaryReader;
  fieldsLeft: number;
}

/** Wire types of the encoding. */
const VARINT = 0;
const DELIMITED = 2;

/** Deeper nesting than this is refused: no P4Runtime message needs it, and the stack is finite. */
const MAX_DEPTH = 64;

/**
 * The binary form of a message. Fields may be left out (`Init`); then they have their defaults and take no bytes. Fields go in the order
 * of their numbers and maps in the order of their records, so equal messages give equal bytes.
 *
 * @throws MessageError with the path of the field when a value does not fit its field.
 */
export function encode<T extends object>(type: MessageType<T>, message: Init<NoInfer<T>>): Uint8Array {
  const writer = new ByteWriter();
  // Read field by field through the description of T, which the type checker cannot follow.
  writeMessage(type, message as Properties, writer);
  return writer.finish();
}

/**
 * Read a message from its binary form. Unknown fields are passed over, as proto3 asks; all bytes are copied, so `bytes` may be reused.
 *
 * @param mostFields that are read, those of messages in the message included; more are an error. From strangers a message may be small and yet
 * mean very many objects.
 * @throws MessageError with code `malformed` when the bytes are not an encoding of the message, `too-many-fields` when there are more than asked for.
 */
export function decode<T extends object>(
  type: MessageType<T>,
  bytes: Uint8Array,
  mostFields = Number.POSITIVE_INFINITY,
): T {
  const message = emptyMessage(type);
  try {
    // A plain view: of a Buffer the reader would hand out slices that share its memory.
    const view = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    readMessage(type, message, { bytes: new protobuf.BinaryReader(view), fieldsLeft: mostFields }, 0);
  } catch (error) {
    if (error instanceof MessageError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new MessageError("malformed", type.typeName, `the bytes are no such message (${reason})`);
  }
  // Built field by field from the description of T, which the type checker cannot follow.
  return message as T;
}

function writeMessage(type: MessageType<object>, message: Properties, writer: ByteWriter): void {
  for (const field of type.fields) {
    const value = fieldValue(message, field);
    if (value === undefined) continue;
    if (field.cardinality === "repeated") writeRepeated(type, field, value, writer);
    else if (field.cardinality === "map") writeMap(type, field, value, writer);
    else writeSingle(type, field, value, writer, field.oneof !== undefined);
  }
}

function writeRepeated(type: MessageType<object>, field: Field, value: unknown, writer: ByteWriter): void {
  if (!Array.isArray(value)) throw invalid(type, field, value, "a list");
  if (field.type.kind === "scalar" && field.type.scalar === "uint32") {
    if (value.length === 0) return;
    writer.tag(field.no, DELIMITED);
    writer.nested(() => {
      for (const element of value) writer.uint32(checkNumber(type, field, element, 0, 0xffff_ffff));
    });
    return;
  }
  for (const element of value) writeSingle(type, field, element, writer, true);
}

function writeMap(type: MessageType<object>, field: Field, value: unknown, writer: ByteWriter): void {
  if (!isProperties(value)) throw invalid(type, field, value, "a record");
  for (const [key, element] of Object.entries(value)) {
    if (element === undefined) continue;
    writer.tag(field.no, DELIMITED);
    writer.nested(() => {
      writer.tag(1, DELIMITED);
      writer.string(key);
      writeSingle(type, { ...field, no: 2, cardinality: "single" }, element, writer, true);
    });
  }
}

/** `always`: write zero too, as a oneof member and a list element must be. */
function writeSingle(
  type: MessageType<object>,
  field: Field,
  value: unknown,
  writer: ByteWriter,
  always: boolean,
): void {
  const kind = field.type;
  switch (kind.kind) {
    case "message":
      if (!isProperties(value)) throw invalid(type, field, value, "a message");
      writer.tag(field.no, DELIMITED);
      writer.nested(() => writeMessage(kind.message, value, writer));
      return;
    case "enum": {
      const number = enumNumber(type, field, kind.enum, value);
      if (!always && number === 0) return;
      writer.tag(field.no, VARINT);
      writer.int32(number);
      return;
    }
    case "scalar":
      writeScalar(type, field, kind.scalar, value, writer, always);
  }
}

function writeScalar(
  type: MessageType<object>,
  field: Field,
  scalar: ScalarKind,
  value: unknown,
  writer: ByteWriter,
  always: boolean,
): void {
  switch (scalar) {
    case "int32": {
      const number = checkNumber(type, field, value, -0x8000_0000, 0x7fff_ffff);
      if (!always && number === 0) return;
      writer.tag(field.no, VARINT);
      writer.int32(number);
      return;
    }
    case "uint32": {
      const number = checkNumber(type, field, value, 0, 0xffff_ffff);
      if (!always && number === 0) return;
      writer.tag(field.no, VARINT);
      writer.uint32(number);
      return;
    }
    case "int64": {
      if (typeof value !== "bigint" || BigInt.asIntN(64, value) !== value)
        throw invalid(type, field, value, "a bigint of 64 bits with sign");
      if (!always && value === 0n) return;
      writer.tag(field.no, VARINT);
      writer.uint64(BigInt.asUintN(64, value));
      return;
    }
    case "uint64": {
      if (typeof value !== "bigint" || BigInt.asUintN(64, value) !== value)
        throw invalid(type, field, value, "a bigint of 64 bits without sign");
      if (!always && value === 0n) return;
      writer.tag(field.no, VARINT);
      writer.uint64(value);
      return;
    }
    case "bool":
      if (typeof value !== "boolean") throw invalid(type, field, value, "true or false");
      if (!always && !value) return;
      writer.tag(field.no, VARINT);
      writer.uint32(value ? 1 : 0);
      return;
    case "string":
      if (typeof value !== "string") throw invalid(type, field, value, "a string");
      if (!always && value === "") return;
      writer.tag(field.no, DELIMITED);
      writer.string(value);
      return;
    case "bytes":
      if (!(value instanceof Uint8Array)) throw invalid(type, field, value, "a Uint8Array");
      if (!always && value.length === 0) return;
      writer.tag(field.no, DELIMITED);
      writer.bytes(value);
  }
}

function checkNumber(
  type: MessageType<object>,
  field: Field,
  value: unknown,
  low: number,
  high: number,
): number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < low || value > high)
    throw invalid(type, field, value, `an integer from ${low} to ${high}`);
  return value;
}

function enumNumber(type: MessageType<object>, field: Field, enumType: EnumType, value: unknown): number {
  if (typeof value === "number") return checkNumber(type, field, value, -0x8000_0000, 0x7fff_ffff);
  const number = typeof value === "string" ? enumType.numberOf(value) : undefined;
  if (number === undefined) throw invalid(type, field, value, `one of ${enumType.names().join(", ")}`);
  return number;
}

function invalid(type: MessageType<object>, field: Field, value: unknown, expected: string): MessageError {
  const shown = typeof value === "object" ? (value === null ? "null" : "an object") : `${String(value)}`;
  return new MessageError(
    "invalid-value",
    `${type.typeName}.${field.protoName}`,
    `expected ${expected}, got ${shown} (${typeof value})`,
  );
}

function emptyMessage(type: MessageType<object>): Record<string, unknown> {
  return { ...type.defaults };
}

function readMessage(
  type: MessageType<object>,
  message: Record<string, unknown>,
  reader: Reader,
  depth: number,
): void {
  if (depth > MAX_DEPTH)
    throw new MessageError("malformed", type.typeName, `nested deeper than ${MAX_DEPTH} messages`);
  while (reader.bytes.nextField()) {
    countFields(type, reader, 1);
    const field = type.fieldByNumber(reader.bytes.getFieldNumber());
    // A known number with another wire type counts as unknown, as in other implementations.
    if (field === undefined || !fitsWireType(field, reader.bytes.getWireType())) {
      reader.bytes.skipField();
      continue;
    }
    if (field.cardinality === "map") {
      readMapEntry(type, field, record(message, field.name), reader, depth);
    } else if (field.cardinality === "repeated") {
      readElement(type, field, list(message, field.name), reader, depth);
    } else {
      const value = readValue(field, fieldValue(message, field), reader, depth);
      if (field.oneof === undefined) message[field.name] = value;
      else message[field.oneof] = { case: field.name, value };
    }
  }
}

function countFields(type: MessageType<object>, reader: Reader, count: number): void {
  reader.fieldsLeft -= count;
  if (reader.fieldsLeft < 0)
    throw new MessageError("too-many-fields", type.typeName, "the message has too many fields");
}

function fitsWireType(field: Field, wireType: number): boolean {
  if (field.type.kind === "message") return wireType === DELIMITED;
  if (field.type.kind === "enum") return wireType === VARINT;
  const scalar = field.type.scalar;
  if (scalar === "string" || scalar === "bytes") return wireType === DELIMITED;
  return wireType === VARINT || (wireType === DELIMITED && field.cardinality === "repeated");
}

function readElement(
  type: MessageType<object>,
  field: Field,
  elements: unknown[],
  reader: Reader,
  depth: number,
): void {
  if (field.type.kind === "scalar" && field.type.scalar === "uint32" && reader.bytes.isDelimited()) {
    const bytes = reader.bytes.readBytes();
    // A packed list is the varints one after the other.
    const unpacked = unpackUint32(bytes, reader.fieldsLeft);
    countFields(type, reader, unpacked.length);
    for (const element of unpacked) elements.push(element);
    return;
  }
  elements.push(readValue(field, undefined, reader, depth));
}

function unpackUint32(bytes: Uint8Array, most: number): number[] {
  const values: number[] = [];
  for (let at = 0; at < bytes.length; ) {
    let value = 0;
    let shift = 0;
    let byte: number;
    do {
      const next = bytes[at++];
      if (next === undefined || shift > 63) throw new Error("a packed list ends inside a number");
      byte = next;
      if (shift < 32) value = (value | ((byte & 0x7f) << shift)) >>> 0;
      shift += 7;
    } while (byte & 0x80);
    values.push(value);
    // The caller says what is wrong.
    if (values.length > most) break;
  }
  return values;
}

function readMapEntry(
  type: MessageType<object>,
  field: Field,
  entries: Record<string, unknown>,
  reader: Reader,
  depth: number,
): void {
  let key = "";
  let value: unknown;
  reader.bytes.readMessage({}, () => {
    while (reader.bytes.nextField()) {
      countFields(type, reader, 1);
      const no = reader.bytes.getFieldNumber();
      if (no === 1 && reader.bytes.isDelimited()) key = reader.bytes.readString();
      else if (no === 2 && fitsWireType(field, reader.bytes.getWireType())) {
        value = readValue(field, value, reader, depth + 1);
      } else reader.bytes.skipField();
    }
  });
  if (value === undefined && field.type.kind === "message") value = emptyMessage(field.type.message);
  // A plain assignment would take the key "__proto__" for the prototype.
  Object.defineProperty(entries, key, { value, enumerable: true, configurable: true, writable: true });
}

/** `before` is the value so far: a message that comes in two parts is merged. */
function readValue(field: Field, before: unknown, reader: Reader, depth: number): unknown {
  const kind = field.type;
  switch (kind.kind) {
    case "message": {
      const value = isProperties(before) ? { ...before } : emptyMessage(kind.message);
      reader.bytes.readMessage(value, () => readMessage(kind.message, value, reader, depth + 1));
      return value;
    }
    case "enum": {
      const number = reader.bytes.readEnum();
      return kind.enum.nameOf(number) ?? number;
    }
    case "scalar":
      switch (kind.scalar) {
        case "int32":
          return reader.bytes.readInt32();
        case "uint32":
          return reader.bytes.readUint32();
        case "int64":
          return BigInt(reader.bytes.readInt64String());
        case "uint64":
          return BigInt(reader.bytes.readUint64String());
        case "bool":
          return reader.bytes.readBool();
        case "string":
          return reader.bytes.readString();
        case "bytes":
          // The reader copies.
          return reader.bytes.readBytes();
      }
  }
}

function list(message: Record<string, unknown>, name: string): unknown[] {
  const value = message[name];
  if (Array.isArray(value) && value !== NO_ELEMENTS) return value;
  const created: unknown[] = [];
  message[name] = created;
  return created;
}

function record(message: Record<string, unknown>, name: string): Record<string, unknown> {
  const value = message[name];
  // Made by emptyMessage, hence a plain record that is ours to fill.
  if (isProperties(value) && value !== NO_ENTRIES) return value as Record<string, unknown>;
  const created: Record<string, unknown> = {};
  message[name] = created;
  return created;
}
