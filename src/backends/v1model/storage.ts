import type { Cast, DataType, Expression } from "../../ir/index.ts";
import { bit, widthOf } from "../../ir/index.ts";

/**
 * BMv2 keeps action data and register cells as unsigned bits whatever their declared type: a signed one would compare and
 * shift wrongly when read. So they are declared unsigned, and cast where they are used.
 */
export function storageType(type: DataType): DataType {
  return type.kind === "bit" ? type : bit(widthOf(type));
}

/** A value as it is stored. */
export function toStorage(e: Expression): Expression {
  if (e.type.kind === "bit") return e;
  if (e.kind === "constant")
    return { kind: "constant", type: storageType(e.type), value: unsigned(e.value, e.type) };
  return cast(e, storageType(e.type));
}

/** A stored value as its declared type. */
export function fromStorage(e: Expression, type: DataType): Expression {
  return type.kind === "bit" ? e : cast(e, type);
}

/** A constant's bits. */
export function unsigned(value: bigint, type: DataType): bigint {
  return BigInt.asUintN(widthOf(type), value);
}

export function cast(operand: Expression, type: DataType): Cast {
  return { kind: "cast", type, operand };
}

/** An index as v1model's externs take it, bit<32>. */
export function asIndex(e: Expression): Expression {
  if (e.kind === "constant") return { ...e, type: bit(32) };
  const bits = toStorage(e);
  return widthOf(bits.type) === 32 ? bits : cast(bits, bit(32));
}
