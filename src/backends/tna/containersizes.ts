import { idleAssignments } from "../../ir/check/liveness.ts";
import type { DataType, Expression, Program } from "../../ir/index.ts";
import { widthOf } from "../../ir/index.ts";
import { placedStatements } from "../../ir/walk.ts";
import { leavesOf } from "./levels.ts";
import type { Gress, Step, TnaProgram } from "./lowered.ts";

/** A place that needs containers of just its size in a gress, which the compiler would not give it by itself. */
export interface ContainerSize {
  readonly gress: Gress;
  /** As the compiler names it: `meta.m` or `hdr.h.f`. */
  readonly place: string;
  readonly bits: number;
}

const SIZES: readonly number[] = [8, 16, 32];
/** A range of so many bits meets four groups of four bits wherever it stands in a container. */
const RANGE_ANYWHERE = 13;
const RANGE_BITS = 16;

/**
 * Sums that saturate do so where their container ends. Ranges are matched by four groups of four bits, and 16 bits that start within a
 * group are in five. What a resubmitted packet keeps goes by whole containers, eight bytes of them.
 */
export function containerSizes(program: TnaProgram): readonly ContainerSize[] {
  const found = new Map<string, ContainerSize>();
  const add = (gress: Gress, e: { readonly type: DataType } & Placed, bits: number): void => {
    const place = e.kind === "metadata" ? `meta.${e.name}` : `hdr.${e.header}.${e.field}`;
    if (SIZES.includes(bits)) found.set(`${gress} ${place}`, { gress, place, bits });
  };
  const lasting = lastingSums(program);
  const sums = (gress: Gress, steps: readonly Step[]): void => {
    for (const s of steps)
      if (s.kind === "assign" && s.target.kind === "metadata" && lasting.has(`${gress} ${s.target.name}`))
        if (endsWithContainer(s.value)) add(gress, s.target, widthOf(s.target.type));
  };
  for (const scope of [program.ingress, program.egress, ...program.controls]) {
    for (const a of scope.actions) sums(scope.gress, a.steps);
    for (const s of scope.block.flatMap(leavesOf)) if (s.kind === "steps") sums(scope.gress, s.steps);
  }
  for (const c of program.controls)
    for (const k of c.tables.flatMap((t) => t.key)) {
      const { expression: e } = k;
      const place = e.kind === "slice" ? e.operand : e;
      if (k.match !== "range" || place.kind !== "metadata" || widthOf(e.type) <= RANGE_ANYWHERE) continue;
      add(c.gress, place, widthOf(place.type) > RANGE_BITS ? 32 : RANGE_BITS);
    }
  for (const { source } of program.resubmission?.kept ?? []) add("ingress", source, widthOf(source.type));
  return [...found.values()];
}

/** Metadata, by gress, with a sum that comes to something: the compiler warns of others, which it has taken away by then. */
function lastingSums(program: TnaProgram): ReadonlySet<string> {
  const { source, bridge, ingressDeparser, egressDeparser } = program;
  const metadata = source.metadata.map(({ name, type }): Expression => ({ kind: "metadata", name, type }));
  const idle = new Set([
    ...idleAssignments(source, "ingress", [...metadata, ...fieldsBut(source, ingressDeparser)]),
    ...idleAssignments(source, "egress", [
      ...metadata,
      ...fieldsBut(source, egressDeparser),
      ...(bridge?.metadata ?? []).map(({ name: field, type }): Expression => {
        return { kind: "field", header: bridge?.header ?? "", field, type };
      }),
    ]),
  ]);
  return new Set(
    [...placedStatements(source)].flatMap(([s, place]) =>
      s.kind === "assign" && s.target.kind === "metadata" && endsWithContainer(s.value) && !idle.has(s)
        ? [`${place.block} ${s.target.name}`]
        : [],
    ),
  );
}

/** Fields of the headers that a deparser leaves out. */
function fieldsBut(source: Program, deparser: readonly string[]): readonly Expression[] {
  return source.headers
    .filter((h) => !deparser.includes(h.name))
    .flatMap((h) => {
      const fields = source.headerTypes.find((t) => t.name === h.headerType)?.fields ?? [];
      return fields.map(
        ({ name: field, type }): Expression => ({ kind: "field", header: h.name, field, type }),
      );
    });
}

type Placed =
  | { readonly kind: "metadata"; readonly name: string }
  | { readonly kind: "field"; readonly header: string; readonly field: string };

/** An unsigned difference that saturates ends at zero in any container. */
function endsWithContainer(e: Expression): boolean {
  if (e.kind === "cast") return endsWithContainer(e.operand);
  if (e.kind !== "binary") return false;
  return e.operator === "|+|" || (e.operator === "|-|" && e.type.kind === "int");
}
