import type { BitType } from "../../../ir/index.ts";
import { bit, int } from "../../../ir/index.ts";
import { MAX_DIFFERENCE, MAX_SHIFT, roundingConstant } from "../../../numeric/block.ts";
import type { ProgramBuilder } from "../../program.ts";
import { type ControlHandle, exactly, masked, type Steps, ternary } from "../../steps.ts";
import { mux, type Num } from "../../value.ts";
import { type AggregationFields, cells, u32 } from "./fields.ts";
import type { FullAggregationOptions } from "./options.ts";

export interface BlockControls {
  /** For every request that is taken: finds out how far a row has to be shifted, and takes its announcement. */
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
  const [even, odd] = [actions("even"), actions("odd")];
  const isEven = f.agg.round.slice(1, 1).eq(0);
  const isReset = f.isRequest("reset");
  const isCollect = f.isRequest("collect");
  const meet = (own: typeof even, other: typeof even) => (s: Steps) =>
    s.if(
      isReset,
      (t) => {
        t.call(own.setCurrent);
        t.call(other.setNext);
      },
      (t) => {
        t.call(own.measure);
        t.if(isCollect.not(), (u) => u.call(other.announce));
      },
    );
  c.apply((s) => s.if(isEven, meet(even, odd), meet(odd, even)));
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
    "all values are below half a unit",
  );
  const misfit = c.action(
    "misfit",
    {},
    (a) => {
      for (const lane of f.lane) a.set(lane, 0);
      a.set(f.mark, f.names.FLAG.MARK);
    },
    "the row is above the slot's exponent, or the slot has none for its round",
  );
  const table = c.table("shift", {
    doc: "by the difference of the exponents",
    key: { shift: ternary(shift) },
    actions: [keep, ...by, vanish, misfit],
    size: 64,
    defaultAction: misfit.with({}),
    constDefault: true,
    entries: [
      { key: { shift: 0 }, run: keep.with({}) },
      ...by.map((action, i) => ({ key: { shift: i + 1 }, run: action.with({}) })),
      // Above MAX_SHIFT and up to MAX_DIFFERENCE; what has matched already is not looked at again.
      { key: { shift: masked(0, 0xffff_ffff - MAX_DIFFERENCE) }, run: vanish.with({}) },
    ],
  });
  c.apply((s) => {
    s.apply(rounding);
    s.apply(table);
  });
  return c;
}
