import { describe, expect, it } from "vitest";
import { Switch } from "../../src/switch/index.ts";
import {
  assign,
  bytes,
  call,
  extract,
  extractNext,
  field,
  hex,
  type Json,
  op,
  otherwise,
  program,
  sm,
  stack,
  text,
  when,
  wrap,
} from "./fixtures/builder.ts";

function send(sw: Switch, input: string, port = 1): string | undefined {
  return text(sw.inject(port, bytes(input))[0]?.data);
}

describe("fields smaller than a byte", () => {
  const spec = (body: readonly Json[]) =>
    program({
      types: {
        h_t: [
          ["a", 2],
          ["b", 2],
          ["c", 1],
          ["d", 5],
          ["e", 6],
        ],
        out_t: [
          ["a", 8],
          ["b", 8],
          ["c", 8],
          ["d", 8],
          ["e", 8],
        ],
      },
      headers: { h: "h_t", out: "out_t" },
      parser: { start: { ops: [extract("h")] } },
      ingressBody: body,
    });

  it("are taken from the bits in network order and written back the same", () => {
    const copy = ["a", "b", "c", "d", "e"].map((name) => assign(`out.${name}`, field(`h.${name}`)));
    const sw = new Switch(spec([call("add_header", { type: "header", value: "out" }), ...copy]));
    expect(send(sw, "481a")).toBe("481a010001001a");
  });

  it("can be set without touching their neighbours", () => {
    expect(send(new Switch(spec([assign("h.d", hex(31))])), "481a")).toBe("4fda");
  });
});

const label = [
  ["label", 20],
  ["tc", 3],
  ["bos", 1],
  ["ttl", 8],
] as const;

function labels(depth: number, body: readonly Json[]): Switch {
  return new Switch(
    program({
      types: { h_t: [["index", 8]], label_t: label, report_t: [["error", 8]] },
      headers: { h: "h_t", report: "report_t" },
      stacks: { s: ["label_t", depth] },
      metadata: [["x", 8]],
      parser: {
        start: { ops: [extract("h")], transitions: [otherwise("labels")] },
        labels: {
          ops: [extractNext("s")],
          key: [{ type: "stack_field", value: ["s", "bos"] }],
          transitions: [when("0x00", "labels"), otherwise(null)],
        },
      },
      deparser: ["h", "report", ...Array.from({ length: depth }, (_, i) => `s[${i}]`)],
      ingressBody: body,
    }),
  );
}

const report: readonly Json[] = [
  call("add_header", { type: "header", value: "report" }),
  assign("report.error", op("&", field(sm("parser_error")), hex(0xff))),
];

describe("header stacks", () => {
  const a = "00001040";
  const b = "00002041";
  const c = "00003142";

  it("end the parser with StackOutOfBounds when they are full, and ingress runs", () => {
    expect(send(labels(2, report), `00${a}${b}${c}`)).toBe(`0003${a}${b}${c}`);
  });

  it("extract until the bottom of the stack", () => {
    expect(send(labels(3, report), `00${a}${b}${c}ff`)).toBe(`0000${a}${b}${c}ff`);
  });

  const last = "00002141";
  it("push_front moves elements up and leaves the new ones invalid", () => {
    expect(send(labels(3, [call("push", stack("s"), hex(1))]), `00${a}${last}`)).toBe(`00${a}${last}`);
    const set = [
      call("push", stack("s"), hex(1)),
      call("add_header", { type: "header", value: "s[0]" }),
      assign("s[0].label", hex(0xabcde)),
    ];
    expect(send(labels(3, set), `00${a}${last}`)).toBe(`00abcde000${a}${last}`);
    expect(send(labels(3, [call("push", stack("s"), hex(2))]), `00${a}${last}`)).toBe(`00${a}`);
  });

  it("pop_front removes elements, and all of them if asked for more", () => {
    expect(send(labels(3, [call("pop", stack("s"), hex(1))]), `00${a}${last}`)).toBe(`00${last}`);
    expect(send(labels(3, [call("pop", stack("s"), hex(5))]), `00${a}${last}`)).toBe("00");
  });

  const element = (index: Json): Json => ({
    type: "expression",
    value: {
      op: "access_field",
      left: { type: "expression", value: { op: "dereference_header_stack", left: stack("s"), right: index } },
      right: 3,
    },
  });

  it("survive any index at run time: a write past the end does nothing", () => {
    const body = [call("assign", wrap(element(field("h.index"))), hex(7))];
    const sw = labels(2, body);
    expect(send(sw, `00${a}${last}`)).toBe(`0000001007${last}`);
    expect(send(sw, `01${a}${last}`)).toBe(`01${a}00002107`);
    expect(send(sw, `02${a}${last}`)).toBe(`02${a}${last}`);
    expect(send(sw, `ff${a}${last}`)).toBe(`ff${a}${last}`);
  });

  it("survive any index at run time: a read past the end gives zero", () => {
    const sw = labels(2, [assign("h.index", element(field("h.index")))]);
    expect(send(sw, `01${a}${last}`)).toBe(`41${a}${last}`);
    expect(send(sw, `02${a}${last}`)).toBe(`00${a}${last}`);
    expect(send(sw, `ff${a}${last}`)).toBe(`00${a}${last}`);
  });
});

