import type { Diagnostic, RuleCode } from "../diagnostics.ts";
import { type Expression, intrinsics, operandsOf } from "../expressions.ts";
import type { SourceLocation } from "../source.ts";
import type { Statement, Target } from "../statements.ts";
import { type DataType, rangeOf, sameType, typeName, widthOf } from "../types.ts";
import type { Place } from "../walk.ts";
import type { Names } from "./names.ts";

type Report = (d: Diagnostic) => void;

/** The widest value that p4c takes. */
const MAX_WIDTH = 2048;

/** Widths, signedness, casts, constants, slices and shifts (P4_16 section 8). */
export class TypeChecker {
  readonly #names: Names;
  readonly #report: Report;

  constructor(names: Names, report: Report) {
    this.#names = names;
    this.#report = report;
  }

  statement(s: Statement, place: Place): void {
    switch (s.kind) {
      case "assign":
        this.target(s.target, place, s.at);
        this.expression(s.value, place);
        this.#same(s.target.type, s.value.type, "assignment", s.at);
        break;
      case "registerUpdate": {
        const register = this.#names.registers.get(s.register);
        this.expression(s.index, place);
        this.#unsigned(s.index, "register index", s.at);
        if (register === undefined) {
          this.#fail("GP1204", `there is no register ${s.register}`, s.at);
          break;
        }
        this.expression(s.next, place, "old");
        this.#same(register.type, s.next.type, `new value of ${s.register}`, s.at);
        if (s.output !== undefined) this.expression(s.output, place, "next");
        if (s.into !== undefined) {
          this.target(s.into, place, s.at);
          if (s.output !== undefined) this.#same(s.into.type, s.output.type, `output of ${s.register}`, s.at);
        }
        break;
      }
      case "count": {
        const counter = this.#names.counters.get(s.counter);
        this.expression(s.index, place);
        this.#unsigned(s.index, "counter index", s.at);
        if (counter === undefined) this.#fail("GP1204", `there is no counter ${s.counter}`, s.at);
        else if (
          s.index.kind === "constant" &&
          (s.index.value < 0n || s.index.value >= BigInt(counter.size))
        ) {
          this.#fail("GP1204", `counter ${s.counter} has no such cell`, s.at);
        }
        break;
      }
      case "clone":
        if (place.block !== "ingress") this.#fail("GP1502", "clone stands in egress", s.at);
        this.expression(s.session, place);
        this.#unsigned(s.session, "clone session", s.at);
        break;
      case "if":
        this.expression(s.condition, place);
        if (s.condition.type.kind !== "bool") {
          this.#fail("GP1104", `a condition is bool, not ${typeName(s.condition.type)}`, s.at);
        }
        break;
      case "callAction": {
        const action = this.#names.actions.get(s.action);
        for (const argument of s.arguments) this.expression(argument, place);
        if (action === undefined) this.#fail("GP1204", `there is no action ${s.action}`, s.at);
        else {
          action.parameters.forEach((p, i) => {
            const argument = s.arguments[i];
            if (argument !== undefined)
              this.#same(p.type, argument.type, `parameter ${p.name} of ${s.action}`, s.at);
          });
        }
        break;
      }
      case "setValidity":
        if (!this.#names.headers.has(s.header)) this.#fail("GP1204", `there is no header ${s.header}`, s.at);
        break;
      default:
        break;
    }
  }

  target(t: Target, place: Place, at: SourceLocation | undefined): void {
    this.expression(t, place, undefined, true);
    if (t.kind === "intrinsic") {
      const allowed: readonly string[] = intrinsics[t.name].write;
      if (!allowed.includes(place.block))
        this.#fail("GP1502", `${t.name} cannot be written in ${place.block}`, at);
    }
  }

  expression(e: Expression, place: Place, memory?: "old" | "next", written = false): void {
    for (const operand of operandsOf(e))
      this.expression(operand, place, memory, written && e.kind === "slice");
    this.#width(e.type, e.at);
    switch (e.kind) {
      case "constant":
        this.constant(e.value, e.type, e.at);
        break;
      case "field": {
        const type = this.#names.fieldType(e.header, e.field);
        if (type === undefined) this.#fail("GP1204", `there is no field ${e.header}.${e.field}`, e.at);
        break;
      }
      case "metadata":
        if (!this.#names.metadata.has(e.name))
          this.#fail("GP1204", `there is no metadata field ${e.name}`, e.at);
        break;
      case "parameter": {
        const known = place.action?.parameters.some((p) => p.name === e.name && sameType(p.type, e.type));
        if (known !== true) this.#fail("GP1204", `${e.name} is not a parameter of this action`, e.at);
        break;
      }
      case "intrinsic": {
        const allowed: readonly string[] = intrinsics[e.name].read;
        if (!written && !allowed.includes(place.block)) {
          this.#fail("GP1502", `${e.name} is not known in ${place.block}`, e.at);
        }
        break;
      }
      case "memory":
        if (memory === undefined || (e.which === "next" && memory === "old")) {
          this.#fail("GP1602", `"${e.which}" stands outside its register update`, e.at);
        }
        break;
      case "valid":
        if (!this.#names.headers.has(e.header)) this.#fail("GP1204", `there is no header ${e.header}`, e.at);
        break;
      case "unary":
        if ((e.operator === "!") !== (e.operand.type.kind === "bool"))
          this.#wrongOperator(e.operator, e.operand.type, e.at);
        break;
      case "binary":
        this.#binary(e);
        break;
      case "slice": {
        const width = widthOf(e.operand.type);
        if (e.operand.type.kind !== "bit" || e.high < e.low || e.low < 0 || e.high >= width) {
          this.#fail("GP1107", `[${e.high}:${e.low}] of a ${typeName(e.operand.type)}`, e.at);
        }
        break;
      }
      case "concat":
        for (const side of [e.left, e.right]) {
          if (side.type.kind === "bool") this.#wrongOperator("++", side.type, e.at);
        }
        break;
      case "cast":
        this.#cast(e.operand.type, e.type, e.at);
        break;
      case "mux":
        if (e.condition.type.kind !== "bool") {
          this.#fail("GP1104", `a condition is bool, not ${typeName(e.condition.type)}`, e.at);
        }
        this.#same(e.whenTrue.type, e.whenFalse.type, "both values of a choice", e.at);
        break;
      default:
        e satisfies never;
    }
  }

  constant(value: bigint, type: DataType, at: SourceLocation | undefined, what = "constant"): void {
    const [low, high] = rangeOf(type);
    if (value < low || value > high) {
      this.#fail("GP1102", `${what} ${value} does not fit ${typeName(type)} (${low} to ${high})`, at);
    }
  }

  #binary(e: Expression & { readonly kind: "binary" }): void {
    const { operator, left, right } = e;
    switch (operator) {
      case "&&":
      case "||":
        for (const side of [left, right])
          if (side.type.kind !== "bool") this.#wrongOperator(operator, side.type, e.at);
        break;
      case "<<":
      case ">>":
        if (left.type.kind === "bool") this.#wrongOperator(operator, left.type, e.at);
        if (
          right.kind === "constant"
            ? right.value < 0n || right.value >= BigInt(widthOf(left.type))
            : right.type.kind !== "bit" || right.type.width > 8
        ) {
          this.#fail(
            "GP1108",
            right.kind === "constant"
              ? `${typeName(left.type)} shifted by ${right.value}`
              : `shift by a ${typeName(right.type)}`,
            e.at,
          );
        }
        break;
      case "==":
      case "!=":
        this.#same(left.type, right.type, `${operator}`, e.at);
        break;
      default:
        if (left.type.kind === "bool") this.#wrongOperator(operator, left.type, e.at);
        else this.#same(left.type, right.type, operator, e.at);
    }
  }

  #cast(from: DataType, to: DataType, at: SourceLocation | undefined): void {
    const allowed =
      from.kind === to.kind ||
      (from.kind !== "bool" && to.kind !== "bool" && from.width === to.width) ||
      (from.kind === "bool" && to.kind === "bit" && to.width === 1) ||
      (from.kind === "bit" && from.width === 1 && to.kind === "bool");
    if (!allowed) this.#fail("GP1106", `${typeName(from)} to ${typeName(to)}`, at);
  }

  #width(type: DataType, at: SourceLocation | undefined): void {
    const width = widthOf(type);
    if (!Number.isInteger(width) || width < 1 || width > MAX_WIDTH)
      this.#fail("GP1103", `width ${width}`, at);
  }

  #same(a: DataType, b: DataType, what: string, at: SourceLocation | undefined): void {
    if (!sameType(a, b)) this.#fail("GP1104", `${what}: ${typeName(a)} and ${typeName(b)}`, at);
  }

  #unsigned(e: Expression, what: string, at: SourceLocation | undefined): void {
    if (e.type.kind !== "bit") this.#fail("GP1104", `a ${what} is a bit value, not ${typeName(e.type)}`, at);
  }

  #wrongOperator(operator: string, type: DataType, at: SourceLocation | undefined): void {
    this.#fail("GP1105", `${operator} on ${typeName(type)}`, at);
  }

  #fail(code: RuleCode, message: string, at: SourceLocation | undefined): void {
    this.#report({ code, message, at });
  }
}
