import type { Expression, StraightStatement } from "../../ir/index.ts";

/** The statement with each of its expressions as `e` gives it back; what it writes stays. */
export function withValues(s: StraightStatement, e: (value: Expression) => Expression): StraightStatement {
  switch (s.kind) {
    case "assign":
      return { ...s, value: e(s.value) };
    case "registerUpdate":
      return {
        ...s,
        index: e(s.index),
        next: e(s.next),
        ...(s.output === undefined ? {} : { output: e(s.output) }),
      };
    case "count":
    case "meter":
      return { ...s, index: e(s.index) };
    case "clone":
      return { ...s, session: e(s.session) };
    case "hash":
      return { ...s, fields: s.fields.map(e) };
    case "random":
      return { ...s, low: e(s.low), high: e(s.high) };
    case "digest":
      return { ...s, values: s.values.map(e) };
    default:
      return s;
  }
}
