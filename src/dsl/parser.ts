import type * as ir from "../ir/index.ts";
import { type BitType, bit } from "../ir/index.ts";
import { nodeText } from "../ir/nodetext.ts";
import { callSite } from "./callsite.ts";
import { onlyKnown } from "./options.ts";
import { ProgramError } from "./programerror.ts";
import { type KeyLiteral, keySet } from "./steps.ts";
import {
  at,
  type Bool,
  constant,
  Num,
  type Numeric,
  type Operand,
  operand,
  type Value,
  type Variable,
} from "./value.ts";

/** Built-in ends of the parser. */
export const accept = "accept";
export const reject = "reject";

/** In the parser: the next bits of the packet, which stay there for the next `extract`. */
export function lookahead<const W extends number>(type: BitType<W>): Num<BitType<W>> {
  return new Num(at({ kind: "lookahead", type }));
}

export type ValueSetFields = Readonly<Record<string, BitType>>;

export interface ValueSetOptions {
  /** Most members. */
  readonly size: number;
  readonly doc?: string;
}

/** A set of values, each with these fields. */
export interface ValueSet<F extends ValueSetFields = ValueSetFields> {
  readonly kind: "valueSet";
  readonly name: string;
  readonly fields: F;
}

/** The parser: named states that features share and extend. */
export class ParserBuilder {
  readonly #states = new Map<string, StateBuilder>();
  readonly #valueSets: ir.ValueSet[] = [];
  readonly #nameOf: (header: object) => string;

  constructor(nameOf: (header: object) => string) {
    this.#nameOf = nameOf;
    this.state("start");
  }

  /** The state of that name, made at its first use. The parser begins in `start`. */
  state(name: string): StateBuilder {
    let state = this.#states.get(name);
    if (state === undefined) {
      state = new StateBuilder(name, this.#nameOf);
      this.#states.set(name, state);
    }
    return state;
  }

  /** Values that states select on and the control plane sets at run time; for `onMember`. */
  valueSet<const F extends ValueSetFields>(name: string, fields: F, o: ValueSetOptions): ValueSet<F> {
    const { size, doc } = o;
    const list = Object.entries(fields).map(([field, type]) => ({ name: field, type }));
    const set = at({ name, fields: list, size, ...(doc === undefined ? {} : { doc }) });
    onlyKnown(`value set ${name}`, o, ["size", "doc"], set.at);
    this.#valueSets.push(set);
    return { kind: "valueSet", name, fields };
  }

  get valueSets(): readonly ir.ValueSet[] {
    return this.#valueSets;
  }

  finish(): readonly ir.ParserState[] {
    return [...this.#states.values()].map((s) => s.finish());
  }
}

export class StateBuilder {
  readonly name: string;
  readonly #nameOf: (header: object) => string;
  readonly #place: { readonly at?: ir.SourceLocation };
  readonly #steps: ir.ParserStep[] = [];
  readonly #cases: ir.SelectCase[] = [];
  #keys: readonly ir.Expression[] = [];
  #otherwise: string | undefined;

  constructor(name: string, nameOf: (header: object) => string) {
    this.name = name;
    this.#nameOf = nameOf;
    this.#place = at({});
  }

  /**
   * Reads a header and makes it valid. A packet that is too short ends the parser with `parser_failed`.
   *
   * @param length bits of the header's field of variable length, if it has one.
   */
  extract(header: object, length?: Num<BitType>): this {
    const given = length === undefined ? {} : { length: length.node };
    return this.#push(at({ kind: "extract", header: this.#nameOf(header), ...given }));
  }

  /** Passes over this many bits of the packet, a multiple of 8. */
  advance(bits: number | Num<BitType>): this {
    const length = typeof bits === "number" ? constant(bits, bit(32)) : bits.node;
    return this.#push(at({ kind: "advance", bits: length }));
  }

  /** Keeps a value in a metadata field, for later states and for ingress. */
  set<T extends Numeric>(target: Variable<T>, value: Operand<NoInfer<T>>): this {
    const { node } = target;
    if (node.kind !== "metadata") {
      const message = `state ${this.name} can set metadata fields only`;
      throw new ProgramError({ code: "GP1502", message, at: callSite() });
    }
    return this.#push(at({ kind: "assign", target: node, value: operand(value, target.type) }));
  }

  /**
   * Ends the parser with this error unless the condition holds. The packet goes on to ingress, with `parser_failed`.
   *
   * @param error one of P4's errors, or a name of the program's own.
   */
  verify(condition: Bool, error: string): this {
    return this.#push(at({ kind: "verify", condition: condition.node, error }));
  }

  /** Fields by which `on` chooses the next state. Features that share a state select on the same fields. */
  select(...keys: readonly Value<BitType>[]): this {
    const nodes = keys.map((k) => k.node);
    const same = nodes.length === this.#keys.length && nodes.every((n, i) => isSameKey(n, this.#keys[i]));
    if (this.#keys.length > 0 && !same) this.#conflict("selects on other fields already");
    this.#keys = nodes;
    return this;
  }

  /** One value per key; the first case that fits is taken. */
  on(values: KeyLiteral | readonly KeyLiteral[], next: StateBuilder | typeof accept | typeof reject): this {
    const list = Array.isArray(values) ? (values as readonly KeyLiteral[]) : [values as KeyLiteral];
    this.#cases.push(at({ values: list.map(keySet), next: typeof next === "string" ? next : next.name }));
    return this;
  }

  /** A case for what the control plane has put into the set: one value per key. */
  onMember(set: ValueSet, next: StateBuilder | typeof accept | typeof reject): this {
    const name = typeof next === "string" ? next : next.name;
    this.#cases.push(at({ values: [], valueSet: set.name, next: name }));
    return this;
  }

  /** Where all other packets go; `accept` when not said. */
  otherwise(next: StateBuilder | typeof accept | typeof reject): this {
    const name = typeof next === "string" ? next : next.name;
    if (this.#otherwise !== undefined && this.#otherwise !== name) {
      this.#conflict(`goes to ${this.#otherwise} otherwise already`);
    }
    this.#otherwise = name;
    return this;
  }

  finish(): ir.ParserState {
    const transition: ir.Transition =
      this.#cases.length === 0
        ? { kind: "goto", next: this.#otherwise ?? accept }
        : {
            kind: "select",
            keys: this.#keys,
            cases: [...this.#cases],
            otherwise: this.#otherwise ?? accept,
          };
    return { name: this.name, steps: [...this.#steps], transition, ...this.#place };
  }

  #push(step: ir.ParserStep): this {
    this.#steps.push(step);
    return this;
  }

  #conflict(message: string): never {
    throw new ProgramError({ code: "GP1202", message: `state ${this.name} ${message}`, at: callSite() });
  }
}

/** The same expression, wherever it was written. */
function isSameKey(a: ir.Expression, b: ir.Expression | undefined): boolean {
  return b !== undefined && nodeText(a) === nodeText(b);
}
