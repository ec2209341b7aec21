import type { Expression } from "../../../ir/index.ts";
import { deep } from "../../../ir/walk.ts";
import { childrenOf } from "../levels.ts";
import type { CellStatement, Step, TnaAction, TnaBlock, TnaControl, TnaPipeline } from "../lowered.ts";

/** In front of what stays for the control plane although nothing uses it; the compiler would warn. */
export const UNUSED = '@noWarn("unused")';

/**
 * Whether nothing in the control, or in the gress, uses what it declares by a local name: the branches of conditions that are
 * decided are gone, and so is what they used.
 */
export function unusedIn(scope: TnaControl | TnaPipeline): (local: string) => boolean {
  const used = new Set<string>();
  const look = (steps: readonly Step[]): void => {
    for (const s of steps) {
      if (s.kind === "count") used.add(s.counterLocal);
      if (s.kind === "meter") used.add(s.meterLocal);
    }
  };
  for (const a of scope.actions) {
    look(a.steps);
    for (const u of a.updates) used.add(u.register);
  }
  const walk = (block: TnaBlock): void => {
    for (const s of block) {
      if (s.kind === "steps") look(s.steps);
      if (s.kind === "applyTable") used.add(s.local);
      if (s.kind === "applyControl") used.add(s.instance);
      walk(childrenOf(s));
    }
  };
  walk(scope.block);
  return (local) => !used.has(local);
}

/** The action's parameters that its steps do not use: values that are written over at once are not computed. */
export function unusedParameters(a: TnaAction): ReadonlySet<string> {
  const used = new Set<string>();
  const look = (e: Expression): void => {
    for (const n of deep(e)) if (n.kind === "parameter") used.add(n.name);
  };
  const cells = (body: readonly CellStatement[]): void => {
    for (const c of body) {
      look(c.kind === "set" ? c.value : c.condition);
      if (c.kind === "if") cells([...c.whenTrue, ...c.whenFalse]);
    }
  };
  for (const s of a.steps) {
    if ("value" in s) look(s.value);
    if ("index" in s && s.index !== undefined) look(s.index);
    if (s.kind === "hash") s.fields.forEach(look);
  }
  for (const u of a.updates) cells(u.body);
  return new Set(a.parameters.flatMap((p) => (used.has(p.name) ? [] : [p.name])));
}
