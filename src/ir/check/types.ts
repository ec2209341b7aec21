import type { Diagnostic, RuleCode } from "../diagnostics.ts";
import { type Binary, type Expression, intrinsics, operandsOf, type Slice } from "../expressions.ts";
import { movedBy } from "../folding.ts";
import type { Program } from "../program.ts";
import type { SourceLocation } from "../source.ts";
import type { Statement, Target } from "../statements.ts";
import { type DataType, rangeOf, sameType, typeName, widthOf } from "../types.ts";
import type { Place } from "../walk.ts";
import { checkExternStatement } from "./externstatements.ts";
import { checkHeaderPath } from "./headers.ts";
import type { Names } from "./names.ts";

type Report = (d: Diagnostic) => void;

/** The widest value that p4c takes. */
const MAX_WIDTH = 2048;

export function hasWidth(type: DataType): boolean {
  const width = widthOf(type);
  return Number.isInteger(width) && width >= 1 && width <= MAX_WIDTH;
}

/** Signed, of one bit. BMv2 dies of such a field, and p4c makes fields of values of any kind. */
function isLoneSign(type: DataType): boolean {
  return type.kind === "int" && type.width === 1;
}

/** Widths of all that is declared with a type. */
export function checkWidths(program: Program, report: Report): void {
  const declared = (what: string, type: DataType, at: SourceLocation | undefined): void => {
    const message = `${what} is ${typeName(type)}`;
    if (!hasWidth(type)) report({ code: "GP1103", message, at });
    if (isLoneSign(type)) report({ code: "GP1112", message, at, target: "v1model" });
  };
  for (const h of program.headerTypes)
    for (const f of h.fields) declared(`field ${h.name}.${f.name}`, f.type, h.at);
  for (const k of program.constants) declared(`constant ${k.name}`, k.type, k.at);
  for (const m of program.metadata) declared(`metadata field ${m.name}`, m.type, m.at);
  for (const c of program.controls) {
    for (const r of c.registers) declared(`a cell of ${r.name}`, r.type, r.at);
    for (const d of c.digests)
      for (const f of d.fields) declared(`field ${f.name} of ${d.name}`, f.type, d.at);
    for (const a of c.actions)
      for (const p of a.parameters) declared(`parameter ${p.name} of ${a.name}`, p.type, a.at);
  }
}

/** Where an expression stands, and what it may hold there. */
const WRITABLE: ReadonlySet<string> = new Set(["field", "metadata", "intrinsic", "slice"]);

export interface Context {
  readonly place: Place;
  /** Place for nodes that have none of their own: of the statement or declaration around. */
  readonly at: SourceLocation | undefined;
  /** Inside a register update: whether the cell can be read before it only, or after it as well. */
  readonly memory?: "old" | "next";
  readonly isWritten?: boolean;
}

/** Widths, signedness, casts, constants, slices and shifts (P4_16 section 8). */
export class TypeChecker {
  readonly #names: Names;
  readonly #report: Report;

  constructor(names: Names, report: Report) {
    this.#names = names;
    this.#report = report;
  }

