import type { Annotated, Annotation } from "./annotations.ts";
import type { TargetName } from "./diagnostics.ts";
import type { Control, Program } from "./program.ts";
import type { Block } from "./statements.ts";

/** The program as one target has it: without the controls and annotations that are only for others. */
export function forTarget(given: Program, target: TargetName): Program {
  const program = withoutAnnotations(given, target);
  const others = new Set(
    program.controls.filter((c) => c.only !== undefined && c.only !== target).map((c) => c.name),
  );
  if (others.size === 0) return program;
  const block = (b: Block): Block =>
    b.flatMap((s): Block => {
      switch (s.kind) {
        case "applyControl":
          return others.has(s.control) ? [] : [s];
        case "if":
          return [{ ...s, whenTrue: block(s.whenTrue), whenFalse: block(s.whenFalse) }];
        case "applyTable":
          return [{ ...s, hit: block(s.hit), miss: block(s.miss) }];
        default:
          return [s];
      }
    });
  return {
    ...program,
    controls: program.controls
      .filter((c) => !others.has(c.name))
      .map((c) => ({ ...c, apply: block(c.apply) })),
    ingress: block(program.ingress),
    egress: block(program.egress),
  };
}

function withoutAnnotations(program: Program, target: TargetName): Program {
  const objects = (c: Control) => [
    c,
    ...kinds.flatMap((kind): readonly Carrier[] => c[kind]),
    ...c.actions.flatMap((a) => a.parameters),
    ...c.tables.flatMap((t) => t.key),
  ];
  if (program.controls.every((c) => objects(c).every((o) => o.annotations === undefined))) return program;
  const own = (all: readonly Annotation[]) => all.filter((a) => a.only === undefined || a.only === target);
  return { ...program, controls: program.controls.map((c) => withAnnotations(c, own)) };
}

type Carrier = Pick<Annotated, "annotations">;
const kinds = ["actions", "tables", "registers", "counters", "meters", "actionProfiles", "digests"] as const;

/** The control with other annotations, its own and those of its objects, their match fields and parameters. */
export function withAnnotations(
  c: Control,
  change: (all: readonly Annotation[]) => readonly Annotation[],
): Control {
  const changed = <A extends Carrier>(a: A): A =>
    a.annotations === undefined ? a : { ...a, annotations: change(a.annotations) };
  return {
    ...changed(c),
    actions: c.actions.map((a) => ({ ...changed(a), parameters: a.parameters.map(changed) })),
    tables: c.tables.map((t) => ({ ...changed(t), key: t.key.map(changed) })),
    registers: c.registers.map(changed),
    counters: c.counters.map(changed),
    meters: c.meters.map(changed),
    actionProfiles: c.actionProfiles.map(changed),
    digests: c.digests.map(changed),
  };
}
