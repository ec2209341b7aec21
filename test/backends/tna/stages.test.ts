import { describe, expect, it } from "vitest";
import { stagesOf } from "../../../src/backends/tna/stages.ts";
import type { StraightStatement } from "../../../src/ir/index.ts";
import { bit } from "../../../src/ir/index.ts";
import { arithmetic, assign, binary, cast, concat, constant, meta, slice } from "../nodes.ts";

const u8 = bit(8);
const [a, b, c, d] = ["a", "b", "c", "d"].map((name) => meta(name, u8));
if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error("no fields");

/** How many statements each stage has, and what was refused. */
function stages(...statements: readonly StraightStatement[]) {
  const refused: string[] = [];
  const found = stagesOf(statements, (code) => refused.push(code));
  return { sizes: found.map((s) => s.length), refused };
}

describe("stages of straight-line code (pitfall 67)", () => {
  it("puts independent statements into one stage", () => {
    expect(stages(assign(a, constant(1, u8)), assign(b, arithmetic(c, "+", d))).sizes).toEqual([2]);
  });

  it("puts what reads a computed value into the next stage", () => {
    const sum = assign(a, arithmetic(b, "+", c));
    expect(stages(sum, assign(d, arithmetic(a, "+", b))).sizes).toEqual([1, 1]);
    expect(stages(sum, assign(d, a)).sizes).toEqual([1, 1]);
  });

  it("swaps in one stage: the compiler traces moves back", () => {
    expect(stages(assign(c, a), assign(a, b), assign(b, c)).sizes).toEqual([3]);
  });

  it("adds three values in two stages, and many such sums side by side", () => {
    const sum = (t: typeof a) => assign(t, arithmetic(arithmetic(b, "+", c), "+", d));
    expect(stages(sum(a)).sizes).toEqual([1, 1]);
    expect(stages(sum(meta("x", u8)), sum(meta("y", u8)), sum(meta("z", u8))).sizes).toEqual([3, 3]);
  });

  it("keeps a later write behind the reads before it", () => {
    const [read, write] = [assign(a, arithmetic(b, "+", c)), assign(b, constant(0, u8))];
    const [first] = stagesOf([read, write], () => {});
    expect(first).toEqual([read, write]);
  });

  it("keeps a header valid until its fields have been read", () => {
    const code = { kind: "field", type: u8, header: "row", field: "code" } as const;
    const found = stagesOf(
      [
        assign(a, arithmetic(b, "+", c)),
        assign(d, arithmetic(a, "+", code)),
        { kind: "setValidity", header: "row", valid: false },
      ],
      () => {},
    );
    expect(found.map((s) => s.map((t) => t.kind))).toEqual([["assign"], ["assign", "setValidity"]]);
  });

  it("lets writes of different bits of a field stand together", () => {
    const one = (i: number) => assign(slice(a, i, i), constant(1, bit(1)));
    expect(stages(one(0), one(1), one(7)).sizes).toEqual([3]);
  });

  it("widens a value in a stage of its own", () => {
    const wide = meta("wide", bit(32));
    const other = meta("other", bit(32));
    expect(stages(assign(wide, arithmetic(cast(a, bit(32)), "|-|", other))).sizes).toEqual([1, 1]);
    expect(stages(assign(wide, arithmetic(other, "+", cast(a, bit(32))))).sizes).toEqual([1, 1]);
  });

  it("writes a concatenation piece by piece, with zeros where it is widened", () => {
    const wide = meta("wide", bit(32));
    const [stage] = stagesOf([assign(wide, cast(concat(a, slice(b, 0, 0)), bit(32)))], () => {});
    expect(
      stage?.map((s) =>
        s.kind === "assign" && s.target.kind === "slice" ? [s.target.high, s.target.low] : [],
      ),
    ).toEqual([
      [31, 9],
      [8, 1],
      [0, 0],
    ]);
  });

  it.each([
    ["multiplication", arithmetic(a, "*", b)],
    ["a shift by a field", binary(a, "<<", b)],
    [
      "a choice",
      { kind: "mux" as const, type: u8, condition: binary(a, "==", b), whenTrue: a, whenFalse: b },
    ],
    ["a value in between", arithmetic(arithmetic(a, "+", b), "-", arithmetic(c, "+", d))],
  ])("refuses %s", (_, value) => {
    expect(stages(assign(meta("t", u8), value)).refused).toEqual(["GP1809"]);
  });
});
