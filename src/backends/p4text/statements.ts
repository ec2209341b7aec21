import { braces, concat, type Doc, group, line, nest } from "./layout.ts";

/**
 * `if`, with the test turned round when only the other branch has something to do, and `else if` in one line.
 * `isElseIf`: the other branch is one `if` and nothing else.
 */
export function conditional(
  test: Doc,
  negated: Doc,
  yes: readonly Doc[],
  no: readonly Doc[],
  isElseIf: boolean,
): readonly Doc[] {
  if (yes.length === 0 && no.length === 0) return [];
  if (yes.length === 0) return [braces(head(negated), no)];
  const first = braces(head(test), yes);
  if (no.length === 0) return [first];
  const nested = isElseIf ? no[0] : undefined;
  return [nested === undefined ? concat(first, braces(" else", no)) : concat(first, " else ", nested)];
}

function head(test: Doc): Doc {
  return concat("if (", nest(test), ")");
}

export function assignment(target: string, value: Doc): Doc {
  return group(target, " =", nest(line, value), ";");
}
