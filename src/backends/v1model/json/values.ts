import type { DataType, Expression, Target } from "../../../ir/index.ts";
import { stackOf, typeName, widthOf } from "../../../ir/index.ts";
import { BackendError } from "../../backenderror.ts";
import { standardMetadata } from "../intrinsics.ts";
import type { Gress, LocalTarget } from "../lowered.ts";
import { bytesFor, hexstr, type Json, type JsonObject } from "./json.ts";

/** BMv2's header instance of user metadata and temporaries. */
export const SCALARS = "scalars";

/** Name of a user metadata field within the scalars. */
export function metadataField(name: string): string {
  return `userMetadata.${name}`;
}

/** What a name in an expression stands for. */
export type Slot =
  | { readonly kind: "data"; readonly index: number }
  | { readonly kind: "scalar"; readonly field: string }
  | { readonly kind: "constant"; readonly value: bigint; readonly type: DataType };

export interface ValueScope {
  readonly gress: Gress;
  slot(name: string): Slot;
}

/**
 * An expression as BMv2 evaluates it: with integers of any size, so that what P4 wraps must be masked here. Values of type bool
 * are BMv2 booleans, and become numbers (`b2d`) only where they are stored.
 */
export function value(e: Expression, scope: ValueScope): JsonObject {
  switch (e.kind) {
    case "constant":
      return e.type.kind === "bool" ? { type: "bool", value: e.value !== 0n } : constant(e.value, e.type);
    case "field":
    case "metadata":
    case "valid":
    case "parameter":
      return load(e, scope);
    case "intrinsic": {
      const { field, test } = standardMetadata(e.name, scope.gress);
      const read: JsonObject = { type: "field", value: ["standard_metadata", field] };
      return test === undefined
        ? read
        : operation(test.operator, read, { type: "hexstr", value: hexstr(test.value) });
    }
    case "unary":
      return unary(e.operator, e.operand, scope);
    case "binary":
      return binary(e, scope);
    case "slice": {
      const whole = value(e.operand, scope);
      const shifted = e.low === 0 ? whole : operation(">>", whole, number(BigInt(e.low)));
      return wrap(shifted, e.type);
    }
    case "concat": {
      const right = bits(e.right, scope);
      const shift = number(BigInt(widthOf(e.right.type)));
      return operation("|", operation("<<", bits(e.left, scope), shift), right);
    }
    case "cast":
      return cast(e.operand, e.type, scope);
    case "mux":
      return {
        type: "expression",
        value: {
          op: "?",
          left: value(e.whenTrue, scope),
          right: value(e.whenFalse, scope),
          cond: value(e.condition, scope),
        },
      };
    case "lookahead":
      throw new BackendError("GP2004", "v1model", "a lookahead stands outside the parser", e.at);
    case "memory":
      throw new BackendError(
        "GP2004",
        "v1model",
        "the old value of a register cell stands outside a register update",
        e.at,
      );
  }
}

/** An expression as the argument of a primitive: numbers only, and BMv2 wants operations wrapped once more. */
export function argument(e: Expression, scope: ValueScope): JsonObject {
  const json = asData(value(e, scope), e.type);
  if (json.type === "expression") return { type: "expression", value: json };
  return json.type === "local" ? { type: "runtime_data", value: json.value ?? 0 } : json;
}

/** Whether BMv2 can take the expression as an argument without an evaluation. */
export function isDirect(e: Expression, scope: ValueScope): boolean {
  if (e.kind === "cast") return widens(e.operand.type, e.type) && isDirect(e.operand, scope);
  if (e.kind === "constant" || e.kind === "field" || e.kind === "metadata" || e.kind === "parameter")
    return e.type.kind !== "bool";
  return e.kind === "intrinsic" && standardMetadata(e.name, scope.gress).test === undefined;
}

/** The place that an expression names, for table keys and parser keys; undefined when it has to be computed. */
export function place(
  e: Expression,
  scope: ValueScope,
): readonly [header: string, field: string] | undefined {
  switch (e.kind) {
    case "field":
      return [e.header, e.field];
    case "metadata":
      return [SCALARS, metadataField(e.name)];
    case "valid":
      return [e.header, "$valid$"];
    case "intrinsic": {
      const { field, test } = standardMetadata(e.name, scope.gress);
      return test === undefined ? ["standard_metadata", field] : undefined;
    }
    case "parameter": {
      const slot = scope.slot(e.name);
      return slot.kind === "scalar" ? [SCALARS, slot.field] : undefined;
    }
    default:
      return undefined;
  }
}

