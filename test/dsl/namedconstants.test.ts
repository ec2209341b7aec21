import { accept, bit, exactly, type Feature, int, intrinsic, program, wireHeader } from "gradplane";
import { describe, expect, test } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { check } from "../../src/ir/check/check.ts";
import { emptyProgram, sendAll, small } from "../ir/findings.ts";

const note = wireHeader("note", { kind: 8, level: 8 });

/** Takes notes of one kind to a port that depends on their level. */
const notes: Feature = {
  name: "notes",
  build(p) {
    const hdr = p.header(note);
    const kind = p.constants("KIND", bit(8), { hello: 1, bye: 2, unused: 3 }, "What a note is.");
    const level = p.constants("LEVEL", bit(8), ["low", "high"]);
    const port = p.constant("NOTE_PORT", bit(9), 3, "where notes go");
    const drift = p.constant("DRIFT", int(8), -1);
    const parseMore = p.parser.state("parse_more");
    p.parser.state("start").extract(hdr).select(hdr.kind).on(kind.hello, parseMore).otherwise(accept);
    const c = p.control("sort", "ingress");
    const send = c.action("send", { port: bit(9), level: bit(8), drift: int(8) }, (a, d) => {
      a.set(intrinsic.egress_port, d.port);
      a.set(hdr.level, d.level.add(d.drift.cast(bit(8))));
    });
    const sort = c.table("by_kind", {
      key: { kind: exactly(hdr.kind), level: exactly(hdr.level) },
      actions: [send],
      size: 2,
      defaultAction: send.with({ port, level: level.low, drift }),
      entries: [
        { key: { kind: kind.bye, level: 7 }, run: send.with({ port: 1, level: level.high, drift: 2 }) },
      ],
    });
    c.apply((s) => s.if(hdr.kind.ne(kind.bye), (then) => then.apply(sort)));
    p.ingress("route", (s) => s.invoke(c));
  },
};

function filesOf(target: "v1model" | "tna"): (path: string) => string {
  const files = generate(program("notes", { ports: 4, features: [notes] }).ir, { targets: [target] });
  return (path) => String(files.get(path) ?? "");
}

describe("a named constant", () => {
  test.each(["v1model", "tna"] as const)(
    "stands by its name in the P4 for %s, wherever a value may",
    (target) => {
      const file = filesOf(target);
      expect(file(`${target}/notes.p4`)).toMatch(/#include "constants.p4"\n#include "headers.p4"/);
      const control = file(`${target}/controls/sort.p4`);
      expect(file(`${target}/parser.p4`)).toContain("KIND_HELLO: parse_more;");
      expect(control).toContain("if (hdr.note.kind != KIND_BYE)");
      expect(control).toContain("(KIND_BYE, 7): send(1, LEVEL_HIGH, 2);");
      expect(control).toMatch(/default_action = send\(NOTE_PORT, LEVEL_LOW, (0xff|255|-1|-8s1|DRIFT)\);/);
    },
  );

  test("is declared once, with what it means; only what is used is", () => {
    const text = filesOf("v1model")("v1model/constants.p4");
    expect(text.slice(text.indexOf("\n\n") + 2)).toBe(
      [
        "// What a note is.",
        "const bit<8> KIND_HELLO = 1;",
        "const bit<8> KIND_BYE   = 2;",
        "",
        "const bit<8> LEVEL_LOW  = 0;",
        "const bit<8> LEVEL_HIGH = 1;",
        "",
        "const bit<9> NOTE_PORT = 3; // where notes go",
        "",
      ].join("\n"),
    );
  });

  test("is its value to BMv2", () => {
    const json = filesOf("v1model")("notes.json");
    expect(json).not.toMatch(/KIND|LEVEL|NOTE_PORT/);
    expect(json).toContain('"0x3"');
  });

  test("may be declared by two features that agree on it", () => {
    const twice = () =>
      small((p) => {
        p.constant("PORT", bit(9), 3);
        p.constant("PORT", bit(9), 3);
        p.ingress("route", (s) => s.set(intrinsic.egress_port, p.constant("PORT", bit(9), 3)));
      });
    expect(twice().ir.constants).toMatchObject([{ name: "PORT", value: 3n }]);
  });

  test.each([
    ["another value", 4, bit(9)],
    ["another type", 3, bit(8)],
  ])("is refused again with %s", (_, value, type) => {
    const run = () =>
      small((p) => {
        p.constant("PORT", bit(9), 3);
        p.constant("PORT", type, value);
        sendAll.build(p);
      });
    expect(run).toThrow(/GP1202: constant PORT is bit<9> 3 already/);
  });

  test("has one type: another key or parameter does not take it", () => {
    const wrong = { kind: "value", value: 3n, named: { name: "THREE", type: bit(4) } } as const;
    const base = emptyProgram;
    expect(
      check({
        ...base,
        headerTypes: [{ name: "h", fields: [{ name: "f", type: bit(8) }] }],
        headers: [{ name: "h", headerType: "h" }],
        parser: [
          {
            name: "start",
            steps: [{ kind: "extract", header: "h" }],
            transition: {
              kind: "select",
              keys: [{ kind: "field", header: "h", field: "f", type: bit(8) }],
              cases: [{ values: [wrong], next: "accept" }],
              otherwise: "accept",
            },
          },
        ],
      }),
    ).toContainEqual(
      expect.objectContaining({
        code: "GP1304",
        message: "select in state start: THREE is bit<4>, not bit<8>",
      }),
    );
  });

  test("must fit its type, be a name, and not be hidden by a parameter", () => {
    const constants = [
      { name: "BIG", type: bit(8), value: 300n },
      { name: "2nd", type: bit(8), value: 2n },
      { name: "hdr", type: bit(8), value: 2n },
      { name: "PORT", type: bit(9), value: 2n },
    ];
    const action = { name: "c.a", parameters: [{ name: "PORT", type: bit(9) }], body: [] };
    const control = {
      name: "c",
      gress: "ingress",
      actions: [action],
      tables: [],
      registers: [],
      counters: [],
      actionProfiles: [],
      meters: [],
      digests: [],
      apply: [],
    } as const;
    const found = check({ ...emptyProgram, constants, controls: [control] });
    expect(found.map((d) => `${d.code} ${d.message}`)).toEqual(
      expect.arrayContaining([
        "GP1102 constant BIG: 300 does not fit bit<8> (0 to 255)",
        'GP1203 constant "2nd" is not a name in P4',
        "GP1201 constant hdr is a name that the generated program uses itself",
        "GP1202 parameter of c.a PORT has the name of a constant",
      ]),
    );
  });
});
