import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { withGatewayConditions } from "../../../src/backends/tna/comparisons.ts";
import { fitsGateways } from "../../../src/backends/tna/gateways.ts";
import { Layout } from "../../../src/backends/tna/layout.ts";
import { lowerTna } from "../../../src/backends/tna/lower.ts";
import type { BinaryOperator, Block, DataType, Expression, Program } from "../../../src/ir/index.ts";
import { bit, int } from "../../../src/ir/index.ts";
import { binary, constant, field, meta, program, unary, valid, when } from "../nodes.ts";
import { evaluate } from "../reference.ts";

const FIELDS = { k4: 4, l12: 12, w9: 9, v7: 7, x8: 8, h16: 16, i32: 32, j32: 32 } as const;
const METADATA: Readonly<Record<string, DataType>> = {
  n8: bit(8),
  n16: bit(16),
  m16: bit(16),
  m32: bit(32),
  n32: bit(32),
  m48: bit(48),
  n48: bit(48),
  m128: bit(128),
  s16: int(16),
  t16: int(16),
  s32: int(32),
};
const h = (name: keyof typeof FIELDS): Expression => field("h", name, bit(FIELDS[name]));
const places: readonly Expression[] = [
  ...Object.entries(FIELDS).map(([name, width]) => field("h", name, bit(width))),
  ...Object.entries(METADATA).map(([name, type]) => meta(name, type)),
];
const operators = ["==", "!=", "<", "<=", ">", ">="] as const satisfies readonly BinaryOperator[];

function asking(...conditions: readonly Expression[]): Program {
  const done = meta("done", bit(8));
  return program("p", {
    headerTypes: [
      { name: "h", fields: Object.entries(FIELDS).map(([name, width]) => ({ name, type: bit(width) })) },
    ],
    headers: [{ name: "h", headerType: "h" }],
    metadata: [
      ...Object.entries(METADATA).map(([name, type]) => ({ name, type })),
      { name: "done", type: bit(8) },
    ],
    ingress: conditions.map((c) =>
      when(
        c,
        [{ kind: "assign", target: done, value: constant(1, bit(8)) }],
        [{ kind: "assign", target: done, value: constant(2, bit(8)) }],
      ),
    ),
    deparser: ["h"],
  });
}

function conditionsOf(block: Block): readonly Expression[] {
  return block.flatMap((s) =>
    s.kind === "if" ? [s.condition, ...conditionsOf(s.whenTrue), ...conditionsOf(s.whenFalse)] : [],
  );
}

const keyOf = (e: Expression): string =>
  e.kind === "metadata" ? e.name : e.kind === "field" ? `h.${e.field}` : e.kind === "valid" ? "valid" : "";

function run(block: Block, values: Map<string, bigint>): Map<string, bigint> {
  const read = (e: Expression): bigint => values.get(keyOf(e)) ?? 0n;
  for (const s of block) {
    if (s.kind === "if") run(evaluate(s.condition, read) === 1n ? s.whenTrue : s.whenFalse, values);
    else if (s.kind === "assign") values.set(keyOf(s.target), evaluate(s.value, read));
    else throw new Error(`a statement that is not looked for: ${s.kind}`);
  }
  return values;
}

const rangeOf = (type: DataType): readonly [bigint, bigint] => {
  if (type.kind === "bool") return [0n, 1n];
  const all = 1n << BigInt(type.width);
  return type.kind === "int" ? [-all / 2n, all / 2n - 1n] : [0n, all - 1n];
};
const valuesOf = (type: DataType): fc.Arbitrary<bigint> => {
  const [low, high] = rangeOf(type);
  return fc.oneof(
    fc.constantFrom(low, low + 1n, high, high - 1n, high / 2n, high / 2n + 1n),
    fc.bigInt({ min: low, max: high }),
  );
};

