import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { flattened } from "../../../src/backends/tna/flat.ts";
import { levelsOf, Scopes } from "../../../src/backends/tna/levels.ts";
import { lowerTna } from "../../../src/backends/tna/lower.ts";
import type {
  Step,
  TnaAction,
  TnaBlock,
  TnaControl,
  TnaProgram,
  TnaStatement,
  TnaTable,
} from "../../../src/backends/tna/lowered.ts";
import type { Expression } from "../../../src/ir/index.ts";
import { bit } from "../../../src/ir/index.ts";
import { arithmetic, assign, binary, constant, field as headerField, meta, program } from "../nodes.ts";
import { evaluate } from "../reference.ts";

const u8 = bit(8);
const names = ["a", "b", "c", "d"] as const;
const empty = lowerTna(program("p", { metadata: names.map((name) => ({ name, type: u8 })) }));

const steps = (...list: readonly Step[]): TnaStatement => ({ kind: "steps", steps: list });
const set = (name: string, value: Expression): Step =>
  assign(meta(name, u8), value) as Step & { kind: "assign" };
const ask = (condition: Expression, whenTrue: TnaBlock, whenFalse: TnaBlock = []): TnaStatement => ({
  kind: "if",
  condition,
  whenTrue,
  whenFalse,
});
const equals = (name: string, value: number) => binary(meta(name, u8), "==", constant(value, u8));
const action = (local: string, ...list: readonly Step[]): TnaAction => ({
  name: local,
  local,
  parameters: [],
  updates: [],
  units: [],
  steps: list,
});
/** Hits when its key is odd. */
const table = (local: string, key: string, hit: string, miss: string): TnaTable => ({
  name: local,
  local,
  key: [{ name: key, expression: meta(key, u8), match: "exact" }],
  actions: [
    { name: hit, local: hit, defaultOnly: false },
    { name: miss, local: miss, defaultOnly: true },
  ],
  size: 8,
  defaultAction: { action: miss, arguments: [], constant: true },
  constEntries: [],
});

const ACTIONS: readonly TnaAction[] = [
  action("add", set("b", arithmetic(meta("b", u8), "+", constant(1, u8)))),
  action("copy", set("c", meta("a", u8))),
  action("both", set("a", constant(3, u8)), set("d", meta("b", u8))),
];
const TABLES: readonly TnaTable[] = [table("t", "a", "add", "copy"), table("u", "d", "both", "add")];

function control(name: string, block: TnaBlock): TnaControl {
  return {
    name,
    type: name,
    gress: "ingress",
    instances: [],
    actions: ACTIONS,
    tables: TABLES,
    registers: [],
    counters: [],
    directCounters: [],
    meters: [],
    directMeters: [],
    actionProfiles: [],
    block,
  };
}

/** A program whose ingress applies these controls, and then runs the block. */
function tna(controls: readonly TnaBlock[], block: TnaBlock): TnaProgram {
  const all = controls.map((b, i) => control(`c${i}`, b));
  return {
    ...empty,
    controls: all,
    ingress: {
      ...empty.ingress,
      instances: all.map((c) => ({ control: c.name, type: c.type, name: `${c.name}_instance` })),
      block,
    },
  };
}

type Fields = Map<string, bigint>;

class Ended extends Error {}

