import type { Expression, Target } from "../../../ir/index.ts";
import { typeName, widthOf } from "../../../ir/index.ts";
import { constantName, expression, negation, type Scope } from "../../p4text/expressions.ts";
import { braces, concat, type Doc, group, join, line, list, nest } from "../../p4text/layout.ts";
import { assignment, conditional } from "../../p4text/statements.ts";
import { type IntrinsicNames, intrinsicText } from "../intrinsics.ts";
import type { CellStatement, Gress, LocalTarget, Step, TnaBlock, TnaStatement } from "../lowered.ts";

/** What the text of one gress needs to know. */
export interface Place {
  readonly gress: Gress;
  readonly names: IntrinsicNames;
}

/** Parameters of controls, in this order everywhere. */
export const PARAMETERS: Record<Gress, readonly { readonly type: string; readonly name: string }[]> = {
  ingress: [
    { type: "inout headers_t", name: "hdr" },
    { type: "inout metadata_t", name: "meta" },
    { type: "in ingress_intrinsic_metadata_t", name: "ig_intr_md" },
    { type: "in ingress_intrinsic_metadata_from_parser_t", name: "ig_prsr_md" },
    { type: "inout ingress_intrinsic_metadata_for_deparser_t", name: "ig_dprsr_md" },
    { type: "inout ingress_intrinsic_metadata_for_tm_t", name: "ig_tm_md" },
  ],
  egress: [
    { type: "inout headers_t", name: "hdr" },
    { type: "inout metadata_t", name: "meta" },
    { type: "in egress_intrinsic_metadata_t", name: "eg_intr_md" },
    { type: "in egress_intrinsic_metadata_from_parser_t", name: "eg_prsr_md" },
    { type: "inout egress_intrinsic_metadata_for_deparser_t", name: "eg_dprsr_md" },
    { type: "inout egress_intrinsic_metadata_for_output_port_t", name: "eg_oport_md" },
  ],
};

export function scopeOf(place: Place): Scope {
  return { intrinsic: (e) => intrinsicText(e, place.gress, place.names), variable: (name) => name };
}

/** In the program of a stateful ALU both sides of the update are `value`. */
function cellScope(place: Place): Scope {
  return { ...scopeOf(place), variable: (name) => (name === "old" || name === "next" ? "value" : name) };
}

export function blockText(block: TnaBlock, place: Place): readonly Doc[] {
  return block.flatMap((s) => statementText(s, place));
}

function statementText(s: TnaStatement, place: Place): readonly Doc[] {
  const scope = scopeOf(place);
  switch (s.kind) {
    case "steps":
      return stepsText(s.steps, place);
    case "if":
      return branches(
        expression(s.condition, scope),
        expression(negation(s.condition), scope),
        s.whenTrue,
        s.whenFalse,
        place,
      );
    case "applyTable": {
      const apply = `${s.local}.apply()`;
      if (s.hit.length === 0 && s.miss.length === 0) return [`${apply};`];
      return branches(`${apply}.hit`, `${apply}.miss`, s.hit, s.miss, place);
    }
    case "applyControl":
      return [
        concat(
          list(
            `${s.instance}.apply(`,
            PARAMETERS[place.gress].map((p) => p.name),
            ");",
          ),
        ),
      ];
    case "callAction":
      return [
        concat(
          s.local,
          list(
            "(",
            s.arguments.map((a) => expression(a, scope)),
            ")",
          ),
          ";",
        ),
      ];
    case "exit":
      return ["exit;"];
  }
}

function branches(
  test: Doc,
  negated: Doc,
  whenTrue: TnaBlock,
  whenFalse: TnaBlock,
  place: Place,
): readonly Doc[] {
  const isElseIf = whenFalse.length === 1 && whenFalse[0]?.kind === "if";
  return conditional(test, negated, blockText(whenTrue, place), blockText(whenFalse, place), isElseIf);
}

/** Straight-line code. */
export function stepsText(steps: readonly Step[], place: Place): readonly Doc[] {
  const scope = scopeOf(place);
  const text = (e: Expression): Doc => expression(e, scope);
  const one = (s: Step): Doc => {
    switch (s.kind) {
      case "assign":
        return throughHash(s.inHash, assignment(targetText(s.target), text(s.value)));
      case "declare":
        return assignment(`${typeName(s.local.type)} ${s.local.name}`, text(s.value));
      case "architecture":
        return throughHash(
          s.inHash,
          assignment(
            s.field,
            s.cast === undefined || (s.value.kind === "constant" && constantName(s.value) === undefined)
              ? text(s.value)
              : expression({ kind: "cast", ...s.cast, operand: s.value }, scope),
          ),
        );
      case "invalidate":
        return `invalidate(${s.field});`;
      case "setValidity":
        return `hdr.${s.header}.${s.valid ? "setValid" : "setInvalid"}();`;
      case "count":
        return concat(s.counterLocal, list(".count(", [text(s.index)], ");"));
      case "directCount":
        return `${s.counterLocal}.count();`;
      case "hash":
        return assignment(
          targetText(s.into),
          cast(
            concat(
              s.local,
              group(
                ".get({",
                nest(
                  line,
                  join(
                    concat(",", line),
                    s.fields.map((f) => expression(f, scope, true)),
                  ),
                ),
                line,
                "})",
              ),
            ),
            s.bits,
            s.into,
          ),
        );
      case "random":
        return assignment(targetText(s.into), cast(`${s.local}.get()`, s.bits, s.into));
      case "meter": {
        const index = s.index === undefined ? [] : [expression(s.index, scope, true)];
        // A colour has eight bits there.
        return assignment(
          targetText(s.into),
          cast(concat(s.meterLocal, list(".execute(", index, ")")), 8, s.into),
        );
      }
      case "execute": {
        const call = concat(s.program, list(".execute(", [expression(s.index, scope, true)], ")"));
        return s.into === undefined ? concat(call, ";") : assignment(targetText(s.into), call);
      }
    }
  };
  return steps.map(one);
}

/** A value of so many bits as the target takes it. */
function cast(value: Doc, bits: number, into: Target): Doc {
  return bits === widthOf(into.type) ? value : concat(`(${typeName(into.type)})`, value);
}

function throughHash(isIt: boolean | undefined, statement: Doc): Doc {
  return isIt === true ? braces("@in_hash", [statement]) : statement;
}

/** The statements of a stateful program. */
export function cellText(body: readonly CellStatement[], place: Place): readonly Doc[] {
  const scope = cellScope(place);
  return body.flatMap((s): readonly Doc[] => {
    if (s.kind === "set") return [assignment(s.target, expression(s.value, scope))];
    return conditional(
      expression(s.condition, scope),
      expression(negation(s.condition), scope),
      cellText(s.whenTrue, place),
      cellText(s.whenFalse, place),
      s.whenFalse.length === 1 && s.whenFalse[0]?.kind === "if",
    );
  });
}

function targetText(t: Target | LocalTarget): string {
  switch (t.kind) {
    case "local":
      return t.name;
    case "field":
      return `hdr.${t.header}.${t.field}`;
    case "metadata":
      return `meta.${t.name}`;
    case "intrinsic":
      return t.name;
    case "slice":
      return `${targetText(t.operand)}[${t.high}:${t.low}]`;
  }
}