const comparison: fc.Arbitrary<Expression> = fc.constantFrom(...places).chain((place) => {
  const isSame = (other: Expression): boolean => JSON.stringify(other.type) === JSON.stringify(place.type);
  const other = fc.oneof(
    valuesOf(place.type).map((v): Expression => constant(v, place.type)),
    fc.constantFrom(...places.filter(isSame)),
  );
  return fc
    .tuple(fc.constantFrom(...operators), other, fc.boolean())
    .map(([op, o, isTurned]) => (isTurned ? binary(o, op, place) : binary(place, op, o)));
});
const condition: fc.Arbitrary<Expression> = fc.letrec<{ condition: Expression }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 2 },
    { arbitrary: comparison, weight: 4 },
    { arbitrary: fc.constant<Expression>(valid("h")), weight: 1 },
    { arbitrary: tie("condition").map((e) => unary("!", e)), weight: 1 },
    {
      arbitrary: fc
        .tuple(tie("condition"), fc.constantFrom<BinaryOperator>("&&", "||"), tie("condition"))
        .map(([l, op, r]) => binary(l, op, r)),
      weight: 4,
    },
  ),
})).condition;

const fieldValues: fc.Arbitrary<ReadonlyMap<string, bigint>> = fc
  .tuple(fc.boolean(), ...places.map((p) => valuesOf(p.type)))
  .map(
    ([isValid, ...values]) =>
      new Map([["valid", isValid ? 1n : 0n], ...places.map((p, i) => [keyOf(p), values[i] ?? 0n] as const)]),
  );

describe("conditions for gateways", () => {
  it("say what the program's conditions say, and are such as gateways hold", () => {
    fc.assert(
      fc.property(condition, fieldValues, (asked, values) => {
        const given = asking(asked);
        const made = withGatewayConditions(given);
        expect(run(made.ingress, new Map(values)).get("done")).toBe(
          run(given.ingress, new Map(values)).get("done"),
        );
        const layout = new Layout(made);
        for (const c of conditionsOf(made.ingress)) expect(fitsGateways(c, layout)).toBe(true);
        expect(lowerTna(given).findings).toEqual([]);
      }),
      { numRuns: 400 },
    );
  });

  const fits = (e: Expression): boolean => fitsGateways(e, new Layout(asking()));
  const order = (name: keyof typeof FIELDS, op: BinaryOperator, value: number): Expression =>
    binary(h(name), op, constant(value, bit(FIELDS[name])));

  it.each<[string, Expression]>([
    ["12 bits above the constant's lowest one", order("h16", "<", 4096 + 16)],
    ["10 of them", order("h16", ">=", 0x4440)],
    ["more than a bound with zeros below it", order("h16", ">", 0x443f)],
    ["order beside four bytes", binary(order("h16", "<", 0x4440), "&&", binary(h("i32"), "==", h("j32")))],
    [
      "a power of two, which asks for zeros above",
      binary(order("h16", "<", 0x4440), "&&", order("h16", ">", 0x1ff)),
    ],
    ["order of 16 bits in two ways", binary(order("x8", "<", 3), "||", order("k4", ">=", 5))],
    ["8 bytes in two ways", binary(order("i32", "==", 3), "||", order("j32", "==", 4))],
    ["8 bytes, neither of which is there", binary(order("i32", "!=", 3), "&&", order("j32", "!=", 4))],
    [
      "an inequality of four bytes and an equality of four others",
      binary(order("i32", "!=", 0), "&&", binary(meta("m32", bit(32)), "==", meta("n32", bit(32)))),
    ],
    ["12 bits beside four bytes", binary(order("i32", "==", 3), "&&", order("l12", "==", 4))],
  ])("hold %s, as Tofino's compiler does", (_, e) => expect(fits(e)).toBe(true));

  it.each<[string, Expression]>([
    ["13 bits above the constant's lowest one", order("h16", "<", 5000)],
    ["16 bits", order("h16", "<", 0x8001)],
    ["order of 16 bits at once", binary(order("x8", "<", 77), "&&", order("v7", "<", 5))],
    ["two parts of one field", binary(order("h16", "<", 0x4440), "&&", order("h16", ">=", 0x1100))],
    ["8 bytes at once", binary(order("i32", "==", 3), "&&", order("j32", "==", 4))],
    ["16 bits beside four bytes", binary(order("i32", "==", 3), "&&", order("h16", "==", 4))],
  ])("do not hold %s, nor does the compiler", (_, e) => expect(fits(e)).toBe(false));
});
