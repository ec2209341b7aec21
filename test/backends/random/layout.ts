import { includes } from "../../../src/ir/check/keysets.ts";
import {
  bit,
  type DataType,
  type Expression,
  type HeaderField,
  type HeaderInstance,
  type HeaderType,
  type HeaderUnion,
  int,
  type KeySet,
  type MetadataField,
  type ParserState,
  type ParserStep,
  type SelectCase,
  type Transition,
  widthOf,
} from "../../../src/ir/index.ts";
import type { Dice } from "../dice.ts";
import {
  advance,
  binary,
  cast,
  constant,
  extract,
  field,
  keep,
  lookahead,
  meta,
  slice,
  verify,
} from "../nodes.ts";
import { anyType, type Scope, Values } from "./values.ts";

/** Headers, metadata and parser of a random program. */
export interface Layout {
  readonly headerTypes: readonly HeaderType[];
  readonly headers: readonly HeaderInstance[];
  readonly unions: readonly HeaderUnion[];
  readonly metadata: readonly MetadataField[];
  readonly parser: readonly ParserState[];
  readonly deparser: readonly string[];
  /** Headers of single instances that some packets have, the first of them all; nobody changes their validity. */
  readonly plain: readonly (HeaderInstance & { readonly type: HeaderType })[];
  /** Headers that controls may set valid and invalid: elements of stacks and members of unions among them. */
  readonly changing: readonly { readonly path: string; readonly type: HeaderType }[];
  readonly stacks: readonly string[];
}

/** Makes headers, and a parser without circles but those over a stack. */
export class RandomLayout {
  readonly #dice: Dice;
  readonly #values: Values;
  readonly #types: HeaderType[] = [];
  readonly #headers: HeaderInstance[] = [];
  readonly #unions: HeaderUnion[] = [];
  readonly #plain: (HeaderInstance & { readonly type: HeaderType })[] = [];
  readonly #changing: { readonly path: string; readonly type: HeaderType }[] = [];
  readonly #stacks: string[] = [];
  readonly #metadata: MetadataField[] = [];
  /** Metadata that a state of the parser writes. */
  readonly #kept = new Set<string>();

  constructor(dice: Dice) {
    this.#dice = dice;
    this.#values = new Values(dice);
  }

  make(): Layout {
    const dice = this.#dice;
    for (let i = 0; i < 3 + dice.below(4); i++) this.#metadata.push({ name: `m${i}`, type: anyType(dice) });
    this.#metadata.push({ name: "colour", type: bit(2) });
    this.#metadata.push({ name: "kept", type: bit(16) });
    this.#metadata.push({ name: "sink", type: bit(32) });
    const parser = this.#parser();
    return {
      headerTypes: this.#types,
      headers: this.#headers,
      unions: this.#unions,
      metadata: this.#metadata,
      parser,
      deparser: [...this.#headers, ...this.#unions].map((h) => h.name),
      plain: this.#plain,
      changing: this.#changing,
      stacks: this.#stacks,
    };
  }

  #type(name: string): HeaderType {
    const dice = this.#dice;
    const fields: HeaderField[] = [];
    for (let i = 0; i < 1 + dice.below(5); i++) fields.push({ name: `f${i}`, type: anyType(dice) });
    const rest = fields.reduce((sum, f) => sum + widthOf(f.type), 0) % 8;
    // Padding anywhere, so that fields lie across bytes.
    if (rest > 0)
      fields.splice(dice.below(fields.length + 1), 0, { name: "padding", type: this.#padding(8 - rest) });
    const type = { name, fields };
    this.#types.push(type);
    return type;
  }

  #padding(width: number): DataType {
    return this.#dice.below(3) === 0 && width > 1 ? int(width) : bit(width);
  }

  /** A header of the program's own kind, whose first fields later code relies on. */
  #add(name: string, fields: readonly HeaderField[], more: Partial<HeaderType> = {}): HeaderType {
    const type = { name: `${name}_t`, fields, ...more };
    this.#types.push(type);
    return type;
  }

