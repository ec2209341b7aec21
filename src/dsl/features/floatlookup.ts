import { bit } from "../../ir/index.ts";
import { fp32Format, sliceShift } from "../../numeric/fp32.ts";
import { Flag, laneName } from "../../wire/aggregation.ts";
import type { ProgramBuilder } from "../program.ts";
import { type ControlHandle, exactly } from "../steps.ts";
import type { AggregationParts, Fp32Mode } from "./aggregation.ts";

/** Name of the lookup table of one lane and mantissa slice, `float_lookup.lane_00_slice_0`; its action is `..._part`. */
export function lookupTable(lane: number, slice: number): string {
  return `float_lookup.${laneName(lane)}_slice_${slice}`;
}

/**
 * Turns each lane's float32 code into a fixed-point integer: one table per lane and mantissa slice, whose parts are added
 * (`numeric/fp32.ts`). The window's base is the packet's scale; the tables do not depend on it.
 */
export function lookUpFloats(
  p: ProgramBuilder,
  mode: Fp32Mode,
  workers: number,
  parts: AggregationParts,
): ControlHandle {
  const format = fp32Format(workers, mode.slices);
  const c = p.control(
    "float_lookup",
    "ingress",
    "Float32 codes to fixed point, by tables of mantissa slices.",
  );
  const rel = parts.lane.map((_, i) =>
    p.metadata(`${laneName(i)}_rel`, bit(8), "exponent above the window's base"),
  );
  const relative = c.action("relative_exponents", {}, (a) =>
    parts.lane.forEach((code, i) => {
      const into = rel[i];
      if (into !== undefined) a.set(into, code.slice(30, 23).subSat(parts.agg.scale.cast(bit(8))));
    }),
  );
  const lanes = parts.lane.map((code, lane) => {
    const slices = mode.slices.map((width, slice) => {
      const part = p.metadata(`${laneName(lane)}_part_${slice}`, bit(32));
      const short = lookupTable(lane, slice).slice("float_lookup.".length);
      const found = c.action(`${short}_part`, { part: bit(32) }, (a, d) => a.set(part, d.part));
      const missed = c.action(`${short}_miss`, {}, (a) => {
        a.set(part, 0);
        if (slice === 0) a.set(parts.agg.flags, parts.agg.flags.bitOr(Flag.MARK));
      });
      const low = sliceShift(format, slice);
      const table = c.table(short, {
        key: {
          sign: exactly(code.slice(31, 31)),
          rel: exactly(rel[lane] ?? code.slice(30, 23)),
          bits: exactly(code.slice(low + width - 1, low)),
        },
        actions: [found, missed],
        size: 2 * 32 * 2 ** width,
        defaultAction: missed.with({}),
        constDefault: true,
      });
      return { part, table };
    });
    const add = c.action(`${laneName(lane)}_add`, {}, (a) => {
      const [first, ...rest] = slices.map((s) => s.part);
      if (first !== undefined)
        a.set(
          code,
          rest.reduce((sum, part) => sum.add(part), first.add(0)),
        );
    });
    return { slices, add };
  });
  c.apply((s) => {
    s.call(relative);
    for (const { slices } of lanes) for (const { table } of slices) s.apply(table);
    for (const { add } of lanes) s.call(add);
  });
  return c;
}
