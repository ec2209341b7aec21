import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { CellStatement, Expression, GressSection, Register, StatefulProgram } from "./document.ts";

/** What one stateful ALU of Tofino 1 has. */
const MAX_COMPARISONS = 2;
const MAX_PACKET_VALUES = 2;
const MAX_PROGRAMS = 4;
const CELL_BITS: ReadonlySet<number> = new Set([8, 16, 32]);
const OPERATORS: ReadonlySet<string> = new Set(["+", "-", "|+|", "|-|", "&", "|", "^"]);
const COMPARISONS: ReadonlySet<string> = new Set(["==", "!=", "<", "<=", ">", ">="]);

/**
 * Refuses registers and stateful programs that no stateful ALU runs: other cells than 8, 16 or 32 bits, more than four programs of a
 * register, and in a program more than two comparisons, two packet values, one operator for a value, or one source of what is handed out.
 */
export function checkStatefulPrograms(section: GressSection): void {
  for (const control of section.controls) {
    const programs = control.actions.flatMap((a) => a.updates);
    for (const r of control.registers) {
      if (r.type.kind === "bool" || !CELL_BITS.has(r.type.width))
        throw refused(
          r.path,
          `cells of register ${r.name} have ${r.type.width} bits; Tofino has 8, 16 and 32`,
        );
      const own = programs.filter((p) => p.register === r.local);
      if (own.length > MAX_PROGRAMS)
        throw refused(
          r.path,
          `register ${r.name} has ${own.length} programs; a stateful ALU holds ${MAX_PROGRAMS}`,
        );
      for (const p of own) new ProgramCheck(p, r).check();
    }
  }
}

function refused(path: string, problem: string): SwitchConfigError {
  return new SwitchConfigError("BAD_VALUE", path, problem);
}

class ProgramCheck {
  readonly #program: StatefulProgram;
  readonly #register: Register;
  readonly #comparisons = new Set<string>();
  readonly #packetValues = new Set<string>();
  readonly #sources = new Set<string>();
  /** Whether the cell has been written at this point, so that what is read is the new one. */
  #isWritten = false;

  constructor(program: StatefulProgram, register: Register) {
    this.#program = program;
    this.#register = register;
  }

  check(): void {
    this.#body(this.#program.body);
    const { path } = this.#program;
    if (this.#comparisons.size > MAX_COMPARISONS)
      throw this.#wrong(path, `${this.#comparisons.size} comparisons, and the ALU has ${MAX_COMPARISONS}`);
    if (this.#packetValues.size > MAX_PACKET_VALUES) {
      const names = [...this.#packetValues].join(", ");
      throw this.#wrong(
        path,
        `${this.#packetValues.size} packet values (${names}), and the ALU takes ${MAX_PACKET_VALUES}`,
      );
    }
    if (this.#sources.size > 1) {
      const names = [...this.#sources].join(", ");
      throw this.#wrong(
        path,
        `the output comes from ${this.#sources.size} sources (${names}), and the ALU has one`,
      );
    }
  }

  #wrong(path: string, problem: string): SwitchConfigError {
    return refused(path, `${this.#program.local} of register ${this.#register.name}: ${problem}`);
  }

  #body(body: readonly CellStatement[]): void {
    for (const s of body) {
      if (s.kind === "if") {
        this.#condition(s.condition);
        this.#body(s.whenTrue);
        this.#body(s.whenFalse);
        continue;
      }
      this.#value(s.value);
      if (s.target === "value") this.#isWritten = true;
      else if (!isZero(s.value)) this.#sources.add(this.#sourceOf(s.value));
    }
  }

  #condition(e: Expression): void {
    if (e.kind === "binary" && (e.operator === "&&" || e.operator === "||")) {
      this.#condition(e.left);
      this.#condition(e.right);
      return;
    }
    if (e.kind === "unary" && e.operator === "!") {
      this.#condition(e.operand);
      return;
    }
    if (e.kind !== "binary" || !COMPARISONS.has(e.operator))
      throw this.#wrong(e.path, "a condition that is no comparison");
    const terms = [...termsOf(e.left), ...termsOf(e.right)];
    if (!terms.every(isOperand))
      throw this.#wrong(e.path, "a comparison that is not of the cell, one packet value and a constant");
    if (terms.filter((t) => bare(t).kind === "memory").length > 1)
      throw this.#wrong(e.path, "a comparison reads the cell twice");
    const packet = new Set(terms.flatMap(packetValuesOf));
    if (packet.size > 1) throw this.#wrong(e.path, "a comparison of two packet values");
    for (const name of packet) this.#packetValues.add(name);
    this.#comparisons.add(textOf(e));
  }

  #value(e: Expression): void {
    for (const name of packetValuesOf(e)) this.#packetValues.add(name);
    if (isOperand(e) || (e.kind === "unary" && e.operator === "~" && isOperand(e.operand))) return;
    if (e.kind !== "binary") throw this.#wrong(e.path, "a value that the ALU cannot compute");
    if (!OPERATORS.has(e.operator)) throw this.#wrong(e.path, `the ALU has no ${e.operator}`);
    if (!isOperand(e.left) || !isOperand(e.right))
      throw this.#wrong(e.path, "more than one operator for one value");
  }

  #sourceOf(e: Expression): string {
    const b = bare(e);
    if (b.kind === "memory") return this.#isWritten ? "the new cell" : "the old cell";
    return b.kind === "field" || b.kind === "metadata" ? "the packet" : "a computation";
  }
}

/** Without casts that change no bit. */
function bare(e: Expression): Expression {
  return e.kind === "cast" && e.type.width === e.operand.type.width ? bare(e.operand) : e;
}

function isZero(e: Expression): boolean {
  return e.kind === "constant" && e.value === 0n;
}

function isOperand(e: Expression): boolean {
  const b = bare(e);
  switch (b.kind) {
    case "memory":
    case "field":
    case "metadata":
    case "local":
    case "architecture":
    case "constant":
      return true;
    case "slice":
      return b.operand.kind !== "memory" && isOperand(b.operand);
    default:
      return false;
  }
}

function termsOf(e: Expression): readonly Expression[] {
  const b = bare(e);
  return b.kind === "binary" && (b.operator === "-" || b.operator === "+")
    ? [...termsOf(b.left), ...termsOf(b.right)]
    : [b];
}

function packetValuesOf(e: Expression): readonly string[] {
  switch (e.kind) {
    case "field":
      return [`${e.header}.${e.field}`];
    case "metadata":
    case "local":
      return [e.name];
    case "architecture":
      return [e.field];
    case "unary":
    case "slice":
    case "cast":
      return packetValuesOf(e.operand);
    case "binary":
    case "concat":
      return [...packetValuesOf(e.left), ...packetValuesOf(e.right)];
    case "mux":
      return [e.condition, e.whenTrue, e.whenFalse].flatMap(packetValuesOf);
    default:
      return [];
  }
}

/** An expression as text without its place, for comparing. */
export function textOf(e: Expression): string {
  return JSON.stringify(e, (key, v: unknown) =>
    key === "path" ? undefined : typeof v === "bigint" ? v.toString() : v,
  );
}
