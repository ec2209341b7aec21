import { describe, expect, it } from "vitest";
import { containerSizes } from "../../../src/backends/tna/containersizes.ts";
import { lowerTna } from "../../../src/backends/tna/lower.ts";
import { tnaFiles } from "../../../src/backends/tna/text/files.ts";
import type { Control, Program, Statement } from "../../../src/ir/index.ts";
import { bit } from "../../../src/ir/index.ts";
import {
  action,
  apply,
  arithmetic,
  assign,
  binary,
  constant,
  control,
  intrinsic,
  memory,
  meta,
  parameter,
  program,
  register,
  slice,
  table,
  unary,
  update,
  when,
} from "../nodes.ts";

const [u8, u9, u16] = [bit(8), bit(9), bit(16)];
const [m8, n8, m16, flag, m9] = [
  meta("m8", u8),
  meta("n8", u8),
  meta("m16", u16),
  meta("flag", bit(1)),
  meta("m9", u9),
];
const port = intrinsic("egress_port");

const withControl = (c: Partial<Control>, ingress: readonly Statement[] = []): Program =>
  program("p", {
    metadata: [m8, n8, m16, flag, m9].map(({ name, type }) => ({ name, type })),
    controls: [control("c", c)],
    ingress: [
      ...ingress,
      assign(port, constant(1, u9)),
      { kind: "applyControl", control: "c" },
      when(binary(m8, "==", constant(3, u8)), [assign(port, constant(2, u9))]),
    ],
  });
const sizes = (p: Program) => containerSizes(lowerTna(p)).map((c) => `${c.gress} ${c.place} ${c.bits}`);
const text = (p: Program, file: string): string => tnaFiles(lowerTna(p)).get(file) ?? "";
const call = (name: string): Statement => ({ kind: "callAction", action: name, arguments: [] });

describe("containers of just their size", () => {
  it("are for sums that saturate and come to something", () => {
    const p = withControl({
      actions: [
        action("c.kept", [], [assign(m8, arithmetic(m8, "|+|", n8))]),
        action("c.lost", [], [assign(n8, arithmetic(n8, "|+|", m8))]),
        action("c.less", [], [assign(m8, arithmetic(m8, "|-|", n8))]),
      ],
      apply: [call("c.kept"), call("c.less"), call("c.lost"), when(binary(n8, "==", m8), [assign(m9, m9)])],
    });
    expect(sizes(p)).toEqual(["ingress meta.m8 8"]);
    expect(text(p, "ingress.p4")).toContain(
      '@pa_container_size("ingress", "meta.m8", 8)\ncontrol SwitchIngress(',
    );
  });

  it("are for ranges over more than 13 bits", () => {
    const p = (key: typeof m16 | ReturnType<typeof slice>) =>
      withControl({
        actions: [action("c.a", [], [assign(port, constant(2, u9))])],
        tables: [table("c.t", [["k", key, "range"]], ["c.a"])],
        apply: [apply("c.t")],
      });
    expect(sizes(p(m16))).toEqual(["ingress meta.m16 16"]);
    expect(sizes(p(slice(m16, 12, 0)))).toEqual([]);
  });

  it("are for what a resubmitted packet keeps, each value in bytes of its own", () => {
    const keep = [m8, m9];
    const again = when(unary("!", intrinsic("is_resubmitted")), [
      { kind: "resubmit", keep },
      { kind: "exit" },
    ]);
    const p = withControl({}, [when(binary(m9, "==", constant(0, u9)), [again])]);
    expect(sizes(p)).toEqual(["ingress meta.m8 8"]);
    expect(text(p, "headers.p4")).toContain(
      [
        "header resubmitted_t {",
        "    bit<8> m8;",
        "    @padding bit<7> m9_padding;",
        "    bit<9> m9;",
        "    @padding bit<40> padding;",
        "}",
      ].join("\n"),
    );
    expect(text(p, "deparser.p4")).toContain("resubmit.emit<resubmitted_t>({meta.m8, 0, meta.m9, 0});");
  });
});

describe("what decided conditions leave unused", () => {
  it("is declared without a warning", () => {
    const never = binary(binary(m8, "<", constant(0, u8)), "&&", binary(m9, "<", constant(7, u9)));
    const p = withControl({
      registers: [register("c.r", u8, 16)],
      actions: [
        // The first value is written over, and so not computed.
        action(
          "c.b",
          [{ name: "q", type: u8 }],
          [assign(m8, parameter("q", u8)), assign(m8, arithmetic(n8, "^", n8))],
        ),
      ],
      tables: [table("c.t", [["m8", m8, "exact"]], ["c.b"])],
      apply: [
        when(never, [update("c.r", m8, binary(memory("old", u8), "+", constant(1, u8)))]),
        apply("c.t"),
      ],
    });
    const found = text(p, "controls/c.p4");
    expect(found).toContain('@noWarn("unused") Register<bit<8>');
    expect(found).toContain('action b(@noWarn("unused") bit<8> q)');
  });

  it("and where a port is taken back, an action does it, into which no known port is put", () => {
    const p = withControl({}, [
      assign(port, constant(3, u9)),
      when(binary(n8, "==", constant(1, u8)), [assign(port, constant(511, u9))]),
    ]);
    expect(text(p, "ingress.p4")).toMatch(/action \w+\(\) \{\n\s+invalidate\(ig_tm_md.ucast_egress_port\);/);
  });
});
