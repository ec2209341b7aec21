import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { expression, negation } from "../../src/backends/p4text/expressions.ts";
import { render } from "../../src/backends/p4text/layout.ts";
import { literal } from "../../src/backends/p4text/literals.ts";
import { scopeOf } from "../../src/backends/v1model/text/blocks.ts";
import type { Expression } from "../../src/ir/index.ts";
import { bit, bool, int, typeName } from "../../src/ir/index.ts";
import { anyExpression } from "./arbitrary.ts";
import {
  arithmetic,
  binary,
  cast,
  concat,
  constant,
  field,
  intrinsic,
  meta,
  mux,
  unary,
  valid,
} from "./nodes.ts";
import { structure } from "./p4expression.ts";

const text = (e: Expression, sized = false): string => render(expression(e, scopeOf("ingress"), sized));
const x = field("h", "x", bit(16));
const y = field("h", "y", bit(16));
const z = field("h", "z", bit(16));

/** The expression with all its parentheses, made from the tree and not from the printer. */
function full(e: Expression, sized = true): string {
  switch (e.kind) {
    case "constant":
      return e.value < 0n && sized
        ? structure(literal(e.value, e.type, sized))
        : structure(literal(e.value, e.type, sized));
    case "field":
      return `hdr.${e.header}.${e.field}`;
    case "metadata":
      return `meta.${e.name}`;
    case "valid":
      return `hdr.${e.header}.isValid`;
    case "unary": {
      // `!(a < b)` is printed as `a >= b`.
      const turned = e.operator === "!" ? negation(e.operand) : undefined;
      if (e.operand.kind === "binary" && turned?.kind === "binary") return full(turned);
      return `(${e.operator} ${full(e.operand)})`;
    }
    case "cast": {
      const { type: to, operand } = e;
      const isByUnsigned =
        to.kind === "int" && operand.type.kind === "int" && to.width === operand.type.width - 1;
      const inner = isByUnsigned
        ? `(bit<${to.width}> (bit<${to.width + 1}> ${full(operand)}))`
        : full(operand);
      return `(${typeName(to)} ${inner})`;
    }
    case "slice":
      return `(${full(e.operand)} [${e.high}:${e.low}])`;
    case "concat":
      return `(${full(e.left)} ++ ${full(e.right)})`;
    case "mux":
      return `(${full(e.condition)} ? ${full(e.whenTrue)} : ${full(e.whenFalse)})`;
    case "binary":
      return `(${full(e.left)} ${e.operator} ${full(e.right)})`;
    default:
      throw new Error(`no ${e.kind} in these tests`);
  }
}

/** The same without widths of literals: where the printer may leave one out is a claim of its own. */
const unsized = (s: string): string =>
  s.replaceAll(/\b\d+[ws](?=\d)/g, "").replaceAll(/\(int<\d+> (\(- (?:0x)?[0-9a-f]+\))\)/g, "$1");

describe("the printer of expressions", () => {
  it("writes only the parentheses that P4 or a reader needs", () => {
    expect(text(arithmetic(arithmetic(x, "+", arithmetic(y, "*", z)), "-", constant(1, bit(16))))).toBe(
      "hdr.h.x + hdr.h.y * hdr.h.z - 1",
    );
    expect(text(arithmetic(x, "*", arithmetic(y, "+", z)))).toBe("hdr.h.x * (hdr.h.y + hdr.h.z)");
    expect(text(arithmetic(x, "-", arithmetic(y, "-", z)))).toBe("hdr.h.x - (hdr.h.y - hdr.h.z)");
    expect(text(binary(binary(valid("a"), "&&", valid("b")), "||", valid("c")))).toBe(
      "(hdr.a.isValid() && hdr.b.isValid()) || hdr.c.isValid()",
    );
  });

  it("puts parentheses round bitwise operators in comparisons, which C and P4 read differently", () => {
    expect(text(binary(arithmetic(x, "&", y), "==", z))).toBe("(hdr.h.x & hdr.h.y) == hdr.h.z");
  });

  it("does not join two signs into another token", () => {
    expect(text(unary("-", unary("-", field("h", "s", int(8)))))).toBe("-(-hdr.h.s)");
    expect(text(unary("-", constant(-3, int(8))), true)).toBe("-(-8s3)");
  });

  it("gives a constant its width only where the context does not", () => {
    expect(text(arithmetic(x, "+", constant(0x800, bit(16))))).toBe("hdr.h.x + 0x0800");
    expect(text(concat(constant(5, bit(8)), x))).toBe("8w5 ++ hdr.h.x");
    expect(text(binary(constant(1, bit(16)), "==", constant(2, bit(16))))).toBe("16w1 == 2");
    expect(text(mux(valid("h"), constant(1, bit(8)), constant(0, bit(8))))).toBe(
      "hdr.h.isValid() ? 8w1 : 8w0",
    );
    expect(text(binary(constant(1, bit(16)), "<<", cast(x, bit(8))))).toBe("16w1 << (bit<8>)hdr.h.x");
  });

  it("writes signed constants so that the smallest one fits", () => {
    expect(text(constant(-3, int(8)), true)).toBe("-8s3");
    expect(text(constant(-128, int(8)), true)).toBe("(int<8>)-128");
    expect(text(constant(-128, int(8)))).toBe("-128");
  });

  it("makes a signed value one bit narrower by way of unsigned ones, of which p4c does not warn", () => {
    const s = field("h", "s", int(8));
    expect(text(cast(s, int(7)))).toBe("(int<7>)(bit<7>)(bit<8>)hdr.h.s");
    expect(text(cast(s, int(6)))).toBe("(int<6>)hdr.h.s");
    expect(text(cast(s, bit(7)))).toBe("(bit<7>)hdr.h.s");
  });

  it("keeps big constants exact", () => {
    for (const value of [
      9007199254740993n,
      1n << 63n,
      (1n << 64n) - 1n,
      1n << 64n,
      (1n << 128n) - 1n,
      0xffffffffffffn,
    ])
      expect(BigInt(text(constant(value, bit(128))))).toBe(value);
    expect(text(constant(9007199254740992n, bit(64)))).not.toBe(text(constant(9007199254740993n, bit(64))));
  });

  it("writes tests of the architecture and their opposites", () => {
    expect(text(intrinsic("is_clone"))).toBe("standard_metadata.instance_type == INGRESS_CLONE");
    expect(text(unary("!", intrinsic("parser_failed")))).toBe(
      "standard_metadata.parser_error == error.NoError",
    );
    expect(text(binary(meta("b", bool), "==", intrinsic("checksum_failed")))).toBe(
      "meta.b == (standard_metadata.checksum_error == 1)",
    );
    expect(text(negation(binary(x, "<", y)))).toBe("hdr.h.x >= hdr.h.y");
  });

  it("prints any expression so that P4's grammar reads the same tree", () => {
    fc.assert(
      fc.property(anyExpression(4), (e) => {
        expect(unsized(structure(text(e, true)))).toBe(unsized(full(e)));
      }),
      { numRuns: 500 },
    );
  });

  it("never lets a line of an expression pass 100 columns when it can break", () => {
    let sum: Expression = x;
    for (let i = 0; i < 30; i++) sum = arithmetic(sum, "+", y);
    expect(
      Math.max(
        ...text(sum)
          .split("\n")
          .map((l) => l.length),
      ),
    ).toBeLessThanOrEqual(100);
  });
});
