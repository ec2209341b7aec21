import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { apart } from "../../../src/backends/tna/apart.ts";
import { withOperands } from "../../../src/backends/tna/operands.ts";
import { isHashed, stagesOf } from "../../../src/backends/tna/stages.ts";
import type {
  ArithmeticOperator,
  Assign,
  Expression,
  FieldReference,
  MetadataReference,
  Program,
  StraightStatement,
  Target,
} from "../../../src/ir/index.ts";
import { bit, int, widthOf } from "../../../src/ir/index.ts";
import {
  action,
  arithmetic,
  assign,
  binary,
  cast,
  concat,
  constant,
  control,
  field,
  meta,
  parameter,
  program,
  slice,
  unary,
} from "../nodes.ts";
import { evaluate } from "../reference.ts";

type Place = FieldReference | MetadataReference;

const HEADER = { x8: 8, k4: 4, l12: 12, h16: 16, w9: 9, v7: 7, i32: 32, t24: 24, e48: 48 } as const;
/** Signed ones. */
const SIGNED = { s8: 8, t8: 8, s9: 9, s32: 32 } as const;
const METADATA = { m4: 4, m8: 8, n8: 8, m9: 9, m16: 16, n16: 16, m32: 32, m48: 48 } as const;
const h = (name: keyof typeof HEADER): FieldReference => field("h", name, bit(HEADER[name]));
const m = (name: keyof typeof METADATA): MetadataReference => meta(name, bit(METADATA[name]));
const places: readonly Place[] = [
  ...Object.entries(HEADER).map(([name, width]) => field("h", name, bit(width))),
  ...Object.entries(METADATA).map(([name, width]) => meta(name, bit(width))),
];

function withBody(...body: readonly StraightStatement[]): Program {
  return program("p", {
    headerTypes: [
      { name: "h", fields: Object.entries(HEADER).map(([name, width]) => ({ name, type: bit(width) })) },
    ],
    headers: [{ name: "h", headerType: "h" }],
    metadata: [
      ...Object.entries(METADATA).map(([name, width]) => ({ name, type: bit(width) })),
      ...Object.entries(SIGNED).map(([name, width]) => ({ name, type: int(width) })),
    ],
    controls: [
      control("c", {
        actions: [action("c.a", [], body)],
        apply: [{ kind: "callAction", action: "c.a", arguments: [] }],
      }),
    ],
    deparser: ["h"],
  });
}

function lowered(...body: readonly StraightStatement[]): readonly StraightStatement[] {
  return withOperands(withBody(...body)).controls[0]?.actions[0]?.body ?? [];
}

type Fields = ReadonlyMap<string, bigint>;
const keyOf = (p: Expression): string =>
  p.kind === "field" ? `${p.header}.${p.field}` : p.kind === "metadata" ? p.name : "";

function store(fields: Map<string, bigint>, t: Target, v: bigint): void {
  if (t.kind !== "slice") {
    fields.set(keyOf(t), v);
    return;
  }
  const mask = ((1n << BigInt(t.high - t.low + 1)) - 1n) << BigInt(t.low);
  const key = keyOf(t.operand);
  fields.set(key, ((fields.get(key) ?? 0n) & ~mask) | (v << BigInt(t.low)));
}

function run(statements: readonly StraightStatement[], start: Fields): Fields {
  const fields = new Map(start);
  for (const s of statements)
    if (s.kind === "assign")
      store(
        fields,
        s.target,
        evaluate(s.value, (e) => fields.get(keyOf(e)) ?? 0n),
      );
  return fields;
}

