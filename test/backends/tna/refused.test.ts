import { describe, expect, it } from "vitest";
import { checkTna } from "../../../src/backends/index.ts";
import type {
  BitType,
  Control,
  Expression,
  Program,
  RegisterUpdate,
  Statement,
} from "../../../src/ir/index.ts";
import { bit, int, tnaRules } from "../../../src/ir/index.ts";
import {
  action,
  apply,
  arithmetic,
  assign,
  binary,
  cast,
  constant,
  control,
  extract,
  field,
  hash,
  intrinsic,
  memory,
  meta,
  mux,
  parameter,
  program,
  random,
  register,
  slice,
  table,
  update,
  valid,
  when,
} from "../nodes.ts";
import { forwarding } from "../programs.ts";

const u8 = bit(8);
const u32 = bit(32);
const [x, y, z] = [meta("x", u32), meta("y", u32), meta("z", u32)];
const small = meta("small", u8);
const port = intrinsic("egress_port");
const metadata = [
  { name: "x", type: u32 },
  { name: "y", type: u32 },
  { name: "z", type: u32 },
  { name: "small", type: u8 },
];
const old = memory("old", u32);
const next = memory("next", u32);

const tested = new Set<string>();

function codes(p: Program): readonly string[] {
  const found = checkTna(p).map((d) => d.code);
  for (const code of found) tested.add(code);
  return [...new Set(found)];
}

const withControl = (c: Partial<Control>, more: Partial<Program> = {}): Program =>
  program("p", {
    metadata,
    controls: [control("c", c)],
    ingress: [{ kind: "applyControl", control: "c" }],
    ...more,
  });

const withStatements = (...ingress: readonly Statement[]): Program => program("p", { metadata, ingress });

const withUpdate = (next: Expression, output?: Expression, into = y, type: BitType = u32): Program => {
  const u: RegisterUpdate = update("c.r", small, next, output, output === undefined ? undefined : into);
  return withControl({
    registers: [register("c.r", type, 16)],
    actions: [action("c.a", [], [u])],
    apply: [{ kind: "callAction", action: "c.a", arguments: [] }],
  });
};

describe("what Tofino can do", () => {
  it.each([
    ["a sum (pitfall 66)", withUpdate(arithmetic(old, "+", x), next)],
    ["a saturating sum", withUpdate(arithmetic(old, "|+|", x))],
    ["setting bits, and what was set before", withUpdate(arithmetic(old, "|", x), arithmetic(old, "&", x))],
    [
      "a restart chosen by the packet",
      withUpdate(mux(binary(small, "==", constant(2, u8)), x, arithmetic(old, "+", x)), next),
    ],
    [
      "a serial comparison and an equality",
      withUpdate(
        mux(binary(cast(arithmetic(x, "-", old), int(32)), ">", constant(0, int(32))), x, old),
        mux(binary(x, "==", old), constant(1, u32), constant(0, u32)),
      ),
    ],
    ["a test of two fields for equality", withStatements(when(binary(x, "==", y), [assign(z, x)]))],
    [
      "a range against a constant",
      withStatements(when(binary(small, "<", constant(100, u8)), [assign(z, x)])),
    ],
  ])("%s", (_, p) => {
    expect(checkTna(p)).toEqual([]);
  });
});

