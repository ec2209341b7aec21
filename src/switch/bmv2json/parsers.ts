import type { JsonCursor } from "./cursor.ts";
import { readExpression, readPrimitive } from "./expression.ts";
import type {
  Deparser,
  ExtractTarget,
  Parser,
  ParserOp,
  ParseState,
  ParseValueSet,
  Transition,
} from "./program.ts";

function readExtractTarget(cursor: JsonCursor): ExtractTarget {
  const type = cursor.get("type").string();
  const value = cursor.get("value");
  switch (type) {
    case "regular":
      return { kind: "regular", header: value.string() };
    case "stack":
      return { kind: "stack", stack: value.string() };
    case "union_stack":
      return { kind: "unionStack", stack: value.element(0).string(), member: value.element(1).string() };
    default:
      return cursor.get("type").unsupported(`can't extract to "${type}"`);
  }
}

function readParserOp(cursor: JsonCursor): ParserOp {
  const path = cursor.path;
  const op = cursor.get("op").string();
  const parameters = cursor.get("parameters");
  switch (op) {
    case "extract":
      return { kind: "extract", target: readExtractTarget(parameters.element(0)), path };
    case "extract_VL":
      return {
        kind: "extract",
        target: readExtractTarget(parameters.element(0)),
        length: readExpression(parameters.element(1)),
        path,
      };
    case "set":
      return {
        kind: "set",
        destination: readExpression(parameters.element(0)),
        source: readExpression(parameters.element(1)),
        path,
      };
    case "verify":
      return {
        kind: "verify",
        condition: readExpression(parameters.element(0)),
        error: readExpression(parameters.element(1)),
        path,
      };
    case "shift":
      return {
        kind: "advance",
        bits: { kind: "constant", value: BigInt(parameters.element(0).naturalNumber()) * 8n, path },
        path,
      };
    case "advance":
      return { kind: "advance", bits: readExpression(parameters.element(0)), path };
    case "primitive":
      return { kind: "primitive", primitive: readPrimitive(parameters.element(0)), path };
    default:
      return cursor.get("op").unsupported(`unknown parser operation "${op}"`);
  }
}

function nextOf(cursor: JsonCursor): string | null {
  return cursor.optional("next_state")?.string() ?? null;
}

function readTransition(cursor: JsonCursor): Transition {
  const value = cursor.optional("value");
  const type = cursor.optional("type")?.string() ?? "hexstr";
  const next = nextOf(cursor);
  // Old files have no "type" and write the default as the value.
  if (type === "default" || value?.value === "default") return { kind: "default", next };
  const mask = cursor.optional("mask")?.hexstr() ?? null;
  if (type === "parse_vset") {
    return { kind: "valueSet", valueSet: cursor.get("value").string(), mask, next, path: cursor.path };
  }
  if (type === "hexstr")
    return { kind: "value", value: cursor.get("value").hexstr(), mask, next, path: cursor.path };
  return cursor.get("type").unsupported(`unknown transition type "${type}"`);
}

function readState(cursor: JsonCursor): ParseState {
  return {
    name: cursor.get("name").string(),
    ops: cursor.list("parser_ops").map(readParserOp),
    key: cursor.list("transition_key").map(readExpression),
    transitions: cursor.list("transitions").map(readTransition),
    path: cursor.path,
  };
}

export function readParser(cursor: JsonCursor): Parser {
  return {
    name: cursor.get("name").string(),
    initState: cursor.optional("init_state")?.string() ?? null,
    states: cursor.list("parse_states").map(readState),
    path: cursor.path,
  };
}

export function readValueSet(cursor: JsonCursor): ParseValueSet {
  return {
    name: cursor.get("name").string(),
    id: cursor.get("id").integer(),
    width: cursor.get("compressed_bitwidth").naturalNumber(),
    maxSize: cursor.optional("max_size")?.naturalNumber(),
  };
}

export function readDeparser(cursor: JsonCursor): Deparser {
  return {
    name: cursor.get("name").string(),
    order: cursor
      .get("order")
      .elements()
      .map((name) => name.string()),
    primitives: cursor.list("primitives").map(readPrimitive),
    path: cursor.path,
  };
}