const place = fc.constantFrom(...places);
const operator = fc.constantFrom<ArithmeticOperator>("+", "-", "|+|", "|-|", "&", "|", "^");
/** A value of this width, and what it is made of. */
const valuesOf = (width: number, depth: number): fc.Arbitrary<Expression> => {
  const type = bit(width);
  const same = places.filter((p) => widthOf(p.type) === width);
  const wider = places.filter((p) => widthOf(p.type) > width);
  const narrower = places.filter((p) => widthOf(p.type) < width);
  const atom: fc.Arbitrary<Expression> = fc.oneof(
    fc.bigInt({ min: 0n, max: (1n << BigInt(width)) - 1n }).map((v): Expression => constant(v, type)),
    fc.constantFrom(constant(0, type), constant((1n << BigInt(width)) - 1n, type)),
    ...(same.length === 0 ? [] : [fc.constantFrom<Expression>(...same)]),
    ...(wider.length === 0
      ? []
      : [
          fc.tuple(fc.constantFrom(...wider), fc.nat()).map(([p, n]): Expression => {
            const low = n % (widthOf(p.type) - width + 1);
            return slice(p, low + width - 1, low);
          }),
          fc.constantFrom(...wider).map((p): Expression => cast(p, type)),
        ]),
    ...(narrower.length === 0 ? [] : [fc.constantFrom(...narrower).map((p): Expression => cast(p, type))]),
  );
  if (depth === 0) return atom;
  const inner = valuesOf(width, depth - 1);
  return fc.oneof(
    { arbitrary: atom, weight: 2 },
    { arbitrary: fc.tuple(inner, operator, inner).map(([l, o, r]) => arithmetic(l, o, r)), weight: 4 },
    { arbitrary: inner.map((e) => unary("~", e)), weight: 1 },
    {
      arbitrary: fc
        .tuple(inner, fc.constantFrom("<<", ">>"), fc.integer({ min: 0, max: width - 1 }))
        .map(([l, o, n]) => binary(l, o, constant(n, bit(8)))),
      weight: 1,
    },
    ...(width < 2
      ? []
      : [
          {
            arbitrary: fc
              .integer({ min: 1, max: width - 1 })
              .chain((high) =>
                fc
                  .tuple(valuesOf(high, 0), valuesOf(width - high, 0))
                  .map(([l, r]): Expression => concat(l, r)),
              ),
            weight: 1,
          },
        ]),
  );
};
const signed = Object.entries(SIGNED).map(([name, width]) => meta(name, int(width)));
/** Values read as signed, and what is assigned from one kind to the other. */
const ofSigned: fc.Arbitrary<Assign> = fc.constantFrom(...signed).chain((target) => {
  const width = widthOf(target.type);
  const same = [...places, ...signed].filter((p) => widthOf(p.type) === width);
  const read = fc
    .constantFrom(...same)
    .map((p): Expression => (p.type.kind === "int" ? p : cast(p, int(width))));
  const value = fc.oneof(
    read,
    fc.tuple(read, operator, read).map(([l, o, r]): Expression => arithmetic(l, o, r)),
    fc
      .tuple(read, fc.constantFrom("<<", ">>"), fc.integer({ min: 0, max: width - 1 }))
      .map(([l, o, n]): Expression => binary(l, o, constant(n, bit(8)))),
  );
  const to = fc.constantFrom(...same);
  return fc.tuple(to, value).map(([t, v]) => assign(t, t.type.kind === "int" ? v : cast(v, bit(width))));
});
const statement: fc.Arbitrary<Assign> = fc.oneof(
  ofSigned,
  place.chain((p) => valuesOf(widthOf(p.type), 2).map((v) => assign(p, v))),
  fc.tuple(place, fc.nat(), fc.nat()).chain(([p, a, b]) => {
    const low = a % widthOf(p.type);
    const high = low + (b % (widthOf(p.type) - low));
    return valuesOf(high - low + 1, 1).map((v) => assign(slice(p, high, low), v));
  }),
);
const start: fc.Arbitrary<Fields> = fc
  .tuple(
    ...[...places, ...signed].map((p) => {
      const half = 1n << BigInt(widthOf(p.type) - 1);
      return p.type.kind === "int"
        ? fc.bigInt({ min: -half, max: half - 1n })
        : fc.bigInt({ min: 0n, max: 2n * half - 1n });
    }),
  )
  .map((values) => new Map([...places, ...signed].map((p, i) => [keyOf(p), values[i] ?? 0n])));

