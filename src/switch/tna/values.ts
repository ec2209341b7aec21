import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type {
  BinaryOperator as EngineBinary,
  Expression as EngineExpression,
  UnaryOperator as EngineUnary,
} from "../bmv2json/program.ts";
import type { DataType, Expression, PlaceReference } from "./document.ts";
import type { Fields } from "./fields.ts";

/** What the names of an action stand for: its parameters and variables. */
export type Locals = (name: string) => EngineExpression | undefined;

/** What the cell of a stateful program is at this point. */
export interface ValueScope {
  readonly fields: Fields;
  readonly locals: Locals;
  readonly memory?: EngineExpression;
}

/**
 * An expression as the engine evaluates it: with integers of any size, so that what P4 wraps is masked here. Bools are the engine's
 * bools, and become numbers where they are stored.
 */
export function value(e: Expression, scope: ValueScope): EngineExpression {
  const { path } = e;
  switch (e.kind) {
    case "constant":
      return e.type.kind === "bool"
        ? { kind: "boolean", value: e.value !== 0n, path }
        : constant(e.value, path);
    case "field":
    case "metadata":
    case "local":
    case "architecture": {
      const read = place(e, scope, false);
      return e.type.kind === "bool" ? unary("d2b", read, path) : read;
    }
    case "memory":
      return scope.memory ?? refuse(e, "the cell of a register stands outside a stateful program");
    case "lookahead":
      return refuse(e, "a lookahead stands outside the parser");
    case "valid":
      return unary("valid", { kind: "header", name: scope.fields.header(e.header, path), path }, path);
    case "unary": {
      const inner = value(e.operand, scope);
      if (e.operator === "!") return unary("not", inner, path);
      if (e.operator === "~") return wrap(unary("~", inner, path), e.type);
      return wrap(binary("-", constant(0n, path), inner, path), e.type);
    }
    case "binary":
      return binaryValue(e, scope);
    case "slice": {
      const whole = value(e.operand, scope);
      return wrap(e.low === 0 ? whole : binary(">>", whole, constant(BigInt(e.low), path), path), e.type);
    }
    case "concat": {
      const shift = constant(BigInt(e.right.type.width), path);
      return binary("|", binary("<<", bits(e.left, scope), shift, path), bits(e.right, scope), path);
    }
    case "cast":
      return cast(e.operand, e.type, scope, path);
    case "mux":
      return {
        kind: "conditional",
        condition: value(e.condition, scope),
        whenTrue: value(e.whenTrue, scope),
        whenFalse: value(e.whenFalse, scope),
        path,
      };
  }
}

/** The same as a number: bools as 0 and 1. */
export function data(e: Expression, scope: ValueScope): EngineExpression {
  const v = value(e, scope);
  return e.type.kind === "bool" ? unary("b2d", v, e.path) : v;
}

/** The engine's field for a place. */
export function place(
  p: PlaceReference,
  { fields, locals }: ValueScope,
  isWritten: boolean,
): EngineExpression {
  switch (p.kind) {
    case "field":
      return fields.ofHeader(p.header, p.field, p.type, p.path);
    case "metadata":
      return fields.ofMetadata(p.name, p.type, p.path);
    case "architecture":
      return fields.ofArchitecture(p.field, isWritten, p.path);
    case "local":
      return (
        locals(p.name) ??
        (() => {
          throw new SwitchConfigError(
            "UNKNOWN_NAME",
            p.path,
            `there is no parameter or variable "${p.name}"`,
          );
        })()
      );
  }
}

export function isPlace(e: Expression): e is PlaceReference {
  return e.kind === "field" || e.kind === "metadata" || e.kind === "architecture" || e.kind === "local";
}

function refuse(e: Expression, problem: string): never {
  throw new SwitchConfigError("BAD_VALUE", e.path, problem);
}

function binaryValue(e: Extract<Expression, { kind: "binary" }>, scope: ValueScope): EngineExpression {
  const { path } = e;
  const [left, right] = [value(e.left, scope), value(e.right, scope)];
  switch (e.operator) {
    case "&&":
      return binary("and", left, right, path);
    case "||":
      return binary("or", left, right, path);
    case "|+|":
    case "|-|": {
      const exact = binary(e.operator === "|+|" ? "+" : "-", left, right, path);
      return binary(
        e.type.kind === "int" ? "sat_cast" : "usat_cast",
        exact,
        constant(BigInt(e.type.width), path),
        path,
      );
    }
    case "+":
    case "-":
    case "*":
    case "<<":
      return wrap(binary(e.operator, left, right, path), e.type);
    default:
      // Comparisons, bitwise operators and right shifts stay within their type.
      return binary(e.operator, left, right, path);
  }
}

function cast(operand: Expression, to: DataType, scope: ValueScope, path: string): EngineExpression {
  const from = operand.type;
  const inner = value(operand, scope);
  if (to.kind === "bool") return from.kind === "bool" ? inner : binary("!=", inner, constant(0n, path), path);
  if (from.kind === "bool") return unary("b2d", inner, path);
  return widens(from, to) ? inner : wrap(inner, to);
}

/** Whether every value of one type is the same number in the other. */
function widens(from: DataType, to: DataType): boolean {
  if (from.kind === to.kind) return from.width <= to.width;
  return from.kind === "bit" && to.kind === "int" && from.width < to.width;
}

/** The value's bits as a number without sign. */
function bits(e: Expression, scope: ValueScope): EngineExpression {
  const v = data(e, scope);
  return e.type.kind === "int" ? wrap(v, { kind: "bit", width: e.type.width }) : v;
}

/** Brings a number back into its type. */
export function wrap(e: EngineExpression, type: DataType): EngineExpression {
  if (type.kind === "int") return binary("two_comp_mod", e, constant(BigInt(type.width), e.path), e.path);
  return binary("&", e, constant((1n << BigInt(type.width)) - 1n, e.path), e.path);
}

export function constant(v: bigint, path: string): EngineExpression {
  return { kind: "constant", value: v, path };
}

export function binary(
  op: EngineBinary,
  left: EngineExpression,
  right: EngineExpression,
  path: string,
): EngineExpression {
  return { kind: "binary", op, left, right, path };
}

export function unary(op: EngineUnary, operand: EngineExpression, path: string): EngineExpression {
  return { kind: "unary", op, operand, path };
}
