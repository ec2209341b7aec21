import type { Expression, ParserStep } from "../../../ir/index.ts";
import { stackOf, widthOf } from "../../../ir/index.ts";
import { rewrite } from "../../p4text/rewrite.ts";
import { asIndex } from "../storage.ts";
import { hexstr, type Json, type JsonObject } from "./json.ts";
import type { Scalars } from "./scalars.ts";
import { argument, fieldAt, metadataField, place, SCALARS, type ValueScope, value } from "./values.ts";

/** In the parser the only variables are temporaries, which go by their names in the scalars. */
const scope: ValueScope = { gress: "ingress", slot: (field) => ({ kind: "scalar", field }) };

/** Writes the operations of one parser state. */
export class StateWriter {
  readonly ops: JsonObject[] = [];
  readonly #scalars: Scalars;
  readonly #errors: readonly string[];

  /** @param errors names of the program's errors, in the order of their numbers. */
  constructor(scalars: Scalars, errors: readonly string[]) {
    this.#scalars = scalars;
    this.#errors = errors;
  }

  step(s: ParserStep): void {
    switch (s.kind) {
      case "extract":
        this.#extract(s.header, s.length);
        break;
      case "advance":
        this.#op("advance", this.#argument(asIndex(s.bits)));
        break;
      case "assign":
        this.#set([SCALARS, metadataField(s.target.name)], s.value);
        break;
      case "verify":
        this.#op("verify", value(this.#prepared(s.condition), scope), this.error(s.error));
    }
  }

  error(name: string): JsonObject {
    return { type: "hexstr", value: hexstr(BigInt(this.#errors.indexOf(name))) };
  }

  /** A part of the transition key: a field, perhaps one that the value is computed into. */
  key(e: Expression): JsonObject {
    const at = place(e, scope);
    return fieldAt(at ?? this.#temporary(e));
  }

  #extract(header: string, length: Expression | undefined): void {
    if (length !== undefined) {
      const bits = value(this.#prepared(asIndex(length)), scope);
      this.#op("extract_VL", { type: "regular", value: header }, { type: "expression", value: bits });
      return;
    }
    const stack = stackOf(header, "next");
    this.#op(
      "extract",
      stack === undefined ? { type: "regular", value: header } : { type: "stack", value: stack },
    );
  }

  #set(target: readonly [header: string, field: string], e: Expression): void {
    const from =
      e.kind === "lookahead" ? { type: "lookahead", value: [0, widthOf(e.type)] } : this.#argument(e);
    this.#op("set", { type: "field", value: target }, from);
  }

  #temporary(e: Expression): readonly [header: string, field: string] {
    const target = [SCALARS, this.#scalars.temporary(e.type)] as const;
    this.#set(target, e);
    return target;
  }

  #argument(e: Expression): JsonObject {
    return argument(this.#prepared(e), scope);
  }

  /** The expression with its lookaheads read into temporaries: BMv2 looks ahead only where it sets a field. */
  #prepared(e: Expression): Expression {
    return rewrite(e, (node) =>
      node.kind === "lookahead"
        ? { kind: "parameter", name: this.#temporary(node)[1], type: node.type }
        : undefined,
    );
  }

  #op(op: string, ...parameters: readonly Json[]): void {
    this.ops.push({ parameters, op });
  }
}
