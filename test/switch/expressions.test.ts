import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Switch } from "../../src/switch/index.ts";
import {
  assign,
  bytes,
  call,
  extract,
  type FieldSpec,
  field,
  hex,
  type Json,
  mux,
  op,
  program,
  sm,
  text,
  wrap,
} from "./fixtures/builder.ts";

/** A switch that extracts header h, performs the primitives and sends h back on port 0. */
function machine(
  fields: readonly FieldSpec[],
  body: readonly Json[],
  metadata: readonly FieldSpec[] = [],
): Switch {
  return new Switch(
    program({
      types: { h_t: fields },
      headers: { h: "h_t" },
      metadata,
      parser: { start: { ops: [extract("h")] } },
      ingressBody: [assign(sm("egress_spec"), hex(0)), ...body],
    }),
  );
}

function run(sw: Switch, input: string): string | undefined {
  return text(sw.inject(1, bytes(input))[0]?.data);
}

describe("assignment to a slice, as p4c lowers it", () => {
  const slice = (target: string, width: number, low: number, mask: bigint, value: bigint): Json =>
    assign(
      target,
      op(
        "|",
        op("&", field(target), hex(((1n << BigInt(width)) - 1n) ^ (mask << BigInt(low)))),
        op("&", op("<<", hex(value), hex(low)), hex(mask << BigInt(low))),
      ),
    );

  it("changes the named bits only", () => {
    expect(run(machine([["n", 8]], [slice("h.n", 8, 4, 0xfn, 0n)]), "ff")).toBe("0f");
    expect(run(machine([["x", 32]], [slice("h.x", 32, 0, 0xffffffffn, 8n)]), "00000000")).toBe("00000008");
    expect(run(machine([["m", 48]], [slice("h.m", 48, 40, 0xffn, 0xabn)]), "000000000000")).toBe(
      "ab0000000000",
    );
    expect(run(machine([["m", 48]], [slice("h.m", 48, 40, 0xffn, 0xabn)]), "112233445566")).toBe(
      "ab2233445566",
    );
    expect(run(machine([["n", 8]], [slice("h.n", 8, 0, 1n, 1n)]), "00")).toBe("01");
  });
});

describe("saturating and wrapping arithmetic", () => {
  const two = (width: number, signed: boolean): readonly FieldSpec[] => [
    ["a", width, signed],
    ["b", width, signed],
  ];
  const usat = (name: string, width: number): Json =>
    assign("h.a", op("usat_cast", op(name, field("h.a"), field("h.b")), hex(width)));
  const sat = (name: string, width: number): Json =>
    assign("h.a", op("sat_cast", op(name, field("h.a"), field("h.b")), hex(width)));

  it("saturates bit<8> at both ends and wraps without", () => {
    expect(run(machine(two(8, false), [usat("+", 8)]), "fa0a")).toBe("ff0a");
    expect(run(machine(two(8, false), [usat("-", 8)]), "0305")).toBe("0005");
    expect(
      run(
        machine(two(8, false), [assign("h.a", op("&", op("+", field("h.a"), field("h.b")), hex(0xff)))]),
        "fa0a",
      ),
    ).toBe("040a");
  });

  it("saturates int<8> at both ends and wraps without", () => {
    expect(run(machine(two(8, true), [sat("+", 8)]), "81fe")).toBe("80fe");
    expect(run(machine(two(8, true), [sat("+", 8)]), "7f01")).toBe("7f01");
    const wrapped = assign("h.a", op("two_comp_mod", op("+", field("h.a"), field("h.b")), hex(8)));
    expect(run(machine(two(8, true), [wrapped]), "81fe")).toBe("7ffe");
  });

  it("saturates bit<128> and wraps bit<1>", () => {
    const ones = "f".repeat(32);
    expect(run(machine(two(128, false), [usat("+", 128)]), `${ones}${"0".repeat(31)}1`)).toBe(
      `${ones}${"0".repeat(31)}1`,
    );
    const bit: readonly FieldSpec[] = [
      ["a", 1],
      ["b", 1],
      ["pad", 6],
    ];
    expect(
      run(machine(bit, [assign("h.a", op("&", op("+", field("h.a"), field("h.b")), hex(1)))]), "c0"),
    ).toBe("40");
  });

  it("compares int<8> signed and bit<8> unsigned", () => {
    const isNegative = [assign("h.b", mux(op("<", field("h.a"), hex(0)), hex(1), hex(0)))];
    expect(run(machine(two(8, true), isNegative), "ff00")).toBe("ff01");
    expect(run(machine(two(8, false), isNegative), "ff00")).toBe("ff00");
  });

  it("extends int<8> with its sign and bit<8> with zeros", () => {
    const fields = (signed: boolean): readonly FieldSpec[] => [
      ["a", 8, signed],
      ["w", 16, signed],
    ];
    expect(
      run(machine(fields(true), [assign("h.w", op("two_comp_mod", field("h.a"), hex(16)))]), "ff0000"),
    ).toBe("ffffff");
    expect(run(machine(fields(false), [assign("h.w", op("&", field("h.a"), hex(0xffff)))]), "ff0000")).toBe(
      "ff00ff",
    );
  });
});

