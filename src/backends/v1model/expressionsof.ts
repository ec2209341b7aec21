import type { Expression } from "../../ir/index.ts";
import type { LoweredBlock, LoweredProgram, Step } from "./lowered.ts";

/** All expressions of the controls and pipelines. */
export function everyExpression(program: LoweredProgram): readonly Expression[] {
  return [
    ...program.controls.flatMap((c) => [
      ...c.actions.flatMap((a) => ofSteps(a.steps)),
      ...c.tables.flatMap((t) => t.key.map((k) => k.expression)),
      ...ofBlock(c.block),
    ]),
    ...ofBlock(program.ingress.block),
    ...ofBlock(program.egress.block),
  ];
}

function ofBlock(block: LoweredBlock): readonly Expression[] {
  return block.flatMap((s) => {
    switch (s.kind) {
      case "steps":
        return ofSteps(s.steps);
      case "if":
        return [s.condition, ...ofBlock(s.whenTrue), ...ofBlock(s.whenFalse)];
      case "applyTable":
        return [...ofBlock(s.hit), ...ofBlock(s.miss)];
      case "callAction":
        return s.arguments;
      default:
        return [];
    }
  });
}

function ofSteps(steps: readonly Step[]): readonly Expression[] {
  return steps.flatMap((s) => {
    switch (s.kind) {
      case "assign":
        return [s.value];
      case "declare":
        return s.value === undefined ? [] : [s.value];
      case "count":
      case "read":
        return [s.index];
      case "write":
        return [s.index, s.value];
      case "clone":
        return [s.session];
      case "atomic":
        return ofSteps(s.updates.flat());
      default:
        return [];
    }
  });
}
