import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type {
  Expression as EngineExpression,
  ExtractTarget,
  Parser,
  ParserOp,
  ParseState,
  Transition,
} from "../bmv2json/program.ts";
import type { Calculations } from "./calculations.ts";
import type { DataType, Expression, KeySet, ParserState, ParserStep } from "./document.ts";
import type { Fields } from "./fields.ts";
import { Primitives } from "./primitives.ts";
import { binary, constant, data, isPlace, place, unary, type ValueScope } from "./values.ts";

const WORD: DataType = { kind: "bit", width: 16 };
const ONES = 0xffffn;

/** The parser of a gress. Packets of clones, and resubmitted ones, have their header in front like any other. */
export function translateParser(
  states: readonly ParserState[],
  fields: Fields,
  calculations: Calculations,
): Parser {
  const [first] = states;
  const sums = new Map<string, EngineExpression[]>();
  return {
    name: "parser",
    initState: first?.name ?? null,
    states: states.map((s) => new StateTranslator(s, fields, calculations, sums).translate()),
    path: "parser",
  };
}

class StateTranslator {
  readonly #state: ParserState;
  readonly #scope: ValueScope;
  readonly #calculations: Calculations;
  /** What each checksum has taken out so far, a field for each state. */
  readonly #sums: Map<string, EngineExpression[]>;
  readonly #ops: ParserOp[] = [];
  /** Looked-ahead bits, by the names that they have here. */
  readonly #ahead = new Map<string, EngineExpression>();

  constructor(
    state: ParserState,
    fields: Fields,
    calculations: Calculations,
    sums: Map<string, EngineExpression[]>,
  ) {
    this.#state = state;
    this.#scope = { fields, locals: (name) => this.#ahead.get(name) };
    this.#calculations = calculations;
    this.#sums = sums;
  }

  translate(): ParseState {
    const { name, steps, keys, path } = this.#state;
    for (const s of steps) this.#step(s);
    const key = keys.map((k) => this.#key(k));
    return { name, ops: this.#ops, key, transitions: this.#transitions(), path };
  }

  #step(s: ParserStep): void {
    switch (s.kind) {
      // Every pass starts with clear fields, and what stands in front of packets is not part of them here.
      case "intrinsicMetadata":
      case "portData":
      case "clearMetadata":
        return;
      case "startHeader":
        this.#primitive(s.path, (p) => p.add("add_header", this.#header(s.header, s.path)));
        return;
      case "extract":
        this.#ops.push({ kind: "extract", target: this.#target(s.header, s.path), path: s.path });
        return;
      case "advance":
        this.#ops.push({ kind: "advance", bits: this.#value(s.bits), path: s.path });
        return;
      case "set": {
        const { target } = s;
        if (target.kind === "slice")
          throw new SwitchConfigError("UNSUPPORTED", s.path, "a parser writes whole fields");
        this.#set(place(target, this.#scope, true), this.#value(s.value), s.path);
        return;
      }
      case "subtract":
        this.#subtract(s);
        return;
      case "verify": {
        if (s.failed.kind === "slice")
          throw new SwitchConfigError("UNSUPPORTED", s.path, "a parser writes whole fields");
        const sum = this.#sum(
          this.#scope.fields
            .fieldsOf(s.header)
            .map((field) => ({ kind: "field", header: s.header, field, path: s.path })),
          s.path,
        );
        const isWrong = unary("b2d", binary("!=", sum, constant(0n, s.path), s.path), s.path);
        this.#set(place(s.failed, this.#scope, true), isWrong, s.path);
        return;
      }
    }
  }