/** A place as BMv2 reads it; in the parser, the last element of a stack is known by the stack. */
export function fieldAt([header, field]: readonly [header: string, field: string]): JsonObject {
  const stack = stackOf(header, "last");
  return stack === undefined
    ? { type: "field", value: [header, field] }
    : { type: "stack_field", value: [stack, field] };
}

/** The field that an assignment writes; slices have been resolved. */
export function destination(
  t: Exclude<Target, { kind: "slice" }> | LocalTarget,
  scope: ValueScope,
): JsonObject {
  const at =
    t.kind === "local" ? place({ kind: "parameter", name: t.name, type: t.type }, scope) : place(t, scope);
  if (at === undefined) throw new BackendError("GP2004", "v1model", `a ${t.kind} cannot be assigned`);
  return { type: "field", value: at };
}

function load(e: Expression, scope: ValueScope): JsonObject {
  if (e.kind === "parameter") {
    const slot = scope.slot(e.name);
    if (slot.kind === "data") return { type: "local", value: slot.index };
    if (slot.kind === "constant") return constant(slot.value, slot.type);
  }
  const at = place(e, scope);
  if (at === undefined) throw new BackendError("GP2004", "v1model", `a ${e.kind} has no place in the packet`);
  const read = fieldAt(at);
  return e.type.kind === "bool" ? single("d2b", read) : read;
}

function unary(operator: "-" | "~" | "!", operand: Expression, scope: ValueScope): JsonObject {
  const inner = value(operand, scope);
  if (operator === "!") return single("not", inner);
  if (operator === "~") return wrap(single("~", inner), operand.type);
  return wrap(operation("-", constant(0n, operand.type), inner), operand.type);
}

function binary(e: Extract<Expression, { kind: "binary" }>, scope: ValueScope): JsonObject {
  const left = value(e.left, scope);
  const right = value(e.right, scope);
  switch (e.operator) {
    case "&&":
      return operation("and", left, right);
    case "||":
      return operation("or", left, right);
    case "|+|":
    case "|-|": {
      const exact = operation(e.operator === "|+|" ? "+" : "-", left, right);
      return operation(
        e.type.kind === "int" ? "sat_cast" : "usat_cast",
        exact,
        number(BigInt(widthOf(e.type))),
      );
    }
    case "+":
    case "-":
    case "*":
    case "<<":
      return wrap(operation(e.operator, left, right), e.type);
    default:
      // Comparisons, bitwise operators and right shifts stay within their type.
      return operation(e.operator, left, right);
  }
}

function cast(operand: Expression, to: DataType, scope: ValueScope): JsonObject {
  const from = operand.type;
  const inner = value(operand, scope);
  if (to.kind === "bool") return from.kind === "bool" ? inner : operation("!=", inner, constant(0n, from));
  if (from.kind === "bool")
    return {
      type: "expression",
      value: { op: "?", left: constant(1n, to), right: constant(0n, to), cond: inner },
    };
  return widens(from, to) ? inner : wrap(inner, to);
}

/** Whether every value of one type is the same number in the other. */
function widens(from: DataType, to: DataType): boolean {
  if (from.kind === "bool" || to.kind === "bool") return false;
  if (from.kind === to.kind) return from.width <= to.width;
  return from.kind === "bit" && to.kind === "int" && from.width < to.width;
}

/** The value's bits as a number without sign. */
function bits(e: Expression, scope: ValueScope): JsonObject {
  const json = value(e, scope);
  return e.type.kind === "int" ? wrap(json, { kind: "bit", width: e.type.width }) : json;
}

/** Brings a number back into its type: a mask, or for signed ones two's complement. */
export function wrap(json: JsonObject, type: DataType): JsonObject {
  if (type.kind === "bool")
    throw new BackendError("GP2004", "v1model", `${typeName(type)} has no arithmetic`);
  if (type.kind === "int") return operation("two_comp_mod", json, number(BigInt(type.width)));
  return operation("&", json, constant((1n << BigInt(type.width)) - 1n, type));
}

/** A value as a number: booleans are stored as 0 and 1. */
export function asData(json: JsonObject, type: DataType): JsonObject {
  return type.kind === "bool" ? single("b2d", json) : json;
}

export function constant(v: bigint, type: DataType): JsonObject {
  return { type: "hexstr", value: hexstr(v, bytesFor(widthOf(type))) };
}

function number(v: bigint): JsonObject {
  return { type: "hexstr", value: hexstr(v) };
}

export function operation(op: string, left: Json, right: Json): JsonObject {
  return { type: "expression", value: { op, left, right } };
}

function single(op: string, operand: Json): JsonObject {
  return operation(op, null, operand);
}
