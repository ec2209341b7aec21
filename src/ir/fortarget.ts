import type { TargetName } from "./diagnostics.ts";
import type { Program } from "./program.ts";
import type { Block } from "./statements.ts";

/** The program as one target has it: without the controls that are only for others. */
export function forTarget(program: Program, target: TargetName): Program {
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
