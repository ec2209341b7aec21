import type { Block, Control, Program, Statement, StraightStatement } from "../../ir/index.ts";

/** The program with other straight-line statements, in actions and in blocks; the control that holds a statement is given. */
export function mappedStatements(
  program: Program,
  change: (s: StraightStatement, control: Control | undefined) => readonly StraightStatement[],
): Program {
  const block = (b: Block, control: Control | undefined): Block =>
    b.flatMap((s): readonly Statement[] => {
      switch (s.kind) {
        case "if":
          return [{ ...s, whenTrue: block(s.whenTrue, control), whenFalse: block(s.whenFalse, control) }];
        case "applyTable":
          return [{ ...s, hit: block(s.hit, control), miss: block(s.miss, control) }];
        case "applyControl":
        case "callAction":
        case "exit":
          return [s];
        default:
          return change(s, control);
      }
    });
  return {
    ...program,
    controls: program.controls.map((c) => ({
      ...c,
      actions: c.actions.map((a) => ({ ...a, body: a.body.flatMap((s) => change(s, c)) })),
      apply: block(c.apply, c),
    })),
    ingress: block(program.ingress, undefined),
    egress: block(program.egress, undefined),
  };
}