describe("what Tofino cannot do is refused with a code", () => {
  it.each([
    ["a shift of the cell", withUpdate(binary(old, "<<", constant(1, u8)))],
    ["a product", withUpdate(arithmetic(old, "*", x))],
    ["two operators", withUpdate(arithmetic(arithmetic(old, "+", x), "+", y))],
    ["three packet values", withUpdate(mux(binary(z, "==", constant(1, u32)), x, arithmetic(old, "+", y)))],
    [
      "three comparisons",
      withUpdate(
        mux(
          binary(old, "==", x),
          x,
          mux(
            binary(old, ">", constant(5, u32)),
            constant(1, u32),
            mux(binary(old, ">", constant(9, u32)), constant(2, u32), old),
          ),
        ),
      ),
    ],
    ["an output from two sources", withUpdate(arithmetic(old, "+", x), mux(binary(old, "==", x), old, x))],
    [
      "an output of the cell before and after",
      withUpdate(arithmetic(old, "+", x), arithmetic(old, "+", next)),
    ],
    [
      "a difference against another number than 0",
      withUpdate(mux(binary(cast(arithmetic(x, "-", old), int(32)), ">", constant(7, int(32))), x, old)),
    ],
  ])("GP1801 %s (pitfall 66)", (_, p) => {
    expect(codes(p)).toEqual(["GP1801"]);
  });

  it("GP1801 a computed index", () => {
    const u = update("c.r", arithmetic(x, "+", y), x);
    const p = withControl({
      registers: [register("c.r", u32, 16)],
      actions: [action("c.a", [], [u])],
      apply: [{ kind: "callAction", action: "c.a", arguments: [] }],
    });
    expect(codes(p)).toEqual(["GP1801"]);
  });

  it("GP1802 a fifth update of one register", () => {
    const actions = [1, 2, 3, 4, 5].map((i) =>
      action(`c.a${i}`, [], [update("c.r", small, constant(i, u32))]),
    );
    const p = withControl({
      registers: [register("c.r", u32, 16)],
      actions,
      tables: [
        table(
          "c.t",
          [["small", small, "exact"]],
          actions.map((a) => a.name),
        ),
      ],
      apply: [apply("c.t")],
    });
    expect(codes(p)).toEqual(["GP1802"]);
  });

  it.each([
    ["a signed order of 48 bits", binary(meta("wide", int(48)), "<", constant(5, int(48)))],
    ["a computed value", binary(arithmetic(x, "+", y), "==", z)],
  ])("GP1803 %s", (_, condition) => {
    expect(codes(withStatements(when(condition, [assign(z, x)])))).toEqual(["GP1803"]);
  });

  it("GP1804 the packet's length", () => {
    expect(codes(withStatements(assign(x, intrinsic("packet_length"))))).toEqual(["GP1804"]);
  });

  it("GP1805 a port that is none of Tofino's", () => {
    expect(codes(program("p", { cpuPort: 510 }))).toEqual(["GP1805"]);
    expect(codes(withStatements(assign(intrinsic("egress_port"), constant(100, bit(9)))))).toEqual([
      "GP1805",
    ]);
    expect(codes(withStatements(assign(intrinsic("egress_port"), constant(128 + 71, bit(9)))))).toEqual([]);
  });

  it("GP1806 dependent steps in an action of two tables", () => {
    const tables = (...names: readonly string[]) =>
      withControl({
        actions: [action("c.a", [], [assign(x, arithmetic(x, "+", y)), assign(z, arithmetic(x, "+", y))])],
        tables: names.map((name) => table(name, [["x", x, "exact"]], ["c.a"])),
        apply: names.map(apply),
      });
    expect(codes(tables("c.t"))).toEqual([]);
    expect(codes(tables("c.t", "c.u"))).toEqual(["GP1806"]);
  });

  it("GP1807 a header that ingress adds and egress reads", () => {
    const p = program("p", {
      headerTypes: [{ name: "h", fields: [{ name: "f", type: u8 }] }],
      headers: [{ name: "h", headerType: "h" }],
      metadata,
      ingress: [{ kind: "setValidity", header: "h", valid: true }],
      egress: [when(valid("h"), [assign(small, field("h", "f", u8))])],
      deparser: ["h"],
    });
    expect(codes(p)).toEqual(["GP1807"]);
  });

  it("GP1807 a field that leads egress to its header, written in ingress", () => {
    const p = program("p", {
      headerTypes: [
        { name: "a", fields: [{ name: "kind", type: u8 }] },
        { name: "b", fields: [{ name: "f", type: u8 }] },
      ],
      headers: [
        { name: "a", headerType: "a" },
        { name: "b", headerType: "b" },
      ],
      metadata,
      parser: [
        {
          name: "start",
          steps: [extract("a")],
          transition: {
            kind: "select",
            keys: [field("a", "kind", u8)],
            cases: [{ values: [{ kind: "value", value: 1n }], next: "parse_b" }],
            otherwise: "accept",
          },
        },
        { name: "parse_b", steps: [extract("b")], transition: { kind: "goto", next: "accept" } },
      ],
      ingress: [assign(field("a", "kind", u8), constant(2, u8))],
      egress: [assign(field("b", "f", u8), constant(1, u8))],
      deparser: ["a", "b"],
    });
    expect(codes(p)).toEqual(["GP1807"]);
  });

  it("GP1808 a select over 32 bits", () => {
    const p = program("p", {
      headerTypes: [{ name: "h", fields: [{ name: "f", type: bit(48) }] }],
      headers: [{ name: "h", headerType: "h" }],
      parser: [
        {
          name: "start",
          steps: [extract("h")],
          transition: {
            kind: "select",
            keys: [field("h", "f", bit(48))],
            cases: [{ values: [{ kind: "value", value: 1n }], next: "accept" }],
            otherwise: "accept",
          },
        },
      ],
      deparser: ["h"],
    });
    expect(codes(p)).toEqual(["GP1808"]);
  });

  it("GP1809 a product in an action", () => {
    expect(codes(withStatements(assign(z, arithmetic(x, "*", y))))).toEqual(["GP1809"]);
  });

  it("GP1810 an action counted for one table and used by another", () => {
    const p = withControl({
      actions: [action("c.a", [], [assign(x, y)])],
      tables: [
        table("c.t", [["x", x, "exact"]], ["c.a"], { directCounter: "c.t_counter" }),
        table("c.u", [["y", y, "exact"]], ["c.a"]),
      ],
      apply: [apply("c.t"), apply("c.u")],
    });
    expect(codes(p)).toEqual(["GP1810"]);
  });

  it("GP1811 cells of 12 bits", () => {
    const narrow = meta("narrow", bit(12));
    expect(codes(withUpdate(narrow, undefined, y, bit(12)))).toEqual(["GP1811"]);
  });

  it("GP1812 a register that no stage holds", () => {
    const u = update("c.r", x, y);
    const p = withControl({
      registers: [register("c.r", u32, 100_000)],
      actions: [action("c.a", [], [u])],
      apply: [{ kind: "callAction", action: "c.a", arguments: [] }],
    });
    expect(codes(p)).toEqual(["GP1812"]);
  });

  it("GP1813 a port after a multicast group", () => {
    const group = assign(intrinsic("multicast_group"), constant(1, bit(16)));
    const port = assign(intrinsic("egress_port"), constant(1, bit(9)));
    expect(codes(withStatements(group, port))).toEqual(["GP1813"]);
    expect(codes(withStatements(port, group))).toEqual([]);
  });

  it("GP1814 a parser that rejects", () => {
    const p = program("p", {
      parser: [{ name: "start", steps: [], transition: { kind: "goto", next: "reject" } }],
    });
    expect(codes(p)).toEqual(["GP1814"]);
  });

  it("GP1815 a checksum over part of a header", () => {
    const p = program("p", {
      headerTypes: [
        {
          name: "h",
          fields: ["a", "b", "sum"].map((name) => ({ name, type: bit(16) })),
        },
      ],
      headers: [{ name: "h", headerType: "h" }],
      checksums: [
        {
          header: "h",
          target: field("h", "sum", bit(16)),
          fields: [field("h", "a", bit(16))],
          verify: true,
          update: true,
        },
      ],
      deparser: ["h"],
    });
    expect(codes(p)).toEqual(["GP1815"]);
  });

  it("GP1816 an egress that reads far into the packet", () => {
    const p = program("p", {
      headerTypes: [
        { name: "h", fields: Array.from({ length: 40 }, (_, i) => ({ name: `f${i}`, type: u32 })) },
      ],
      headers: [{ name: "h", headerType: "h" }],
      metadata,
      parser: [{ name: "start", steps: [extract("h")], transition: { kind: "goto", next: "accept" } }],
      egress: [assign(x, field("h", "f39", u32))],
      deparser: ["h"],
    });
    expect(codes(p)).toEqual(["GP1816"]);
  });

  it.each<readonly [string, Program]>([
    ["a sum that it lacks", withStatements(hash(x, "csum16", [y]))],
    ["a number of buckets that is no power of two", withStatements(hash(x, "crc32", [y], { buckets: 9n }))],
    [
      "a selector by such a sum",
      withControl({
        actionProfiles: [{ name: "c.p", size: 4, selector: { algorithm: "xor16", keys: [x] } }],
      }),
    ],
  ])("GP1841 %s", (_, p) => {
    expect(codes(p)).toEqual(["GP1841"]);
  });

  it.each<readonly [string, Program]>([
    ["bounds from the packet", withStatements(random(x, y, z))],
    ["ten numbers", withStatements(random(x, constant(0, u32), constant(9, u32)))],
  ])("GP1842 %s", (_, p) => {
    expect(codes(p)).toEqual(["GP1842"]);
  });

  it.each([
    [1, 13],
    [8, 1],
  ])("GP1843 %i digests of %i words", (digests, words) => {
    const fields = Array.from({ length: words }, (_, i) => ({ name: `f${i}`, type: u32 }));
    const names = Array.from({ length: digests }, (_, i) => `c.d${i}`);
    const p = withControl({
      digests: names.map((name) => ({ name, fields })),
      apply: names.map((digest) => ({ kind: "digest", digest, values: fields.map(() => x) })),
    });
    expect(codes(p)).toEqual(["GP1843"]);
  });

  it.each([
    ["no data", [], [assign(x, y)], ["GP1863"]],
    ["data that go nowhere", [{ name: "p", type: u32 }], [assign(x, parameter("p", u32))], ["GP1863"]],
    [
      "data that go into what goes nowhere",
      [{ name: "p", type: u32 }],
      [assign(x, parameter("p", u32)), assign(y, x)],
      ["GP1863"],
    ],
    [
      "data that are written over",
      [{ name: "p", type: bit(9) }],
      [assign(port, parameter("p", bit(9))), assign(port, constant(1, bit(9)))],
      ["GP1863"],
    ],
    ["a port", [{ name: "p", type: bit(9) }], [assign(port, parameter("p", bit(9)))], []],
    ["what the table after it matches", [{ name: "p", type: u32 }], [assign(z, parameter("p", u32))], []],
  ])("GP1863 members of a profile that hold %s", (_, parameters, body, expected) => {
    const p = withControl({
      actionProfiles: [{ name: "c.members", size: 16 }],
      actions: [action("c.a", parameters, body), action("c.b", [], [assign(port, constant(2, bit(9)))])],
      tables: [
        table("c.t", [["x", x, "exact"]], ["c.a", "c.b"], { implementation: "c.members" }),
        table("c.u", [["z", z, "exact"]], ["c.b"]),
      ],
      apply: [apply("c.t"), apply("c.u")],
    });
    expect(codes(p)).toEqual(expected);
  });

  it.each([
    ["32 bits", meta("x", u32), ["GP1864"]],
    ["16 bits across groups of four", slice(meta("x", u32), 17, 2), ["GP1864"]],
    ["14 bits of metadata that no container holds", slice(meta("wide", bit(48)), 17, 4), ["GP1864"]],
    ["16 bits of metadata of 32", slice(meta("x", u32), 19, 4), []],
    ["13 bits of any metadata", slice(meta("wide", bit(48)), 14, 2), []],
    ["metadata of 16 bits", meta("whole", bit(16)), []],
  ])("GP1864 a range over %s", (_, key, expected) => {
    const p = withControl(
      {
        actions: [action("c.a", [], [assign(port, constant(2, bit(9)))])],
        tables: [table("c.t", [["k", key, "range"]], ["c.a"])],
        apply: [apply("c.t")],
      },
      {
        metadata: [...metadata, { name: "wide", type: bit(48) }, { name: "whole", type: bit(16) }],
      },
    );
    expect(codes(p)).toEqual(expected);
  });

  it("GP1801 three values of the packet in the updates of one register", () => {
    const p = (value: Expression) =>
      withControl({
        registers: [register("c.r", u32, 16)],
        actions: [
          action("c.a", [], [update("c.r", small, binary(old, "+", x), z)]),
          action("c.b", [], [update("c.r", small, mux(binary(old, "==", y), value, old))]),
        ],
        tables: [table("c.t", [["small", small, "exact"]], ["c.a", "c.b"])],
        apply: [apply("c.t")],
      });
    expect(codes(p(z))).toEqual(["GP1801"]);
    expect(codes(p(x))).toEqual([]);
  });

  it("GP1860 NoAction in a table with a counter", () => {
    const counted = (actions: readonly string[]) =>
      withControl({
        actions: [action("c.a", [], [assign(x, y)])],
        tables: [table("c.t", [["x", x, "exact"]], actions, { directCounter: "c.t_counter" })],
        apply: [apply("c.t")],
      });
    expect(codes(counted(["c.a", "NoAction"]))).toEqual(["GP1860"]);
    expect(codes(counted(["c.a"]))).toEqual([]);
  });

  it.each([
    ["65 bits", arithmetic(meta("wide", bit(65)), "+", constant(5, bit(65))), ["GP1861"]],
    [
      "a saturating sum of 33 bits",
      arithmetic(meta("wide", bit(33)), "|+|", constant(5, bit(33))),
      ["GP1861"],
    ],
    ["64 bits, which two containers hold", arithmetic(meta("wide", bit(64)), "-", constant(5, bit(64))), []],
  ])("GP1861 a sum of %s", (_, value, expected) => {
    const wide = meta("wide", value.type);
    const p = program("p", {
      metadata: [{ name: "wide", type: value.type }],
      ingress: [assign(wide, value)],
    });
    expect(codes(p)).toEqual(expected);
  });

  it("each code has such a test, but for what others test: the real compiler, parsers, further passes, the fit", () => {
    const elsewhere = ["GP1844", "GP1845", "GP1850", "GP1862", "GP1866", "GP1899"];
    const others = Object.keys(tnaRules).filter((c) => elsewhere.includes(c) || c.startsWith("GP183"));
    expect([...tested, ...others].sort()).toEqual(Object.keys(tnaRules).sort());
  });

  it("each code has a title and a remedy", () => {
    for (const rule of Object.values(tnaRules))
      expect(rule.title.length * rule.remedy.length).toBeGreaterThan(0);
  });

  it("a forwarding program is not refused", () => {
    expect(checkTna(forwarding())).toEqual([]);
  });
});
