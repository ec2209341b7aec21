import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { CellStatement } from "../../../src/backends/tna/lowered.ts";
import { cellProgram } from "../../../src/backends/tna/salu.ts";
import { isAtom, stagesOf } from "../../../src/backends/tna/stages.ts";
import type { ArithmeticOperator, Assign, Expression, Target } from "../../../src/ir/index.ts";
import { bit, int } from "../../../src/ir/index.ts";
import {
  arithmetic,
  assign,
  binary,
  cast,
  concat,
  constant,
  memory,
  meta,
  mux,
  register,
  slice,
  update,
} from "../nodes.ts";
import { evaluate } from "../reference.ts";

const u8 = bit(8);
const names = ["a", "b", "c", "d"] as const;
type Fields = ReadonlyMap<string, bigint>;

const fieldNode = fc.constantFrom(...names).map((n) => meta(n, u8));
const operator = fc.constantFrom<ArithmeticOperator>("+", "-", "|+|", "|-|", "&", "|", "^");
const atom: fc.Arbitrary<Expression> = fc.oneof(
  { arbitrary: fieldNode, weight: 4 },
  { arbitrary: fc.integer({ min: 0, max: 255 }).map((n) => constant(n, u8)), weight: 1 },
);
const value: fc.Arbitrary<Expression> = fc.oneof(
  { arbitrary: atom, weight: 3 },
  { arbitrary: fc.tuple(atom, operator, atom).map(([l, op, r]) => arithmetic(l, op, r)), weight: 2 },
  {
    arbitrary: fc
      .tuple(atom, operator, atom, operator, atom)
      .map(([x, p, y, q, z]) => arithmetic(arithmetic(x, p, y), q, z)),
    weight: 1,
  },
  {
    arbitrary: fc.tuple(fieldNode, fieldNode).map(([l, r]) => concat(slice(l, 5, 1), slice(r, 7, 5))),
    weight: 1,
  },
);
const statement: fc.Arbitrary<Assign> = fc.oneof(
  { arbitrary: fc.tuple(fieldNode, value).map(([t, v]) => assign(t, v)), weight: 4 },
  {
    arbitrary: fc.tuple(fieldNode, fieldNode).map(([t, v]) => assign(slice(t, 3, 0), slice(v, 7, 4))),
    weight: 1,
  },
);

function store(fields: Map<string, bigint>, t: Target, v: bigint): void {
  if (t.kind === "metadata") fields.set(t.name, v);
  if (t.kind !== "slice" || t.operand.kind !== "metadata") return;
  const mask = ((1n << BigInt(t.high - t.low + 1)) - 1n) << BigInt(t.low);
  fields.set(t.operand.name, ((fields.get(t.operand.name) ?? 0n) & ~mask) | (v << BigInt(t.low)));
}

const reader = (fields: Fields) => (e: Expression) =>
  e.kind === "metadata" ? (fields.get(e.name) ?? 0n) : 0n;

/** In order, as P4 says. */
function inOrder(statements: readonly Assign[], start: Fields): Fields {
  const fields = new Map(start);
  for (const s of statements) store(fields, s.target, evaluate(s.value, reader(fields)));
  return fields;
}

/**
 * As a Tofino stage does: all operations see the fields from before the stage, but for moves of what a move of the same stage
 * wrote, which the compiler traces back to where that came from.
 */
function inParallel(stage: readonly Assign[], start: Fields): Fields {
  const moved = new Map<string, bigint>();
  const results = stage.map((s): readonly [Target, bigint] => {
    const isMove = isAtom(s.value);
    const v = evaluate(s.value, (e) =>
      e.kind !== "metadata" ? 0n : ((isMove ? moved.get(e.name) : undefined) ?? start.get(e.name) ?? 0n),
    );
    if (isMove && s.target.kind === "metadata") moved.set(s.target.name, v);
    return [s.target, v];
  });
  const fields = new Map(start);
  for (const [t, v] of results) store(fields, t, v);
  return fields;
}

