import type {
  Action,
  Control,
  Expression,
  ParserState,
  Program,
  SourceLocation,
  Statement,
  StraightStatement,
  Table,
} from "../../src/ir/index.ts";
import { bit, bool, int, NO_ACTION } from "../../src/ir/index.ts";
import type { Dice } from "../backends/dice.ts";
import {
  assign,
  binary,
  cast,
  constant,
  extract,
  field,
  hash,
  intrinsic,
  memory,
  meta,
  mux,
  parameter,
  random,
  slice,
  unary,
  update,
  valid,
  when,
} from "../backends/nodes.ts";

/** Where the edited thing stands. */
export const editedAt: SourceLocation = { file: "edited.ts", line: 7, column: 3 };

/** Breaks one thing of a right program; undefined when the program has nothing of the kind. */
export type Edit = (p: Program, dice: Dice) => Program | undefined;

const at = editedAt;

function pick<T>(list: readonly T[], dice: Dice): T | undefined {
  return list[dice.below(Math.max(1, list.length))];
}

function withControl(p: Program, old: Control, made: Control): Program {
  return { ...p, controls: p.controls.map((c) => (c === old ? made : c)) };
}

/** Changes one of the tables that pass a test. */
function onTable(passes: (t: Table) => boolean, change: (t: Table, c: Control, dice: Dice) => Table): Edit {
  return (p, dice) => {
    const c = pick(
      p.controls.filter((x) => x.tables.some(passes)),
      dice,
    );
    const t = pick(c?.tables.filter(passes) ?? [], dice);
    if (c === undefined || t === undefined) return undefined;
    const tables = c.tables.map((x) => (x === t ? { ...change(t, c, dice), at } : x));
    return withControl(p, c, { ...c, tables });
  };
}

function onAction(
  passes: (a: Action) => boolean,
  change: (a: Action, c: Control, dice: Dice) => Action,
): Edit {
  return (p, dice) => {
    const c = pick(
      p.controls.filter((x) => x.actions.some(passes)),
      dice,
    );
    const a = pick(c?.actions.filter(passes) ?? [], dice);
    if (c === undefined || a === undefined) return undefined;
    const actions = c.actions.map((x) => (x === a ? { ...change(a, c, dice), at } : x));
    return withControl(p, c, { ...c, actions });
  };
}

/** Puts a statement in front of ingress, egress, or a control's own. */
function statement(
  make: (p: Program, c: Control, dice: Dice) => Statement | undefined,
  gress?: "ingress" | "egress",
): Edit {
  return (p, dice) => {
    const c = pick(
      p.controls.filter((x) => gress === undefined || x.gress === gress),
      dice,
    );
    if (c === undefined) return undefined;
    const s = make(p, c, dice);
    return s === undefined ? undefined : withControl(p, c, { ...c, apply: [{ ...s, at }, ...c.apply] });
  };
}

function value(
  make: (p: Program, dice: Dice) => readonly [StraightStatement["kind"] | "target", Expression] | Expression,
): Edit {
  return statement((p, _, dice) => {
    const made = make(p, dice);
    const e = "kind" in made ? made : made[1];
    const type = e.type;
    const target = p.metadata.find((m) => m.type.kind === type.kind && m.name !== "sink");
    if (type.kind === "bool") return when(e, [{ kind: "drop" }]);
    if (target === undefined) return undefined;
    const whole = type.kind === "bit" ? cast(e, target.type) : e;
    return assign(meta(target.name, target.type), whole);
  });
}

function onState(
  passes: (s: ParserState) => boolean,
  change: (s: ParserState, p: Program, dice: Dice) => ParserState,
): Edit {
  return (p, dice) => {
    const s = pick(p.parser.filter(passes), dice);
    if (s === undefined) return undefined;
    return { ...p, parser: p.parser.map((x) => (x === s ? { ...change(s, p, dice), at } : x)) };
  };
}

const base = (name: string, width: number) => field("base", name, bit(width));
const kind = base("kind", 8);
const b16 = base("b16", 16);
const b32 = base("b32", 32);
const sink = meta("sink", bit(32));

