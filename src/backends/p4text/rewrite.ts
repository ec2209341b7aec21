import type { Expression } from "../../ir/index.ts";

/** The expression with the nodes that `replace` answers put in place of the originals; the answer is taken as it is. */
export function rewrite(e: Expression, replace: (e: Expression) => Expression | undefined): Expression {
  const replaced = replace(e);
  if (replaced !== undefined) return replaced;
  switch (e.kind) {
    case "unary":
    case "slice":
    case "cast":
      return { ...e, operand: rewrite(e.operand, replace) };
    case "binary":
    case "concat":
      return { ...e, left: rewrite(e.left, replace), right: rewrite(e.right, replace) };
    case "mux":
      return {
        ...e,
        condition: rewrite(e.condition, replace),
        whenTrue: rewrite(e.whenTrue, replace),
        whenFalse: rewrite(e.whenFalse, replace),
      };
    default:
      return e;
  }
}

/** Whether a node somewhere in the expression satisfies `test`. */
export function some(e: Expression, test: (e: Expression) => boolean): boolean {
  let found = false;
  rewrite(e, (node) => {
    found ||= test(node);
    return undefined;
  });
  return found;
}
