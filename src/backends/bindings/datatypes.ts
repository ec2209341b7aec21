import type { P4DataTypeSpec, P4TypeInfo } from "../../p4info/index.ts";
import { typeKey } from "./names.ts";

/**
 * The TypeScript type of what is read of a value of a P4 type: the counterpart of `readData` in p4runtime/bindings/data.ts.
 */
export function dataType(spec: P4DataTypeSpec | undefined, types: P4TypeInfo | undefined): string {
  const type = spec?.typeSpec;
  switch (type?.case) {
    case "bitstring":
    case "serializableEnum":
      return "bigint";
    case "bool":
      return "boolean";
    case "tuple":
      return `readonly [${type.value.members.map((member) => dataType(member, types)).join(", ")}]`;
    case "struct":
      return record(structMembers(spec, types));
    case "header": {
      const members = types?.headers[type.value.name]?.members;
      // Invalid headers are undefined.
      return `${record(members?.map(({ name }) => [name, "bigint"]))} | undefined`;
    }
    case "enum":
      return literals(types?.enums[type.value.name]?.members.map(({ name }) => name));
    case "error":
      return literals(types?.error?.members);
    case "newType": {
      const representation = types?.newTypes[type.value.name]?.representation;
      if (representation?.case === "originalType") return dataType(representation.value, types);
      return representation?.value.sdnType?.case === "sdnString" ? "string" : "bigint";
    }
    default:
      return "unknown";
  }
}

/** The members of a struct with their types; undefined for anything else. */
export function structMembers(
  spec: P4DataTypeSpec | undefined,
  types: P4TypeInfo | undefined,
): readonly Member[] | undefined {
  const type = spec?.typeSpec;
  if (type?.case !== "struct") return undefined;
  const members = types?.structs[type.value.name]?.members;
  return members?.map(({ name, typeSpec }) => [name, dataType(typeSpec, types)]);
}

type Member = readonly [name: string, type: string];

function record(members: readonly Member[] | undefined): string {
  if (members === undefined) return "unknown";
  return `{ ${members.map(([name, type]) => `readonly ${typeKey(name)}: ${type}`).join("; ")} }`;
}

function literals(names: readonly string[] | undefined): string {
  return names === undefined || names.length === 0
    ? "string"
    : names.map((name) => JSON.stringify(name)).join(" | ");
}
