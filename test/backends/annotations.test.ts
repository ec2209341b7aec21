import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { generate, type TargetName } from "../../src/backends/index.ts";
import {
  type ActionAbout,
  bit,
  type ControlBuilder,
  ProgramError,
  type TargetAnnotations,
} from "../../src/dsl/index.ts";
import { parseAnnotation } from "../../src/ir/index.ts";
import { p4infoFromText } from "../../src/p4info/index.ts";
import { annotated, type Extra } from "./annotationsprogram.ts";

/** What is found wrong with a program. */
function wrong(extra: Extra): readonly string[] {
  try {
    annotated(extra);
    return [];
  } catch (e) {
    if (!(e instanceof ProgramError)) throw e;
    return e.diagnostics.map((d) => `${d.code} ${d.message}`);
  }
}

const onTable = (...all: readonly string[]) => wrong({ annotations: { all } });

const files = generate(annotated(), { targets: ["v1model", "tna"] satisfies TargetName[] });
const file = (path: string): string => String(files.get(path));

describe("annotations in the P4 text", () => {
  it("stand above the object for the target that they are for", () => {
    expect(file("tna/controls/sorter.p4")).toContain(
      '@name(".sorter.kinds")\n    @stage(3)\n    table kinds {',
    );
    expect(file("v1model/controls/sorter.p4")).toContain(
      '@name(".sorter.kinds")\n    @id(7)\n    @shown\n    @empty()\n    table kinds {',
    );
  });

  it("stand above a control: what Tofino is told of places for packet data", () => {
    expect(file("tna/controls/sorter.p4")).toContain('@pa_solitary("ingress", "meta.mark")\ncontrol Sorter(');
    expect(file("v1model/controls/sorter.p4")).not.toContain("pa_solitary");
  });

  it("stand in front of counters and actions", () => {
    const text = file("v1model/controls/sorter.p4");
    expect(text).toMatch(/@owner\("operations", 2\) counter/);
    expect(text).toMatch(/@lane\( -1,0x2, eight \)\s+action go\(/);
  });

  it("stand in front of parameters and behind the names of match fields, whose documentation is above", () => {
    const [v1model, tna] = [file("v1model/controls/sorter.p4"), file("tna/controls/sorter.p4")];
    expect(v1model).toContain("action go(@format( PORT ) bit<9> port)");
    expect(tna).toContain("action go(bit<9> port)");
    expect(v1model).toMatch(/\/\/ Sends it on.*\n\s+\/\/ port: where it goes/i);
    expect(v1model).toMatch(
      /\/\/ As it came\.\n\s+hdr\.note\.kind: exact @name\("kind"\) @format\(NUMBER\) @empty\(\);/,
    );
    expect(tna).toContain('hdr.note.kind: exact @name("kind");');
  });

  it("stand above the struct of a digest", () => {
    expect(file("v1model/headers.p4")).toContain('@name(".sorter.told")\n@rate(5)\nstruct');
    expect(file("tna/headers.p4")).not.toContain("@rate");
  });

  it("have ids among them for v1model; p4c-barefoot would warn of them", () => {
    const text = file("v1model/controls/sorter.p4");
    expect(text).toContain('@name(".sorter.seen") @id(21) register<');
    expect(text).toContain("@id(22)");
    expect(text).toContain("@id(16777215)");
    expect(file("tna/controls/sorter.p4")).not.toContain("@id");
  });
});

describe("annotations in P4Info", () => {
  const info = p4infoFromText(file("p4info.txtpb"));
  const tna = p4infoFromText(file("tna/p4info.txtpb"));

  it("are those of the target, word by word as p4c writes them", () => {
    expect(info.tables[0]?.preamble?.annotations).toEqual(["@shown", "@empty"]);
    expect(tna.tables[0]?.preamble?.annotations).toEqual(["@stage(3)"]);
    const go = info.actions.find((a) => a.preamble?.name === "sorter.go");
    expect(go?.preamble?.annotations).toEqual(["@lane(- 1 , 0x2 , eight)"]);
    expect(info.counters[0]?.preamble?.annotations).toEqual(['@owner("operations" , 2)']);
  });

  it("of match fields and parameters are those of the target, with the documentation", () => {
    const param = (i: typeof info) => i.actions.find((a) => a.preamble?.name === "sorter.go")?.params[0];
    expect(info.tables[0]?.matchFields[0]).toMatchObject({
      annotations: ["@format(NUMBER)", "@empty"],
      doc: { brief: "as it came" },
    });
    expect(tna.tables[0]?.matchFields[0]?.annotations).toEqual([]);
    expect(param(info)).toMatchObject({ annotations: ["@format(PORT)"], doc: { brief: "where it goes" } });
    expect(param(tna)).toMatchObject({ annotations: [], doc: { brief: "where it goes" } });
  });

  it("have the given ids behind the kind's prefix, with the documentation, on both targets", () => {
    for (const i of [info, tna]) {
      expect(i.tables[0]?.preamble).toMatchObject({ id: 0x02000007, doc: { brief: "where notes go" } });
      expect(i.actions.map((a) => a.preamble?.id)).toContain(0x01ffffff);
      expect(i.registers[0]?.preamble).toMatchObject({ id: 0x16000015, doc: { brief: "notes of a kind" } });
      expect(i.counters[0]?.preamble).toMatchObject({
        id: 0x12000016,
        doc: { description: "0: small, 1: large" },
      });
      expect(i.tables[0]?.actionRefs.map((r) => r.id)).toContain(0x01ffffff);
    }
  });

  it("leave the ids of others as they are, but where a given one takes theirs", () => {
    const stay = (extra: Extra): number | undefined =>
      p4infoFromText(String(generate(annotated(extra)).get("p4info.txtpb"))).actions.find(
        (a) => a.preamble?.name === "sorter.stay",
      )?.preamble?.id;
    const free = stay({}) ?? 0;
    expect(free).toBe(21462739);
    expect(stay({ id: 21462739 & 0xffffff })).toBe(free);
  });
});

describe("annotations that cannot be", () => {
  it("are refused where a parenthesis has no other one", () => {
    expect(onTable("@stage(3")).toEqual([expect.stringMatching(/^GP1205 .*has a \( that is not closed$/)]);
    expect(onTable("@stage(3))")).toEqual([expect.stringContaining("behind its parentheses")]);
    expect(onTable("@a([1)]")).toEqual([expect.stringContaining("has a ) that closes nothing")]);
    expect(onTable('@a("open)')).toEqual([expect.stringContaining('has "\\"" in it')]);
  });

  it("are refused where more than an annotation stands", () => {
    expect(onTable("@a(1) table x { }")).toEqual([expect.stringContaining("behind its parentheses")]);
    expect(onTable("stage(3)", "@", "@a b", "@9")).toHaveLength(4);
    expect(onTable("@pragma stage 3")).toEqual([expect.stringContaining("write @stage(3)")]);
    expect(onTable("@a(1 // 2\n)")).toHaveLength(1);
  });

  it("are refused with the reason where the generator says the same itself", () => {
    expect(onTable('@name("x")', "@id(4)", '@brief("x")', "@hidden")).toHaveLength(4);
    expect(onTable("@id(4)")).toEqual(["GP1205 annotation @id of sorter.kinds: write the option id"]);
  });

  it("are refused at match fields, parameters and digests as elsewhere", () => {
    const more = (build: (c: ControlBuilder) => void) =>
      wrong({ more: build }).map((w) => w.replace(/, .*/, ""));
    const annotations = { all: ["@id(3)"] };
    expect(
      more(
        (c) =>
          void c.action("other", { port: bit(9) }, (a) => a.drop(), {
            parameters: { port: { annotations } },
          }),
      ),
    ).toContain("GP1205 annotation @id of parameter port of sorter.other: write the option id");
    expect(more((c) => void c.digest("again", { x: bit(8) }, { annotations }))).toContain(
      "GP1205 annotation @id of sorter.again: write the option id",
    );
    expect(
      more((c) => {
        const untyped = { parameters: { prt: "where it goes" } } as ActionAbout;
        c.action("other", { port: bit(9) }, (a) => a.drop(), untyped);
      }),
    ).toEqual(["GP1404 sorter.other: there is no parameter prt (it has port)"]);
  });

  it("are refused where they are no lists of texts, or for a target that is none", () => {
    // As a program does that is run without a type checker.
    const untyped = (annotations: unknown) => wrong({ annotations: annotations as TargetAnnotations });
    expect(untyped({ tna: "@stage(3)" })).toEqual([expect.stringContaining("GP1701 annotations of table")]);
    expect(untyped({ tofino: ["@stage(3)"] })).toEqual([expect.stringContaining("has no option tofino")]);
    expect(untyped({ tna: [3] })).toEqual([expect.stringMatching(/^GP1701/)]);
  });

  it("never end what stands behind them (random texts)", () => {
    const piece = fc.constantFrom(
      "@",
      "a",
      "(",
      ")",
      '"',
      "\\",
      "\n",
      " ",
      ",",
      "1",
      "//",
      "/*",
      "[",
      "]",
      "{",
      "}",
      "=",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const parsed = parseAnnotation(`@a${pieces.join("")}`);
        if (typeof parsed === "string") return;
        // Whole words alone, as often opened as closed.
        const marks = parsed.words.filter((w) => !w.startsWith('"')).join("");
        expect(marks).not.toMatch(/["\\/\n@]/);
        for (const [open, close] of ["()", "[]", "{}"])
          expect(marks.split(open ?? "").length).toBe(marks.split(close ?? "").length);
      }),
    );
  });
});

describe("ids", () => {
  it("are from 1 to 2^24-1", () => {
    for (const id of [0, -1, 0x1000000, 1.5, Number.NaN])
      expect(wrong({ id })).toEqual([`GP1206 id ${id} of sorter.kinds is not from 1 to 16777215`]);
  });

  it("are one object's of a kind alone", () => {
    expect(wrong({ more: (c) => void c.counter("more", ["one"], { id: 22 }) })).toContain(
      "GP1206 id 22 of sorter.more is that of sorter.sizes already",
    );
    // Another kind has another prefix.
    expect(wrong({ id: 22 })).toEqual([]);
  });

  it("stand beside no option that there is not", () => {
    const untyped = { docs: "x" } as { readonly doc?: string };
    expect(wrong({ more: (c) => void c.register("more", bit(8), 4, untyped) })).toEqual([
      "GP1701 register sorter.more has no option docs; its options are doc, id, annotations",
    ]);
  });
});
