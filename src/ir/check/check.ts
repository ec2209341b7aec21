import type { Diagnostic } from "../diagnostics.ts";
import type { Program } from "../program.ts";

/** Everything that is wrong with a program, in order of the program. */
export function check(_program: Program): readonly Diagnostic[] {
  return [];
}
