import { laneName } from "../../../wire/aggregation.ts";
import type { ProgramBuilder } from "../../program.ts";
import type { ControlHandle } from "../../steps.ts";
import { mux } from "../../value.ts";
import { type AggregationFields, cells, u8, u32 } from "./fields.ts";
import type { FullAggregationOptions } from "./options.ts";

/** The values: one register array per lane, and the rows' marks. */
export function gridControl(
  p: ProgramBuilder,
  o: FullAggregationOptions,
  f: AggregationFields,
): ControlHandle {
  const grid = p.control("grid", "ingress", "The register grid: one array per lane.");
  const marks = grid.register("mark", u8, cells(o), "not 0: the row has a value outside the window");
  const sums = f.lane.map((_, i) => grid.register(laneName(i).replace("lane", "sum"), u32, cells(o)));
  const isNewRow = f.relation.eq(f.names.RELATION.newer);
  const addRow = grid.action(
    "add_row",
    {},
    (a) => {
      a.update(marks, {
        index: f.index,
        next: (old) => mux(isNewRow, f.mark, old.bitOr(f.mark)),
        output: ({ next }) => next,
        into: f.mark,
      });
      f.lane.forEach((field, i) => {
        const register = sums[i];
        if (register === undefined) return;
        a.update(register, {
          index: f.index,
          next: (old) => mux(isNewRow, field, old.add(field)),
          output: ({ next }) => next,
          into: field,
        });
      });
    },
    "a new round restarts the row",
  );
  if (o.result === "ps") {
    grid.apply((s) => s.call(addRow));
    return grid;
  }
  const readRow = grid.action(
    "read_row",
    {},
    (a) => {
      const read = (register: typeof marks, into: typeof f.mark): void =>
        a.update(register, { index: f.index, next: (old) => old, output: ({ old }) => old, into });
      read(marks, f.mark);
      f.lane.forEach((field, i) => {
        const register = sums[i];
        if (register !== undefined) read(register, field);
      });
    },
    "for a worker that has been counted, and may have missed the RESULT",
  );
  grid.apply((s) =>
    s.if(
      f.seen.eq(0),
      (t) => t.call(addRow),
      (t) => t.call(readRow),
    ),
  );
  return grid;
}
