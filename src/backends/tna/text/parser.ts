import type { ParserStep } from "../../../ir/index.ts";
import { expression } from "../../p4text/expressions.ts";
import { braces, concat, type Doc, group, line, list, nest } from "../../p4text/layout.ts";
import { keySet } from "../../p4text/literals.ts";
import type { Gress, Opening, TakenOut, TnaParser, TnaState } from "../lowered.ts";
import { type Place, scopeOf } from "./blocks.ts";

/** The parser's states. */
export function parserStates(parser: TnaParser, place: Place): readonly Doc[] {
  return parser.states.map((s) => stateText(s, place));
}

function stateText(state: TnaState, place: Place): Doc {
  return braces(`state ${state.name}`, [
    ...state.first.map((o) => openingText(o, place)),
    ...state.steps.map((s) => stepText(s, place)),
    ...(state.taken ?? []).flatMap((t) => takenText(t, place)),
    ...state.verified.flatMap(({ header, flag }) => [
      `${header}_checksum.add(hdr.${header});`,
      `meta.${flag} = ${header}_checksum.verify();`,
    ]),
    transition(state, place),
  ]);
}

const INTRINSIC_METADATA: Readonly<Record<Gress, string>> = { ingress: "ig_intr_md", egress: "eg_intr_md" };

function openingText(o: Opening, place: Place): Doc {
  switch (o.kind) {
    case "intrinsicMetadata":
      return `packet.extract(${INTRINSIC_METADATA[place.gress]});`;
    case "portData":
      return "packet.advance(PORT_METADATA_SIZE);";
    case "clearMetadata":
      return "meta = {...};";
    case "startHeader":
      return `hdr.${o.header}.setValid();`;
    case "extract":
      return `packet.extract(hdr.${o.header});`;
    case "set": {
      const to =
        o.target.kind === "metadata" ? `meta.${o.target.name}` : `hdr.${o.target.header}.${o.target.field}`;
      return concat(`${to} = `, expression(o.value, scopeOf(place)), ";");
    }
  }
}

function stepText(s: ParserStep, place: Place): Doc {
  switch (s.kind) {
    case "extract":
      return `packet.extract(hdr.${s.header});`;
    case "advance":
      return concat(list("packet.advance(", [expression(s.bits, scopeOf(place))], ");"));
    case "assign":
      return group(`meta.${s.target.name} =`, nest(line, expression(s.value, scopeOf(place))), ";");
    case "verify":
      throw new Error("Tofino's parser has no errors of its own");
  }
}

function takenText({ instance, fields, rest }: TakenOut, place: Place): readonly Doc[] {
  const values = fields.map((f) => expression(f, scopeOf(place), true));
  return [
    concat(list(`${instance}.subtract({`, values, "});")),
    ...(rest === undefined ? [] : [`${instance}.subtract_all_and_deposit(meta.${rest});`]),
  ];
}

function transition({ transition: t }: TnaState, place: Place): Doc {
  if (t.kind === "goto") return `transition ${t.next};`;
  const keys = t.keys.map((k) => expression(k, scopeOf(place), true));
  const cases = t.cases.map((c) => {
    if (c.valueSet !== undefined) return `${c.valueSet}: ${c.next};`;
    const sets = c.values.map((set, i) => keySet(set, t.keys[i]?.type ?? { kind: "bit", width: 1 }));
    return concat(sets.length === 1 ? (sets[0] ?? "") : list("(", sets, ")"), `: ${c.next};`);
  });
  return braces(list("transition select(", keys, ")"), [...cases, `default: ${t.otherwise};`]);
}
