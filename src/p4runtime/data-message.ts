import type { P4BitstringLikeTypeSpec, P4DataTypeSpec, P4TypeInfo } from "../p4info/generated/p4types.ts";
import type { Init } from "../p4info/message/descriptor.ts";
import { EntityError } from "./entity-error.ts";
import type { P4Data } from "./proto/generated/p4data.ts";
import { encodeValue, parseValue, type Value } from "./values.ts";

/** A value of any P4 type as a user writes it: numbers as `Value`, structs and headers by member names, tuples as lists, no value for an invalid header. */
export type DataInput =
  | Value
  | boolean
  | undefined
  | readonly DataInput[]
  | { readonly [member: string]: DataInput };

/**
 * The message of a value of a P4 type (8.4); `readData` is the way back.
 *
 * @throws EntityError when the value is not of the type.
 */
export function dataMessage(
  spec: P4DataTypeSpec | undefined,
  types: P4TypeInfo | undefined,
  input: DataInput,
  where: string,
): Init<P4Data> {
  const type = spec?.typeSpec;
  const wrong = (): EntityError =>
    new EntityError("invalid-value", where, `expected ${type?.case ?? "nothing"}, got ${shown(input)}`);
  switch (type?.case) {
    case "bitstring": {
      if (!isValue(input)) throw wrong();
      return { data: { case: "bitstring", value: bits(type.value, input, where) } };
    }
    case "bool":
      if (typeof input !== "boolean") throw wrong();
      return { data: { case: "bool", value: input } };
    case "tuple": {
      if (!isList(input) || input.length !== type.value.members.length) throw wrong();
      const members = type.value.members.map((member, i) =>
        dataMessage(member, types, input[i], `${where}[${i}]`),
      );
      return { data: { case: "tuple", value: { members } } };
    }
    case "struct": {
      const members = types?.structs[type.value.name]?.members;
      if (members === undefined || !isRecord(input)) throw wrong();
      checkMembers(
        members.map((member) => member.name),
        input,
        where,
      );
      const values = members.map((member) =>
        dataMessage(member.typeSpec, types, input[member.name], `${where}.${member.name}`),
      );
      return { data: { case: "struct", value: { members: values } } };
    }
    case "header": {
      const members = types?.headers[type.value.name]?.members;
      if (members === undefined) throw wrong();
      if (input === undefined) return { data: { case: "header", value: { isValid: false } } };
      if (!isRecord(input)) throw wrong();
      checkMembers(
        members.map((member) => member.name),
        input,
        where,
      );
      const bitstrings = members.map((member) => {
        const value = input[member.name];
        if (!isValue(value)) throw wrong();
        return bits(member.typeSpec, value, `${where}.${member.name}`);
      });
      return { data: { case: "header", value: { isValid: true, bitstrings } } };
    }
    case "enum":
    case "error":
      if (typeof input !== "string") throw wrong();
      return { data: { case: type.case, value: input } };
    case "serializableEnum": {
      if (!isValue(input)) throw wrong();
      const spec = types?.serializableEnums[type.value.name];
      const named = spec?.members.find((member) => member.name === input)?.value;
      const bitwidth = spec?.underlyingType?.bitwidth ?? 64;
      return { data: { case: "enumValue", value: named ?? encodeValue(input, { bitwidth, where }) } };
    }
    case "newType": {
      const representation = types?.newTypes[type.value.name]?.representation;
      if (representation?.case === "originalType")
        return dataMessage(representation.value, types, input, where);
      if (!isValue(input)) throw wrong();
      const sdn = representation?.value.sdnType;
      const bitwidth = sdn?.case === "sdnBitwidth" ? sdn.value : 0;
      return { data: { case: "bitstring", value: encodeValue(input, { bitwidth, where }) } };
    }
    default:
      throw new EntityError("invalid-value", where, `values of ${type?.case ?? "no type"} cannot be written`);
  }
}

function bits(spec: P4BitstringLikeTypeSpec | undefined, input: Value, where: string): Uint8Array {
  const type = spec?.typeSpec;
  switch (type?.case) {
    case "bit":
      return encodeValue(input, { bitwidth: type.value.bitwidth, where });
    case "int":
      return signedBytes(input, type.value.bitwidth, where);
    default:
      throw new EntityError("invalid-value", where, `values of ${type?.case ?? "no type"} cannot be written`);
  }
}

/**
 * Two's complement in as many bytes as the type has: longer than need be (8.3), but right as well for servers that put zeros in front of
 * shorter ones.
 */
export function signedBytes(input: Value, bitwidth: number, where: string): Uint8Array {
  const text = String(input).trim();
  const value = /^-\d+$/.test(text) ? BigInt(text) : parseValue(input, { bitwidth, where });
  if (BigInt.asIntN(bitwidth, value) !== value)
    throw new EntityError("out-of-range", where, `${value} does not fit into int<${bitwidth}>`);
  const bytes = Math.ceil(bitwidth / 8);
  const hex = BigInt.asUintN(bytes * 8, value).toString(16);
  return Uint8Array.from(Buffer.from(hex.padStart(bytes * 2, "0"), "hex"));
}

function checkMembers(
  names: readonly string[],
  input: Readonly<Record<string, DataInput>>,
  where: string,
): void {
  const missing = names.find((name) => !(name in input));
  if (missing !== undefined) throw new EntityError("missing", `${where}.${missing}`, "it is not given");
  const extra = Object.keys(input).find((name) => !names.includes(name));
  if (extra !== undefined) throw new EntityError("unknown-name", where, `there is no member "${extra}"`);
}

function isValue(input: DataInput): input is Value {
  return (
    typeof input === "bigint" ||
    typeof input === "number" ||
    typeof input === "string" ||
    input instanceof Uint8Array
  );
}

function isList(input: DataInput): input is readonly DataInput[] {
  return Array.isArray(input);
}

function isRecord(input: DataInput): input is Readonly<Record<string, DataInput>> {
  return typeof input === "object" && !Array.isArray(input) && !(input instanceof Uint8Array);
}

function shown(input: DataInput): string {
  return typeof input === "object" ? "a structure" : String(input);
}
