import { describe, expect, it } from "vitest";
import { apart } from "../../../src/backends/tna/apart.ts";
import { lowerTna } from "../../../src/backends/tna/lower.ts";
import type { Control, Program, StraightStatement } from "../../../src/ir/index.ts";
import { bit } from "../../../src/ir/index.ts";
import {
  action,
  apply,
  arithmetic,
  assign,
  binary,
  constant,
  control,
  memory,
  meta,
  program,
  register,
  table,
  update,
  when,
} from "../nodes.ts";

const [u8, u32] = [bit(8), bit(32)];
const [small, other] = [meta("small", u8), meta("other", u8)];
const [x, y] = [meta("x", u32), meta("y", u32)];
const add = update("c.r", small, arithmetic(memory("old", u32), "+", x));
const addAt = (index: typeof small) => update("c.r", index, arithmetic(memory("old", u32), "+", x));

const withControl = (c: Partial<Control>): Program =>
  program("p", {
    metadata: [
      { name: "small", type: u8 },
      { name: "other", type: u8 },
      { name: "x", type: u32 },
      { name: "y", type: u32 },
    ],
    controls: [control("c", { registers: [register("c.r", u32, 256)], ...c })],
    ingress: [{ kind: "applyControl", control: "c" }],
  });
const lowered = (c: Partial<Control>) => {
  const made = lowerTna(withControl(c));
  expect(made.findings).toEqual([]);
  const [only] = made.controls;
  if (only === undefined) throw new Error("no control");
  return only;
};
/** The actions that update the register, and whether some table has them. */
const updaters = (c: ReturnType<typeof lowered>) =>
  c.actions
    .filter((a) => a.updates.length > 0)
    .map((a) => ({
      name: a.local,
      isOfTable: c.tables.some((t) => t.actions.some((b) => b.local === a.local)),
    }));

describe("state that the packet chooses a cell of", () => {
  it("stays in a table's action that runs on hits only", () => {
    const c = lowered({
      actions: [action("c.a", [], [add])],
      tables: [table("c.t", [["small", small, "exact"]], ["c.a"])],
      apply: [apply("c.t")],
    });
    expect(updaters(c)).toEqual([{ name: "a", isOfTable: true }]);
  });

  it("comes after a table whose default action has it: a table that misses has no hash", () => {
    const c = lowered({
      actions: [action("c.a", [], [add])],
      tables: [
        table("c.t", [["small", small, "exact"]], ["c.a"], {
          defaultAction: { action: "c.a", arguments: [], constant: true },
        }),
      ],
      apply: [apply("c.t")],
    });
    expect(updaters(c)).toEqual([{ name: "a_rest", isOfTable: false }]);
  });

  it("comes after a table whose actions choose different cells, in branches of one condition", () => {
    const c = lowered({
      actions: [action("c.a", [], [addAt(small)]), action("c.b", [], [addAt(other)])],
      tables: [table("c.t", [["small", small, "exact"]], ["c.a", "c.b"])],
      apply: [apply("c.t")],
    });
    expect(updaters(c).map((u) => u.isOfTable)).toEqual([false, false]);
    expect(c.block.map((s) => [s.kind, s.kind === "if" ? s.whenFalse.map((t) => t.kind) : []])).toEqual([
      ["applyTable", []],
      ["if", ["if"]],
    ]);
  });

  it("comes after a table that counts by itself, when it is a counter", () => {
    const c = lowered({
      registers: [],
      counters: [{ name: "c.n", size: 256, unit: "packets" }],
      actions: [action("c.a", [], [{ kind: "count", counter: "c.n", index: small }])],
      tables: [table("c.t", [["small", small, "exact"]], ["c.a"], { directCounter: "c.t_counter" })],
      apply: [apply("c.t")],
    });
    const counting = c.actions.filter((a) => a.steps.some((s) => s.kind === "count")).map((a) => a.local);
    expect(counting).toEqual(["a_rest"]);
  });

  it("has an action of its own, beside which constants are set", () => {
    const set: StraightStatement = assign(y, constant(5, u32));
    expect(apart([set, add, assign(other, constant(1, u8))])).toEqual([
      [set, assign(other, constant(1, u8))],
      [add],
    ]);
    // What the update reads is overwritten after it.
    expect(apart([set, add, assign(x, constant(1, u32))])).toEqual([
      [set],
      [add],
      [assign(x, constant(1, u32))],
    ]);
  });

  it("is not told apart by stage when two branches use it: the compiler sees only branches exclude each other", () => {
    const later = assign(x, arithmetic(y, "+", constant(1, u32)));
    const c = lowered({
      actions: [action("c.a", [], [addAt(small)]), action("c.b", [], [later, addAt(other)])],
      apply: [
        when(
          binary(small, "==", constant(1, u8)),
          [{ kind: "callAction", action: "c.a", arguments: [] }],
          [{ kind: "callAction", action: "c.b", arguments: [] }],
        ),
      ],
    });
    expect(c.block.map((s) => s.kind)).toEqual(["if"]);
  });
});
