/** Data types of P4_16 that both targets have (P4_16 1.2.4, section 7.1). */
export type DataType = BitType | IntType | BoolType;

export interface BitType<W extends number = number> {
  readonly kind: "bit";
  readonly width: W;
}

export interface IntType<W extends number = number> {
  readonly kind: "int";
  readonly width: W;
}

export interface BoolType {
  readonly kind: "bool";
}

export const bool: BoolType = Object.freeze({ kind: "bool" });

export function bit<const W extends number>(width: W): BitType<W> {
  return Object.freeze({ kind: "bit", width });
}

export function int<const W extends number>(width: W): IntType<W> {
  return Object.freeze({ kind: "int", width });
}

/** Width in bits of a value; a bool counts as one bit. */
export function widthOf(type: DataType): number {
  return type.kind === "bool" ? 1 : type.width;
}

export function sameType(a: DataType, b: DataType): boolean {
  return a.kind === b.kind && widthOf(a) === widthOf(b);
}

/** The type as P4 writes it: `bit<32>`, `int<8>`, `bool`. */
export function typeName(type: DataType): string {
  return type.kind === "bool" ? "bool" : `${type.kind}<${type.width}>`;
}

/** Smallest and largest value of a type. */
export function rangeOf(type: DataType): readonly [bigint, bigint] {
  const width = BigInt(widthOf(type));
  return type.kind === "int" ? [-(1n << (width - 1n)), (1n << (width - 1n)) - 1n] : [0n, (1n << width) - 1n];
}
