import { describe, expect, it } from "vitest";
import { checkTna } from "../../../src/backends/build.ts";
import { lowerTna } from "../../../src/backends/tna/lower.ts";
import { tnaFiles } from "../../../src/backends/tna/text/files.ts";
import type { ParserStep, Program } from "../../../src/ir/index.ts";
import { bit, tnaRules } from "../../../src/ir/index.ts";
import {
  advance,
  arithmetic,
  assign,
  binary,
  constant,
  control,
  extract,
  field,
  goto,
  intrinsic,
  keep,
  lookahead,
  meta,
  program,
  select,
  slice,
  state,
  verify,
} from "../nodes.ts";

const a = field("h", "a", bit(8));
const m = meta("m", bit(8));

/** A program whose parser takes these steps, and whose egress does what is given. */
function parsing(steps: readonly ParserStep[], more: Partial<Program> = {}): Program {
  return program("parsing", {
    headerTypes: [{ name: "h", fields: [{ name: "a", type: bit(8) }] }],
    headers: [
      { name: "h", headerType: "h" },
      { name: "g", headerType: "h" },
    ],
    metadata: [{ name: "m", type: bit(8) }],
    parser: [state("start", [extract("h"), ...steps], goto("accept"))],
    ingress: [assign(intrinsic("egress_port"), constant(1, bit(9)))],
    deparser: ["h", "g"],
    ...more,
  });
}

const tested = new Set<string>();

function codes(p: Program): readonly string[] {
  const found = checkTna(p).map((d) => d.code);
  for (const code of found) tested.add(code);
  return found;
}

