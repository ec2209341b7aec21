import type { Expression, HashAlgorithm, Target } from "../../../ir/index.ts";
import { expression, negation, type Scope } from "../../p4text/expressions.ts";
import {
  braces,
  concat,
  type Doc,
  group,
  hardline,
  join,
  line,
  lines,
  list,
  nest,
} from "../../p4text/layout.ts";
import { assignment, conditional } from "../../p4text/statements.ts";
import { intrinsicText, standardMetadata } from "../intrinsics.ts";
import type { Gress, LocalTarget, LoweredBlock, LoweredStatement, Step } from "../lowered.ts";

export function scopeOf(gress: Gress): Scope {
  return { intrinsic: (e) => intrinsicText(e, gress), variable: (name) => name };
}

/** Statements of a block, one a line. */
export function blockText(block: LoweredBlock, gress: Gress): readonly Doc[] {
  return block.flatMap((s) => statementText(s, gress));
}

function statementText(s: LoweredStatement, gress: Gress): readonly Doc[] {
  switch (s.kind) {
    case "steps":
      return stepsText(s.steps, gress);
    case "if":
      return branches(
        expression(s.condition, scopeOf(gress)),
        expression(negation(s.condition), scopeOf(gress)),
        s.whenTrue,
        s.whenFalse,
        gress,
      );
    case "applyTable": {
      const apply = `${s.local}.apply()`;
      if (s.hit.length === 0 && s.miss.length === 0) return [`${apply};`];
      return branches(`${apply}.hit`, `${apply}.miss`, s.hit, s.miss, gress);
    }
    case "applyControl":
      return [`${s.instance}.apply(hdr, meta, standard_metadata);`];
    case "callAction":
      return [
        concat(
          s.local,
          list(
            "(",
            s.arguments.map((a) => expression(a, scopeOf(gress))),
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
  whenTrue: LoweredBlock,
  whenFalse: LoweredBlock,
  gress: Gress,
): readonly Doc[] {
  const isElseIf = whenFalse.length === 1 && whenFalse[0]?.kind === "if";
  return conditional(test, negated, blockText(whenTrue, gress), blockText(whenFalse, gress), isElseIf);
}

/** Straight-line code. */
export function stepsText(steps: readonly Step[], gress: Gress): readonly Doc[] {
  return steps.flatMap((s) => stepText(s, gress));
}

function stepText(s: Step, gress: Gress): readonly Doc[] {
  const scope = scopeOf(gress);
  const text = (e: Expression): Doc => expression(e, scope);
  const sized = (e: Expression): Doc => expression(e, scope, true);
  switch (s.kind) {
    case "assign":
      return [assignment(targetText(s.target, gress), text(s.value))];
    case "declare": {
      const head = `${s.local.type.kind === "bool" ? "bool" : `${s.local.type.kind}<${s.local.type.width}>`} ${s.local.name}`;
      return [s.value === undefined ? `${head};` : assignment(head, text(s.value))];
    }
    case "setValidity":
      return [`hdr.${s.header}.${s.valid ? "setValid" : "setInvalid"}();`];
    case "pushFront":
      return [`hdr.${s.stack}.push_front(${s.count});`];
    case "popFront":
      return [`hdr.${s.stack}.pop_front(${s.count});`];
    case "count":
      return [concat(s.counterLocal, list(".count(", [text(s.index)], ");"))];
    case "drop":
      return ["mark_to_drop(standard_metadata);"];
    case "clone":
      return [list("clone(", ["CloneType.I2E", text(s.session)], ");")];
    case "resubmit":
    case "recirculate":
      return [`${s.kind}_preserving_field_list(${s.list});`];
    case "hash": {
      const fields = group("{", nest(line, join(concat(",", line), s.fields.map(sized))), line, "}");
      const items = [
        targetText(s.into, gress),
        algorithmText(s.algorithm),
        sized(s.base),
        fields,
        sized(s.max),
      ];
      return [list("hash(", items, ");")];
    }
    case "meter":
      return [list(`${s.meterLocal}.execute_meter(`, [text(s.index), targetText(s.into, gress)], ");")];
    case "readMeter":
      return [`${s.meterLocal}.read(${targetText(s.into, gress)});`];
    case "digest": {
      const values = group("{", nest(line, join(concat(",", line), s.values.map(sized))), line, "}");
      // BMv2 has one receiver, the control plane.
      return [list(`digest<${s.digest.type}>(`, ["1", values], ");")];
    }
    case "random":
      return [list("random(", [targetText(s.into, gress), sized(s.low), sized(s.high)], ");")];
    case "read":
      return [list(`${s.registerLocal}.read(`, [s.into.name, text(s.index)], ");")];
    case "write":
      return [list(`${s.registerLocal}.write(`, [text(s.index), text(s.value)], ");")];
    case "atomic":
      return [braces("@atomic", [blankBetween(s.updates.map((u) => lines(stepsText(u, gress))))])];
  }
}

/** The algorithm as v1model names it. */
export function algorithmText(algorithm: HashAlgorithm): string {
  return `HashAlgorithm.${algorithm}`;
}

function blankBetween(parts: readonly Doc[]): Doc {
  return join(concat(hardline, hardline), parts);
}

function targetText(t: Target | LocalTarget, gress: Gress): string {
  switch (t.kind) {
    case "local":
      return t.name;
    case "field":
      return `hdr.${t.header}.${t.field}`;
    case "metadata":
      return `meta.${t.name}`;
    case "intrinsic":
      return `standard_metadata.${standardMetadata(t.name, gress).field}`;
    case "slice":
      return `${targetText(t.operand, gress)}[${t.high}:${t.low}]`;
  }
}
