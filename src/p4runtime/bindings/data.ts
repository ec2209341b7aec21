import type { P4DataTypeSpec, P4TypeInfo } from "../../p4info/generated/p4types.ts";
import { EntityError } from "../entity-error.ts";
import type { P4Data } from "../proto/generated/p4data.ts";
import { bigintOf } from "../values.ts";

/**
 * A value of any P4 type by the names of its members: numbers are bigint, structs and valid headers are records, tuples are lists, an
 * invalid header is undefined, enum and error members are their names, types that are translated to text are text. Header unions and
 * stacks stay as they came.
 *
 * @throws EntityError when the value is not of the type.
 */
export function readData(
  spec: P4DataTypeSpec | undefined,
  types: P4TypeInfo | undefined,
  data: P4Data,
  where: string,
): unknown {
  const type = spec?.typeSpec;
  const value = data.data;
  const wrong = (): EntityError =>
    new EntityError(
      "invalid-value",
      where,
      `expected ${type?.case ?? "no value"}, got ${value?.case ?? "nothing"}`,
    );
  switch (type?.case) {
    case "bitstring": {
      if (value?.case === "varbit") return bigintOf(value.value.bitstring);
      if (value?.case !== "bitstring") throw wrong();
      const unsigned = bigintOf(value.value);
      return type.value.typeSpec?.case === "int" ? BigInt.asIntN(value.value.length * 8, unsigned) : unsigned;
    }
    case "bool":
      if (value?.case !== "bool") throw wrong();
      return value.value;
    case "tuple":
      if (value?.case !== "tuple") throw wrong();
      return value.value.members.map((member, index) =>
        readData(type.value.members[index], types, member, `${where}[${index}]`),
      );
    case "struct": {
      const members = types?.structs[type.value.name]?.members;
      if (value?.case !== "struct" || members?.length !== value.value.members.length) throw wrong();
      return Object.fromEntries(
        value.value.members.map((member, index) => {
          const { name = "", typeSpec } = members[index] ?? {};
          return [name, readData(typeSpec, types, member, `${where}.${name}`)];
        }),
      );
    }
    case "header": {
      const members = types?.headers[type.value.name]?.members;
      if (value?.case !== "header" || members === undefined) throw wrong();
      if (!value.value.isValid) return undefined;
      if (members.length !== value.value.bitstrings.length) throw wrong();
      return Object.fromEntries(
        value.value.bitstrings.map((bytes, index) => [members[index]?.name ?? "", bigintOf(bytes)]),
      );
    }
    case "enum":
    case "error":
      if (value?.case !== "enum" && value?.case !== "error") throw wrong();
      return value.value;
    case "serializableEnum":
      if (value?.case !== "enumValue") throw wrong();
      return bigintOf(value.value);
    case "newType": {
      const representation = types?.newTypes[type.value.name]?.representation;
      if (representation?.case === "originalType") return readData(representation.value, types, data, where);
      if (value?.case !== "bitstring") throw wrong();
      return representation?.value.sdnType?.case === "sdnString"
        ? new TextDecoder().decode(value.value)
        : bigintOf(value.value);
    }
    default:
      return data;
  }
}