describe("division and modulo at run time", () => {
  const body = [
    call("assign", field("h.q"), wrap(op("/", field("h.a"), field("h.b")))),
    call("assign", field("h.r"), wrap(op("%", field("h.a"), field("h.b")))),
  ];
  const fields: readonly FieldSpec[] = [
    ["a", 8],
    ["b", 8],
    ["q", 8],
    ["r", 8],
  ];

  it("divides, and gives 0 for a division by zero", () => {
    expect(run(machine(fields, body), "0702aaaa")).toBe("07020301");
    expect(run(machine(fields, body), "0500aaaa")).toBe("05000000");
  });
});

describe("bit operators", () => {
  it("treat bit 31 as a bit and not as a sign", () => {
    const fields: readonly FieldSpec[] = [
      ["a", 32],
      ["b", 32],
    ];
    expect(
      run(machine(fields, [assign("h.a", op("&", field("h.a"), field("h.b")))]), "ffffffffff000000"),
    ).toBe("ff000000ff000000");
    expect(run(machine(fields, [assign("h.a", op("<<", field("h.a"), hex(24)))]), "000000c800000000")).toBe(
      "c800000000000000",
    );
    expect(
      run(
        machine(fields, [assign("h.b", mux(op(">", field("h.a"), hex(0x7fffffff)), hex(1), hex(2)))]),
        "80000000 00000000",
      ),
    ).toBe("8000000000000001");
  });

  it("shift by more than the width without harm", () => {
    const fields: readonly FieldSpec[] = [
      ["a", 32],
      ["n", 32],
    ];
    expect(
      run(machine(fields, [assign("h.a", op("<<", field("h.a"), field("h.n")))]), "00000001ffffffff"),
    ).toBe("00000000ffffffff");
    expect(
      run(machine(fields, [assign("h.a", op(">>", field("h.a"), field("h.n")))]), "8000000000000020"),
    ).toBe("0000000000000020");
  });
});

// ---------------------------------------------------------------- random expressions against unbounded integers

const fieldSpecs = [
  ["u1", 1, false],
  ["u7", 7, false],
  ["u8", 8, false],
  ["u32", 32, false],
  ["s8", 8, true],
  ["s32", 32, true],
  ["u48", 48, false],
  ["s40", 40, true],
  ["u64", 64, false],
  ["s64", 64, true],
  ["u128", 128, false],
] as const satisfies readonly FieldSpec[];

type Value = ReadonlyMap<string, bigint>;
interface Term {
  readonly json: Json;
  readonly value: (fields: Value) => bigint;
}

const leaf: fc.Arbitrary<Term> = fc.oneof(
  fc
    .constantFrom(...fieldSpecs)
    .map(([name]): Term => ({ json: field(`h.${name}`), value: (fields) => fields.get(name) ?? 0n })),
  fc
    .oneof(
      fc.bigInt({ min: -300n, max: 300n }),
      fc.bigInt({ min: -(1n << 70n), max: 1n << 70n }),
      fc.constantFrom(0xffffffffn, 0xffn, 0xffffffffffffn, 1n << 32n),
    )
    .map((value): Term => ({ json: hex(value), value: () => value })),
);

function binaryTerm(
  name: string,
  compute: (a: bigint, b: bigint) => bigint,
): (pair: readonly [Term, Term]) => Term {
  return ([a, b]) => ({
    json: op(name, a.json, b.json),
    value: (fields) => compute(a.value(fields), b.value(fields)),
  });
}

const clamp = (value: bigint, low: bigint, high: bigint): bigint =>
  value < low ? low : value > high ? high : value;

