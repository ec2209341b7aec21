import type * as ir from "../ir/index.ts";
import type { BitType } from "../ir/index.ts";
import { callSite } from "./callsite.ts";
import { ProgramError } from "./programerror.ts";
import { type KeyLiteral, keySet } from "./steps.ts";
import { at, type Value } from "./value.ts";

/** Built-in ends of the parser. */
export const accept = "accept";
export const reject = "reject";

/** The parser: named states that features share and extend. */
export class ParserBuilder {
  readonly #states = new Map<string, StateBuilder>();
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

  finish(): readonly ir.ParserState[] {
    return [...this.#states.values()].map((s) => s.finish());
  }
}

export class StateBuilder {
  readonly name: string;
  readonly #nameOf: (header: object) => string;
  readonly #place: { readonly at?: ir.SourceLocation };
  readonly #extracts: string[] = [];
  readonly #cases: ir.SelectCase[] = [];
  #keys: readonly ir.Expression[] = [];
  #otherwise: string | undefined;

  constructor(name: string, nameOf: (header: object) => string) {
    this.name = name;
    this.#nameOf = nameOf;
    this.#place = at({});
  }

  extract(header: object): this {
    this.#extracts.push(this.#nameOf(header));
    return this;
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
    return { name: this.name, extracts: [...this.#extracts], transition, ...this.#place };
  }

  #conflict(message: string): never {
    throw new ProgramError({ code: "GP1202", message: `state ${this.name} ${message}`, at: callSite() });
  }
}

function isSameKey(a: ir.Expression, b: ir.Expression | undefined): boolean {
  if (a.kind === "field") return b?.kind === "field" && a.header === b.header && a.field === b.field;
  if (a.kind === "metadata" || a.kind === "intrinsic") return b?.kind === a.kind && a.name === b.name;
  return a === b;
}
