/**
 * Makes the message descriptions under folders `generated/` from a descriptor set of protoc. Called by generate.sh.
 *
 * protoc has no generator for TypeScript of its own, and those on npm give 64-bit integers as text and no descriptions to work over; so
 * this one writes plain interfaces (`bigint`, oneofs as unions) together with a table that the codecs of `src/p4info/message` read.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import descriptor from "google-protobuf/google/protobuf/descriptor_pb.js";
import { propertyName } from "../../p4info/message/descriptor.ts";

type FileProto = descriptor.FileDescriptorProto;
type MessageProto = descriptor.DescriptorProto;
type FieldProto = descriptor.FieldDescriptorProto;
type EnumProto = descriptor.EnumDescriptorProto;

/** Where the messages of each .proto file go, relative to `src/`. P4Info lies beside P4Runtime, not inside: the compiler's backends use it too. */
const MODULES: Readonly<Record<string, string>> = {
  "google/protobuf/any.proto": "p4info/generated/any.ts",
  "google/rpc/status.proto": "p4runtime/proto/generated/status.ts",
  "p4/config/v1/p4types.proto": "p4info/generated/p4types.ts",
  "p4/config/v1/p4info.proto": "p4info/generated/p4info.ts",
  "p4/v1/p4data.proto": "p4runtime/proto/generated/p4data.ts",
  "p4/v1/p4runtime.proto": "p4runtime/proto/generated/p4runtime.ts",
  "jobs.proto": "controller/jobservice/generated/jobs.ts",
  "bfruntime.proto": "controller/sidechannel/bfruntime/generated/bfruntime.ts",
};

const INT64 = 3;
const UINT64 = 4;
const ENUM = 14;
const MESSAGE = 11;
const REPEATED = 3;
const SCALARS: Readonly<Record<number, readonly [kind: string, type: string]>> = {
  [INT64]: ["int64", "bigint"],
  [UINT64]: ["uint64", "bigint"],
  5: ["int32", "number"],
  8: ["bool", "boolean"],
  9: ["string", "string"],
  12: ["bytes", "Uint8Array"],
  13: ["uint32", "number"],
};

const [descriptorFile, root = join(import.meta.dirname, "..", "..")] = process.argv.slice(2);
if (descriptorFile === undefined) throw new Error("usage: generate.ts DESCRIPTOR_SET [ROOT]");
const files = descriptor.FileDescriptorSet.deserializeBinary(readFileSync(descriptorFile)).getFileList();

/** Full name with a leading dot -> file and TypeScript name. Nested names are joined with "_". */
const declared = new Map<string, { readonly file: string; readonly name: string }>();
for (const file of files) declareAll(file);

for (const file of files) {
  const module = MODULES[file.getName() ?? ""];
  if (module === undefined) throw new Error(`no module for ${file.getName()}`);
  const path = join(root, module);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, moduleOf(file, module));
}

function declareAll(file: FileProto): void {
  const visit = (message: MessageProto, prefix: string, tsPrefix: string): void => {
    const full = `${prefix}.${message.getName()}`;
    const name = `${tsPrefix}${message.getName()}`;
    declared.set(full, { file: file.getName() ?? "", name });
    for (const nested of message.getNestedTypeList()) visit(nested, full, `${name}_`);
    for (const nested of message.getEnumTypeList())
      declared.set(`${full}.${nested.getName()}`, {
        file: file.getName() ?? "",
        name: `${name}_${nested.getName()}`,
      });
  };
  const prefix = `.${file.getPackage()}`;
  for (const message of file.getMessageTypeList()) visit(message, prefix, "");
  for (const nested of file.getEnumTypeList())
    declared.set(`${prefix}.${nested.getName()}`, {
      file: file.getName() ?? "",
      name: nested.getName() ?? "",
    });
}