const term: fc.Arbitrary<Term> = fc.letrec<{ term: Term }>((tie) => {
  const pair = fc.tuple(tie("term"), tie("term"));
  return {
    term: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      leaf,
      pair.map(binaryTerm("+", (a, b) => a + b)),
      pair.map(binaryTerm("-", (a, b) => a - b)),
      pair.map(binaryTerm("*", (a, b) => a * b)),
      pair.map(binaryTerm("&", (a, b) => a & b)),
      pair.map(binaryTerm("|", (a, b) => a | b)),
      pair.map(binaryTerm("^", (a, b) => a ^ b)),
      tie("term").map((a): Term => ({ json: op("~", null, a.json), value: (fields) => ~a.value(fields) })),
      fc.tuple(tie("term"), fc.integer({ min: 0, max: 70 })).map(
        ([a, n]): Term => ({
          json: op("<<", a.json, hex(n)),
          value: (fields) => a.value(fields) << BigInt(n),
        }),
      ),
      fc.tuple(tie("term"), fc.integer({ min: 0, max: 70 })).map(
        ([a, n]): Term => ({
          json: op(">>", a.json, hex(n)),
          value: (fields) => a.value(fields) >> BigInt(n),
        }),
      ),
      tie("term").map(
        (a): Term => ({
          json: op("<<", a.json, field("h.u7")),
          value: (fields) => a.value(fields) << (fields.get("u7") ?? 0n),
        }),
      ),
      tie("term").map(
        (a): Term => ({
          json: op(">>", a.json, field("h.u7")),
          value: (fields) => a.value(fields) >> (fields.get("u7") ?? 0n),
        }),
      ),
      fc.tuple(tie("term"), fc.constantFrom(1, 8, 16, 31, 32, 33, 48, 52, 53, 64)).map(
        ([a, width]): Term => ({
          json: op("two_comp_mod", a.json, hex(width)),
          value: (fields) => BigInt.asIntN(width, a.value(fields)),
        }),
      ),
      fc.tuple(tie("term"), fc.constantFrom(1, 8, 32, 48, 64)).map(
        ([a, width]): Term => ({
          json: op("usat_cast", a.json, hex(width)),
          value: (fields) => clamp(a.value(fields), 0n, (1n << BigInt(width)) - 1n),
        }),
      ),
      fc.tuple(tie("term"), fc.constantFrom(8, 32, 48, 64)).map(
        ([a, width]): Term => ({
          json: op("sat_cast", a.json, hex(width)),
          value: (fields) =>
            clamp(a.value(fields), -(1n << BigInt(width - 1)), (1n << BigInt(width - 1)) - 1n),
        }),
      ),
      fc
        .tuple(
          fc.constantFrom("==", "!=", "<", "<=", ">", ">="),
          tie("term"),
          tie("term"),
          tie("term"),
          tie("term"),
        )
        .map(
          ([name, a, b, yes, no]): Term => ({
            json: mux(op(name, a.json, b.json), yes.json, no.json),
            value: (fields) => {
              const x = a.value(fields);
              const y = b.value(fields);
              const result =
                name === "=="
                  ? x === y
                  : name === "!="
                    ? x !== y
                    : name === "<"
                      ? x < y
                      : name === "<="
                        ? x <= y
                        : name === ">"
                          ? x > y
                          : x >= y;
              return (result ? yes : no).value(fields);
            },
          }),
        ),
    ),
  };
}).term;

const targets = [
  ["t8", 8],
  ["t32", 32],
  ["t48", 48],
  ["t64", 64],
] as const satisfies readonly FieldSpec[];

describe("any expression", () => {
  it("has the value that unbounded integers give, cut to the target's width", () => {
    const totalBits = fieldSpecs.reduce((sum, [, width]) => sum + width, 0);
    const padding = (8 - (totalBits % 8)) % 8;
    const fields: readonly FieldSpec[] = [
      ...fieldSpecs,
      ...(padding > 0 ? [["pad", padding] as const] : []),
      ...targets,
    ];
    const edge = (width: number) =>
      fc.oneof(
        fc.bigInt({ min: 0n, max: (1n << BigInt(width)) - 1n }),
        fc.constantFrom(0n, 1n, (1n << BigInt(width)) - 1n, 1n << BigInt(width - 1)),
      );
    fc.assert(
      fc.property(
        term,
        fc.array(fc.tuple(...fieldSpecs.map(([, width]) => edge(width))), { minLength: 1, maxLength: 4 }),
        (expression, inputs) => {
          const sw = machine(
            fields,
            targets.map(([name]) => call("assign", field(`h.${name}`), wrap(expression.json))),
          );
          for (const input of inputs) {
            let frame = 0n;
            const values = new Map<string, bigint>();
            fieldSpecs.forEach(([name, width, signed], i) => {
              const bits = input[i] ?? 0n;
              frame = (frame << BigInt(width)) | bits;
              values.set(name, signed ? BigInt.asIntN(width, bits) : bits);
            });
            frame <<= BigInt(padding + 8 + 32 + 48 + 64);
            const hexText = frame.toString(16).padStart((totalBits + padding + 152) / 4, "0");
            const output = run(sw, hexText) ?? "";
            const want = expression.value(values);
            const tail = targets
              .map(([, width]) =>
                BigInt.asUintN(width, want)
                  .toString(16)
                  .padStart(width / 4, "0"),
              )
              .join("");
            expect(output.slice(-38)).toBe(tail);
          }
        },
      ),
      { numRuns: 120 },
    );
  }, 60_000);
});
