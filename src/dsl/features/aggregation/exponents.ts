import type { BitType } from "../../../ir/index.ts";
import { bit, int } from "../../../ir/index.ts";
import { MAX_DIFFERENCE, MAX_SHIFT, roundingConstant } from "../../../numeric/block.ts";
import type { ProgramBuilder } from "../../program.ts";
import { type ControlHandle, exactly, type Steps, type Table } from "../../steps.ts";
import { mux, type Num } from "../../value.ts";
import { type AggregationFields, cells, u32 } from "./fields.ts";
import type { FullAggregationOptions } from "./options.ts";

export interface BlockControls {
  /** For every request that is in order: finds out how far a row has to be shifted, and takes its announcement. */
  readonly exponents: ControlHandle;
  /** For contributions: shifts the row. */
  readonly align: ControlHandle;
}

/**
 * Mode block: the exponents that the slot's rounds have agreed on (`numeric/block.ts`). The two registers of a bank take turns: the one
 * that holds the exponent for the packet's round is read, the other takes the announcement for the round after next. Neither
 * needs to know how the round compares with the slot's, since words of older rounds change nothing.
 */
export function blockControls(
  p: ProgramBuilder,
  o: FullAggregationOptions,
  f: AggregationFields,
): BlockControls | undefined {
  const { shift } = f;
  if (f.exponents === undefined || shift === undefined) return undefined;
  const { current, next } = f.exponents;
  const c = p.control("exponents", "ingress", "The exponents that the rounds of a slot have agreed on.");
  const actions = (turn: "even" | "odd") => {
    const register = c.register(
      turn,
      u32,
      cells(o),
      `word of the exponent for rounds whose bit 1 is ${turn === "even" ? 0 : 1}`,
    );
    return {
      measure: c.action(`measure_${turn}`, {}, (a) =>
        a.update(register, {
          index: f.index,
          next: (old) => old,
          output: ({ old }) => old.sub(current),
          into: shift,
        }),
      ),
      announce: c.action(
        `announce_${turn}`,
        {},
        (a) => a.update(register, { index: f.index, next: (old) => mux(isNewer(next, old), next, old) }),
        "the largest exponent of the newest round",
      ),
      setCurrent: c.action(`reset_current_${turn}`, {}, (a) =>
        a.update(register, { index: f.index, next: () => current }),
      ),
      setNext: c.action(`reset_next_${turn}`, {}, (a) =>
        a.update(register, { index: f.index, next: () => next }),
      ),
    };
  };
  const { REQUEST } = f.names;
  const [even, odd] = [actions("even"), actions("odd")];
  const now = (turn: "even" | "odd", own: typeof even) =>
    c.table(`${turn}_now`, {
      doc: "the exponent of the packet's round",
      key: { request: exactly(f.request) },
      actions: [own.measure, own.setCurrent],
      size: 4,
      constDefault: true,
      entries: [
        { key: { request: REQUEST.contribution }, run: own.measure.with({}) },
        { key: { request: REQUEST.null }, run: own.measure.with({}) },
        { key: { request: REQUEST.collect }, run: own.measure.with({}) },
        { key: { request: REQUEST.reset }, run: own.setCurrent.with({}) },
      ],
    });
  const later = (turn: "even" | "odd", other: typeof even) =>
    c.table(`${turn}_next`, {
      doc: "the exponent of the round after next; who only asks announces nothing",
      key: { request: exactly(f.request) },
      actions: [other.announce, other.setNext],
      size: 4,
      constDefault: true,
      entries: [
        { key: { request: REQUEST.contribution }, run: other.announce.with({}) },
        { key: { request: REQUEST.null }, run: other.announce.with({}) },
        { key: { request: REQUEST.reset }, run: other.setNext.with({}) },
      ],
    });
  const isEven = f.agg.round.slice(1, 1).eq(0);
  const inEvenRound = [now("even", even), later("odd", odd)];
  const inOddRound = [now("odd", odd), later("even", even)];
  const applyAll = (tables: readonly Table[]) => (s: Steps) => {
    for (const t of tables) s.apply(t);
  };
  c.apply((s) => s.if(isEven, applyAll(inEvenRound), applyAll(inOddRound)));
  return { exponents: c, align: alignControl(p, f, shift) };
}

/** Words as serial numbers: the difference, read as signed, is positive. */
function isNewer(word: Num<BitType>, old: Num<BitType>) {
  return word.sub(old).cast(int(32)).gt(0);
}

/** Shifts a row to the exponent of its slot; marks one that does not fit. */
function alignControl(
  p: ProgramBuilder,
  f: AggregationFields,
  shift: NonNullable<AggregationFields["shift"]>,
): ControlHandle {
  const c = p.control("align", "ingress", "Shifts a row's integers to the exponent of its slot.");
  const round = c.action(
    "add_half",
    { half: u32 },
    (a, { half }) => {
      for (const lane of f.lane) a.set(lane, lane.add(half));
    },
    "half a unit of what remains",
  );
  const asIs = c.action("as_is", {}, () => {});
  const shifts = Array.from({ length: MAX_SHIFT }, (_, i) => i + 1);
  const rounding = c.table("rounding", {
    doc: "halves go up for members with an even number and down for the others, so that sums are not biased",
    key: { shift: exactly(shift), odd_member: exactly(f.agg.member.slice(0, 0)) },
    actions: [round, asIs],
    size: 2 * MAX_SHIFT,
    defaultAction: asIs.with({}),
    constDefault: true,
    entries: shifts.flatMap((n) =>
      [0, 1].map((member) => ({
        key: { shift: n, odd_member: member },
        run: round.with({ half: roundingConstant(n, member) }),
      })),
    ),
  });
  const by = shifts.map((n) =>
    c.action(`shift_right_${n}`, {}, (a) => {
      for (const lane of f.lane) a.set(lane, lane.cast(int(32)).shiftRight(n).cast(bit(32)));
    }),
  );
  const keep = c.action("keep", {}, () => {});
  const vanish = c.action(
    "vanish",
    {},
    (a) => {
      for (const lane of f.lane) a.set(lane, 0);
    },
    "all values are below half a unit, or the row does not fit",
  );
  const table = c.table("shift", {
    doc: "by the difference of the exponents",
    key: { shift: exactly(shift) },
    actions: [keep, ...by, vanish],
    size: 32,
    defaultAction: vanish.with({}),
    constDefault: true,
    entries: [
      { key: { shift: 0 }, run: keep.with({}) },
      ...by.map((action, i) => ({ key: { shift: i + 1 }, run: action.with({}) })),
    ],
  });
  // Above the slot's exponent, or the slot has none for its round: the difference of the words is no shift.
  const doesNotFit = shift.slice(31, Math.log2(MAX_DIFFERENCE + 1)).ne(0);
  c.apply((s) => {
    s.if(doesNotFit, (then) => then.set(f.mark, f.names.FLAG.MARK));
    s.apply(rounding);
    s.apply(table);
  });
  return c;
}
