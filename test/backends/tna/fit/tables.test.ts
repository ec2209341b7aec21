import { describe, expect, it } from "vitest";
import { fitReport } from "../../../../src/backends/tna/fit/index.ts";
import { type FitTable, fitTables } from "../../../../src/backends/tna/fit/tables.ts";
import { lowerTna } from "../../../../src/backends/tna/lower.ts";
import type { MatchKind, Statement } from "../../../../src/ir/index.ts";
import { bit } from "../../../../src/ir/index.ts";
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
  program,
  register,
  slice,
  table,
  update,
  when,
} from "../../nodes.ts";

const WIDTHS = { wide: 32, other: 32, more: 32, small: 8, unseen: 8, seen: 8 } as const;
const m = (name: keyof typeof WIDTHS) => meta(name, bit(WIDTHS[name]));
const number = (value: number, width = 8) => constant(value, bit(width));

function tables(...ingress: readonly Statement[]): readonly FitTable[] {
  const metadata = Object.entries(WIDTHS).map(([name, width]) => ({ name, type: bit(width) }));
  return fitTables(lowerTna(program("p", { metadata, ingress }))).tables;
}

const reader = when(binary(m("seen"), "==", number(1)), [{ kind: "drop" }]);

describe("logical tables", () => {
  it("are one more for what one gateway cannot ask", () => {
    const one = binary(m("wide"), "!=", number(0, 32));
    const two = binary(one, "&&", binary(m("other"), "==", m("more")));
    const asked = (condition: typeof one) =>
      tables(when(condition, [assign(m("seen"), number(1))]), reader).filter((t) => t.kind === "condition");
    expect(asked(one)).toHaveLength(2);
    expect(asked(two)).toHaveLength(3);
    const [outer, inner] = asked(two);
    expect(outer?.next.flatMap((s) => s.tables)).toContain(inner);
  });

  it("are none for values that nobody reads", () => {
    const used = [assign(m("seen"), arithmetic(m("small"), "+", number(1))), reader];
    expect(tables(...used)).toHaveLength(tables(assign(m("unseen"), m("small")), ...used).length);
  });
});

/** A table of six bytes of key, of which its register keeps all entries in one stage. */
function ranged(size: number, last: MatchKind) {
  const seen = m("seen");
  const t = table(
    "c.t",
    [
      ["small", m("small"), "exact"],
      ["middle", slice(m("wide"), 9, 2), "range"],
      ["unseen", m("unseen"), last],
    ],
    ["c.a"],
    { size },
  );
  const counted = update("c.r", seen, binary(memory("old", bit(32)), "+", m("other")), undefined, m("other"));
  return fitReport(
    lowerTna(
      program("p", {
        metadata: Object.entries(WIDTHS).map(([name, width]) => ({ name, type: bit(width) })),
        controls: [
          control("c", {
            registers: [register("c.r", bit(32), 256)],
            actions: [action("c.a", [], [counted])],
            tables: [t],
            apply: [apply("c.t")],
          }),
        ],
        ingress: [
          assign(intrinsic("egress_port"), constant(1, bit(9))),
          { kind: "applyControl", control: "c" },
        ],
      }),
    ),
  ).verdict;
}

describe("a range over a slice of a field", () => {
  it("takes both halves of each byte that it meets, and no half byte between bytes", () => {
    expect(ranged(4096, "ternary")).toBe("fits");
    expect(ranged(5000, "range")).toBe("no");
  });
});