  #parser(): readonly ParserState[] {
    const dice = this.#dice;
    const base = this.#add("base", [
      { name: "kind", type: bit(8) },
      { name: "b32", type: bit(32) },
      { name: "b16", type: bit(16) },
      { name: "b9", type: bit(9) },
      { name: "b3", type: bit(3) },
      { name: "i16", type: int(16) },
      { name: "flag", type: { kind: "bool" } },
      { name: "odd", type: bit(3) },
      ...Array.from({ length: dice.below(3) }, (_, i) => ({
        name: `x${i}`,
        type: bit(8 * (1 + dice.below(5))),
      })),
    ]);
    this.#headers.push({ name: "base", headerType: base.name });
    this.#plain.push({ name: "base", headerType: base.name, type: base });
    const makers = [
      () => this.#single(),
      () => this.#single(),
      () => this.#looked(),
      () => this.#passing(),
      () => this.#stack(),
      () => this.#union(),
      () => this.#options(),
      () => this.#extra(),
    ].filter(() => dice.below(2) === 0);
    const parts = makers.map((make) => make());
    const states: ParserState[] = [];
    // Each state leads to later ones alone; the last to the end.
    const firsts = parts.map((p) => p.states[0]?.name ?? "accept");
    const start = this.#state("start", [extract("base"), ...this.#keeping(["base"])], ["base"], firsts);
    states.push(start);
    parts.forEach((part, i) => {
      const later = firsts.slice(i + 1);
      for (const s of part.states) {
        const isLast = s.leaves;
        const steps =
          isLast && s.transition === undefined
            ? [...s.steps, ...this.#keeping(["base", ...part.reads])]
            : s.steps;
        states.push(
          s.transition === undefined
            ? this.#state(s.name, steps, ["base", ...part.reads], later)
            : { name: s.name, steps, transition: s.transition(this.#goOn(later)) },
        );
      }
    });
    const reached = new Set<string>();
    const visit = (name: string): void => {
      const s = states.find((x) => x.name === name);
      if (s === undefined || reached.has(name)) return;
      reached.add(name);
      const t = s.transition;
      for (const next of t.kind === "goto" ? [t.next] : [...t.cases.map((c) => c.next), t.otherwise])
        visit(next);
    };
    visit("start");
    return states.filter((s) => reached.has(s.name));
  }

  #goOn(later: readonly string[]): string {
    return later[this.#dice.below(later.length + 1)] ?? "accept";
  }

  #scope(headers: readonly string[]): Scope {
    const fields = headers.flatMap((h) => {
      const type = this.#plain.find((p) => p.name === h)?.type;
      return (type?.fields ?? []).map((f) => field(h, f.name, f.type));
    });
    return { leaves: fields, headers: [] };
  }

  /**
   * Values for ingress. Each place is written once: p4c leaves out a value that a later state writes over, also for packets that the
   * parser gives up in between, which v1model sends on.
   */
  #keeping(headers: readonly string[]): readonly ParserStep[] {
    const dice = this.#dice;
    const scope = this.#scope(headers);
    const steps: ParserStep[] = [];
    const m = this.#metadata.find((x) => /^m\d/.test(x.name) && !this.#kept.has(x.name));
    if (m !== undefined && dice.below(3) === 0) {
      this.#kept.add(m.name);
      steps.push(keep(meta(m.name, m.type), this.#values.of(m.type, 2, scope)));
    }
    if (!this.#kept.has("kept") && dice.below(4) === 0) {
      this.#kept.add("kept");
      steps.push(keep(meta("kept", bit(16)), lookahead(16)));
    }
    if (dice.below(6) === 0)
      steps.push(verify(this.#values.logical(2, scope), dice.pick("HeaderTooShort", "NoMatch", "BadPacket")));
    return steps;
  }

  #state(
    name: string,
    steps: readonly ParserStep[],
    headers: readonly string[],
    later: readonly string[],
  ): ParserState {
    return { name, steps, transition: this.#transition(headers, later) };
  }

  #transition(headers: readonly string[], later: readonly string[]): Transition {
    const dice = this.#dice;
    if (dice.below(4) === 0) return { kind: "goto", next: this.#goOn(later) };
    const scope = this.#scope(headers);
    const keys: Expression[] = Array.from({ length: 1 + dice.below(2) }, () => {
      switch (dice.below(6)) {
        case 0:
          return lookahead(dice.pick(4, 8, 13, 16));
        case 1:
          return meta("kept", bit(16));
        case 2:
          return slice(field("base", "b32", bit(32)), 14, 7);
        case 3:
          return this.#values.numeric(bit(dice.pick(8, 4, 12)), 2, scope);
        default: {
          const leaves = scope.leaves;
          return leaves[dice.below(leaves.length)] ?? field("base", "kind", bit(8));
        }
      }
    });
    const cases: SelectCase[] = [];
    for (let i = 0; i < 1 + dice.below(5); i++) {
      const values = keys.map((k) => keySet(k.type, dice));
      const isCovered = cases.some((c) =>
        c.values.every((set, j) => {
          const [key, other] = [keys[j], values[j]];
          return key !== undefined && other !== undefined && includes(set, other, key.type);
        }),
      );
      const next = dice.below(12) === 0 ? "reject" : this.#goOn(later);
      if (!isCovered && values.some((v, j) => !includes(v, { kind: "any" }, keys[j]?.type ?? bit(1))))
        cases.push({ values, next });
    }
    const takesAll = cases.length > 0 && dice.below(6) === 0;
    if (takesAll) cases.push({ values: keys.map(() => ({ kind: "any" })), next: this.#goOn(later) });
    const otherwise = takesAll ? "accept" : dice.below(10) === 0 ? "reject" : this.#goOn(later);
    // A select of which all ways lead to one state is none.
    const ways = new Set([...cases.map((c) => c.next), ...(takesAll ? [] : [otherwise])]);
    return ways.size < 2 ? { kind: "goto", next: otherwise } : { kind: "select", keys, cases, otherwise };
  }

  #single(): Part {
    const n = this.#plain.length;
    const name = `h${n}`;
    const type = this.#type(`${name}_t`);
    this.#headers.push({ name, headerType: type.name });
    this.#plain.push({ name, headerType: type.name, type });
    return { reads: [name], states: [{ name: `parse_${name}`, steps: [extract(name)], leaves: true }] };
  }

  /** A state that decides by bits that it does not take. */
  #looked(): Part {
    const n = this.#plain.length;
    const name = `h${n}`;
    const type = this.#type(`${name}_t`);
    this.#headers.push({ name, headerType: type.name });
    this.#plain.push({ name, headerType: type.name, type });
    const seen = `seen${n}`;
    this.#metadata.push({ name: seen, type: bit(16) });
    const see: ParserStep = keep(meta(seen, bit(16)), cast(lookahead(this.#dice.pick(8, 12, 24)), bit(16)));
    return {
      reads: [name],
      states: [
        {
          name: `see_${name}`,
          steps: [see],
          leaves: false,
          transition: () => ({ kind: "goto", next: `parse_${name}` }),
        },
        { name: `parse_${name}`, steps: [extract(name)], leaves: true },
      ],
    };
  }

  #passing(): Part {
    const n = this.#types.length;
    const length =
      this.#dice.below(2) === 0
        ? constant(8 * (1 + this.#dice.below(6)), bit(32))
        : binary(cast(field("base", "b3", bit(3)), bit(32)), "<<", constant(3, bit(8)));
    return { reads: [], states: [{ name: `pass_${n}`, steps: [advance(length)], leaves: true }] };
  }

  /** A stack that ends at a mark, and is full before that in some packets. */
  #stack(): Part {
    const n = this.#types.length;
    const name = `labels${n}`;
    const dice = this.#dice;
    const type = this.#add(name, [
      { name: "value", type: bit(8 * (1 + dice.below(3)) - 1) },
      { name: "last", type: bit(1) },
    ]);
    const elements = 1 + dice.below(4);
    this.#headers.push({ name, headerType: type.name, elements });
    this.#stacks.push(name);
    for (let i = 0; i < elements; i++) this.#changing.push({ path: `${name}[${i}]`, type });
    const state = `parse_${name}`;
    const last = field(`${name}.last`, "last", bit(1));
    return {
      reads: [],
      states: [
        {
          name: state,
          steps: [extract(`${name}.next`)],
          leaves: true,
          transition: (next) => ({
            kind: "select",
            keys: [last],
            cases: [{ values: [{ kind: "value", value: 0n }], next: state }],
            otherwise: next,
          }),
        },
      ],
    };
  }

  #union(): Part {
    const n = this.#types.length;
    const name = `body${n}`;
    const members = ["one", "two", "three"].slice(0, 2 + this.#dice.below(2)).map((m) => ({
      name: m,
      type: this.#type(`${name}_${m}_t`),
    }));
    this.#unions.push({ name, members: members.map((m) => ({ name: m.name, headerType: m.type.name })) });
    for (const m of members) this.#changing.push({ path: `${name}.${m.name}`, type: m.type });
    return {
      reads: [],
      states: [
        {
          name: `choose_${name}`,
          steps: [],
          leaves: false,
          transition: (next) => ({
            kind: "select",
            keys: [lookahead(2)],
            cases: members.map((m, i) => ({
              values: [{ kind: "value", value: BigInt(i) }],
              next: `${name}_${m.name}`,
            })),
            otherwise: next,
          }),
        },
        ...members.map((m) => ({
          name: `${name}_${m.name}`,
          steps: [extract(`${name}.${m.name}`)],
          leaves: true,
        })),
      ],
    };
  }

  /** A header with a field of variable length, behind one that tells the length. */
  #options(): Part {
    const n = this.#types.length;
    const name = `options${n}`;
    const dice = this.#dice;
    const type = this.#add(name, dice.below(2) === 0 ? [] : [{ name: "first", type: bit(8) }], {
      varbit: { name: "rest", width: dice.pick(56, 64, 320) },
    });
    this.#headers.push({ name, headerType: type.name });
    const length = binary(cast(field("base", "odd", bit(3)), bit(32)), "<<", constant(3, bit(8)));
    return {
      reads: [],
      states: [{ name: `parse_${name}`, steps: [{ kind: "extract", header: name, length }], leaves: true }],
    };
  }

  /** A header that no packet brings and that controls may add; or one that they may take away. */
  #extra(): Part {
    const n = this.#types.length;
    const name = `extra${n}`;
    const type = this.#type(`${name}_t`);
    this.#headers.push({ name, headerType: type.name });
    this.#changing.push({ path: name, type });
    const steps = this.#dice.below(2) === 0 ? [extract(name)] : [];
    return { reads: [], states: [{ name: `at_${name}`, steps, leaves: true }] };
  }
}

interface Part {
  /** Plain headers that are valid in its last states. */
  readonly reads: readonly string[];
  readonly states: readonly {
    readonly name: string;
    readonly steps: readonly ParserStep[];
    /** Whether what comes behind the part may follow here. */
    readonly leaves: boolean;
    readonly transition?: (next: string) => Transition;
  }[];
}

/** A set of values of a type, of any kind that selects have. */
function keySet(type: DataType, dice: Dice): KeySet {
  const width = widthOf(type);
  const all = (1n << BigInt(width)) - 1n;
  const bits = dice.bits(width) & (dice.below(2) === 0 ? 7n : all);
  if (type.kind === "int") return { kind: "value", value: BigInt.asIntN(width, bits) };
  if (type.kind === "bool") return dice.below(2) === 0 ? { kind: "value", value: bits } : { kind: "any" };
  switch (dice.below(6)) {
    case 0: {
      const mask = dice.bits(width) | 1n;
      return { kind: "mask", value: bits & mask, mask };
    }
    case 1: {
      const high = bits + BigInt(dice.below(60));
      return { kind: "range", low: bits, high: high > all ? all : high };
    }
    case 2:
      return { kind: "any" };
    default:
      return { kind: "value", value: bits };
  }
}