/** Runs ingress statement by statement, as P4 says. */
function run(p: TnaProgram, start: ReadonlyMap<string, bigint>): ReadonlyMap<string, bigint> {
  const fields: Fields = new Map(start);
  const read = (e: Expression): bigint => (e.kind === "metadata" ? (fields.get(e.name) ?? 0n) : 0n);
  const doSteps = (list: readonly Step[]): void => {
    for (const s of list)
      if (s.kind === "assign" && s.target.kind === "metadata")
        fields.set(s.target.name, evaluate(s.value, read));
  };
  const call = (local: string): void => doSteps(ACTIONS.find((a) => a.local === local)?.steps ?? []);
  const block = (b: TnaBlock): void => {
    for (const s of b) statement(s);
  };
  const statement = (s: TnaStatement): void => {
    switch (s.kind) {
      case "steps":
        doSteps(s.steps);
        break;
      case "if":
        block(evaluate(s.condition, read) === 1n ? s.whenTrue : s.whenFalse);
        break;
      case "callAction":
        call(s.local);
        break;
      case "applyTable": {
        const found = TABLES.find((t) => t.local === s.local);
        const isHit = (fields.get(found?.key[0]?.name ?? "") ?? 0n) % 2n === 1n;
        call(found?.actions[isHit ? 0 : 1]?.local ?? "");
        block(isHit ? s.hit : s.miss);
        break;
      }
      case "applyControl":
        block(p.controls.find((c) => `${c.name}_instance` === s.instance)?.block ?? []);
        break;
      case "exit":
        throw new Ended();
    }
  };
  try {
    block(p.ingress.block);
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
  }
  return new Map(names.map((n) => [n, fields.get(n) ?? 0n]));
}

/** The program in P4's manner, for counterexamples. */
function shown(p: TnaProgram): string {
  const e = (x: Expression): string =>
    x.kind === "binary"
      ? `(${e(x.left)} ${x.operator} ${e(x.right)})`
      : x.kind === "metadata"
        ? x.name
        : x.kind === "constant"
          ? String(x.value)
          : x.kind === "unary"
            ? `${x.operator}${e(x.operand)}`
            : x.kind;
  const one = (s: TnaStatement): string => {
    switch (s.kind) {
      case "steps":
        return s.steps
          .map((t) =>
            t.kind === "assign" && t.target.kind === "metadata" ? `${t.target.name} = ${e(t.value)};` : "?",
          )
          .join(" ");
      case "if":
        return `if ${e(s.condition)} { ${all(s.whenTrue)} } else { ${all(s.whenFalse)} }`;
      case "callAction":
        return `${s.local}();`;
      case "applyTable":
        return `${s.local}.apply() hit { ${all(s.hit)} } miss { ${all(s.miss)} }`;
      case "applyControl":
        return `${s.instance}.apply();`;
      case "exit":
        return "exit;";
    }
  };
  const all = (b: TnaBlock): string => b.map(one).join(" ");
  return [...p.controls.map((c) => `${c.name}: ${all(c.block)}`), `ingress: ${all(p.ingress.block)}`].join(
    "\n",
  );
}

const field = fc.constantFrom(...names);
const condition = fc.tuple(field, fc.integer({ min: 0, max: 3 })).map(([n, v]) => equals(n, v));
const conditions = fc.oneof(
  condition,
  fc
    .tuple(condition, fc.constantFrom<"&&" | "||">("&&", "||"), condition)
    .map(([l, op, r]) => binary(l, op, r)),
);
const step = fc.oneof(
  fc.tuple(field, field).map(([t, v]) => set(t, meta(v, u8))),
  fc.tuple(field, fc.integer({ min: 0, max: 3 })).map(([t, v]) => set(t, constant(v, u8))),
);
const leaf: fc.Arbitrary<TnaStatement> = fc.oneof(
  step.map((s) => steps(s)),
  fc
    .constantFrom("add", "copy", "both")
    .map((local) => ({ kind: "callAction", local, arguments: [] }) as const),
  fc.constantFrom("t", "u").map((local) => ({ kind: "applyTable", local, hit: [], miss: [] }) as const),
);
const blocks = (depth: number): fc.Arbitrary<TnaBlock> => {
  const inner = depth === 0 ? fc.constant<TnaBlock>([]) : blocks(depth - 1);
  const nested: fc.Arbitrary<TnaStatement> = fc.oneof(
    fc.tuple(conditions, inner, inner).map(([c, t, f]) => ask(c, t, f)),
    fc
      .tuple(fc.constantFrom("t", "u"), inner, inner)
      .map(([local, hit, miss]) => ({ kind: "applyTable", local, hit, miss }) as const),
  );
  return fc.array(depth === 0 ? leaf : fc.oneof(leaf, nested), { maxLength: 4 });
};
/** Ingress: controls where conditions ask for them, with an end in front or without. */
const programs = fc
  .tuple(blocks(2), blocks(2), blocks(2), conditions, conditions, conditions, fc.boolean())
  .map(([one, two, three, first, second, end, hasEnd]) => {
    const apply = (i: number): TnaStatement => ({ kind: "applyControl", instance: `c${i}_instance` });
    return tna(
      [one, two, three],
      [
        ...(hasEnd ? [ask(end, [steps(set("d", constant(9, u8))), { kind: "exit" } as const])] : []),
        ask(first, [apply(0), steps(set("b", meta("c", u8)))], [steps(set("a", meta("b", u8)))]),
        ask(second, [ask(end, [apply(1)])], [steps(set("c", constant(1, u8))), apply(2)]),
      ],
    );
  });
