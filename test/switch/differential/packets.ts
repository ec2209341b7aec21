import type {
  Bmv2Program,
  Expression,
  ParseState,
  Transition,
} from "../../../src/switch/bmv2json/program.ts";
import type { Dice } from "../../backends/dice.ts";

export interface Packet {
  readonly port: number;
  readonly data: Uint8Array;
}

/** Bits of a field in a packet. */
interface PlaceInBits {
  readonly at: number;
  readonly width: number;
}
type Places = ReadonlyMap<string, PlaceInBits>;

/** The packets of an STF script: `packet PORT HEX`. */
export function packetsOfScript(script: string): readonly Packet[] {
  return script.split("\n").flatMap((line) => {
    const [, port, digits] = /^\s*packet\s+(\d+)\s+([0-9a-fA-F\s]+)/.exec(line) ?? [];
    if (port === undefined || digits === undefined) return [];
    return [{ port: Number(port), data: Uint8Array.from(Buffer.from(digits.replace(/\s/g, ""), "hex")) }];
  });
}

/** Ports that packets come in on. */
const PORTS = 8;
/** Longest way through a parser, in states. */
const MOST_STATES = 40;
const LONGEST = 400;

/**
 * Random packets as a program's parser sees them: a valid one, or random bytes, led on a random way through the states by writing
 * what a transition asks for into the fields that it looks at; then flipped bits, other lengths, or nothing more.
 */
export class PacketMaker {
  readonly #program: Bmv2Program;
  readonly #valid: readonly Packet[];
  readonly #dice: Dice;
  readonly #states: ReadonlyMap<string, ParseState>;

  constructor(program: Bmv2Program, valid: readonly Packet[], dice: Dice) {
    this.#program = program;
    this.#valid = valid;
    this.#dice = dice;
    this.#states = new Map(program.parsers[0]?.states.map((s) => [s.name, s]));
  }

  make(): Packet {
    const dice = this.#dice;
    const seed = this.#valid[dice.below(Math.max(1, this.#valid.length))];
    const port = seed !== undefined && dice.below(3) !== 0 ? seed.port : dice.below(PORTS);
    const isValid = seed !== undefined && dice.below(3) !== 0;
    const bytes = isValid ? [...seed.data] : [];
    const steered = isValid && dice.below(2) === 0 ? bytes : this.#steer(bytes);
    const data = Uint8Array.from(this.#mutate(steered));
    return { port, data: data.length === 0 ? Uint8Array.of(dice.below(256)) : data.subarray(0, LONGEST) };
  }

  /** Leads bytes through the parser; what is missing is added. */
  #steer(bytes: number[]): number[] {
    const fields = new Map<string, PlaceInBits>();
    const next = new Map<string, number>();
    let bit = 0;
    let state = this.#states.get(this.#program.parsers[0]?.initState ?? "");
    for (let n = 0; n < MOST_STATES && state !== undefined; n++) {
      for (const op of state.ops) {
        if (op.kind === "advance" && op.bits.kind === "constant") bit += Number(op.bits.value);
        if (op.kind !== "extract") continue;
        const header = this.#headerOf(op.target, next);
        const type = this.#program.headerTypes.find((t) => t.name === header?.type);
        if (header === undefined || type === undefined) return this.#grown(bytes, bit);
        for (const f of type.fields) {
          if (f.width === "varbit") return this.#grown(bytes, bit + 8 * this.#dice.below(24));
          fields.set(`${header.name}.${f.name}`, { at: bit, width: f.width });
          if (op.target.kind === "stack")
            fields.set(`${op.target.stack}[last].${f.name}`, { at: bit, width: f.width });
          bit += f.width;
        }
      }
      this.#grown(bytes, bit);
      state = this.#states.get(this.#choose(state, bytes, fields, bit) ?? "");
    }
    this.#grown(bytes, bit + 8 * this.#dice.below(30));
    if (this.#dice.below(5) !== 0) this.#renewChecksums(bytes, fields);
    return bytes;
  }

  /** Internet checksums over fields that are there; programs drop what has a wrong one. */
  #renewChecksums(bytes: number[], fields: Places): void {
    for (const { header, field, calculation } of this.#program.checksums) {
      const { algorithm, inputs = [] } = this.#program.calculations.find((c) => c.name === calculation) ?? {};
      const target = fields.get(`${header}.${field}`);
      if (algorithm !== "csum16" || target === undefined) continue;
      let value = 0n;
      let width = 0;
      for (const input of inputs) {
        const place = input.kind === "field" ? fields.get(`${input.header}.${input.field}`) : undefined;
        const given =
          input.kind === "constant"
            ? { value: input.value, width: input.width }
            : place && { value: read(bytes, place), width: place.width };
        if (given === undefined) return;
        value = (value << BigInt(given.width)) | given.value;
        width += given.width;
      }
      if (width % 16 !== 0) continue;
      let sum = 0n;
      for (; value > 0n; value >>= 16n) sum += value & 0xffffn;
      while (sum > 0xffffn) sum = (sum & 0xffffn) + (sum >> 16n);
      write(bytes, target, ~sum & 0xffffn);
    }
  }

