import {
  accept,
  bit,
  bool,
  exactly,
  int,
  intrinsic,
  type Literal,
  masked,
  type Num,
  ProgramError,
  range,
  reject,
  type SwitchProgram,
  ternary,
  value,
  wireHeader,
} from "gradplane";
import { describe, expect, test } from "vitest";
import type { Expression } from "../../src/ir/index.ts";
import { codes, findings, small } from "../ir/findings.ts";

type Bit = ReturnType<typeof bit<number>>;
type Int = ReturnType<typeof int<number>>;

function assigned(type: Bit | Int, literal: Literal): SwitchProgram {
  return small((p) => {
    const m = p.metadata<Bit | Int>("m", type);
    p.ingress("route", (s) => s.set(m, literal));
  });
}

function valueAssigned(type: Bit | Int, literal: Literal): bigint | undefined {
  const [first] = assigned(type, literal).ir.ingress;
  return first?.kind === "assign" && first.value.kind === "constant" ? first.value.value : undefined;
}

describe("constants are exact", () => {
  test.each([
    [0x1_0000, 32],
    [9007199254740991, 64],
    [9007199254740993n, 64],
    [2n ** 63n, 64],
    [0xffff_ffff_ffff_ffffn, 64],
    [2n ** 64n - 1n, 64],
    [2n ** 64n, 128],
    [2n ** 128n - 1n, 128],
    [0xffff_ffff_ffffn, 48],
    [0xffff_ffff_ffff, 48],
    [0b1010n, 4],
    [1_000n, 16],
    [2n ** 2048n - 1n, 2048],
  ] as const)("%s in bit<%i>", (literal, width) => {
    expect(valueAssigned(bit(width), literal)).toBe(BigInt(literal));
  });

  test.each([[-1n, 8] as const, [-128, 8] as const, [-(2n ** 63n), 64] as const])(
    "%s in int<%i>",
    (literal, width) => {
      expect(valueAssigned(int(width), literal)).toBe(BigInt(literal));
    },
  );

  test("a plain number beyond 2^53 is refused, not rounded", () => {
    expect(codes(() => assigned(bit(64), 2 ** 53))).toEqual(["GP1101"]);
    expect(codes(() => assigned(bit(64), 2 ** 64))).toEqual(["GP1101"]);
    expect(codes(() => assigned(bit(64), -(2 ** 53)))).toEqual(["GP1101"]);
  });

  test("neighbours beyond 2^53 stay two entries", () => {
    const built = small((p) => {
      const h = p.header(wireHeader("h", { big: 64 }));
      const c = p.control("c", "ingress");
      const a = c.action("a", { x: bit(64) }, (s, { x }) => s.set(h.big, x));
      const keys = [9007199254740992n, 9007199254740993n];
      const entries = keys.map((big) => ({ key: { big }, run: a.with({ x: big }) }));
      const t = c.table("t", { key: { big: exactly(h.big) }, actions: [a], size: 2, entries });
      c.apply((s) => s.apply(t));
      p.ingress("route", (s) => s.invoke(c));
      p.parser
        .state("start")
        .extract(h)
        .select(h.big)
        .on(keys.map((k) => k)[0] ?? 0n, accept)
        .otherwise(reject);
    });
    const [first, second] = built.ir.controls[0]?.tables[0]?.constEntries ?? [];
    expect(first?.keys).toEqual([{ kind: "value", value: 9007199254740992n }]);
    expect(second?.keys).toEqual([{ kind: "value", value: 9007199254740993n }]);
    expect(second?.arguments).toEqual([9007199254740993n]);
    expect(built.warnings).toEqual([]);
  });

  test("masks and ranges of 128 bits are kept", () => {
    const ones = 2n ** 128n - 1n;
    const built = small((p) => {
      const m = p.metadata("m", bit(128));
      const c = p.control("c", "ingress");
      const a = c.action("a", {}, (s) => s.drop());
      const entries = [{ key: { m: masked(ones - 1n, ones - 1n) }, run: a.with({}) }];
      const t = c.table("t", { key: { m: ternary(m) }, actions: [a], size: 1, entries });
      c.apply((s) => s.apply(t));
      p.ingress("route", (s) => s.invoke(c));
    });
    expect(built.ir.controls[0]?.tables[0]?.constEntries[0]?.keys).toEqual([
      { kind: "mask", value: ones - 1n, mask: ones - 1n },
    ]);
  });
});

describe("constants that do not fit are refused", () => {
  test.each([
    [bit(16), 0x1_0000],
    [bit(8), 256],
    [bit(8), -1],
    [bit(8), -1n],
    [bit(1), 2],
    [bit(64), 2n ** 64n],
    [int(8), 128],
    [int(8), -129],
    [int(4), 8],
  ] as const)("%o = %s", (type, literal) => {
    expect(codes(() => assigned(type, literal))).toEqual(["GP1102"]);
  });

  test("the message has the value and the range", () => {
    const [found] = findings(() => assigned(int(8), 128));
    expect(found?.message).toBe("constant 128 does not fit int<8> (-128 to 127)");
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1.5, 2 ** 53])(
    "%d is no constant, wherever it is written",
    (bad) => {
      const places: Readonly<Record<string, () => unknown>> = {
        value: () => value(bit(8), bad),
        operand: () => value(bit(8), 1).add(bad),
        shift: () => value(bit(8), 1).shiftLeft(bad),
        mask: () => masked(1, bad),
        range: () => range(bad, 5),
      };
      for (const [where, write] of Object.entries(places)) {
        expect([where, codeOf(write)]).toEqual([where, "GP1101"]);
      }
    },
  );
});

