import type { Expression, ParserState, ParserStep, Program } from "../../../ir/index.ts";
import { bit, ownErrors, widthOf } from "../../../ir/index.ts";
import { expression } from "../../p4text/expressions.ts";
import { braces, concat, type Doc, group, hardline, line, list, nest, render } from "../../p4text/layout.ts";
import { keySet } from "../../p4text/literals.ts";
import type { LoweredProgram } from "../lowered.ts";
import { asIndex } from "../storage.ts";
import { scopeOf } from "./blocks.ts";
import { bitsText, isSignedAsBits, withoutSign } from "./signedkeys.ts";

/** The declaration of the program's own errors, or nothing. */
export function errorsText(program: Program): string {
  const errors = ownErrors(program);
  return errors.length === 0 ? "" : render(list("error { ", errors, " }"));
}

/** The parser's states. */
export function parserStates(program: LoweredProgram): readonly Doc[] {
  const next = (state: string): string => (state === "reject" ? (program.rejectState ?? state) : state);
  const states = program.source.parser.map((s) => stateText(s, next));
  if (program.rejectState === undefined) return states;
  return [
    ...states,
    concat(
      "// v1model has no reject: the packet goes on to ingress with its error set.",
      hardline,
      braces(`state ${program.rejectState}`, ["verify(false, error.NoMatch);", "transition accept;"]),
    ),
  ];
}

function stateText(state: ParserState, next: (state: string) => string): Doc {
  return braces(`state ${state.name}`, [...state.steps.map(stepText), transition(state, next)]);
}

function stepText(s: ParserStep): Doc {
  switch (s.kind) {
    case "extract":
      return list(
        "packet.extract(",
        [`hdr.${s.header}`, ...(s.length === undefined ? [] : [text(asIndex(s.length))])],
        ");",
      );
    case "advance":
      return concat(list("packet.advance(", [text(asIndex(s.bits))], ");"));
    case "assign":
      return group(`meta.${s.target.name} =`, nest(line, text(s.value)), ";");
    case "verify":
      return list("verify(", [text(s.condition), `error.${s.error}`], ");");
  }
}

function text(e: Expression): Doc {
  return expression(e, scopeOf("ingress"));
}

function transition({ transition: t }: ParserState, next: (state: string) => string): Doc {
  if (t.kind === "goto") return `transition ${next(t.next)};`;
  const asBits = t.keys.map((k, i) =>
    isSignedAsBits(
      k.type,
      t.cases.map((c) => c.values[i]),
    ),
  );
  const scope = scopeOf("ingress");
  const keys = t.keys.map((k, i) => (asBits[i] === true ? bitsText(k, scope) : expression(k, scope, true)));
  const cases = t.cases.map((c) => {
    if (c.valueSet !== undefined) return `${c.valueSet}: ${next(c.next)};`;
    const sets = c.values.map((set, i) => {
      const type = t.keys[i]?.type ?? { kind: "bit", width: 1 };
      return asBits[i] === true
        ? keySet(withoutSign(set, widthOf(type)), bit(widthOf(type)))
        : keySet(set, type);
    });
    return concat(sets.length === 1 ? (sets[0] ?? "") : list("(", sets, ")"), `: ${next(c.next)};`);
  });
  const takesAll = t.cases.some(
    (c) => c.valueSet === undefined && c.values.every((set) => set.kind === "any"),
  );
  // A default behind a case that takes everything would never be reached.
  const others = takesAll ? [] : [`default: ${next(t.otherwise)};`];
  return braces(list("transition select(", keys, ")"), [...cases, ...others]);
}
