import type {
  Expression,
  HeaderField,
  HeaderType,
  KeySet,
  ParserState,
  Program,
} from "../../src/ir/index.ts";
import { elementPath, headersByPath, stackOf, widthOf } from "../../src/ir/index.ts";
import type { Dice } from "./dice.ts";
import { evaluate, inType } from "./reference.ts";

interface Place {
  readonly at: number;
  readonly width: number;
}

/** More states or bits than this, and the walk is given up. */
const MOST_STATES = 40;
const MOST_BITS = 4000;

/**
 * A packet in the making. It takes a random way through a program's parser: where the way depends on bits that are in the packet, they
 * are set to suit one of the cases; where it depends on computed values, the packet goes where they lead.
 */
export class Draft {
  /** Headers on the way, in order. */
  readonly headers: string[] = [];
  port: number;
  readonly #program: Program;
  readonly #dice: Dice;
  readonly #types: ReadonlyMap<string, HeaderType>;
  readonly #bits: number[] = [];
  readonly #varbits = new Map<string, Place>();
  /** Elements of each stack that have been extracted. */
  readonly #extracted = new Map<string, number>();
  readonly #fields = new Map<string, Place>();
  readonly #metadata = new Map<string, bigint>();
  #position = 0;

  constructor(program: Program, dice: Dice) {
    this.#program = program;
    this.#types = headersByPath(program);
    this.#dice = dice;
    this.port = dice.below(program.ports);
    this.#walk();
  }

