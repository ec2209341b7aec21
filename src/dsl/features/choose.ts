import type { Steps } from "../steps.ts";
import type { Bool } from "../value.ts";

export type Branch = (s: Steps) => void;

/** `if ... else if ... else`. */
export function choose(
  s: Steps,
  cases: readonly (readonly [condition: Bool, then: Branch])[],
  otherwise: Branch,
): void {
  const [first, ...rest] = cases;
  if (first === undefined) otherwise(s);
  else s.if(first[0], first[1], (t) => choose(t, rest, otherwise));
}