describe("Tofino's parser", () => {
  it("GP1862 keeps a value once on each way", () => {
    const five = constant(5, bit(8));
    expect(codes(parsing([keep(m, a), keep(m, five)]))).toEqual(["GP1862"]);
    const branches = [
      state("start", [extract("h")], select([a], [[[1], "one"]], "two")),
      state("one", [keep(m, a)], goto("accept")),
      state("two", [keep(m, five)], goto("accept")),
    ];
    expect(codes(parsing([], { parser: branches }))).toEqual([]);
    const inLine = branches.map((s) => (s.name === "one" ? { ...s, transition: goto("two") } : s));
    expect(codes(parsing([], { parser: inLine }))).toEqual(["GP1862"]);
  });

  it("copies bits and passes over a constant number of them", () => {
    const p = parsing([keep(m, slice(lookahead(16), 15, 8)), advance(constant(16, bit(32))), extract("g")]);
    expect(codes(p)).toEqual([]);
    expect(tnaFiles(lowerTna(p)).get("parser.p4")).toContain(
      "meta.m = packet.lookahead<bit<16>>()[15:8];\n        packet.advance(16);\n        packet.extract(hdr.g);",
    );
  });

  it("has no arithmetic", () => {
    expect(codes(parsing([keep(m, arithmetic(a, "+", constant(1, bit(8))))]))).toEqual(["GP1830"]);
    expect(codes(parsing([advance(a)]))).toEqual(["GP1830"]);
    const key = arithmetic(a, "&", constant(3, bit(8)));
    const selecting = parsing([], {
      parser: [
        state("start", [extract("h")], select([key], [[[1], "more"]])),
        state("more", [extract("g")], goto("accept")),
      ],
    });
    expect(codes(selecting)).toEqual(["GP1830"]);
  });

  it("has no verify", () => {
    expect(codes(parsing([verify(binary(a, "==", constant(1, bit(8))), "NoMatch")]))).toEqual(["GP1831"]);
  });

  it("keeps nothing for egress", () => {
    const reading = control("c", {
      gress: "egress",
      apply: [assign(a, m)],
    });
    const p = parsing([keep(m, lookahead(8))], {
      controls: [reading],
      egress: [{ kind: "applyControl", control: "c" }],
    });
    expect(codes(p)).toContain("GP1832");
  });

  it("cannot lead egress to its headers by what it has kept", () => {
    const writing = control("c", {
      gress: "egress",
      apply: [assign(field("g", "a", bit(8)), constant(1, bit(8)))],
    });
    const p = parsing([], {
      parser: [
        state("start", [extract("h"), keep(m, lookahead(8))], select([m], [[[1], "more"]])),
        state("more", [extract("g")], goto("accept")),
      ],
      controls: [writing],
      egress: [{ kind: "applyControl", control: "c" }],
    });
    expect(codes(p)).toEqual(["GP1832"]);
  });

  it("reads stacks in loops", () => {
    const p = parsing([], {
      headers: [
        { name: "h", headerType: "h" },
        { name: "labels", headerType: "h", elements: 3 },
      ],
      parser: [
        state("start", [extract("h")], goto("read")),
        state(
          "read",
          [extract("labels.next")],
          select([field("labels.last", "a", bit(8))], [[[1], "accept"]], "read"),
        ),
      ],
      deparser: ["h", "labels"],
    });
    expect(codes(p)).toEqual([]);
    const files = tnaFiles(lowerTna(p));
    expect(files.get("headers.p4")).toContain("h_t[3] labels;");
    expect(files.get("parser.p4")).toContain("packet.extract(hdr.labels.next);");
    expect(files.get("deparser.p4")).toContain("packet.emit(hdr.labels);");
  });

  it("does not shift stacks", () => {
    const p = parsing([], {
      headers: [
        { name: "h", headerType: "h" },
        { name: "labels", headerType: "h", elements: 3 },
      ],
      controls: [control("c", { apply: [{ kind: "popFront", stack: "labels", count: 1 }] })],
      ingress: [{ kind: "applyControl", control: "c" }],
      deparser: ["h", "labels"],
    });
    expect(codes(p)).toEqual(["GP1834"]);
  });

  it("does not read stacks again for egress", () => {
    const p = parsing([extract("labels.next")], {
      headers: [
        { name: "h", headerType: "h" },
        { name: "labels", headerType: "h", elements: 3 },
      ],
      controls: [
        control("c", {
          gress: "egress",
          apply: [assign(field("labels[0]", "a", bit(8)), constant(1, bit(8)))],
        }),
      ],
      egress: [{ kind: "applyControl", control: "c" }],
      deparser: ["h", "labels"],
    });
    expect(codes(p)).toEqual(["GP1835"]);
  });

  it("does not go in circles without a stack", () => {
    const p = parsing([], {
      parser: [
        state("start", [extract("h")], goto("hop")),
        state("hop", [advance(constant(8, bit(32)))], select([lookahead(8)], [[[1], "hop"]])),
      ],
    });
    expect(codes(p)).toEqual(["GP1836"]);
  });

  it("has no unions", () => {
    const p = parsing([extract("u.g")], {
      headers: [{ name: "h", headerType: "h" }],
      unions: [{ name: "u", members: [{ name: "g", headerType: "h" }] }],
      deparser: ["h", "u"],
    });
    expect(codes(p)).toEqual(["GP1833"]);
  });

  it("has no fields of variable length", () => {
    const p = parsing([], {
      headerTypes: [
        { name: "h", fields: [{ name: "a", type: bit(8) }], varbit: { name: "rest", width: 64 } },
      ],
      parser: [
        state("start", [{ kind: "extract", header: "h", length: constant(8, bit(32)) }], goto("accept")),
      ],
    });
    expect(codes(p)).toEqual(["GP1837"]);
  });

  it("sums up one header and no payload", () => {
    const p = parsing([], {
      headerTypes: [
        {
          name: "h",
          fields: [
            { name: "a", type: bit(16) },
            { name: "sum", type: bit(16) },
          ],
        },
      ],
      checksums: [
        {
          header: "h",
          target: field("h", "sum", bit(16)),
          fields: [field("h", "a", bit(16))],
          payload: true,
          verify: true,
          update: true,
        },
      ],
    });
    expect(codes(p)).toEqual(["GP1838"]);
  });

  it("has a test for each of its codes", () => {
    const known = Object.keys(tnaRules).filter((code) => code.startsWith("GP183"));
    expect([...tested].filter((code) => code.startsWith("GP183")).sort()).toEqual(known.sort());
  });
});
