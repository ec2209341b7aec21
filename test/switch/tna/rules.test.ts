import { describe, expect, it } from "vitest";
import { Switch, SwitchConfigError } from "../../../src/switch/index.ts";
import {
  adds,
  architecture,
  assign,
  binary,
  call,
  compare,
  constant,
  document,
  field,
  memory,
  meta,
  set,
  stateful,
  steps,
  when,
  withRegister,
} from "./documents.ts";

const load = (json: object): Switch => new Switch(json, { personality: "tna" });
const frame = Uint8Array.from([0, 0, 0, 7, 0, 0, 0, 9]);

const problem = (json: object): string => {
  try {
    load(json);
    return "nothing";
  } catch (error) {
    if (error instanceof SwitchConfigError) return error.message;
    throw error;
  }
};

describe("a stateful ALU on the tna personality", () => {
  it("reads, computes, writes and hands out in one access", () => {
    const both = stateful(
      "both",
      [set("value", binary(memory(), "|+|", field("x"))), set("result", memory())],
      field("y"),
    );
    const s = load(document({ controls: [withRegister([both], [call("both")])] }));
    const y = () =>
      s.inject(0, frame).map((f) => new DataView(f.data.buffer, f.data.byteOffset).getUint32(4));
    expect([y(), y(), y()]).toEqual([[7], [14], [21]]);
    s.register("c.r").write(0, 0xffff_fffen);
    expect(y()).toEqual([0xffff_ffff]);
  });

  it("is not touched twice on one way", () => {
    expect(problem(document({ controls: [withRegister([adds()], [call("add"), call("add")])] }))).toMatch(
      /register c\.r is accessed a second time on one way through ingress \(first at ingress\.controls\[0\]/,
    );
    const inside = when(compare(field("x"), "==", constant(7)), [call("add")]);
    expect(problem(document({ controls: [withRegister([adds()], [call("add"), inside])] }))).toContain(
      "one access",
    );
  });

  it("serves both branches of a condition, and of its opposite asked again", () => {
    const is7 = compare(field("x"), "==", constant(7));
    const isNot7 = compare(field("x"), "!=", constant(7));
    const block = [when(is7, [call("add")]), when(isNot7, [call("add")])];
    const s = load(document({ controls: [withRegister([adds()], block)] }));
    s.inject(0, frame);
    expect([s.register("c.r").read(0), s.drops.registerTwice]).toEqual([7n, 0]);
  });

  it("drops a packet that touches it twice by ways that exclude each other only in the program's mind, and names it", () => {
    const block = [
      when(compare(field("x"), "==", constant(7)), [call("add")]),
      when(compare(field("y"), "==", constant(9)), [call("add")]),
    ];
    const s = load(document({ controls: [withRegister([adds()], block)] }));
    expect(s.inject(0, Uint8Array.from([0, 0, 0, 7, 0, 0, 0, 8]))).toHaveLength(1);
    expect(s.handle({ kind: "packet", port: 0, data: frame }, 0)).toEqual([
      { kind: "drop", reason: "registerTwice", port: 0 },
    ]);
    expect(s.tofino?.registerTwice).toEqual(new Map([["c.r", 1]]));
    // The first access took place.
    expect(s.register("c.r").read(0)).toBe(14n);
  });

  const cell = memory();
  const x = field("x");
  it.each([
    [
      "three comparisons",
      [
        when(compare(cell, "==", x), [set("value", constant(1))]),
        when(compare(cell, ">", x), [set("value", constant(2))]),
        when(compare(cell, "==", constant(3)), [set("value", constant(3))]),
      ],
      "3 comparisons, and the ALU has 2",
    ],
    ["a product", [set("value", binary(cell, "*", x))], "the ALU has no *"],
    [
      "two operators",
      [set("value", binary(binary(cell, "+", x), "+", constant(1)))],
      "more than one operator",
    ],
    [
      "three packet values",
      [
        when(compare(x, "==", constant(1)), [set("value", binary(cell, "+", field("y")))]),
        set("value", binary(cell, "+", meta("m"))),
      ],
      "3 packet values (h.x, h.y, m), and the ALU takes 2",
    ],
    [
      "a comparison of two packet values",
      [when(compare(x, "==", field("y")), [set("value", x)])],
      "a comparison of two packet values",
    ],
    [
      "two sources of the output",
      [set("result", cell), when(compare(x, "==", constant(0)), [set("result", x)])],
      "the output comes from 2 sources (the old cell, the packet), and the ALU has one",
    ],
    [
      "a comparison with two cells",
      [when(compare(cell, "==", cell), [set("value", x)])],
      "a comparison reads the cell twice",
    ],
  ])("refuses %s", (_, body, wrong) => {
    const action = stateful("update", body, meta("m"));
    expect(problem(document({ controls: [withRegister([action], [call("update")])] }))).toContain(
      `update_r of register c.r: ${wrong}`,
    );
  });

  it("has cells of 8, 16 or 32 bits, and four programs", () => {
    expect(problem(document({ controls: [withRegister([], [], "bit<48>")] }))).toContain(
      "48 bits; Tofino has 8, 16 and 32",
    );
    const five = [1, 2, 3, 4, 5].map((n) => adds(`add${n}`));
    expect(problem(document({ controls: [withRegister(five, [])] }))).toContain(
      "5 programs; a stateful ALU holds 4",
    );
  });
});

describe("a program for the tna personality", () => {
  it("works in egress only on headers that its parser extracts there", () => {
    const write = [steps(assign(field("x"), constant(1)))];
    expect(problem(document({ egress: write }))).toBe(
      "egress.block[0].steps[0].target: egress uses header h, which its parser does not extract; " +
        "egress of Tofino knows nothing of what ingress has parsed",
    );
    const s = load(
      document({ egress: write, egressSteps: [{ kind: "extract", header: "h" }], egressEmits: ["h"] }),
    );
    expect(s.inject(0, frame)).toEqual([{ port: 1, data: Uint8Array.from([0, 0, 0, 1, 0, 0, 0, 9]) }]);
  });

  it("loses nothing of what egress does not parse, and knows no metadata of ingress there", () => {
    const port = steps(assign(meta("m"), constant(5)));
    const s = load(
      document({
        ingress: [port],
        egressSteps: [{ kind: "extract", header: "h" }],
        egressEmits: ["h"],
        egress: [steps(assign(field("x"), meta("m")))],
      }),
    );
    expect(s.inject(0, frame)[0]?.data).toEqual(Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 9]));
  });

  it.each([
    ["another file", { program: [] }, '"format" is not "gradplane.tna"'],
    ["another version", { ...document(), version: 2 }, "only version 1 is supported"],
    [
      "a field that there is not",
      document({ ingress: [steps(assign(field("z"), constant(0)))] }),
      "there is no h.z",
    ],
    [
      "a type that is not the field's",
      document({ ingress: [steps(assign(field("x", "bit<16>"), constant(0, "bit<16>")))] }),
      "h.x has bit<32>, not bit<16>",
    ],
    [
      "intrinsic metadata of the other gress",
      document({ ingress: [steps(assign(meta("m"), architecture("eg_intr_md.egress_port", 9)))] }),
      "ingress of the tna personality has no eg_intr_md.egress_port",
    ],
    [
      "a write to what is read-only",
      document({
        ingress: [steps(assign(architecture("ig_intr_md.ingress_port", 9), constant(0, "bit<9>")))],
      }),
      "ig_intr_md.ingress_port cannot be written",
    ],
    ["an action that there is not", document({ ingress: [call("none")] }), 'there is no action "none" here'],
    ["BMv2 JSON", { header_types: [] }, "tna/NAME.json of gradplane build --target tna"],
  ])("is refused with its place for %s", (_, json, wrong) => {
    expect(problem(json)).toContain(wrong);
  });

  it("is not taken by the v1model personality, nor the other way round", () => {
    expect(() => new Switch(document())).toThrow(SwitchConfigError);
  });
});
