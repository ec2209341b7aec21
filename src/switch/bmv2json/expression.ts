import type { JsonCursor } from "./cursor.ts";
import type { BinaryOperator, Expression, Primitive, UnaryOperator } from "./program.ts";

const unaryOperators: ReadonlySet<string> = new Set<UnaryOperator>([
  "~",
  "not",
  "valid",
  "valid_union",
  "d2b",
  "b2d",
  "last_stack_index",
  "size_stack",
]);

const binaryOperators: ReadonlySet<string> = new Set<BinaryOperator>([
  "+",
  "-",
  "*",
  "/",
  "%",
  "<<",
  ">>",
  "&",
  "|",
  "^",
  "==",
  "!=",
  "<",
  "<=",
  ">",
  ">=",
  "and",
  "or",
  "two_comp_mod",
  "sat_cast",
  "usat_cast",
  "dereference_header_stack",
  "dereference_union_stack",
]);

function isUnary(op: string): op is UnaryOperator {
  return unaryOperators.has(op);
}

function isBinary(op: string): op is BinaryOperator {
  return binaryOperators.has(op);
}

function readOperation(cursor: JsonCursor): Expression {
  const path = cursor.path;
  // dereference_stack is the old name of dereference_header_stack.
  const written = cursor.get("op").string();
  const op = written === "dereference_stack" ? "dereference_header_stack" : written;
  if (op === "?") {
    return {
      kind: "conditional",
      condition: readExpression(cursor.get("cond")),
      whenTrue: readExpression(cursor.get("left")),
      whenFalse: readExpression(cursor.get("right")),
      path,
    };
  }
  if (op === "access_field") {
    return {
      kind: "accessField",
      header: readExpression(cursor.get("left")),
      index: cursor.get("right").naturalNumber(),
      path,
    };
  }
  if (op === "access_union_header") {
    return {
      kind: "accessUnionHeader",
      union: readExpression(cursor.get("left")),
      index: cursor.get("right").naturalNumber(),
      path,
    };
  }
  if (isUnary(op)) return { kind: "unary", op, operand: readExpression(cursor.get("right")), path };
  if (isBinary(op)) {
    const left = cursor.optional("left");
    const right = readExpression(cursor.get("right"));
    if (left === undefined && (op === "+" || op === "-")) {
      return { kind: "binary", op, left: { kind: "constant", value: 0n, path }, right, path };
    }
    return { kind: "binary", op, left: readExpression(left ?? cursor.get("left")), right, path };
  }
  return cursor.get("op").unsupported(`unknown operator "${op}"`);
}

/** Reads a "type value object": an expression, or an argument of a primitive. */
export function readExpression(cursor: JsonCursor): Expression {
  const path = cursor.path;
  const type = cursor.get("type").string();
  const value = cursor.get("value");
  switch (type) {
    case "expression":
      // p4c wraps an expression in another one where an argument is expected.
      return value.has("op") ? readOperation(value) : readExpression(value);
    case "field":
      // isValid() of a stack element that is chosen at run time.
      if (value.element(0).isObject && value.element(1).value === "$valid$") {
        return { kind: "unary", op: "valid", operand: readOperation(value.element(0)), path };
      }
      return { kind: "field", header: value.element(0).string(), field: value.element(1).string(), path };
    case "hexstr":
      return { kind: "constant", value: value.hexstr(), path };
    case "bool":
      return { kind: "boolean", value: value.boolean(), path };
    case "local":
    case "runtime_data":
      return { kind: "local", index: value.naturalNumber(), path };
    case "header":
      return { kind: "header", name: value.string(), path };
    case "header_stack":
      return { kind: "stack", name: value.string(), path };
    case "header_union":
      return { kind: "union", name: value.string(), path };
    case "header_union_stack":
      return { kind: "unionStack", name: value.string(), path };
    case "stack_field":
      return { kind: "stackField", stack: value.element(0).string(), field: value.element(1).string(), path };
    case "union_stack_field":
      return {
        kind: "unionStackField",
        stack: value.element(0).string(),
        member: value.element(1).string(),
        field: value.element(2).string(),
        path,
      };
    case "register":
      return {
        kind: "register",
        array: value.element(0).string(),
        index: readExpression(value.element(1)),
        path,
      };
    case "lookahead":
      return {
        kind: "lookahead",
        offset: value.element(0).naturalNumber(),
        width: value.element(1).naturalNumber(),
        path,
      };
    case "calculation":
    case "meter_array":
    case "counter_array":
    case "register_array":
    case "extern":
      return { kind: "named", object: type, name: value.string(), path };
    case "string":
      return { kind: "text", value: value.string(), path };
    case "parameters_vector":
    case "field_list":
      // p4c writes {} for an empty list.
      return { kind: "vector", items: value.isArray ? value.elements().map(readExpression) : [], path };
    default:
      return cursor.get("type").unsupported(`unknown type "${type}"`);
  }
}

export function readPrimitive(cursor: JsonCursor): Primitive {
  return {
    op: cursor.get("op").string(),
    parameters: cursor.list("parameters").map(readExpression),
    path: cursor.path,
  };
}