  /**
   * What is taken out is the one's complement sum of the complements, which is the complement of the sum: a checksum. Those of the states
   * add up to what is left.
   */
  #subtract(s: Extract<ParserStep, { kind: "subtract" }>): void {
    const inputs = s.fields.map((f) =>
      f.kind === "constant" ? f : place(this.#placeOf(f), this.#scope, false),
    );
    const taken = this.#sum(inputs, s.path);
    const all = [...(this.#sums.get(s.checksum) ?? []), taken];
    this.#sums.set(s.checksum, all);
    if (s.rest === undefined) return;
    if (s.rest.kind === "slice")
      throw new SwitchConfigError("UNSUPPORTED", s.path, "a parser writes whole fields");
    const sum = this.#sum(all, s.path);
    this.#set(place(s.rest, this.#scope, true), binary("^", sum, constant(ONES, s.path), s.path), s.path);
  }

  #placeOf(e: Expression) {
    if (isPlace(e)) return e;
    throw new SwitchConfigError("UNSUPPORTED", e.path, "a checksum is over fields");
  }

  /** A field with the checksum of these. */
  #sum(inputs: Parameters<Calculations["add"]>[1], path: string): EngineExpression {
    const into = this.#scope.fields.temporary(WORD);
    const name = this.#calculations.add("csum16", inputs, path);
    this.#primitive(path, (p) =>
      p.add(
        "modify_field_with_hash_based_offset",
        into,
        constant(0n, path),
        { kind: "named", object: "calculation", name, path },
        constant(ONES + 1n, path),
      ),
    );
    return into;
  }

  #primitive(path: string, make: (p: Primitives) => void): void {
    const made = new Primitives(path);
    make(made);
    for (const primitive of made.list) this.#ops.push({ kind: "primitive", primitive, path });
  }

  #set(destination: EngineExpression, source: EngineExpression, path: string): void {
    this.#ops.push({ kind: "set", destination, source, path });
  }

  #header(name: string, path: string): EngineExpression {
    return { kind: "header", name: this.#scope.fields.header(name, path), path };
  }

  #target(header: string, path: string): ExtractTarget {
    const stack = /^(.*)\.next$/.exec(header)?.[1];
    return stack === undefined
      ? { kind: "regular", header: this.#scope.fields.header(header, path) }
      : { kind: "stack", stack };
  }

  /** A value, with the next bits of the packet kept first where it looks at them. */
  #value(e: Expression): EngineExpression {
    return data(this.#withoutLookahead(e), this.#scope);
  }

  #withoutLookahead(e: Expression): Expression {
    switch (e.kind) {
      case "lookahead": {
        const name = `next_${e.type.width}`;
        const kept = this.#scope.fields.hidden(name, { kind: "bit", width: e.type.width });
        this.#ahead.set(name, kept);
        this.#set(kept, { kind: "lookahead", offset: 0, width: e.type.width, path: e.path }, e.path);
        return { kind: "local", type: e.type, name, path: e.path };
      }
      case "unary":
      case "slice":
      case "cast":
        return { ...e, operand: this.#withoutLookahead(e.operand) };
      case "binary":
      case "concat":
        return { ...e, left: this.#withoutLookahead(e.left), right: this.#withoutLookahead(e.right) };
      default:
        return e;
    }
  }

  #key(e: Expression): EngineExpression {
    if (isPlace(e)) return place(e, this.#scope, false);
    if (e.kind === "lookahead") return { kind: "lookahead", offset: 0, width: e.type.width, path: e.path };
    const held = this.#scope.fields.temporary({ kind: "bit", width: e.type.width });
    this.#set(held, this.#value(e), e.path);
    return held;
  }

  #transitions(): readonly Transition[] {
    const { keys, cases, next, path } = this.#state;
    const widths = keys.map((k) => k.type.width);
    const made = cases.flatMap((c): readonly Transition[] => {
      const to = end(c.next, c.path);
      if (c.valueSet !== undefined)
        return [{ kind: "valueSet", valueSet: c.valueSet, mask: null, next: to, path: c.path }];
      if (c.values.length !== widths.length)
        throw new SwitchConfigError(
          "BAD_VALUE",
          c.path,
          `${c.values.length} values for ${widths.length} keys`,
        );
      return combinations(c.values, widths).map((masks) => ({
        kind: "value",
        ...sideBySide(masks, widths),
        next: to,
        path: c.path,
      }));
    });
    return [...made, { kind: "default", next: end(next, path) }];
  }
}

function end(next: string, path: string): string | null {
  if (next === "accept") return null;
  if (next === "reject")
    throw new SwitchConfigError(
      "UNSUPPORTED",
      path,
      "Tofino's parser has no way to reject; drop in the control",
    );
  return next;
}

interface Masked {
  readonly value: bigint;
  readonly mask: bigint;
}

function combinations(sets: readonly KeySet[], widths: readonly number[]): readonly (readonly Masked[])[] {
  return sets.reduce<readonly (readonly Masked[])[]>(
    (all, set, i) => {
      const choices = masked(set, widths[i] ?? 1);
      return all.flatMap((head) => choices.map((choice) => [...head, choice]));
    },
    [[]],
  );
}

/** A set as values and masks; a range becomes the fewest aligned blocks that cover it. */
export function masked(set: KeySet, width: number): readonly Masked[] {
  const ones = (1n << BigInt(width)) - 1n;
  switch (set.kind) {
    case "value":
      return [{ value: BigInt.asUintN(width, set.value), mask: ones }];
    case "mask":
      return [{ value: BigInt.asUintN(width, set.value & set.mask), mask: BigInt.asUintN(width, set.mask) }];
    case "prefix": {
      const mask = ones ^ ((1n << BigInt(width - Math.min(width, set.length))) - 1n);
      return [{ value: set.value & mask, mask }];
    }
    case "any":
      return [{ value: 0n, mask: 0n }];
    case "range": {
      const out: Masked[] = [];
      for (let at = set.low; at <= set.high; ) {
        let size = 1n;
        while (at % (size * 2n) === 0n && at + size * 2n - 1n <= set.high) size *= 2n;
        out.push({ value: at, mask: ones ^ (size - 1n) });
        at += size;
      }
      return out;
    }
  }
}

/** The engine compares the keys side by side, each filled to whole bytes. */
function sideBySide(parts: readonly Masked[], widths: readonly number[]): Masked {
  return parts.reduce<Masked>(
    ({ value, mask }, part, i) => {
      const shift = BigInt(8 * Math.ceil((widths[i] ?? 1) / 8));
      return { value: (value << shift) | part.value, mask: (mask << shift) | part.mask };
    },
    { value: 0n, mask: 0n },
  );
}