describe("parser errors", () => {
  const short = new Switch(
    program({
      types: {
        first_t: [["a", 8]],
        second_t: [["b", 32]],
        report_t: [["error", 8]],
      },
      headers: { report: "report_t", first: "first_t", second: "second_t" },
      parser: {
        start: { ops: [extract("first")], transitions: [otherwise("more")] },
        more: {
          ops: [extract("second")],
          key: [field("second.b")],
          transitions: [when("0x00000001", null), otherwise("noMatch")],
        },
        noMatch: { ops: [{ op: "verify", parameters: [{ type: "bool", value: false }, hex(2)] }] },
      },
      ingressBody: report,
    }),
  );

  it("do not drop: ingress sees what was parsed, and the rest is payload", () => {
    expect(send(short, "aa0102")).toBe("01aa0102");
  });

  it("come from verify with the program's own number", () => {
    expect(send(short, "aa00000005")).toBe("02aa00000005");
    expect(send(short, "aa00000001")).toBe("00aa00000001");
  });
});

describe("select", () => {
  const two = (transitions: readonly Json[]) =>
    new Switch(
      program({
        types: {
          h_t: [
            ["a", 12],
            ["b", 4],
          ],
          mark_t: [["m", 8]],
        },
        headers: { h: "h_t", mark: "mark_t" },
        parser: {
          start: { ops: [extract("h")], key: [field("h.a"), field("h.b")], transitions },
          hit: { ops: [extract("mark")] },
        },
        ingressBody: [assign("mark.m", hex(0xee))],
      }),
    );

  it("compares byte-padded fields", () => {
    const sw = two([when("0x0aba03", "hit"), otherwise(null)]);
    expect(send(sw, "aba3 00")).toBe("aba3ee");
    expect(send(sw, "aba4 00")).toBe("aba400");
  });

  it("applies masks, and takes the first transition that matches", () => {
    const sw = two([
      when("0x0a0000", null, "0x0f0000"),
      when("0x000003", "hit", "0x00000f"),
      otherwise(null),
    ]);
    expect(send(sw, "1003 00")).toBe("1003ee");
    expect(send(sw, "1a03 00")).toBe("1a03ee");
    expect(send(sw, "a003 00")).toBe("a00300");
  });

  it("asks a value set, which starts empty", () => {
    const sw = new Switch(
      program({
        types: { h_t: [["a", 16]], mark_t: [["m", 8]] },
        headers: { h: "h_t", mark: "mark_t" },
        parser: {
          start: {
            ops: [extract("h")],
            key: [field("h.a")],
            transitions: [
              { type: "parse_vset", value: "set", mask: null, next_state: "hit" },
              otherwise(null),
            ],
          },
          hit: { ops: [extract("mark")] },
        },
        ingressBody: [assign("mark.m", hex(0xee))],
        extra: { parse_vsets: [{ name: "set", id: 0, compressed_bitwidth: 16 }] },
      }),
    );
    expect(send(sw, "1234 00")).toBe("123400");
    sw.valueSets.get("set")?.set([0x1234n]);
    expect(send(sw, "1234 00")).toBe("1234ee");
    expect(send(sw, "1235 00")).toBe("123500");
  });
});