  statement(s: Statement, place: Place): void {
    const context: Context = { place, at: s.at };
    switch (s.kind) {
      case "assign":
        this.target(s.target, context);
        this.expression(s.value, context);
        this.same(s.target.type, s.value.type, "assignment", s.at);
        break;
      case "registerUpdate": {
        const register = this.#names.registers.get(s.register);
        this.index(s.index, s.register, register?.size, "register", context);
        if (register === undefined) {
          this.fail("GP1204", `there is no register ${s.register}`, s.at);
          break;
        }
        this.expression(s.next, { ...context, memory: "old" });
        this.same(register.type, s.next.type, `new value of ${s.register}`, s.at);
        if (s.output !== undefined) this.expression(s.output, { ...context, memory: "next" });
        if (s.into !== undefined) {
          this.target(s.into, context);
          if (s.output !== undefined) this.same(s.into.type, s.output.type, `output of ${s.register}`, s.at);
        }
        break;
      }
      case "count": {
        const counter = this.#names.counters.get(s.counter);
        this.index(s.index, s.counter, counter?.size, "counter", context);
        if (counter === undefined) this.fail("GP1204", `there is no counter ${s.counter}`, s.at);
        break;
      }
      case "clone":
        if (place.block !== "ingress") this.fail("GP1502", "clone stands in egress", s.at);
        this.expression(s.session, context);
        this.unsigned(s.session, "clone session", s.at);
        break;
      case "resubmit":
      case "recirculate":
        if (place.block !== "ingress") this.fail("GP1502", `${s.kind} stands in egress`, s.at);
        for (const field of s.keep) {
          const kind: string = field.kind;
          if (kind !== "metadata") this.fail("GP1502", `${s.kind} keeps a ${kind}`, s.at);
          else this.expression(field, context);
        }
        break;
      case "if":
        this.expression(s.condition, context);
        this.#condition(s.condition, s.at);
        break;
      case "callAction": {
        const action = this.#names.actions.get(s.action);
        for (const argument of s.arguments) this.expression(argument, context);
        if (action === undefined) {
          this.fail("GP1204", `there is no action ${s.action}`, s.at);
          break;
        }
        if (action.parameters.length !== s.arguments.length) {
          const [takes, given] = [action.parameters.length, s.arguments.length];
          this.fail("GP1404", `${s.action} takes ${takes} arguments, not ${given}`, s.at);
        }
        action.parameters.forEach((p, i) => {
          const argument = s.arguments[i];
          if (argument !== undefined)
            this.same(p.type, argument.type, `parameter ${p.name} of ${s.action}`, s.at);
        });
        break;
      }
      case "setValidity":
        this.#header(s.header, context);
        break;
      case "pushFront":
      case "popFront":
        if (!this.#names.stacks.has(s.stack)) this.fail("GP1204", `there is no stack ${s.stack}`, s.at);
        if (!Number.isInteger(s.count) || s.count < 1)
          this.fail("GP1310", `${s.stack} is shifted by ${s.count} elements`, s.at);
        break;
      case "hash":
      case "random":
      case "meter":
      case "digest":
        checkExternStatement(s, context, this, this.#names);
        break;
      default:
        break;
    }
  }

  target(t: Target, context: Context): void {
    this.expression(t, { ...context, isWritten: true });
    const block = context.place.block;
    const kind: string = t.kind;
    if (!WRITABLE.has(kind)) {
      const what = kind === "constant" || kind === "parameter" ? `a ${kind}` : "what is computed";
      this.fail("GP1502", `${what} cannot be written; fields, metadata and some intrinsics can`, context.at);
    }
    if (t.kind === "intrinsic") {
      const allowed: readonly string[] = intrinsics[t.name].write;
      if (!allowed.includes(block))
        this.fail("GP1502", `${t.name} cannot be written in ${block}`, context.at);
      if (t.name === "colour" && context.place.control?.only !== "tna") {
        const message = "v1model has no colours: set them in a control that only tna has";
        this.#report({ code: "GP1502", message, at: context.at, target: "v1model" });
      }
    }
    if (t.kind === "slice") {
      const whole: string = t.operand.kind;
      if (whole !== "field" && whole !== "metadata") {
        this.fail("GP1502", "only fields of headers and metadata can be written in part", context.at);
      }
    }
  }

  expression(e: Expression, context: Context): void {
    const at = e.at ?? context.at;
    const { isWritten = false, ...inner } = { ...context, at };
    for (const operand of operandsOf(e)) {
      if (operand.kind === "constant" && e.kind === "binary" && operand === e.right) {
        // A constant shift amount has no type of its own in P4; one beside a value without width says nothing new.
        if (isShift(e) || !hasWidth(e.left.type)) continue;
      }
      this.expression(operand, { ...inner, isWritten: isWritten && e.kind === "slice" });
    }
    switch (e.kind) {
      case "constant":
        // A named one is checked where it is declared.
        if (e.named === undefined) this.constant(e.value, e.type, at);
        break;
      case "field":
        if (this.#header(e.header, inner))
          this.#declared(this.#names.fieldType(e.header, e.field), e, `field ${e.header}.${e.field}`, at);
        break;
      case "metadata":
        this.#declared(this.#names.metadata.get(e.name)?.type, e, `metadata field ${e.name}`, at);
        break;
      case "parameter": {
        const known = context.place.action?.parameters.find((p) => p.name === e.name);
        if (known === undefined) this.fail("GP1204", `${e.name} is not a parameter of this action`, at);
        else this.same(known.type, e.type, `parameter ${e.name}`, at);
        break;
      }
      case "intrinsic": {
        const allowed: readonly string[] = intrinsics[e.name].read;
        const { block } = context.place;
        if (!isWritten && !allowed.includes(block))
          this.fail("GP1502", `${e.name} is not known in ${block === "parser" ? "the parser" : block}`, at);
        break;
      }
      case "memory":
        if (context.memory === undefined || (e.which === "next" && context.memory === "old")) {
          this.fail("GP1602", `"${e.which}" stands outside its register update`, at);
        }
        break;
      case "lookahead":
        this.#width(e.type, at);
        if (e.type.kind !== "bit") this.fail("GP1104", `lookahead gives bits, not ${typeName(e.type)}`, at);
        if (context.place.block !== "parser") this.fail("GP1502", "lookahead stands outside the parser", at);
        break;
      case "valid":
        if (this.#header(e.header, inner) && !this.#names.headers.has(e.header))
          this.fail("GP1502", `${e.header} is always valid`, at);
        break;
      case "unary":
        if ((e.operator === "!") !== (e.operand.type.kind === "bool"))
          this.#wrongOperator(e.operator, e.operand.type, at);
        break;
      case "binary":
        this.#binary(e, at);
        break;
      case "slice":
        this.#slice(e, at);
        break;
      case "concat":
        for (const side of [e.left, e.right]) {
          if (side.type.kind === "bool") this.#wrongOperator("++", side.type, at);
        }
        this.#width(e.type, at);
        break;
      case "cast":
        this.#width(e.type, at);
        this.#cast(e.operand.type, e.type, at);
        break;
      case "mux":
        this.#condition(e.condition, at);
        this.same(e.whenTrue.type, e.whenFalse.type, "both values of a choice", at);
        break;
      default:
        e satisfies never;
    }
  }

  constant(value: bigint, type: DataType, at: SourceLocation | undefined, what = "constant"): void {
    if (!this.#width(type, at)) return;
    const [low, high] = rangeOf(type);
    if (value < low || value > high) {
      this.fail("GP1102", `${what} ${value} does not fit ${typeName(type)} (${low} to ${high})`, at);
    }
  }

  index(index: Expression, name: string, size: number | undefined, what: string, context: Context): void {
    if (
      index.kind === "constant" &&
      size !== undefined &&
      (index.value < 0n || index.value >= BigInt(size))
    ) {
      this.fail("GP1204", `${what} ${name} has no cell ${index.value}; it has ${size}`, context.at);
      return;
    }
    this.expression(index, context);
    this.unsigned(index, `${what} index`, context.at);
  }

  #binary(e: Binary, at: SourceLocation | undefined): void {
    const { operator, left, right } = e;
    switch (operator) {
      case "&&":
      case "||":
        for (const side of [left, right])
          if (side.type.kind !== "bool") this.#wrongOperator(operator, side.type, at);
        break;
      case "<<":
      case ">>":
        if (left.type.kind === "bool") this.#wrongOperator(operator, left.type, at);
        if (right.kind === "constant") {
          if (right.value < 0n || (hasWidth(left.type) && right.value >= BigInt(widthOf(left.type))))
            this.fail("GP1108", `${typeName(left.type)} is shifted by ${right.value}`, at);
          else this.#moves(e, operator, at);
        } else if (right.type.kind !== "bit" || right.type.width > 8) {
          this.fail("GP1108", `the shift amount is ${typeName(right.type)}`, at);
        }
        break;
      case "==":
      case "!=":
        this.same(left.type, right.type, operator, at);
        break;
      default:
        if (left.type.kind === "bool") this.#wrongOperator(operator, left.type, at);
        else this.same(left.type, right.type, operator, at);
        if (operator === "*") this.#moves(e, "<<", at);
    }
  }

  /** p4c makes one shift of several, and of products with powers of two, and warns of one that leaves nothing. */
  #moves(e: Binary, direction: "<<" | ">>", at: SourceLocation | undefined): void {
    const { left, right } = e;
    if (!hasWidth(left.type)) return;
    const width = BigInt(widthOf(left.type));
    const sum = movedBy(e, direction);
    const isSaid = [left, right].some((side) => movedBy(side, direction) >= width);
    if (sum >= width && !isSaid)
      this.fail("GP1108", `${typeName(left.type)} is shifted by ${sum} in all`, at);
  }

  #slice(e: Slice, at: SourceLocation | undefined): void {
    const { high, low, operand } = e;
    const within = Number.isInteger(high) && Number.isInteger(low) && low >= 0 && high >= low;
    if (operand.type.kind !== "bit" || !within || high >= widthOf(operand.type)) {
      this.fail("GP1107", `bits ${high} to ${low} of a ${typeName(operand.type)}`, at);
    }
  }

  #cast(from: DataType, to: DataType, at: SourceLocation | undefined): void {
    const allowed =
      from.kind === to.kind ||
      (from.kind !== "bool" && to.kind !== "bool" && from.width === to.width) ||
      (from.kind === "bool" && to.kind === "bit" && to.width === 1) ||
      (from.kind === "bit" && from.width === 1 && to.kind === "bool");
    if (!allowed) this.fail("GP1106", `${typeName(from)} cannot be cast to ${typeName(to)}`, at);
    else if (isLoneSign(to))
      this.#report({ code: "GP1112", message: `a value is cast to ${typeName(to)}`, at, target: "v1model" });
  }

  #header(path: string, { place, at }: Context): boolean {
    return checkHeaderPath(path, this.#names, place, at, this.#report);
  }

  #declared(type: DataType | undefined, e: Expression, what: string, at: SourceLocation | undefined): void {
    if (type === undefined) this.fail("GP1204", `there is no ${what}`, at);
    else this.same(type, e.type, what, at);
  }