/** One thing wrong each; the key says what. */
export const wrongEdits: Readonly<Record<string, Edit>> = {
  "an assignment of another width": statement(() => assign(sink, b16)),
  "an assignment of another sign": statement(() =>
    assign(meta("kept", bit(16)), field("base", "i16", int(16))),
  ),
  "an assignment of a truth to bits": statement(() => assign(sink, valid("base"))),
  "an assignment to what cannot be written": statement(() =>
    assign(intrinsic("ingress_port"), constant(1, bit(9))),
  ),
  "an assignment of the egress port in egress": statement(
    () => assign(intrinsic("egress_port"), constant(1, bit(9))),
    "egress",
  ),
  "a constant too large": statement(() => assign(sink, constant(1n << 32n, bit(32)))),
  "a negative constant without sign": statement(() => assign(sink, constant(-1, bit(32)))),
  "a signed constant too large": value(() =>
    binary(field("base", "i16", int(16)), "+", constant(0x8000, int(16))),
  ),
  "a sum of two widths": value(() => binary(b32, "+", b16)),
  "a sum of two signs": value(() => binary(b16, "+", field("base", "i16", int(16)))),
  "a comparison of two widths": value(() => binary(b32, "<", b16)),
  "an operator for truths on bits": value(() => binary(kind, "&&", kind)),
  "an operator for bits on truths": statement(() => assign(sink, cast(unary("~", valid("base")), bit(32)))),
  "a shift as far as the value is wide": value(() => binary(kind, "<<", constant(8, bit(8)))),
  "a shift by a wide value": value(() => binary(b32, ">>", b16)),
  "a shift by a negative number": value(() => binary(b32, ">>", constant(-1, bit(8)))),
  "a slice beyond the value": value(() => slice(kind, 8, 1)),
  "a slice with its ends exchanged": value(() => slice(b16, 3, 5)),
  "a cast of width and sign": value(() => cast(b16, int(32))),
  "a cast of bits to a truth": value(() => cast(b16, bool)),
  "a width of nothing": value(() => cast(b16, bit(0))),
  "a width beyond all": value(() => cast(b16, bit(2049))),
  "a choice of two types": value(() => mux(valid("base"), b16, b32)),
  "a choice by a number": value(() => mux(kind, b16, b16)),
  "a number as a condition": statement(() => when(kind, [{ kind: "drop" }])),
  "a field that the header lacks": value(() => base("missing", 8)),
  "a field by another type": value(() => base("b32", 16)),
  "a header that is not there": value(() => field("nowhere", "kind", bit(8))),
  "metadata that are not there": value(() => meta("nowhere", bit(8))),
  "a parameter outside its action": value(() => parameter("p0", bit(8))),
  "a cell outside its update": value(() => memory("old", bit(8))),
  "validity of no header": value(() => valid("nowhere")),
  "a register that is not there": statement(() => update("nowhere.r", kind, memory("old", bit(8)))),
  "a counter that is not there": statement(() => ({ kind: "count", counter: "nowhere.c", index: kind })),
  "a meter that is not there": statement(() => ({
    kind: "meter",
    meter: "nowhere.m",
    index: kind,
    into: meta("colour", bit(2)),
  })),
  "a table that is not there": statement(() => ({
    kind: "applyTable",
    table: "nowhere.t",
    hit: [],
    miss: [],
  })),
  "an action that is not there": statement(() => ({
    kind: "callAction",
    action: "nowhere.a",
    arguments: [],
  })),
  "a control that is not there": statement(() => ({ kind: "applyControl", control: "nowhere" })),
  "a control of the other gress": statement(() => ({ kind: "applyControl", control: "last" }), "ingress"),
  "a stack that is not there": statement(() => ({ kind: "popFront", stack: "nowhere", count: 1 })),
  "a clone in egress": statement(() => ({ kind: "clone", session: b32 }), "egress"),
  "a hash of nothing": statement(() => hash(sink, "crc32", [])),
  "a hash to no buckets": statement(() => hash(sink, "crc32", [kind], { buckets: 0n })),
  "a hash beyond its target": statement(() => hash(meta("colour", bit(2)), "crc16", [kind], { buckets: 5n })),
  "the identity of part of a byte": statement(() => hash(sink, "identity", [base("b9", 9)])),
  "a random number from high to low": statement(() =>
    random(sink, constant(9, bit(32)), constant(3, bit(32))),
  ),
  "a random number of another width": statement(() => random(sink, kind, kind)),
  "a condition that is always false": value(() => binary(kind, "<", constant(0, bit(8)))),
  "a port that the switch lacks": statement(
    () => assign(intrinsic("egress_port"), constant(77, bit(9))),
    "ingress",
  ),
  "a register cell beyond the last": statement((_, c) => {
    const r = c.registers[0];
    return r === undefined ? undefined : update(r.name, constant(r.size, bit(32)), constant(0, r.type));
  }),
  "a counter cell beyond the last": statement((_, c) => {
    const k = c.counters[0];
    return k === undefined ? undefined : { kind: "count", counter: k.name, index: constant(k.size, bit(32)) };
  }),
  "a register value of another width": statement((_, c) => {
    const r = c.registers.find((x) => x.type.kind === "bit" && x.type.width !== 16);
    return r === undefined ? undefined : update(r.name, kind, b16);
  }),
  "an update without effect": statement((_, c) => {
    const r = c.registers[0];
    return r === undefined ? undefined : update(r.name, slice(kind, 1, 0), memory("old", r.type));
  }),
  "a call with an argument too many": statement((_, c, dice) => {
    const a = pick(c.actions, dice);
    return a === undefined
      ? undefined
      : {
          kind: "callAction",
          action: a.name,
          arguments: [...a.parameters.map((p) => constant(1, p.type)), kind],
        };
  }),
  "a table applied twice on a path": (p, dice) => {
    const c = pick(
      p.controls.filter((x) => x.tables.length > 0),
      dice,
    );
    const t = pick(c?.tables ?? [], dice);
    if (c === undefined || t === undefined) return undefined;
    const again: Statement = { kind: "applyTable", table: t.name, hit: [], miss: [], at };
    return withControl(p, c, { ...c, apply: [again, again] });
  },
  "statements behind an exit": statement((_, __, dice) =>
    dice.below(2) === 0 ? { kind: "exit" } : when(valid("base"), [{ kind: "exit" }], [{ kind: "exit" }]),
  ),
  "a table of no size": onTable(
    () => true,
    (t) => ({ ...t, size: 0 }),
  ),
  "a table of half a size": onTable(
    () => true,
    (t) => ({ ...t, size: 1.5 }),
  ),
  "a table with a word of P4 as its name": onTable(
    () => true,
    (t, c) => ({ ...t, name: `${c.name}.table` }),
  ),
  "a table with a space in its name": onTable(
    () => true,
    (t, c) => ({ ...t, name: `${c.name}.a b` }),
  ),
  "two keys of one name": onTable(
    (t) => t.key.length > 0,
    (t) => ({ ...t, key: [...t.key, ...t.key.slice(0, 1)], constEntries: [] }),
  ),
  "two longest prefixes": onTable(
    (t) => t.constEntries.length === 0,
    (t) => ({
      ...t,
      key: ["x", "y"].map((name) => ({ name, expression: b32, match: "lpm" as const })),
    }),
  ),
  "a key that is a constant": onTable(
    (t) => t.constEntries.length === 0,
    (t) => ({ ...t, key: [{ name: "x", expression: constant(3, bit(8)), match: "exact" as const }] }),
  ),
  "a key of a header that is not there": onTable(
    (t) => t.constEntries.length === 0,
    (t) => ({
      ...t,
      key: [{ name: "x", expression: field("nowhere", "x", bit(8)), match: "exact" as const }],
    }),
  ),
  "an action of nobody in a table's list": onTable(
    () => true,
    (t) => ({ ...t, actions: [...t.actions, "nowhere.a"] }),
  ),
  "a default action of nobody": onTable(
    (t) => t.implementation === undefined,
    (t) => ({ ...t, defaultAction: { action: "nowhere.a", arguments: [], constant: false } }),
  ),
  "a default argument too many": onTable(
    (t) => t.implementation === undefined && t.directMeter === undefined,
    (t) => ({ ...t, defaultAction: { ...t.defaultAction, arguments: [...t.defaultAction.arguments, 1n] } }),
  ),
  "entries without a key": onTable(
    (t) => t.key.length === 0 && t.implementation === undefined,
    (t) => ({ ...t, constEntries: [{ action: t.actions[0] ?? NO_ACTION, arguments: [], keys: [], at }] }),
  ),
  "an entry with a value too few": onTable(
    (t) => t.constEntries.length > 0,
    (t) => ({
      ...t,
      constEntries: t.constEntries.map((e, i) => (i === 0 ? { ...e, keys: e.keys.slice(1), at } : e)),
    }),
  ),
  "an entry beyond its key": onTable(
    (t) => t.constEntries.length > 0,
    (t) => ({
      ...t,
      constEntries: t.constEntries.map((e, i) =>
        i === 0 ? { ...e, keys: e.keys.map(() => ({ kind: "value" as const, value: 1n << 200n })), at } : e,
      ),
    }),
  ),
  "an entry that an earlier one covers": onTable(
    (t) => t.constEntries.length > 0 && t.size > t.constEntries.length,
    (t) => ({
      ...t,
      constEntries: [...t.constEntries, ...t.constEntries.slice(0, 1).map((e) => ({ ...e, at }))],
    }),
  ),
  "an argument beyond its parameter": onTable(
    (t) => t.constEntries.some((e) => e.arguments.length > 0),
    (t) => ({
      ...t,
      constEntries: t.constEntries.map((e) => ({ ...e, arguments: e.arguments.map(() => 1n << 200n), at })),
    }),
  ),
  "a profile that is not there": onTable(
    (t) => t.key.length > 0,
    (t) => ({ ...t, implementation: "nowhere.p" }),
  ),
  "a parameter that nobody uses": (p, dice) => {
    const c = pick(
      p.controls.filter((x) => x.tables.some((t) => t.implementation === undefined)),
      dice,
    );
    const table = c?.tables.find((t) => t.implementation === undefined);
    if (c === undefined || table === undefined) return undefined;
    const name = `${c.name}.spare`;
    const spare: Action = { name, parameters: [{ name: "spare", type: bit(8) }], body: [], at };
    const tables = c.tables.map((t) => (t === table ? { ...t, actions: [...t.actions, name] } : t));
    return withControl(p, c, { ...c, tables, actions: [...c.actions, spare] });
  },
  "two parameters of one name": onAction(
    (a) => a.parameters.length > 0,
    (a) => ({ ...a, parameters: [...a.parameters, ...a.parameters.slice(0, 1)] }),
  ),
  "a parameter with a word of P4 as its name": onAction(
    () => true,
    (a) => ({ ...a, parameters: [...a.parameters, { name: "in", type: bit(8) }] }),
  ),
  "a parameter without width": onAction(
    () => true,
    (a) => ({ ...a, parameters: [...a.parameters, { name: "none", type: bit(0) }] }),
  ),
  "an action of nobody's use": onAction(
    () => true,
    (a, c) => ({ ...a, name: `${c.name}.unused` }),
  ),
  "an unknown way of the parser": onState(
    () => true,
    (s) => ({ ...s, transition: { kind: "goto", next: "nowhere" } }),
  ),
  "a parser that stands still": onState(
    (s) => s.name === "start",
    (s) => ({ ...s, transition: { kind: "goto", next: "start" } }),
  ),
  "a header extracted twice": onState(
    (s) => s.name !== "start",
    (s) => ({ ...s, steps: [{ ...extract("base"), at }, ...s.steps] }),
  ),
  "an extract of no header": onState(
    () => true,
    (s) => ({ ...s, steps: [...s.steps, { ...extract("nowhere"), at }] }),
  ),
  "an advance by part of a byte": onState(
    () => true,
    (s) => ({ ...s, steps: [...s.steps, { kind: "advance", bits: constant(3, bit(32)), at }] }),
  ),
  "a select on a truth by 2": onState(
    () => true,
    (s) => ({
      ...s,
      transition: {
        kind: "select",
        keys: [valid("base")],
        cases: [{ values: [{ kind: "value", value: 2n }], next: "reject", at }],
        otherwise: "accept",
      },
    }),
  ),
  "a select with a value too many": onState(
    () => true,
    (s) => ({
      ...s,
      transition: {
        kind: "select",
        keys: [intrinsic("ingress_port")],
        cases: [{ values: [{ kind: "value", value: 2n }, { kind: "any" }], next: "reject", at }],
        otherwise: "accept",
      },
    }),
  ),
  "a case behind one that covers it": onState(
    () => true,
    (s) => ({
      ...s,
      transition: {
        kind: "select",
        keys: [intrinsic("ingress_port")],
        cases: [
          { values: [{ kind: "range", low: 2n, high: 9n }], next: "reject" },
          { values: [{ kind: "value", value: 4n }], next: "accept", at },
        ],
        otherwise: "accept",
      },
    }),
  ),
  "a select that decides nothing": onState(
    (s) => s.transition.kind === "goto",
    (s) => {
      const next = s.transition.kind === "goto" ? s.transition.next : "accept";
      const cases = [{ values: [{ kind: "value" as const, value: 4n }], next, at }];
      return {
        ...s,
        transition: { kind: "select", keys: [intrinsic("ingress_port")], cases, otherwise: next },
      };
    },
  ),
  "a parser state twice": (p) => ({
    ...p,
    parser: [...p.parser, ...p.parser.slice(0, 1).map((s) => ({ ...s, at }))],
  }),
  "a parser state that nothing leads to": (p) => ({
    ...p,
    parser: [...p.parser, { name: "lonely", steps: [], transition: { kind: "goto", next: "accept" }, at }],
  }),
  "metadata twice": (p) => ({ ...p, metadata: [...p.metadata, { name: "kept", type: bit(8), at }] }),
  "a header twice": (p) => ({
    ...p,
    headers: [...p.headers, { name: "base", headerType: p.headerTypes[0]?.name ?? "", at }],
  }),
  "a header of an unknown type": (p) => ({
    ...p,
    headers: [...p.headers, { name: "lost", headerType: "nowhere", at }],
  }),
  "a header of part of a byte": (p) => ({
    ...p,
    headerTypes: [...p.headerTypes, { name: "part", fields: [{ name: "x", type: bit(5) }], at }],
  }),
  "a stack without elements": (p) => ({
    ...p,
    headers: [...p.headers, { name: "none", headerType: p.headerTypes[0]?.name ?? "", elements: 0, at }],
  }),
  "a union without members": (p) => ({
    ...p,
    unions: [...(p.unions ?? []), { name: "none", members: [], at }],
  }),
  "metadata with a name of P4": (p) => ({
    ...p,
    metadata: [...p.metadata, { name: "transition", type: bit(8), at }],
  }),
  "a register without cells": (p, dice) => {
    const c = pick(p.controls, dice);
    return c === undefined
      ? undefined
      : withControl(p, c, {
          ...c,
          registers: [...c.registers, { name: `${c.name}.none`, type: bit(8), size: 0, at }],
        });
  },
  "a register of truths": (p, dice) => {
    const c = pick(p.controls, dice);
    return c === undefined
      ? undefined
      : withControl(p, c, {
          ...c,
          registers: [...c.registers, { name: `${c.name}.truths`, type: bool, size: 2, at }],
        });
  },
  "a header that nobody extracts, read": (p, dice) => {
    const type = p.headerTypes[0];
    const f = type?.fields[0];
    const made = statement(() =>
      f === undefined
        ? undefined
        : assign(
            meta("kept", bit(16)),
            mux(
              binary(field("lost", f.name, f.type), "==", field("lost2", f.name, f.type)),
              constant(1, bit(16)),
              constant(2, bit(16)),
            ),
          ),
    )(p, dice);
    if (made === undefined || type === undefined) return undefined;
    return {
      ...made,
      headers: [...p.headers, ...["lost", "lost2"].map((name) => ({ name, headerType: type.name }))],
    };
  },
};
