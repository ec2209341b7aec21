import type { JsonCursor } from "../bmv2json/cursor.ts";
import {
  type BinaryOperator,
  binaryOperators,
  type DataType,
  type Expression,
  type KeySet,
  type Target,
  type UnaryOperator,
  unaryOperators,
} from "./document.ts";

/** Widest value that a program can have. */
const mostBits = 2048;

/** A type as P4 writes it: `bit<9>`, `int<32>`, `bool`. */
export function readType(cursor: JsonCursor): DataType {
  const text = cursor.string();
  if (text === "bool") return { kind: "bool", width: 1 };
  const [, kind, digits] = /^(bit|int)<([1-9]\d*)>$/.exec(text) ?? [];
  const width = Number(digits);
  if ((kind !== "bit" && kind !== "int") || width > mostBits) return cursor.refuse(`"${text}" is no type`);
  return { kind, width };
}

/** One of a list of words. */
export function oneOf<T extends string>(cursor: JsonCursor, words: readonly T[]): T {
  const text = cursor.string();
  return words.find((w) => w === text) ?? cursor.refuse(`"${text}" is none of ${words.join(", ")}`);
}

export function readExpression(cursor: JsonCursor): Expression {
  const kind = cursor.get("kind").string();
  const node = { type: readType(cursor.get("type")), path: cursor.path };
  const part = (name: string): Expression => readExpression(cursor.get(name));
  switch (kind) {
    case "constant":
      return { ...node, kind, value: cursor.get("value").hexstr() };
    case "field":
      return { ...node, kind, header: cursor.get("header").string(), field: cursor.get("field").string() };
    case "metadata":
    case "local":
      return { ...node, kind, name: cursor.get("name").string() };
    case "architecture":
      return { ...node, kind, field: cursor.get("field").string() };
    case "memory":
    case "lookahead":
      return { ...node, kind };
    case "valid":
      return { ...node, kind, header: cursor.get("header").string() };
    case "unary": {
      const operator: UnaryOperator = oneOf(cursor.get("operator"), unaryOperators);
      return { ...node, kind, operator, operand: part("operand") };
    }
    case "binary": {
      const operator: BinaryOperator = oneOf(cursor.get("operator"), binaryOperators);
      return { ...node, kind, operator, left: part("left"), right: part("right") };
    }
    case "slice": {
      const [high, low] = [cursor.get("high").naturalNumber(), cursor.get("low").naturalNumber()];
      const operand = part("operand");
      if (high < low || high >= operand.type.width || high - low + 1 !== node.type.width)
        cursor.refuse(`bits ${high} to ${low} are no ${node.type.width} bits of ${operand.type.width}`);
      return { ...node, kind, operand, high, low };
    }
    case "concat": {
      const [left, right] = [part("left"), part("right")];
      if (left.type.width + right.type.width !== node.type.width)
        cursor.refuse(`${left.type.width} and ${right.type.width} bits are not ${node.type.width}`);
      return { ...node, kind, left, right };
    }
    case "cast":
      return { ...node, kind, operand: part("operand") };
    case "mux":
      return {
        ...node,
        kind,
        condition: part("condition"),
        whenTrue: part("whenTrue"),
        whenFalse: part("whenFalse"),
      };
    default:
      return cursor.get("kind").refuse(`"${kind}" is no expression`);
  }
}

/** A place that can be written, or bits of one. */
export function readTarget(cursor: JsonCursor): Target {
  const e = readExpression(cursor);
  const whole = e.kind === "slice" ? e.operand : e;
  switch (whole.kind) {
    case "field":
    case "metadata":
    case "local":
    case "architecture":
      return e.kind === "slice" ? e : whole;
    default:
      return cursor.refuse(`a ${whole.kind} cannot be written`);
  }
}

export function readKeySet(cursor: JsonCursor): KeySet {
  const kind = cursor.get("kind").string();
  const number = (name: string): bigint => cursor.get(name).hexstr();
  switch (kind) {
    case "value":
      return { kind, value: number("value") };
    case "mask":
      return { kind, value: number("value"), mask: number("mask") };
    case "prefix":
      return { kind, value: number("value"), length: cursor.get("length").naturalNumber() };
    case "range":
      return { kind, low: number("low"), high: number("high") };
    case "any":
      return { kind };
    default:
      return cursor.get("kind").refuse(`"${kind}" is no set of keys`);
  }
}
