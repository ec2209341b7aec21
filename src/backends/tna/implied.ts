import type { Expression } from "../../ir/index.ts";
import { widthOf } from "../../ir/index.ts";
import { leavesOf, type Scopes } from "./levels.ts";
import type { Step, TnaProgram, TnaStatement } from "./lowered.ts";
import { type If, testsOf } from "./questions.ts";

/**
 * Flags that tell of themselves that a condition has held: one bit, 0 from the parser, and set to 1 behind that condition only. Who asks for
 * such a flag need not ask for the condition again.
 */
export class ImpliedConditions {
  readonly #flags: ReadonlySet<string>;
  readonly #writers = new Map<string, number>();
  readonly #scopes: Scopes;

  constructor(program: TnaProgram, scopes: Scopes) {
    this.#scopes = scopes;
    this.#flags = flagsOf(program);
    const blocks = [
      ["ingress", program.ingress.block] as const,
      ["egress", program.egress.block] as const,
      ...program.controls.map((c) => [c.name, c.block] as const),
    ];
    for (const [scope, block] of blocks)
      for (const leaf of block.flatMap(leavesOf)) {
        if (leaf.kind === "applyControl") continue;
        for (const name of this.#written([leaf], scope))
          this.#writers.set(name, (this.#writers.get(name) ?? 0) + 1);
      }
  }

  /** Whether `inner`, asked behind `s`, is true only where the condition of `s` has been. */
  isImplied(s: If, inner: Expression, scope: string): boolean {
    return testsOf(inner).some((t) => {
      if (t.kind !== "binary" || t.operator !== "==" || t.left.kind !== "metadata") return false;
      if (t.right.kind !== "constant" || t.right.value !== 1n) return false;
      const { name } = t.left;
      const within = s.whenTrue.flatMap(leavesOf).filter((l) => this.#written([l], scope).has(name));
      return this.#flags.has(name) && within.length > 0 && within.length === this.#writers.get(name);
    });
  }

  #written(statements: readonly TnaStatement[], scope: string): ReadonlySet<string> {
    return new Set(
      statements.flatMap((s) =>
        this.#scopes
          .writesOf(s, scope)
          .flatMap((w) => (w.key.startsWith("meta.") ? [w.key.slice("meta.".length)] : [])),
      ),
    );
  }
}

/** Metadata of one bit that nobody gives another value than 1. */
function flagsOf(program: TnaProgram): ReadonlySet<string> {
  const flags = new Set(program.metadata.flatMap((m) => (widthOf(m.type) === 1 ? [m.name] : [])));
  for (const state of program.source.parser)
    for (const s of state.steps) if (s.kind === "assign") flags.delete(s.target.name);
  for (const k of program.resubmission?.kept ?? [])
    if (k.source.kind === "metadata") flags.delete(k.source.name);
  const pipelines = [program.ingress, program.egress, ...program.controls];
  const steps = pipelines.flatMap((p) => [
    ...p.actions.flatMap((a) => a.steps),
    ...p.block.flatMap(leavesOf).flatMap((l) => (l.kind === "steps" ? l.steps : [])),
  ]);
  for (const s of steps) for (const name of othersSet(s)) flags.delete(name);
  return flags;
}

/** Metadata that a step gives a value that may not be 1. */
function othersSet(s: Step): readonly string[] {
  const target = s.kind === "assign" ? s.target : "into" in s ? s.into : undefined;
  if (target === undefined || target.kind === "local") return [];
  const place = target.kind === "slice" ? target.operand : target;
  if (place.kind !== "metadata") return [];
  const isOne = s.kind === "assign" && s.value.kind === "constant" && s.value.value === 1n;
  return isOne && target.kind !== "slice" ? [] : [place.name];
}