describe("operands for Tofino's ALUs", () => {
  it("come to what the assignments say, in their order and in stages", () => {
    fc.assert(
      fc.property(fc.array(statement, { minLength: 1, maxLength: 4 }), start, (body, fields) => {
        const kept = (found: Fields) => [...places, ...signed].map((p) => found.get(keyOf(p)));
        const made = lowered(...body);
        for (const s of made) if (s.kind === "assign") expect(s.value.type.kind).toBe(s.target.type.kind);
        expect(kept(run(made, fields))).toEqual(kept(run(body, fields)));
        const refused: string[] = [];
        const parts = stagesOf(made, (code) => refused.push(code)).flatMap(apart);
        if (refused.length > 0) return;
        expect(kept(run(parts.flat(), fields))).toEqual(kept(run(body, fields)));
      }),
      { numRuns: 300 },
    );
  }, 120_000);

  it("stand in the place of a call with fields, whose action is then not declared", () => {
    const p = withBody();
    const [c] = p.controls;
    if (c === undefined) throw new Error("no control");
    const value = parameter("p", bit(8));
    const called = {
      ...p,
      controls: [
        {
          ...c,
          actions: [{ ...action("c.a", [{ name: "p", type: bit(8) }], [assign(m("n8"), value)]) }],
          apply: [{ kind: "callAction", action: "c.a", arguments: [slice(m("m9"), 8, 1)] } as const],
        },
      ],
    };
    const [made] = withOperands(called).controls;
    expect(made?.actions).toEqual([]);
    expect(made?.apply).toEqual([{ ...assign(m("n8"), slice(m("m9"), 8, 1)), inHash: true }]);
  });

  it("leave whole fields of bytes as they are", () => {
    const body = [
      assign(h("h16"), arithmetic(h("h16"), "+", constant(1, bit(16)))),
      assign(m("m8"), arithmetic(m("n8"), "^", h("x8"))),
      assign(h("e48"), m("m48")),
    ];
    expect(lowered(...body)).toEqual(body);
  });

  it("bring a field that shares a byte with another to metadata, and back", () => {
    const made = lowered(
      assign(h("k4"), arithmetic(h("k4"), "+", constant(1, bit(4)))),
      assign(h("l12"), constant(5, bit(12))),
    );
    expect(made.map((s) => (s.kind === "assign" ? keyOf(s.target) : ""))).toEqual([
      "k4_value",
      "k4_value",
      "h.k4",
      "h.l12",
    ]);
    expect(made.map(isHashed)).toEqual([true, false, true, false]);
  });

  it("move a field whose byte nobody else uses without the hash unit", () => {
    expect(lowered(assign(h("w9"), m("m9"))).map(isHashed)).toEqual([false]);
    expect(lowered(assign(h("w9"), m("m9")), assign(h("v7"), constant(0, bit(7)))).map(isHashed)).toEqual([
      false,
      false,
    ]);
  });

  it("are no fields of their own where the hash unit makes an exclusive or of bits from anywhere, at once", () => {
    const terms = [slice(h("e48"), 47, 16), slice(h("e48"), 31, 0), h("i32")];
    const [first, ...others] = terms;
    if (first === undefined) return expect.fail("no terms");
    const all = others.reduce<Expression>((sum, t) => arithmetic(sum, "^", t), first);
    const [made, ...more] = lowered(assign(m("m32"), all));
    expect(more).toEqual([]);
    expect(made).toMatchObject(assign(m("m32"), all));
    expect(made !== undefined && isHashed(made)).toBe(true);
    // An ALU does this by itself.
    expect(lowered(assign(m("m32"), arithmetic(m("m32"), "^", h("i32")))).map(isHashed)).toEqual([false]);
  });

  it("take at most 32 bits from the hash unit at once", () => {
    const made = lowered(assign(h("e48"), concat(slice(h("e48"), 46, 0), slice(m("m8"), 0, 0))));
    for (const s of made.filter(isHashed))
      expect(s.kind === "assign" && widthOf(s.target.type) <= 32).toBe(true);
  });

  it("give an instruction one constant or parameter", () => {
    const p = parameter("p", bit(8));
    const [put, sum] = lowered(assign(m("m8"), arithmetic(p, "+", constant(3, bit(8)))));
    expect(put).toEqual(assign(m("m8"), p));
    expect(sum).toEqual(assign(m("m8"), arithmetic(m("m8"), "+", constant(3, bit(8)))));
    expect(lowered(assign(m("m8"), arithmetic(constant(250, bit(8)), "+", constant(9, bit(8)))))).toEqual([
      assign(m("m8"), constant(3, bit(8))),
    ]);
  });
});