const fieldValues = fc
  .tuple(...names.map(() => fc.bigInt({ min: 0n, max: 255n })))
  .map((values): Fields => new Map(names.map((n, i) => [n, values[i] ?? 0n])));

describe("stages", () => {
  it("compute in parallel what the statements compute in order", () => {
    fc.assert(
      fc.property(fc.array(statement, { maxLength: 7 }), fieldValues, (statements, start) => {
        let isRefused = false;
        const stages = stagesOf(statements, () => {
          isRefused = true;
        });
        fc.pre(!isRefused);
        const assigns = stages.map((stage) => stage.flatMap((s) => (s.kind === "assign" ? [s] : [])));
        const staged = assigns.reduce((fields, stage) => inParallel(stage, fields), start);
        expect([...staged]).toEqual([...inOrder(statements, start)]);
        // The text of a stage is one P4 action, which the compiler reads in order.
        expect([...assigns.reduce((fields, stage) => inOrder(stage, fields), start)]).toEqual([...staged]);
      }),
      { numRuns: 2000 },
    );
  });
});

const u32 = bit(32);
const [x, small] = [meta("x", u32), meta("small", u8)];
const [old, next] = [memory("old", u32), memory("next", u32)];
const edge = fc.constantFrom(0n, 1n, 2n, 0x7fff_ffffn, 0x8000_0000n, 0x8000_0001n, 0xffff_ffffn);
const word = fc.oneof(edge, fc.bigInt({ min: 0n, max: 0xffff_ffffn }));

const isNewer = binary(cast(arithmetic(x, "-", old), int(32)), ">", constant(0, int(32)));
const isEqual = binary(x, "==", old);
const restarts = binary(small, "==", constant(2, u8));
const programs: readonly (readonly [string, Expression, Expression])[] = [
  [
    "a round",
    mux(isNewer, x, old),
    mux(isEqual, constant(1, u32), mux(isNewer, constant(2, u32), constant(0, u32))),
  ],
  ["a look at the round", old, mux(isEqual, constant(1, u32), constant(0, u32))],
  [
    "a bitmap",
    mux(restarts, x, arithmetic(old, "|", x)),
    mux(restarts, constant(0, u32), arithmetic(old, "&", x)),
  ],
  ["a bitmap read after", mux(restarts, x, arithmetic(old, "|", x)), next],
  ["a lane", mux(restarts, x, arithmetic(old, "+", x)), next],
];

/** Runs a stateful program as P4 says: statements in order on `value` and `result`. */
function runCell(
  body: readonly CellStatement[],
  cell: { value: bigint; result: bigint },
  fields: Fields,
): void {
  const read = (e: Expression): bigint => {
    if (e.kind === "memory") return cell.value;
    return e.kind === "metadata" ? (fields.get(e.name) ?? 0n) : 0n;
  };
  for (const s of body) {
    if (s.kind === "set") cell[s.target] = evaluate(s.value, read);
    else runCell(evaluate(s.condition, read) === 1n ? s.whenTrue : s.whenFalse, cell, fields);
  }
}

describe("stateful programs", () => {
  it.each(programs)("compute what the update says: %s", (_, nextValue, output) => {
    const refused: string[] = [];
    const body = cellProgram(
      update("c.r", small, nextValue, output, meta("y", u32)),
      register("c.r", u32, 16),
      (code) => refused.push(code),
    );
    expect(refused).toEqual([]);
    fc.assert(
      fc.property(word, word, fc.bigInt({ min: 0n, max: 3n }), (cellValue, packet, relation) => {
        const fields: Fields = new Map([
          ["x", packet],
          ["small", relation],
        ]);
        const at = (after: bigint) => (e: Expression) =>
          e.kind === "memory" ? (e.which === "old" ? cellValue : after) : reader(fields)(e);
        const after = evaluate(nextValue, at(0n));
        const cell = { value: cellValue, result: 0n };
        runCell(body, cell, fields);
        expect(cell).toEqual({ value: after, result: evaluate(output, at(after)) });
      }),
      { numRuns: 500 },
    );
  });
});
