import { type BitType, bit, type ContentList } from "../../../ir/index.ts";
import { FLOATS } from "../../../numeric/floatcode.ts";
import { type LookupFormat, lookupEntries, lookupFormat, sliceShift } from "../../../numeric/lookup.ts";
import { laneName } from "../../../wire/aggregation.ts";
import type { ProgramBuilder } from "../../program.ts";
import { type ActionSteps, type ControlHandle, exactly } from "../../steps.ts";
import type { Num, Variable } from "../../value.ts";
import { type AggregationFields, u32 } from "./fields.ts";
import type { FloatMode } from "./options.ts";

/** What the tables of one mantissa slice hold, the same for all lanes, jobs and windows. */
function contentsOfSlice(format: LookupFormat, slice: number): ContentList {
  const doc = slice === 0 ? "a value without an entry does not fit" : "a value without an entry adds 0";
  return {
    name: `float_lookup.slice_${slice}`,
    doc: `${format.float} for ${format.workers} workers, mantissa slice ${slice}: the part that it adds to the integer; ${doc}`,
    rows: [...lookupEntries(format, slice, { omitZeros: true })].map((e) => [
      e.sign,
      e.rel,
      e.bits,
      e.part >>> 0,
    ]),
  };
}

interface Lane {
  /** The code that came. */
  readonly code: Variable<BitType>;
  /** Where its integer goes; for 32-bit codes the same field. */
  readonly sum: Variable<BitType>;
  /** The code without its sign, counted from the window's base, in the modes that have a window. */
  readonly above: Variable<BitType> | undefined;
  readonly marked: Variable<BitType>;
}

export interface FloatControls {
  /** How far the codes are above the window, in modes that have one. */
  readonly window: ControlHandle | undefined;
  /** Integers in the place of codes. */
  readonly lookup: ControlHandle;
}

/**
 * Turns each lane's float code into a fixed-point integer: one table per lane and mantissa slice, whose parts are added
 * (`numeric/lookup.ts`). The tables do not depend on a window's base. The row's mark is set by a value that does not fit.
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
): FloatControls {
  const format = lookupFormat(mode.name, workers, mode.slices);
  const { bits, mantissaBits } = FLOATS[mode.name];
  const hasWindow = mode.name === "fp32" || mode.name === "bf16";
  const codeType: BitType = bit(bits);
  const c = p.control("float_lookup", "ingress", "Float codes to fixed point, by tables of mantissa slices.");
  const lanes = f.lane.flatMap((sum, i): Lane[] => {
    const code = f.value[i];
    if (code === undefined) return [];
    const above = hasWindow
      ? p.metadata(
          `${laneName(i)}_above`,
          codeType,
          "the code without its sign, counted from the window's base",
        )
      : undefined;
    const marked = p.metadata(`${laneName(i)}_marked`, bit(1), "1: the value does not fit");
    return [{ code, sum, above, marked }];
  });
  const isHalf = f.row !== f.lanes;
  const makeLanes = isHalf ? c.action("make_lanes", {}, (a) => a.setValid(f.lanes)) : undefined;
  /** Where the part of a slice goes: into a field that is free by then, if there is one. */
  const placeOf = ({ sum, above }: Lane, lane: number, slice: number): Variable<BitType> => {
    if (isHalf && slice === 0) return sum;
    // The last look-up is the last to need the exponent.
    if (!isHalf && slice === mode.slices.length - 1 && above !== undefined) return above;
    return p.metadata(`${laneName(lane)}_part_${slice}`, u32);
  };
  const contents = mode.slices.map((_, slice) => contentsOfSlice(format, slice));
  const looked = lanes.map((lane, i) =>
    mode.slices.map((width, slice) => {
      const { code, above, marked } = lane;
      const part = placeOf(lane, i, slice);
      const short = `${laneName(i)}_slice_${slice}`;
      const list = contents[slice];
      const found = c.action(`${short}_part`, { part: u32 }, (a, d) => a.set(part, d.part));
      const missed = c.action(`${short}_miss`, {}, (a) => {
        a.set(part, 0);
        if (slice === 0) a.set(marked, 1);
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
        ...(list === undefined ? {} : { contents: { run: found, list } }),
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
  const asIs = c.action("all_fit", {}, () => {});
  const setMark = c.action("mark_row", {}, (a) => a.set(f.mark, f.names.FLAG.MARK));
  const fits = c.table("fits", {
    doc: "whether all values of the row fit",
    key: Object.fromEntries(lanes.map(({ marked }, i) => [laneName(i), exactly(marked)])),
    actions: [asIs, setMark],
    size: 1,
    defaultAction: setMark.with({}),
    constDefault: true,
    entries: [{ key: Object.fromEntries(lanes.map((_, i) => [laneName(i), 0])), run: asIs.with({}) }],
  });
  const dropCodes = isHalf ? c.action("drop_codes", {}, (a) => a.setInvalid(f.row)) : undefined;
  c.apply((s) => {
    if (makeLanes !== undefined) s.call(makeLanes);
    for (const slices of looked) for (const { table } of slices) s.apply(table);
    s.call(add);
    if (dropCodes !== undefined) s.call(dropCodes);
    s.apply(fits);
  });
  return { window: hasWindow ? windowControl(p, f, lanes, mode) : undefined, lookup: c };
}

function windowControl(
  p: ProgramBuilder,
  f: AggregationFields,
  lanes: readonly Lane[],
  mode: FloatMode,
): ControlHandle {
  const { bits, mantissaBits } = FLOATS[mode.name];
  const c = p.control("float_window", "ingress", "How far the codes are above the base of the job's window.");
  const each = (a: ActionSteps, to: (code: Num<BitType>, above: Num<BitType>) => Num<BitType>): void => {
    for (const { code, above } of lanes) if (above !== undefined) a.set(above, to(code, above));
  };
  // code - base as ~(~code + base): the base comes with the action, and what comes with an action can be added and not taken away. A
  // field with the base could not stand beside so many lanes in a pipeline that groups its fields.
  const complement = c.action("clear_sign_and_complement", {}, (a) =>
    each(a, (code) => code.bitAnd(2 ** (bits - 1) - 1).bitNot()),
  );
  const baseType: BitType = bit(bits);
  const subtract = c.action("subtract_base", { base: baseType }, (a, { base }) =>
    each(a, (_, above) => above.addSat(base)),
  );
  const restore = c.action("complement_back", {}, (a) => each(a, (_, above) => above.bitNot()));
  const scales = Array.from({ length: 256 }, (_, scale) => scale);
  const base = c.table("base", {
    doc: "the base of the window, where a code has its exponent",
    key: { scale: exactly(f.agg.scale) },
    actions: [subtract],
    size: 256,
    constDefault: true,
    entries: scales.map((scale) => ({
      key: { scale },
      run: subtract.with({ base: BigInt(scale) << BigInt(mantissaBits) }),
    })),
  });
  c.apply((s) => {
    s.call(complement);
    s.apply(base);
    s.call(restore);
  });
  return c;
}
