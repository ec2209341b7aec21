import { readCalculation, readChecksum } from "./calculations.ts";
import type { JsonCursor } from "./cursor.ts";
import { type Bmv2JsonSource, openDocument } from "./document.ts";
import { readExpression, readPrimitive } from "./expression.ts";
import {
  readHeader,
  readHeaderType,
  readStack,
  readUnion,
  readUnionStack,
  readUnionType,
} from "./headers.ts";
import { readDeparser, readParser, readValueSet } from "./parsers.ts";
import { readPipeline } from "./pipelines.ts";
import type {
  Action,
  Bmv2Program,
  CounterArray,
  FieldAlias,
  FieldList,
  MeterArray,
  RegisterArray,
} from "./program.ts";

/** Largest register, counter or meter array that is allocated. */
const maxArraySize = 1 << 26;

function readSize(cursor: JsonCursor): number {
  const size = cursor.naturalNumber();
  return size <= maxArraySize
    ? size
    : cursor.refuse(`${size} cells are more than the ${maxArraySize} supported`);
}

function readMeter(cursor: JsonCursor): MeterArray {
  const unit = cursor.get("type").string();
  if (unit !== "bytes" && unit !== "packets") return cursor.get("type").refuse(`"${unit}" is no meter type`);
  const rates = cursor.optional("rate_count")?.integer() ?? 2;
  if (rates !== 2) cursor.get("rate_count").unsupported("only two-rate meters are supported");
  const base = {
    name: cursor.get("name").string(),
    id: cursor.get("id").integer(),
    unit,
    size: readSize(cursor.get("size")),
    path: cursor.path,
  } as const;
  if (!(cursor.optional("is_direct")?.boolean() ?? false)) return base;
  const target = cursor.get("result_target");
  return {
    ...base,
    direct: {
      table: cursor.get("binding").string(),
      header: target.element(0).string(),
      field: target.element(1).string(),
    },
  };
}

function readCounter(cursor: JsonCursor): CounterArray {
  const direct = cursor.optional("is_direct")?.boolean() ?? false;
  return {
    name: cursor.get("name").string(),
    id: cursor.get("id").integer(),
    size: direct ? 0 : readSize(cursor.get("size")),
    directTable: direct ? cursor.get("binding").string() : undefined,
  };
}

function readRegister(cursor: JsonCursor): RegisterArray {
  const width = cursor.get("bitwidth").integer();
  if (width < 1) cursor.get("bitwidth").refuse("a register cell needs at least one bit");
  return {
    name: cursor.get("name").string(),
    id: cursor.get("id").integer(),
    size: readSize(cursor.get("size")),
    width,
  };
}

function readFieldList(cursor: JsonCursor): FieldList {
  return {
    id: cursor.get("id").integer(),
    name: cursor.get("name").string(),
    elements: cursor.list("elements").map(readExpression),
  };
}

function readAction(cursor: JsonCursor): Action {
  return {
    name: cursor.get("name").string(),
    id: cursor.get("id").integer(),
    parameters: cursor.list("runtime_data").map((parameter) => ({
      name: parameter.get("name").string(),
      width: parameter.get("bitwidth").naturalNumber(),
    })),
    primitives: cursor.list("primitives").map(readPrimitive),
    path: cursor.path,
  };
}

function readAlias(cursor: JsonCursor): FieldAlias {
  const target = cursor.element(1);
  return {
    alias: cursor.element(0).string(),
    header: target.element(0).string(),
    field: target.element(1).string(),
  };
}

/** Reads a version 2 BMv2 JSON program. Throws {@link SwitchConfigError} with the path of what is wrong. */
export function readProgram(source: Bmv2JsonSource): Bmv2Program {
  const root = openDocument(source);
  const version = root.optional("__meta__")?.optional("version");
  if (version !== undefined && version.element(0).integer() !== 2) {
    version.unsupported(`BMv2 JSON version ${version.element(0).integer()}; only version 2 is supported`);
  }
  const actions = root.get("actions").elements().map(readAction);
  // Old files name a table's actions instead of giving ids.
  const actionIdsByName = new Map(actions.map((action) => [action.name, action.id]));
  const errors = new Map<string, number>();
  for (const error of root.list("errors")) errors.set(error.element(0).string(), error.element(1).integer());
  return {
    name: root.optional("program")?.string() ?? "",
    headerTypes: root.get("header_types").elements().map(readHeaderType),
    headers: root.get("headers").elements().map(readHeader),
    stacks: root.list("header_stacks").map(readStack),
    unionTypes: root.list("header_union_types").map(readUnionType),
    unions: root.list("header_unions").map(readUnion),
    unionStacks: root.list("header_union_stacks").map(readUnionStack),
    errors,
    parsers: root.get("parsers").elements().map(readParser),
    valueSets: root.list("parse_vsets").map(readValueSet),
    deparsers: root.get("deparsers").elements().map(readDeparser),
    meters: root.list("meter_arrays").map(readMeter),
    counters: root.list("counter_arrays").map(readCounter),
    registers: root.list("register_arrays").map(readRegister),
    calculations: root.list("calculations").map(readCalculation),
    checksums: root.list("checksums").map(readChecksum),
    digests: root.list("learn_lists").map(readFieldList),
    fieldLists: root.list("field_lists").map(readFieldList),
    actions,
    pipelines: root
      .get("pipelines")
      .elements()
      .map((pipeline) => readPipeline(pipeline, actionIdsByName)),
    aliases: root.list("field_aliases").map(readAlias),
  };
}
