import { describe, expect, it } from "vitest";
import { withAlternatives } from "../../../src/backends/tna/alternatives.ts";
import { fitReport } from "../../../src/backends/tna/fit/index.ts";
import { lowerTna } from "../../../src/backends/tna/lower.ts";
import { hotAggregation, int32, ipv4Forwarding, program as switchProgram } from "../../../src/dsl/index.ts";
import type { Control, Statement } from "../../../src/ir/index.ts";
import { bit } from "../../../src/ir/index.ts";
import { statementsOf } from "../../../src/ir/walk.ts";
import { action, binary, constant, control, memory, meta, program, register, update } from "../nodes.ts";

const u32 = bit(32);
const [seen, a, b] = [meta("seen", u32), meta("a", u32), meta("b", u32)];
const cell = constant(0, u32);
const old = memory("old", u32);
const read = (name: string, into: typeof a) => update(`c.${name}`, cell, old, old, into);
const write = (name: string, value: typeof a) => update(`c.${name}`, cell, value);

function made(
  operator: "==" | "!=",
  first: Parameters<typeof action>[2],
  second: Parameters<typeof action>[2],
): Control {
  const choice: Statement = {
    kind: "if",
    condition: binary(seen, operator, constant(7, u32)),
    whenTrue: [{ kind: "callAction", action: "c.one", arguments: [] }],
    whenFalse: [{ kind: "callAction", action: "c.other", arguments: [] }],
  };
  const p = program("p", {
    metadata: ["seen", "a", "b"].map((name) => ({ name, type: u32 })),
    controls: [
      control("c", {
        registers: [register("c.r", u32, 4), register("c.s", u32, 4)],
        actions: [action("c.one", [], first), action("c.other", [], second)],
        apply: [choice],
      }),
    ],
  });
  const [c] = withAlternatives(p).controls;
  return c ?? expect.fail("no control");
}

const applied = (c: Control): readonly string[] =>
  [...statementsOf(c.apply)].flatMap((s) => (s.kind === "applyTable" ? [s.table] : []));

describe("two actions of which a packet meets one, at the same registers", () => {
  it("become a table for each register, whose first entry is the value that was asked for", () => {
    const c = made("==", [write("r", a), write("s", b)], [read("s", b), read("r", a)]);
    expect(applied(c)).toEqual(["c.r_update", "c.s_update"]);
    expect(c.apply.every((s) => s.kind === "applyTable")).toBe(true);
    const [t] = c.tables;
    expect(t?.key).toEqual([{ name: "seen", expression: seen, match: "ternary" }]);
    expect(t?.constEntries.map((e) => [e.keys, e.action])).toEqual([
      [[{ kind: "value", value: 7n }], "c.one_r"],
      [[{ kind: "any" }], "c.other_r"],
    ]);
    expect(c.actions.map((x) => [x.name, x.body.length])).toEqual([
      ["c.one_r", 1],
      ["c.other_r", 1],
      ["c.one_s", 1],
      ["c.other_s", 1],
    ]);
  });

  it("have the value's entry for the second where the condition is turned around", () => {
    const c = made("!=", [write("r", a), write("s", b)], [read("r", a), read("s", b)]);
    expect(c.tables[0]?.constEntries.map((e) => e.action)).toEqual(["c.other_r", "c.one_r"]);
  });

  it("stay as they are when one writes what is asked for, or reads what it has written", () => {
    for (const second of [
      [read("r", seen), read("s", b)],
      [read("r", a), write("s", a)],
    ]) {
      const c = made("==", [write("r", a), write("s", b)], second);
      expect(applied(c)).toEqual([]);
      expect(c.apply[0]?.kind).toBe("if");
    }
  });

  it("stay as they are when one works at a register more", () => {
    expect(applied(made("==", [write("r", a), write("s", b)], [read("r", a)]))).toEqual([]);
  });

  it("so that each lane of an all-reduce is one logical table, and 32 find their places", () => {
    const report = fitReport(
      lowerTna(
        switchProgram("all", {
          ports: 8,
          cpuPort: 192,
          features: [
            ipv4Forwarding(),
            hotAggregation({ workers: 32, lanes: 32, rows: 512, mode: int32, result: "allreduce" }),
          ],
        }).ir,
      ),
    );
    const lanes = report.perStage.flatMap((s) => s.tables.filter((t) => /sum_\d\d/.test(t.name)));
    expect(lanes).toHaveLength(32);
    expect(report.stages).toBeLessThanOrEqual(12);
  });
});
