import { expression } from "../../p4text/expressions.ts";
import { braces, concat, type Doc, list } from "../../p4text/layout.ts";
import { keySet } from "../../p4text/literals.ts";
import type { TnaParser, TnaState } from "../lowered.ts";
import { type Place, scopeOf } from "./blocks.ts";

/** The parser's states. */
export function parserStates(parser: TnaParser, place: Place): readonly Doc[] {
  return parser.states.map((s) => stateText(s, place));
}

function stateText(state: TnaState, place: Place): Doc {
  const extracts = state.extracts.map((h) => `packet.extract(hdr.${h});`);
  return braces(`state ${state.name}`, [
    ...state.first,
    ...extracts,
    ...state.after,
    transition(state, place),
  ]);
}

function transition({ transition: t }: TnaState, place: Place): Doc {
  if (t.kind === "goto") return `transition ${t.next};`;
  const keys = t.keys.map((k) => expression(k, scopeOf(place), true));
  const cases = t.cases.map((c) => {
    const sets = c.values.map((set, i) => keySet(set, t.keys[i]?.type ?? { kind: "bit", width: 1 }));
    return concat(sets.length === 1 ? (sets[0] ?? "") : list("(", sets, ")"), `: ${c.next};`);
  });
  return braces(list("transition select(", keys, ")"), [...cases, `default: ${t.otherwise};`]);
}