describe("lookahead and advance", () => {
  it("look without consuming, and skip", () => {
    const sw = new Switch(
      program({
        types: { h_t: [["a", 8]] },
        headers: { h: "h_t" },
        metadata: [["peek", 48]],
        parser: {
          start: {
            ops: [
              { op: "set", parameters: [field("scalars.peek"), { type: "lookahead", value: [4, 12] }] },
              { op: "advance", parameters: [hex(8)] },
              extract("h"),
            ],
          },
        },
        ingressBody: [assign("h.a", op("&", op(">>", field("scalars.peek"), hex(4)), hex(0xff)))],
      }),
    );
    // What was skipped is gone: only extracted headers and the rest of the frame leave.
    expect(send(sw, "123456")).toBe("2356");
  });
});

describe("a parser that goes in circles", () => {
  it("is stopped with ParserTimeout", () => {
    const sw = new Switch(
      program({
        types: { report_t: [["error", 8]] },
        headers: { report: "report_t" },
        parser: { start: { transitions: [otherwise("start")] } },
        ingressBody: report,
      }),
    );
    expect(send(sw, "aa")).toBe("05aa");
  });
});

describe("variable-length fields", () => {
  const options = (expression: Json) =>
    new Switch(
      program({
        types: {
          h_t: [
            ["length", 8],
            ["options", "*"],
            ["tail", 8],
          ],
          report_t: [["error", 8]],
        },
        maxLengths: { h_t: 8 },
        headers: { report: "report_t", h: "h_t" },
        parser: {
          start: {
            ops: [
              {
                op: "extract_VL",
                parameters: [{ type: "regular", value: "h" }, wrap(expression)],
              },
            ],
          },
        },
        ingressBody: report,
      }),
    );
  const peeked: Json = hex(24);

  it("are extracted and written back", () => {
    expect(send(options(peeked), "03a1a2a3ff99")).toBe("0003a1a2a3ff99");
  });

  it("give errors for odd bits, too long a header and too short a frame", () => {
    expect(send(options(hex(12)), "03a1a2a3ff99")).toBe("0603a1a2a3ff99");
    expect(send(options(hex(64)), "03a1a2a3ff9900000000000000")).toBe("0403a1a2a3ff9900000000000000");
    expect(send(options(hex(48)), "03a1")).toBe("0103a1");
  });
});

describe("header unions", () => {
  const sw = (body: readonly Json[]) =>
    new Switch(
      program({
        types: { h_t: [["kind", 8]], one_t: [["a", 8]], two_t: [["b", 16]] },
        headers: { h: "h_t", "u.one": "one_t", "u.two": "two_t" },
        parser: {
          start: {
            ops: [extract("h")],
            key: [field("h.kind")],
            transitions: [when("0x01", "one"), when("0x02", "two"), otherwise(null)],
          },
          one: { ops: [extract("u.one")] },
          two: { ops: [extract("u.two")] },
        },
        ingressBody: body,
        extra: {
          header_union_types: [
            {
              name: "u_t",
              id: 0,
              headers: [
                ["one", "one_t"],
                ["two", "two_t"],
              ],
            },
          ],
          header_unions: [{ name: "u", id: 0, union_type: "u_t", header_ids: [3, 4] }],
        },
      }),
    );
  const union: Json = { type: "header_union", value: "u" };

  it("have one valid member: making one valid makes the other invalid", () => {
    const set = [call("add_header", { type: "header", value: "u.two" }), assign("u.two.b", hex(0xbbbb))];
    expect(send(sw(set), "01aa")).toBe("01bbbb");
  });

  it("are valid if any member is", () => {
    const report = [assign("h.kind", op("b2d", null, op("valid_union", null, union)))];
    expect(send(sw(report), "02aabb")).toBe("01aabb");
    expect(send(sw(report), "05aabb")).toBe("00aabb");
  });

  it("give their members by number", () => {
    const member: Json = {
      type: "expression",
      value: {
        op: "access_field",
        left: { type: "expression", value: { op: "access_union_header", left: union, right: 0 } },
        right: 0,
      },
    };
    expect(send(sw([assign("h.kind", member)]), "01aa")).toBe("aaaa");
  });
});