  #headerOf(
    target: { readonly kind: string; readonly header?: string; readonly stack?: string },
    next: Map<string, number>,
  ) {
    if (target.kind === "regular") return this.#program.headers.find((h) => h.name === target.header);
    const stack = this.#program.stacks.find((s) => s.name === target.stack);
    if (stack === undefined) return undefined;
    const i = next.get(stack.name) ?? 0;
    next.set(stack.name, i + 1);
    // Beyond the last element the parser stops; what it looks at stays the last one.
    const id = stack.headerIds[Math.min(i, stack.headerIds.length - 1)];
    return this.#program.headers.find((h) => h.id === id);
  }

  /** The state behind a transition that the bytes now take. */
  #choose(state: ParseState, bytes: number[], fields: Places, bit: number): string | null {
    const places = state.key.map((e) => placeOf(e, fields, bit));
    const known = places.every((p) => p !== undefined);
    const values = state.transitions.filter((t) => t.kind === "value");
    const fallback = state.transitions.find((t) => t.kind === "default")?.next ?? null;
    const chosen = values[this.#dice.below(Math.max(1, values.length))];
    if (chosen === undefined || !known || this.#dice.below(6) === 0) return fallback;
    this.#write(chosen, places, bytes);
    return chosen.next;
  }

  #write(
    t: Extract<Transition, { kind: "value" }>,
    places: readonly (PlaceInBits | undefined)[],
    bytes: number[],
  ): void {
    // Each part of the key stands in whole bytes in the JSON.
    let rest = t.value;
    let mask = t.mask ?? (1n << 4096n) - 1n;
    for (const place of [...places].reverse()) {
      if (place === undefined) return;
      const padded = BigInt(Math.ceil(place.width / 8) * 8);
      this.#grown(bytes, place.at + place.width);
      for (let i = 0; i < place.width; i++) {
        if (((mask >> BigInt(i)) & 1n) === 0n) continue;
        setBit(bytes, place.at + place.width - 1 - i, ((rest >> BigInt(i)) & 1n) === 1n);
      }
      rest >>= padded;
      mask >>= padded;
    }
  }

  #grown(bytes: number[], bits: number): number[] {
    const dice = this.#dice;
    while (bytes.length * 8 < bits && bytes.length < LONGEST) bytes.push(dice.pick(0, dice.below(256), 255));
    return bytes;
  }

  #mutate(bytes: number[]): number[] {
    const dice = this.#dice;
    switch (dice.below(8)) {
      case 0: {
        for (let i = 1 + dice.below(4); i > 0; i--) {
          const at = dice.below(Math.max(1, bytes.length * 8));
          if (bytes.length > 0) setBit(bytes, at, dice.below(2) === 0);
        }
        return bytes;
      }
      case 1:
        return bytes.slice(0, dice.below(bytes.length + 1));
      case 2: {
        const at = dice.below(Math.max(1, bytes.length));
        if (bytes.length > 0) bytes[at] = dice.pick(0, 1, 255, dice.below(256));
        return bytes;
      }
      case 3:
        return [...bytes, ...Array.from({ length: dice.below(40) }, () => dice.below(256))];
      default:
        return bytes;
    }
  }
}

function read(bytes: readonly number[], { at, width }: PlaceInBits): bigint {
  let value = 0n;
  for (let i = at; i < at + width; i++)
    value = (value << 1n) | BigInt(((bytes[i >> 3] ?? 0) >> (7 - (i & 7))) & 1);
  return value;
}

function write(bytes: number[], { at, width }: PlaceInBits, value: bigint): void {
  for (let i = 0; i < width; i++) setBit(bytes, at + width - 1 - i, ((value >> BigInt(i)) & 1n) === 1n);
}

/** Where the bits of a part of a select's key stand, if that can be told. */
function placeOf(e: Expression, fields: Places, bit: number) {
  if (e.kind === "field") return fields.get(`${e.header}.${e.field}`);
  if (e.kind === "stackField") return fields.get(`${e.stack}[last].${e.field}`);
  return e.kind === "lookahead" ? { at: bit + e.offset, width: e.width } : undefined;
}

function setBit(bytes: number[], at: number, on: boolean): void {
  const mask = 0x80 >> (at & 7);
  const old = bytes[at >> 3];
  if (old !== undefined) bytes[at >> 3] = on ? old | mask : old & ~mask;
}
