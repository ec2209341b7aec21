import { describe, expect, it } from "vitest";
import { generate } from "../../../src/backends/index.ts";
import { ImpliedConditions } from "../../../src/backends/tna/implied.ts";
import { Scopes } from "../../../src/backends/tna/levels.ts";
import { lowerTna } from "../../../src/backends/tna/lower.ts";
import type { Step, TnaBlock, TnaProgram, TnaStatement } from "../../../src/backends/tna/lowered.ts";
import { drop, ecmp, ipv4Forwarding, priority, program as switchProgram } from "../../../src/dsl/index.ts";
import type { Expression } from "../../../src/ir/index.ts";
import { bit } from "../../../src/ir/index.ts";
import { binary, constant, meta, program } from "../nodes.ts";

const BIT = bit(1);
const flag = meta("flag", BIT);
const is = (name: string): Expression => binary(meta(name, BIT), "==", constant(1, BIT));
const set = (value: number): TnaStatement => {
  const step: Step = { kind: "assign", target: flag, value: constant(value, BIT) };
  return { kind: "steps", steps: [step] };
};
const ask = (condition: Expression, ...whenTrue: TnaBlock): Extract<TnaStatement, { kind: "if" }> => ({
  kind: "if",
  condition,
  whenTrue,
  whenFalse: [],
});

function isImplied(outer: Extract<TnaStatement, { kind: "if" }>, ...others: TnaBlock): boolean {
  const lowered = lowerTna(
    program("p", { metadata: ["flag", "asked"].map((name) => ({ name, type: BIT })) }),
  );
  const p: TnaProgram = { ...lowered, ingress: { ...lowered.ingress, block: [outer, ...others] } };
  return new ImpliedConditions(p, new Scopes(p)).isImplied(outer, is("flag"), "ingress");
}

describe("a flag", () => {
  it("implies the condition behind which alone it is set", () => {
    expect(isImplied(ask(is("asked"), set(1), ask(is("flag"), set(1))))).toBe(true);
  });

  it("does not when it is set elsewhere too, or not to 1, or never", () => {
    expect(isImplied(ask(is("asked"), set(1)), set(1))).toBe(false);
    expect(isImplied(ask(is("asked"), set(0)))).toBe(false);
    expect(isImplied(ask(is("asked"), ask(is("flag"))))).toBe(false);
  });

  it("of a table's hit is asked for by itself in later stages", () => {
    const { ir } = switchProgram("spraying", {
      ports: 8,
      priorityQueues: 8,
      features: [
        ipv4Forwarding(),
        priority(),
        drop({ keep: { 1: 16 } }),
        ecmp({ groups: 8, members: 4, spray: "all" }),
      ],
    });
    const text = generate(ir, { targets: ["tna"] }).get("tna/controls/ecmp.p4");
    expect(text).toMatch(/^ {8}if \(meta\.group_hit == 1\) \{\n {12}member\.apply\(\);/m);
  });
});