function moduleOf(file: FileProto, module: string): string {
  const imports = new Map<string, Set<string>>();
  const body: string[] = [];

  const refer = (typeName: string): string => {
    const target = declared.get(typeName);
    if (target === undefined) throw new Error(`unknown type ${typeName}`);
    if (target.file !== file.getName()) {
      // Two packages may use one name (p4.v1.Action, p4.config.v1.Action), but no file here needs both.
      const names = imports.get(target.file) ?? new Set();
      imports.set(target.file, names.add(target.name));
    }
    return target.name;
  };

  const enumOf = (proto: EnumProto, prefix: string, tsPrefix: string): void => {
    const name = `${tsPrefix}${proto.getName()}`;
    const values = proto.getValueList();
    const names = values.map((value) => JSON.stringify(value.getName()));
    const table = values.map((value) => `${value.getName()}: ${value.getNumber()}`);
    body.push(
      `export type ${name} = ${names.join(" | ")} | UnknownEnumValue;`,
      `export const ${name}: EnumType = new EnumType("${prefix}.${proto.getName()}", { ${table.join(", ")} });`,
      "",
    );
  };

  const messageOf = (proto: MessageProto, prefix: string, tsPrefix: string): void => {
    const full = `${prefix}.${proto.getName()}`;
    const name = `${tsPrefix}${proto.getName()}`;
    for (const nested of proto.getEnumTypeList()) enumOf(nested, full, `${name}_`);
    for (const nested of proto.getNestedTypeList())
      if (!nested.getOptions()?.getMapEntry()) messageOf(nested, full, `${name}_`);

    const properties: string[] = [];
    const rows: string[] = [];
    const oneofs = new Set<number>();
    for (const field of proto.getFieldList()) {
      const oneof = field.hasOneofIndex() ? proto.getOneofDeclList()[field.getOneofIndex() ?? 0] : undefined;
      const oneofName = oneof === undefined ? undefined : propertyName(oneof.getName() ?? "");
      rows.push(rowOf(proto, field, full, oneofName, refer));
      if (oneofName === undefined) {
        properties.push(propertyOf(proto, field, full, refer));
      } else if (!oneofs.has(field.getOneofIndex() ?? 0)) {
        oneofs.add(field.getOneofIndex() ?? 0);
        const members = proto
          .getFieldList()
          .filter((member) => member.hasOneofIndex() && member.getOneofIndex() === field.getOneofIndex())
          .map(
            (member) =>
              `\n    | { readonly case: "${propertyName(member.getName() ?? "")}"; readonly value: ${valueType(member, refer)} }`,
          );
        properties.push(`  readonly ${oneofName}?:${members.join("")}\n    | undefined;`);
      }
    }
    body.push(
      properties.length === 0
        ? `export type ${name} = Record<never, never>;`
        : `export interface ${name} {\n${properties.join("\n")}\n}`,
      `export const ${name}: MessageType<${name}> = new MessageType("${full}", () => [${rows.length === 0 ? "" : "\n"}${rows.join("\n")}${rows.length === 0 ? "" : "\n"}]);`,
      "",
    );
  };

  const prefix = file.getPackage() ?? "";
  for (const proto of file.getEnumTypeList()) enumOf(proto, prefix, "");
  for (const proto of file.getMessageTypeList()) messageOf(proto, prefix, "");

  const text = body.join("\n");
  const head = [`// Made from ${file.getName()} by src/p4runtime/proto/generate.sh; not to be edited.`];
  const runtime = relativeModule(module, "p4info/message/descriptor.ts");
  const values = ["EnumType", "MessageType"].filter((name) => text.includes(`new ${name}(`));
  if (text.includes("UnknownEnumValue")) values.push("type UnknownEnumValue");
  head.push(`import { ${values.join(", ")} } from "${runtime}";`);
  for (const [imported, names] of imports)
    head.push(
      `import { ${[...names].sort().join(", ")} } from "${relativeModule(module, MODULES[imported] ?? "")}";`,
    );
  return `${head.join("\n")}\n\n${text.trimEnd()}\n`;
}

function relativeModule(from: string, to: string): string {
  const fromParts = from.split("/").slice(0, -1);
  const toParts = to.split("/");
  while (fromParts.length > 0 && fromParts[0] === toParts[0]) {
    fromParts.shift();
    toParts.shift();
  }
  return `${fromParts.length === 0 ? "./" : "../".repeat(fromParts.length)}${toParts.join("/")}`;
}

function mapEntry(proto: MessageProto, field: FieldProto, full: string): MessageProto | undefined {
  return proto
    .getNestedTypeList()
    .find(
      (nested) =>
        nested.getOptions()?.getMapEntry() && field.getTypeName() === `.${full}.${nested.getName()}`,
    );
}

function valueType(field: FieldProto, refer: (typeName: string) => string): string {
  const scalar = SCALARS[field.getType() ?? 0];
  return scalar?.[1] ?? refer(field.getTypeName() ?? "");
}

function propertyOf(
  proto: MessageProto,
  field: FieldProto,
  full: string,
  refer: (typeName: string) => string,
): string {
  const name = propertyName(field.getName() ?? "");
  const deprecated = field.getOptions()?.getDeprecated() ? "  /** @deprecated */\n" : "";
  const entry = mapEntry(proto, field, full);
  const entryValue = entry?.getFieldList()[1];
  if (entryValue !== undefined)
    return `${deprecated}  readonly ${name}: Readonly<Record<string, ${valueType(entryValue, refer)}>>;`;
  const type = valueType(field, refer);
  if (field.getLabel() === REPEATED) return `${deprecated}  readonly ${name}: readonly ${type}[];`;
  if (field.getType() === MESSAGE) return `${deprecated}  readonly ${name}?: ${type} | undefined;`;
  return `${deprecated}  readonly ${name}: ${type};`;
}

function rowOf(
  proto: MessageProto,
  field: FieldProto,
  full: string,
  oneof: string | undefined,
  refer: (typeName: string) => string,
): string {
  const entryValue = mapEntry(proto, field, full)?.getFieldList()[1];
  const carrier = entryValue ?? field;
  const scalar = SCALARS[carrier.getType() ?? 0];
  if (scalar === undefined && carrier.getType() !== ENUM && carrier.getType() !== MESSAGE)
    throw new Error(`${full}.${field.getName()}: field type ${carrier.getType()} is not supported`);
  const isRepeated = field.getLabel() === REPEATED && entryValue === undefined;
  if (isRepeated && scalar !== undefined && !["uint32", "string", "bytes"].includes(scalar[0]))
    throw new Error(`${full}.${field.getName()}: repeated ${scalar[0]} is not supported`);
  const typeName = scalar === undefined ? refer(carrier.getTypeName() ?? "") : "";
  const type =
    scalar !== undefined ? `"${scalar[0]}"` : carrier.getType() === ENUM ? typeName : `() => ${typeName}`;
  const shape =
    entryValue !== undefined
      ? ', "map"'
      : isRepeated
        ? ', "repeated"'
        : oneof
          ? `, { oneof: "${oneof}" }`
          : "";
  return `  [${field.getNumber()}, "${field.getName()}", ${type}${shape}],`;
}