const starts = fc
  .tuple(...names.map(() => fc.bigInt({ min: 0n, max: 4n })))
  .map((values) => new Map(names.map((n, i) => [n, values[i] ?? 0n])));

describe("a program with less nesting", () => {
  it("computes what the nested one computes", () => {
    fc.assert(
      fc.property(programs, starts, (p, start) => {
        const flat = flattened(p);
        const [got, wanted] = [flat, p].map((one) => [...run(one, start)]);
        if (!isDeepStrictEqual(got, wanted)) expect(got, `${shown(p)}\n->\n${shown(flat)}`).toEqual(wanted);
      }),
      { numRuns: process.env.GRADPLANE_LONG_TESTS === undefined ? 300 : 2000 },
    );
  }, 180_000);

  it("asks the condition again for what later stages do", () => {
    const p = tna(
      [],
      [
        ask(equals("a", 1), [
          steps(set("b", constant(1, u8))),
          steps(set("c", meta("b", u8))),
          steps(set("d", constant(1, u8))),
        ]),
      ],
    );
    const { block } = flattened(p).ingress;
    expect(block.map((s) => (s.kind === "if" ? s.whenTrue.length : 0))).toEqual([2, 1]);
  });

  it("does not ask again when the answer would be another", () => {
    const nested = [ask(equals("a", 1), [steps(set("a", constant(2, u8))), steps(set("c", meta("a", u8)))])];
    expect(flattened(tna([], nested)).ingress.block).toEqual(nested);
  });

  it("puts what comes after an exit into the other branch", () => {
    const p = tna(
      [],
      [
        ask(equals("a", 1), [steps(set("b", constant(1, u8))), { kind: "exit" }]),
        steps(set("b", constant(2, u8))),
      ],
    );
    expect(flattened(p).ingress.block).toEqual([
      ask(equals("a", 1), [steps(set("b", constant(1, u8)))], [steps(set("b", constant(2, u8)))]),
    ]);
  });
});

describe("stages by data alone", () => {
  const levels = (block: TnaBlock): readonly (number | undefined)[] => {
    const found = levelsOf(new Scopes(tna([], block)));
    return block.map((s) => found.get(s));
  };

  it("a reader comes after a writer, a second writer too; who overwrites what was read may share its stage", () => {
    expect(
      levels([
        steps(set("a", constant(1, u8))),
        steps(set("b", meta("a", u8))),
        steps(set("a", constant(2, u8))),
        steps(set("c", constant(2, u8))),
      ]),
    ).toEqual([0, 1, 1, 0]);
  });

  it("a header becomes invalid after its fields have been read, and valid before they are written", () => {
    const code = headerField("row", "code", u8);
    const validity = (valid: boolean): Step => ({ kind: "setValidity", header: "row", valid });
    expect(
      levels([
        steps(set("a", arithmetic(meta("b", u8), "+", meta("c", u8)))),
        ask(binary(meta("a", u8), "==", constant(1, u8)), [steps(set("d", code))]),
        steps(validity(false)),
        steps({ kind: "setValidity", header: "lanes", valid: false }),
      ]).slice(2),
    ).toEqual([1, 0]);
  });
});
