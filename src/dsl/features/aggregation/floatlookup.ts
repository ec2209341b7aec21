import { type BitType, bit } from "../../../ir/index.ts";
import { FLOATS } from "../../../numeric/floatcode.ts";
import { lookupFormat, sliceShift } from "../../../numeric/lookup.ts";
import { laneName } from "../../../wire/aggregation.ts";
import type { ProgramBuilder } from "../../program.ts";
import { type Action, type ControlHandle, exactly } from "../../steps.ts";
import type { Num, Variable } from "../../value.ts";
import { type AggregationFields, u32 } from "./fields.ts";
import type { FloatMode } from "./options.ts";

/** Lanes whose marks stand in one field, as wide as one test of a Tofino stage can be. */
const GROUP = 8;

/** Name of the lookup table of one lane and mantissa slice, `float_lookup.lane_00_slice_0`; its action is `..._part`. */
export function lookupTable(lane: number, slice: number): string {
  return `float_lookup.${laneName(lane)}_slice_${slice}`;
}

interface Lane {
  /** The code that came. */
  readonly code: Variable<BitType>;
  /** Where its integer goes; for 32-bit codes the same field. */
  readonly sum: Variable<BitType>;
  /** The code without its sign, counted from the window's base, in the modes that have a window. */
  readonly above: Variable<BitType> | undefined;
  readonly marked: Variable<BitType> | undefined;
}

/**
 * Turns each lane's float code into a fixed-point integer: one table per lane and mantissa slice, whose parts are added
 * (`numeric/lookup.ts`). The tables do not depend on a window's base, which is the job's, shifted to where a code has its
 * exponent. The row's mark is set by a value that does not fit.
 *
 * The exponent is compared with the base inside the code, where it stands: with the sign cleared, code - (base << mantissa bits) has
 * the exponent above the base in the exponent's bits, and saturates to 0 below the window, where a value counts as 0.
 * So no stage has to move bits, which switches cannot do between fields of different widths.
 */
export function lookUpFloats(
  p: ProgramBuilder,
  mode: FloatMode,
  workers: number,
  f: AggregationFields,
): ControlHandle {
  const format = lookupFormat(mode.name, workers, mode.slices);
  const { bits, mantissaBits } = FLOATS[mode.name];
  const { base } = f;
  const codeType: BitType = bit(bits);
  const c = p.control("float_lookup", "ingress", "Float codes to fixed point, by tables of mantissa slices.");
  const groups = Array.from({ length: Math.ceil(f.lane.length / GROUP) }, (_, g) =>
    p.metadata(`lanes_marked_${g}`, bit(GROUP), "a bit for each lane with a value that does not fit"),
  );
  const lanes = f.lane.flatMap((sum, i): Lane[] => {
    const code = f.value[i];
    if (code === undefined) return [];
    const above =
      base === undefined
        ? undefined
        : p.metadata(
            `${laneName(i)}_above`,
            codeType,
            "the code without its sign, counted from the window's base",
          );
    const marked = groups[Math.floor(i / GROUP)]?.bits(i % GROUP, i % GROUP);
    return [{ code, sum, above, marked }];
  });
  const isHalf = f.row !== f.lanes;
  const prepare: Action<Record<never, never>>[] = [];
  if (isHalf) prepare.push(c.action("make_lanes", {}, (a) => a.setValid(f.lanes)));
  if (base !== undefined) {
    const each = (name: string, to: (code: Num<BitType>, above: Num<BitType>) => Num<BitType>) =>
      c.action(name, {}, (a) => {
        for (const { code, above } of lanes) if (above !== undefined) a.set(above, to(code, above));
      });
    prepare.push(each("clear_signs", (code) => code.bitAnd(2 ** (bits - 1) - 1)));
    prepare.push(each("subtract_base", (_, above) => above.subSat(base)));
  }
  /** Where the part of a slice goes: into a field that is free by then, if there is one. */
  const placeOf = ({ sum, above }: Lane, lane: number, slice: number): Variable<BitType> => {
    if (isHalf && slice === 0) return sum;
    // The last look-up is the last to need the exponent.
    if (!isHalf && slice === mode.slices.length - 1 && above !== undefined) return above;
    return p.metadata(`${laneName(lane)}_part_${slice}`, u32);
  };
  const looked = lanes.map((lane, i) =>
    mode.slices.map((width, slice) => {
      const { code, above, marked } = lane;
      const part = placeOf(lane, i, slice);
      const short = lookupTable(i, slice).slice("float_lookup.".length);
      const found = c.action(`${short}_part`, { part: u32 }, (a, d) => a.set(part, d.part));
      const missed = c.action(`${short}_miss`, {}, (a) => {
        a.set(part, 0);
        if (slice === 0 && marked !== undefined) a.set(marked, 1);
      });
      const low = sliceShift(format, slice);
      const table = c.table(short, {
        key: {
          sign: exactly(code.slice(bits - 1, bits - 1)),
          rel: exactly((above ?? code).slice(bits - 2, mantissaBits)),
          bits: exactly(code.slice(low + width - 1, low)),
        },
        actions: [found, missed],
        size: 2 * 32 * 2 ** width,
        defaultAction: missed.with({}),
        constDefault: true,
      });
      return { part, table };
    }),
  );
  const add = c.action(
    "add_parts",
    {},
    (a) =>
      lanes.forEach(({ sum }, lane) => {
        let terms = (looked[lane] ?? []).map((s): Variable<BitType> => s.part);
        while (terms.length > 2) {
          for (const [i, term] of terms.entries()) {
            const next = terms[i + 1];
            if (i % 2 === 0 && next !== undefined) a.set(term, term.add(next));
          }
          terms = terms.filter((_, i) => i % 2 === 0);
        }
        const [first, second] = terms;
        if (second !== undefined && first !== undefined) a.set(sum, first.add(second));
        else if (first !== undefined && first !== sum) a.set(sum, first);
      }),
    "by pairs, so that few steps depend on each other",
  );
  const dropCodes = isHalf ? c.action("drop_codes", {}, (a) => a.setInvalid(f.row)) : undefined;
  c.apply((s) => {
    for (const group of groups) s.set(group, 0);
    for (const action of prepare) s.call(action);
    for (const slices of looked) for (const { table } of slices) s.apply(table);
    s.call(add);
    if (dropCodes !== undefined) s.call(dropCodes);
    for (const group of groups) s.if(group.ne(0), (then) => then.set(f.mark, f.names.FLAG.MARK));
  });
  return c;
}