function codeOf(run: () => unknown): string | undefined {
  try {
    run();
  } catch (error) {
    return error instanceof ProgramError ? error.code : String(error);
  }
  return undefined;
}

describe("zero is a value", () => {
  test("as constant, default argument, entry, slice bound, port and priority", () => {
    const built = small((p) => {
      const h = p.header(wireHeader("h", { a: 8, b: 8 }));
      const c = p.control("c", "ingress");
      const port = c.action("port", { port: bit(9) }, (s, d) => s.set(intrinsic.egress_port, d.port));
      const t = c.table("t", {
        key: { a: exactly(h.a.slice(0, 0)), v: exactly(p.valid(h)) },
        actions: [port],
        size: 2,
        defaultAction: port.with({ port: 0 }),
        entries: [{ key: { a: 0, v: false }, run: port.with({ port: 0 }) }],
      });
      c.apply((s) => {
        s.apply(t);
        s.set(intrinsic.priority, 0);
        s.set(h.b, 0);
        s.call(port, { port: 0 });
      });
      p.ingress("route", (s) => s.invoke(c));
      p.parser.state("start").extract(h).select(h.a).on(0, accept).otherwise(reject);
    });
    const [control] = built.ir.controls;
    const [table] = control?.tables ?? [];
    expect(table?.defaultAction).toEqual({ action: "c.port", arguments: [0n], constant: false });
    expect(table?.constEntries[0]).toMatchObject({
      action: "c.port",
      arguments: [0n],
      keys: [
        { kind: "value", value: 0n },
        { kind: "value", value: 0n },
      ],
    });
    expect(table?.key[0]?.expression).toMatchObject({ kind: "slice", high: 0, low: 0, type: { width: 1 } });
    const constants = (control?.apply ?? []).flatMap((s) => (s.kind === "assign" ? [s.value] : []));
    expect(constants).toMatchObject([
      { kind: "constant", value: 0n },
      { kind: "constant", value: 0n },
    ]);
    expect(built.ir.parser[0]?.transition).toMatchObject({ cases: [{ values: [{ value: 0n }] }] });
    // The call writes over the port of the table.
    expect(new Set(built.warnings.map((d) => d.code))).toEqual(new Set(["GP1507"]));
  });

  test("but no size and no width", () => {
    const sized = (size: number) =>
      small((p) => {
        const c = p.control("c", "ingress");
        const t = c.table("t", { key: {}, actions: [], size });
        c.apply((s) => s.apply(t));
        p.ingress("route", (s) => s.invoke(c));
      });
    for (const size of [0, -1, 1.5, Number.NaN]) expect(codes(() => sized(size))).toEqual(["GP1401"]);
    for (const width of [0, -1, 1.5, Number.NaN, 2049, 1e12]) {
      expect(codes(() => small((p) => void p.metadata("m", bit(width))))).toEqual(["GP1103"]);
      expect(codes(() => small((p) => void p.metadata("m", int(width))))).toEqual(["GP1103"]);
    }
  });

  test("a width that no type has is a finding wherever the value goes, never a crash", () => {
    for (const width of [0, -1, 1.5, Number.NaN, 1e12]) {
      const build = () =>
        small((p) => {
          const m = p.metadata("m", bit(width));
          const c = p.control("c", "ingress");
          const a = c.action("a", { x: bit(width) }, (s, { x }) => s.set(m, x));
          const t = c.table("t", {
            key: { m: ternary(m) },
            actions: [a],
            size: 4,
            defaultAction: a.with({ x: 1 }),
            entries: [
              { key: { m: masked(1, 1) }, run: a.with({ x: 1 }) },
              { key: { m: 3 }, run: a.with({ x: 1 }) },
            ],
          });
          c.apply((s) => {
            s.apply(t);
            s.if(m.add(1).shiftLeft(1).gt(2), (then) => then.set(m, 5));
          });
          p.ingress("route", (s) => s.invoke(c));
        });
      expect(new Set(codes(build))).toEqual(new Set(["GP1103"]));
    }
  });
});

describe("values with a sign", () => {
  const minusSeven: Num<ReturnType<typeof int<4>>> = value(int(4), -7);

  test("keep their type through shifts and comparisons", () => {
    const shifted: Expression = minusSeven.shiftRight(2).node;
    expect(shifted).toMatchObject({ kind: "binary", operator: ">>", type: { kind: "int", width: 4 } });
    expect(minusSeven.lt(0).node.type).toEqual(bool);
  });
});
