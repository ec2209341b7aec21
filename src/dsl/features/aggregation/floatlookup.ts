import { type BitType, bit } from "../../../ir/index.ts";
import { fp32Format, sliceShift } from "../../../numeric/fp32.ts";
import { laneName } from "../../../wire/aggregation.ts";
import type { ProgramBuilder } from "../../program.ts";
import { type ControlHandle, exactly } from "../../steps.ts";
import type { Variable } from "../../value.ts";
import type { AggregationFields } from "./fields.ts";
import type { Fp32Mode } from "./options.ts";

/** Lanes whose marks stand in one field, as wide as one test of a Tofino stage can be. */
const GROUP = 8;

/** Name of the lookup table of one lane and mantissa slice, `float_lookup.lane_00_slice_0`; its action is `..._part`. */
export function lookupTable(lane: number, slice: number): string {
  return `float_lookup.${laneName(lane)}_slice_${slice}`;
}

/**
 * Turns each lane's float32 code into a fixed-point integer: one table per lane and mantissa slice, whose parts are added
 * (`numeric/fp32.ts`). The tables do not depend on the window's base; `base` is the
 * job's, shifted to where a code has its exponent. `mark` gets the mark of a row
 * with a value above the window.
 *
 * The exponent is compared with the base inside the code, where it stands: with the sign cleared, code - (base << 23) has
 * the exponent above the base in the exponent's bits, and saturates to 0 below the window, where a value counts as 0.
 * So no stage has to move bits, which switches cannot do between fields of different widths.
 */
export function lookUpFloats(
  p: ProgramBuilder,
  mode: Fp32Mode,
  workers: number,
  parts: AggregationFields,
  job: { readonly base: Variable<BitType>; readonly mark: Variable<BitType> },
): ControlHandle {
  const format = fp32Format(workers, mode.slices);
  const c = p.control(
    "float_lookup",
    "ingress",
    "Float32 codes to fixed point, by tables of mantissa slices.",
  );
  const above = parts.lane.map((_, i) =>
    p.metadata(`${laneName(i)}_above`, bit(32), "the code without its sign, counted from the window's base"),
  );
  const withAbove = (each: (field: Variable<BitType>, code: Variable<BitType>) => void): void =>
    above.forEach((field, i) => {
      const code = parts.lane[i];
      if (code !== undefined) each(field, code);
    });
  const magnitudes = c.action("clear_signs", {}, (a) =>
    withAbove((field, code) => a.set(field, code.bitAnd(0x7fff_ffff))),
  );
  const relative = c.action("subtract_base", {}, (a) =>
    withAbove((field) => a.set(field, field.subSat(job.base))),
  );
  const groups = Array.from({ length: Math.ceil(parts.lane.length / GROUP) }, (_, g) =>
    p.metadata(`lanes_marked_${g}`, bit(GROUP), "a bit for each lane with a value above the window"),
  );
  const lanes = parts.lane.map((code, lane) => {
    const marked = groups[Math.floor(lane / GROUP)];
    return mode.slices.map((width, slice) => {
      // The last look-up is the last to need the exponent, so its part takes that place.
      const part =
        (slice === mode.slices.length - 1 ? above[lane] : undefined) ??
        p.metadata(`${laneName(lane)}_part_${slice}`, bit(32));
      const short = lookupTable(lane, slice).slice("float_lookup.".length);
      const found = c.action(`${short}_part`, { part: bit(32) }, (a, d) => a.set(part, d.part));
      const missed = c.action(`${short}_miss`, {}, (a) => {
        a.set(part, 0);
        if (slice === 0 && marked !== undefined) a.set(marked.bits(lane % GROUP, lane % GROUP), 1);
      });
      const low = sliceShift(format, slice);
      const table = c.table(short, {
        key: {
          sign: exactly(code.slice(31, 31)),
          rel: exactly((above[lane] ?? code).slice(30, 23)),
          bits: exactly(code.slice(low + width - 1, low)),
        },
        actions: [found, missed],
        size: 2 * 32 * 2 ** width,
        defaultAction: missed.with({}),
        constDefault: true,
      });
      return { part, table };
    });
  });
  const add = c.action(
    "add_parts",
    {},
    (a) =>
      parts.lane.forEach((code, lane) => {
        let terms = (lanes[lane] ?? []).map((s): Variable<BitType> => s.part);
        while (terms.length > 2) {
          for (const [i, term] of terms.entries()) {
            const next = terms[i + 1];
            if (i % 2 === 0 && next !== undefined) a.set(term, term.add(next));
          }
          terms = terms.filter((_, i) => i % 2 === 0);
        }
        const [first, second] = terms;
        if (first !== undefined) a.set(code, second === undefined ? first : first.add(second));
      }),
    "by pairs, so that few steps depend on each other",
  );
  c.apply((s) => {
    for (const group of groups) s.set(group, 0);
    s.call(magnitudes);
    s.call(relative);
    for (const slices of lanes) for (const { table } of slices) s.apply(table);
    s.call(add);
    for (const group of groups) s.if(group.ne(0), (then) => then.set(job.mark, parts.names.FLAG.MARK));
  });
  return c;
}
