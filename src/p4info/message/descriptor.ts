/**
 * Descriptions of protocol buffer messages, as data.
 *
 * The files under `generated/` hold one `MessageType` per message. Everything else (binary form, text form, defaults) is written once
 * over these descriptions. A message in memory is a plain object:
 *
 * - fields are in camel case; 64-bit integers are `bigint`, bytes are `Uint8Array`;
 * - a field that holds a message is absent or present, and a present one is written even when it is empty;
 * - a oneof is one property `{ case, value }`; a member that is set is written even when it is zero;
 * - an enum value is its name, or the number when this version of the protocol does not know it;
 * - a map is a record.
 */

export type ScalarKind = "int32" | "uint32" | "int64" | "uint64" | "bool" | "string" | "bytes";

/** An enum: names by number and numbers by name. */
export class EnumType {
  readonly typeName: string;
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #names: ReadonlyMap<number, string>;

  constructor(typeName: string, values: Readonly<Record<string, number>>) {
    this.typeName = typeName;
    this.#numbers = new Map(Object.entries(values));
    this.#names = new Map(Object.entries(values).map(([name, value]) => [value, name]));
  }

  numberOf(name: string): number | undefined {
    return this.#numbers.get(name);
  }

  nameOf(value: number): string | undefined {
    return this.#names.get(value);
  }

  names(): readonly string[] {
    return [...this.#numbers.keys()];
  }
}

/** A value of an enum that this version of the protocol does not know (proto3 enums are open). */
export type UnknownEnumValue = number;

export type FieldType =
  | { readonly kind: "scalar"; readonly scalar: ScalarKind }
  | { readonly kind: "enum"; readonly enum: EnumType }
  | { readonly kind: "message"; readonly message: MessageType<object> };

export interface Field {
  readonly no: number;
  /** Property of the message object, or case of the oneof. */
  readonly name: string;
  /** Name in the .proto file and in the text format. */
  readonly protoName: string;
  readonly cardinality: "single" | "repeated" | "map";
  readonly type: FieldType;
  /** Property that holds the oneof this field belongs to. */
  readonly oneof: string | undefined;
}

/** What a generated file says of a field: number, name, type, and how often it may occur or in which oneof. */
export type FieldRow = readonly [
  no: number,
  protoName: string,
  type: ScalarKind | EnumType | (() => MessageType<object>),
  shape?: "repeated" | "map" | { readonly oneof: string },
];

/** `table_id` -> `tableId`: the property of a field. */
export function propertyName(protoName: string): string {
  return protoName.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Description of the message type `T`. */
export class MessageType<T extends object> {
  /** Full name, such as `p4.v1.TableEntry`. */
  readonly typeName: string;
  /** Carries `T` for the type checker; never set. */
  declare readonly message?: T;
  readonly #rows: () => readonly FieldRow[];
  #fields: readonly Field[] | undefined;
  /** Sparse: P4Info numbers some fields by hundreds. */
  #byNumber: readonly (Field | undefined)[] | undefined;
  #defaults: Properties | undefined;

  /** `rows` is a function because messages refer to each other in circles. */
  constructor(typeName: string, rows: () => readonly FieldRow[]) {
    this.typeName = typeName;
    this.#rows = rows;
  }

  /** Fields in the order of their numbers, which is the order on the wire and in text. */
  get fields(): readonly Field[] {
    this.#fields ??= this.#rows()
      .map(fieldOfRow)
      .sort((a, b) => a.no - b.no);
    return this.#fields;
  }

  fieldByNumber(no: number): Field | undefined {
    if (this.#byNumber === undefined) {
      const fields: (Field | undefined)[] = [];
      for (const field of this.fields) fields[field.no] = field;
      this.#byNumber = fields;
    }
    return this.#byNumber[no];
  }

  /** The message in which nothing is set. Its lists and records are shared and frozen. */
  get defaults(): Properties {
    this.#defaults ??= Object.fromEntries(
      this.fields
        .map((field) => [field.name, defaultOf(field)] as const)
        .filter(([, value]) => value !== undefined),
    );
    return this.#defaults;
  }
}

const NO_BYTES = new Uint8Array(0);
/** Shared by all messages that have nothing in a list, or in a map. */
export const NO_ELEMENTS: readonly unknown[] = Object.freeze([]);
export const NO_ENTRIES: Properties = Object.freeze({});

/** The value of a field that is not on the wire; undefined for messages and oneof members, which are then absent. */
export function defaultOf(field: Field): unknown {
  if (field.oneof !== undefined) return undefined;
  if (field.cardinality === "repeated") return NO_ELEMENTS;
  if (field.cardinality === "map") return NO_ENTRIES;
  switch (field.type.kind) {
    case "message":
      return undefined;
    case "enum":
      return field.type.enum.nameOf(0) ?? 0;
    case "scalar":
      switch (field.type.scalar) {
        case "int64":
        case "uint64":
          return 0n;
        case "bool":
          return false;
        case "string":
          return "";
        case "bytes":
          return NO_BYTES;
        default:
          return 0;
      }
  }
}

function fieldOfRow([no, protoName, type, shape]: FieldRow): Field {
  return {
    no,
    name: propertyName(protoName),
    protoName,
    cardinality: shape === "repeated" || shape === "map" ? shape : "single",
    type:
      typeof type === "string"
        ? { kind: "scalar", scalar: type }
        : type instanceof EnumType
          ? { kind: "enum", enum: type }
          : { kind: "message", message: type() },
    oneof: typeof shape === "object" ? shape.oneof : undefined,
  };
}

/** What is needed to make a `T`: every field may be left out and then has its default, at every depth. */
export type Init<T> = T extends Uint8Array | string | number | bigint | boolean | undefined
  ? T
  : T extends readonly (infer Element)[]
    ? readonly Init<Element>[]
    : T extends { readonly case: infer Case; readonly value: infer Value }
      ? { readonly case: Case; readonly value: Init<Value> }
      : { readonly [Key in keyof T]?: Init<T[Key]> | undefined };

/** A message seen as properties by name, for code that works over descriptions. */
export type Properties = Readonly<Record<string, unknown>>;

/** The value of a field that may sit inside a oneof; undefined when it is not set. */
export function fieldValue(message: Properties, field: Field): unknown {
  if (field.oneof === undefined) return message[field.name];
  // Whatever a caller put there is looked at as a oneof; a wrong thing has no such case.
  const oneof = message[field.oneof] as { readonly case?: unknown; readonly value?: unknown } | undefined;
  return oneof?.case === field.name ? oneof.value : undefined;
}

/** True when `value` can be looked at as properties by name. */
export function isProperties(value: unknown): value is Properties {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  );
}