  #width(type: DataType, at: SourceLocation | undefined): boolean {
    if (hasWidth(type)) return true;
    this.fail("GP1103", `the type is ${typeName(type)}`, at);
    return false;
  }

  #condition(e: Expression, at: SourceLocation | undefined): void {
    if (e.type.kind !== "bool") this.fail("GP1104", `a condition is bool, not ${typeName(e.type)}`, at);
  }

  same(a: DataType, b: DataType, what: string, at: SourceLocation | undefined): void {
    if (hasWidth(a) && hasWidth(b) && !sameType(a, b))
      this.fail("GP1104", `${what}: ${typeName(a)} and ${typeName(b)}`, at);
  }

  unsigned(e: Expression, what: string, at: SourceLocation | undefined): void {
    if (e.type.kind !== "bit") this.fail("GP1104", `a ${what} is a bit value, not ${typeName(e.type)}`, at);
  }

  #wrongOperator(operator: string, type: DataType, at: SourceLocation | undefined): void {
    this.fail("GP1105", `${operator} is not for ${typeName(type)}`, at);
  }

  fail(code: RuleCode, message: string, at: SourceLocation | undefined): void {
    this.#report({ code, message, at });
  }
}

function isShift(e: Binary): boolean {
  return e.operator === "<<" || e.operator === ">>";
}
