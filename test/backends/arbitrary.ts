import fc from "fast-check";
import type { DataType, Expression } from "../../src/ir/index.ts";
import { bit, bool, int } from "../../src/ir/index.ts";
import { arithmetic, binary, cast, concat, constant, field, mux, slice, unary, valid } from "./nodes.ts";

type Numeric = DataType & { readonly width: number };

/** Fields of the header `args` from which random expressions are made, one for each type. */
export const operands: readonly { readonly name: string; readonly type: DataType }[] = [
  { name: "b8", type: bit(8) },
  { name: "b16", type: bit(16) },
  { name: "b32", type: bit(32) },
  { name: "b24", type: bit(24) },
  { name: "b128", type: bit(128) },
  { name: "i16", type: int(16) },
  { name: "i32", type: int(32) },
  { name: "flag", type: bool },
  { name: "odd", type: bit(7) },
];

const input = (type: DataType): Expression => {
  const found = operands.find((o) => o.type.kind === type.kind && widthOf(o.type) === widthOf(type));
  if (found === undefined) throw new Error("no operand of this type");
  return field("args", found.name, found.type);
};

function widthOf(type: DataType): number {
  return type.kind === "bool" ? 1 : type.width;
}

function values(type: Numeric): fc.Arbitrary<bigint> {
  const half = 1n << BigInt(type.width - 1);
  return type.kind === "int"
    ? fc.oneof(fc.bigInt({ min: -half, max: half - 1n }), fc.constantFrom(-half, -1n, 0n, 1n, half - 1n))
    : fc.oneof(fc.bigInt({ min: 0n, max: 2n * half - 1n }), fc.constantFrom(0n, 1n, half, 2n * half - 1n));
}

/** A number of this type. `depth` bounds the height of the tree. */
export function numeric(type: Numeric, depth: number): fc.Arbitrary<Expression> {
  const leaf = fc.oneof(
    { weight: 3, arbitrary: fc.constant(input(type)) },
    { weight: 1, arbitrary: values(type).map((v): Expression => constant(v, type)) },
  );
  if (depth === 0) return leaf;
  const inner = numeric(type, depth - 1);
  const options: fc.Arbitrary<Expression>[] = [
    leaf,
    fc
      .tuple(inner, fc.constantFrom("+", "-", "*", "|+|", "|-|", "&", "|", "^"), inner)
      .map(([l, o, r]) => arithmetic(l, o as "+", r)),
    fc
      .tuple(inner, fc.constantFrom("<<", ">>"), shiftAmount(type.width))
      .map(([l, o, r]) => binary(l, o as "<<", r)),
    fc.tuple(fc.constantFrom("-", "~"), inner).map(([o, e]) => unary(o as "-", e)),
    fc.tuple(logical(depth - 1), inner, inner).map(([c, a, b]) => mux(c, a, b)),
  ];
  if (type.kind === "bit" && type.width === 16) {
    options.push(
      fc.tuple(numeric(bit(8), depth - 1), numeric(bit(8), depth - 1)).map(([a, b]) => concat(a, b)),
    );
    options.push(numeric(bit(32), depth - 1).map((e) => slice(e, 23, 8)));
    options.push(numeric(int(16), depth - 1).map((e) => cast(e, bit(16))));
    options.push(numeric(bit(128), depth - 1).map((e) => cast(e, bit(16))));
    options.push(numeric(bit(8), depth - 1).map((e) => cast(e, bit(16))));
  }
  if (type.kind === "int" && type.width === 16) {
    options.push(numeric(bit(16), depth - 1).map((e) => cast(e, int(16))));
    options.push(numeric(int(32), depth - 1).map((e) => cast(e, int(16))));
  }
  if (type.kind === "int" && type.width === 32)
    options.push(numeric(int(16), depth - 1).map((e) => cast(e, int(32))));
  return fc.oneof(...options);
}

/** A constant below the width, or a field: v1model takes amounts of at most 8 bits. */
function shiftAmount(width: number): fc.Arbitrary<Expression> {
  return fc.oneof(
    fc.integer({ min: 0, max: Math.min(width - 1, 255) }).map((v): Expression => constant(v, bit(8))),
    fc.constant(input(bit(8))),
    fc.constant<Expression>(cast(slice(field("args", "b32", bit(32)), 4, 0), bit(8))),
  );
}

export function logical(depth: number): fc.Arbitrary<Expression> {
  const leaf = fc.constantFrom<Expression>(valid("args"), input(bool), constant(1, bool));
  if (depth === 0) return leaf;
  const number = fc.constantFrom<Numeric>(bit(16), int(16), bit(128));
  return fc.oneof(
    leaf,
    fc
      .tuple(logical(depth - 1), fc.constantFrom("&&", "||", "==", "!="), logical(depth - 1))
      .map(([l, o, r]) => binary(l, o as "&&", r)),
    number.chain((type) =>
      fc
        .tuple(
          numeric(type, depth - 1),
          fc.constantFrom("==", "!=", "<", "<=", ">", ">="),
          numeric(type, depth - 1),
        )
        .map(([l, o, r]) => binary(l, o as "==", r)),
    ),
    logical(depth - 1).map((e) => unary("!", e)),
    numeric(bit(16), depth - 1).map((e) => cast(slice(e, 3, 3), bool)),
  );
}

/** Any expression whose result fills whole bytes, or a truth value. */
export function anyExpression(depth: number): fc.Arbitrary<Expression> {
  return fc.oneof(
    ...[bit(16), bit(8), bit(32), bit(128), int(16), int(32)].map((t) => numeric(t, depth)),
    logical(depth),
  );
}