  /** The packet so far, with bytes behind what the parser reads. */
  bytes(payload: number): Uint8Array {
    this.#ensure(Math.ceil(this.#position / 8) * 8 + payload * 8);
    const length = Math.ceil(this.#bits.length / 8);
    return Uint8Array.from({ length }, (_, i) => Number(this.#read({ at: i * 8, width: 8 })));
  }

  /** Bits of a field of variable length as a number, and how many they are. */
  varbit(path: string): readonly [bigint, number] {
    const place = this.#varbits.get(path);
    return place === undefined ? [0n, 0] : [this.#read(place), place.width];
  }

  /** What stands behind the headers. */
  payload(bytes: number): Uint8Array {
    return this.bytes(bytes).subarray(Math.ceil(this.#position / 8));
  }

  metadata(name: string): bigint {
    return this.#metadata.get(name) ?? 0n;
  }

  has(field: string): boolean {
    return this.#fields.has(field);
  }

  get(field: string): bigint | undefined {
    const place = this.#fields.get(field);
    return place === undefined ? undefined : this.#read(place);
  }

  set(field: string, value: bigint): void {
    const place = this.#fields.get(field);
    if (place !== undefined) this.#write(place, value);
  }

  fields(): ReadonlyMap<string, bigint> {
    return new Map([...this.#fields].map(([name, place]) => [name, this.#read(place)]));
  }

  #walk(): void {
    let name = "start";
    for (let n = 0; n < MOST_STATES && this.#position < MOST_BITS; n++) {
      const state = this.#program.parser.find((s) => s.name === name);
      if (state === undefined || !this.#steps(state)) return;
      name = this.#next(state);
    }
  }

  /** Whether the parser comes to the end of the state. */
  #steps(state: ParserState): boolean {
    for (const step of state.steps) {
      switch (step.kind) {
        case "extract":
          if (!this.#extract(step.header, step.length)) return false;
          break;
        case "advance": {
          const bits = this.#value(step.bits);
          if (bits % 8n !== 0n || bits > BigInt(MOST_BITS)) return false;
          this.#position += Number(bits);
          this.#ensure(this.#position);
          break;
        }
        case "assign":
          this.#metadata.set(step.target.name, this.#value(step.value));
          break;
        case "verify":
          if (this.#value(step.condition) === 0n) return false;
      }
    }
    return true;
  }

  /** Whether there is room for the header: a stack may be full. */
  #extract(path: string, length: Expression | undefined): boolean {
    const stack = stackOf(path, "next");
    const header = stack === undefined ? path : elementPath(stack, this.#extracted.get(stack) ?? 0);
    if (stack !== undefined) this.#extracted.set(stack, (this.#extracted.get(stack) ?? 0) + 1);
    if (!this.#types.has(header)) return false;
    this.headers.push(header);
    for (const f of this.#fieldsOf(header)) {
      const place = { at: this.#position, width: widthOf(f.type) };
      this.#fields.set(`${header}.${f.name}`, place);
      if (this.#bits.length <= place.at) {
        this.#ensure(place.at + place.width);
        this.#write(place, this.#dice.value(place.width));
      }
      this.#position += place.width;
      this.#ensure(this.#position);
    }
    if (length === undefined) return true;
    const bits = this.#value(length);
    const varbit = this.#types.get(header)?.varbit;
    if (varbit === undefined || bits % 8n !== 0n || bits > BigInt(varbit.width)) return false;
    this.#varbits.set(`${header}.${varbit.name}`, { at: this.#position, width: Number(bits) });
    this.#position += Number(bits);
    this.#ensure(this.#position);
    return true;
  }

  #fieldsOf(header: string): readonly HeaderField[] {
    return this.#types.get(header)?.fields ?? [];
  }

  #next(state: ParserState): string {
    const t = state.transition;
    if (t.kind === "goto") return t.next;
    const wanted = this.#dice.below(5) === 0 ? undefined : t.cases[this.#dice.below(t.cases.length)];
    wanted?.values.forEach((set, i) => {
      const key = t.keys[i];
      if (key === undefined || set.kind === "any") return;
      const value = valueIn(set, widthOf(key.type), this.#dice);
      if (key.kind === "intrinsic") this.port = Number(value) % 512;
      const place = this.#placeOf(key);
      if (place !== undefined) this.#write(place, value);
    });
    const values = t.keys.map((k) => BigInt.asUintN(widthOf(k.type), this.#value(k)));
    const taken = t.cases.find(
      (c) => c.valueSet === undefined && c.values.every((set, i) => takes(set, values[i] ?? 0n, t.keys[i])),
    );
    return taken?.next ?? t.otherwise;
  }

  /** Where the bits of an expression are in the packet, if they are there as they are. */
  #placeOf(e: Expression): Place | undefined {
    switch (e.kind) {
      case "field":
        return this.#fields.get(`${this.#latest(e.header)}.${e.field}`);
      case "lookahead":
        this.#ensure(this.#position + widthOf(e.type));
        return { at: this.#position, width: widthOf(e.type) };
      case "slice": {
        const whole = this.#placeOf(e.operand);
        return whole === undefined
          ? undefined
          : { at: whole.at + whole.width - 1 - e.high, width: e.high - e.low + 1 };
      }
      default:
        return undefined;
    }
  }

  #latest(path: string): string {
    const stack = stackOf(path, "last");
    return stack === undefined ? path : elementPath(stack, (this.#extracted.get(stack) ?? 0) - 1);
  }

  #value(e: Expression): bigint {
    return evaluate(e, (leaf) => {
      switch (leaf.kind) {
        case "metadata":
          return this.#metadata.get(leaf.name) ?? 0n;
        case "valid":
          return this.headers.includes(leaf.header) ? 1n : 0n;
        case "intrinsic":
          return leaf.name === "ingress_port" ? BigInt(this.port) : 0n;
        default: {
          const place = this.#placeOf(leaf);
          return place === undefined ? 0n : inType(this.#read(place), leaf.type);
        }
      }
    });
  }

  #ensure(bits: number): void {
    while (this.#bits.length < bits) {
      const byte = Number(this.#dice.value(8));
      for (let i = 7; i >= 0; i--) this.#bits.push((byte >> i) & 1);
    }
  }

  #read({ at, width }: Place): bigint {
    let v = 0n;
    for (let i = 0; i < width; i++) v = (v << 1n) | BigInt(this.#bits[at + i] ?? 0);
    return v;
  }

  #write({ at, width }: Place, value: bigint): void {
    for (let i = 0; i < width; i++) this.#bits[at + i] = Number((value >> BigInt(width - 1 - i)) & 1n);
  }
}

/** Some value that the set takes. */
export function valueIn(set: KeySet, width: number, dice: Dice): bigint {
  switch (set.kind) {
    case "value":
      return BigInt.asUintN(width, set.value);
    case "mask":
      return (set.value & set.mask) | (dice.bits(width) & ~set.mask);
    case "prefix":
      return set.value | (dice.bits(width) & ((1n << BigInt(width - set.length)) - 1n));
    case "range":
      return set.low + (dice.bits(width) % (set.high - set.low + 1n));
    case "any":
      return dice.bits(width);
  }
}

function takes(set: KeySet, value: bigint, key: Expression | undefined): boolean {
  const width = key === undefined ? 0 : widthOf(key.type);
  switch (set.kind) {
    case "value":
      return BigInt.asUintN(width, set.value) === value;
    case "mask":
      return (value & set.mask) === (set.value & set.mask);
    case "prefix": {
      const rest = BigInt(width - set.length);
      return value >> rest === BigInt.asUintN(width, set.value) >> rest;
    }
    case "range":
      return value >= set.low && value <= set.high;
    case "any":
      return true;
  }
}
