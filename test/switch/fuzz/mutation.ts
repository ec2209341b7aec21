import type { Field, MessageType, Properties } from "../../../src/p4info/message/descriptor.ts";
import type { Dice } from "../../backends/dice.ts";

/** Values that fields get beside random ones: what a program's entities are called. */
export interface KnownValues {
  readonly ids: readonly number[];
  readonly texts: readonly string[];
}

const MOST_DEPTH = 7;

/** Random messages of any type, and messages with one thing changed. */
export class MessageMutator {
  readonly #dice: Dice;
  readonly #known: KnownValues;

  constructor(dice: Dice, known: KnownValues) {
    this.#dice = dice;
    this.#known = known;
  }

  /** A message in which about half of everything is set. */
  random(type: MessageType<object>, depth = 0): Properties {
    const message: Record<string, unknown> = {};
    const oneofs = new Map<string, Field[]>();
    for (const field of type.fields) {
      if (field.oneof !== undefined) oneofs.set(field.oneof, [...(oneofs.get(field.oneof) ?? []), field]);
      else if (this.#dice.below(2) === 0) message[field.name] = this.#value(field, depth);
    }
    for (const [name, fields] of oneofs) {
      const field = fields[this.#dice.below(fields.length)];
      if (field !== undefined && this.#dice.below(6) !== 0)
        message[name] = { case: field.name, value: this.#value(field, depth) };
    }
    return message;
  }

  /** The same message but for one field, somewhere. */
  mutate(type: MessageType<object>, message: Properties, depth = 0): Properties {
    const field = type.fields[this.#dice.below(type.fields.length)];
    if (field === undefined) return message;
    const isIn = this.#dice.below(5) !== 0;
    if (field.oneof !== undefined) {
      const before = message[field.oneof];
      const set = isSet(before) ? before : undefined;
      const own = set === undefined ? undefined : type.fields.find(({ name }) => name === set.case);
      if (isIn && set !== undefined && own !== undefined)
        return { ...message, [field.oneof]: { case: set.case, value: this.#changed(own, set.value, depth) } };
      return { ...message, [field.oneof]: { case: field.name, value: this.#value(field, depth) } };
    }
    const before = message[field.name];
    const after =
      isIn && before !== undefined ? this.#changed(field, before, depth) : this.#value(field, depth);
    return { ...message, [field.name]: after };
  }

  #changed(field: Field, value: unknown, depth: number): unknown {
    const { type } = field;
    if (type.kind !== "message") return this.#value(field, depth);
    if (!Array.isArray(value)) return this.mutate(type.message, value as Properties, depth + 1);
    const list = [...(value as Properties[])];
    const at = this.#dice.below(Math.max(1, list.length));
    const one = list[at];
    switch (this.#dice.below(6)) {
      case 0:
        list.splice(at, 1);
        break;
      case 1:
        if (one !== undefined) list.push(one);
        break;
      default:
        if (one !== undefined) list[at] = this.mutate(type.message, one, depth + 1);
    }
    return list;
  }

  #value(field: Field, depth: number): unknown {
    if (field.cardinality === "map") return {};
    if (field.cardinality === "repeated")
      return Array.from({ length: depth > MOST_DEPTH ? 0 : this.#dice.below(4) }, () =>
        this.#one(field, depth),
      );
    return this.#one(field, depth);
  }

  #one(field: Field, depth: number): unknown {
    const dice = this.#dice;
    const { type } = field;
    if (type.kind === "message") return depth > MOST_DEPTH ? {} : this.random(type.message, depth + 1);
    if (type.kind === "enum") {
      const names = type.enum.names();
      return dice.below(8) === 0 ? dice.below(1000) : names[dice.below(names.length)];
    }
    switch (type.scalar) {
      case "bool":
        return dice.below(2) === 0;
      case "string":
        return this.#known.texts[dice.below(this.#known.texts.length)] ?? "";
      case "bytes":
        return this.bytes();
      case "int64":
        return BigInt.asIntN(64, dice.value(64));
      case "uint64":
        return dice.value(64);
      case "int32":
        return dice.pick(0, 1, 2, this.#id() | 0, -1, -0x8000_0000, 0x7fff_ffff, dice.below(1000));
      case "uint32":
        return dice.pick(0, 1, 2, this.#id(), this.#id(), this.#id(), 0xffff_ffff, dice.below(1000));
    }
  }

  #id(): number {
    return this.#known.ids[this.#dice.below(this.#known.ids.length)] ?? 1;
  }

  bytes(): Uint8Array {
    const dice = this.#dice;
    const length = dice.pick(0, 1, 1, 2, 4, 6, 16, dice.below(40));
    return Uint8Array.from({ length }, () => dice.pick(0, 1, 255, dice.below(256)));
  }

  /** The same bytes but for a few places. */
  damaged(bytes: Uint8Array): Uint8Array {
    const dice = this.#dice;
    let result = [...bytes];
    for (let n = 1 + dice.below(4); n > 0; n--) {
      const at = dice.below(Math.max(1, result.length));
      switch (dice.below(6)) {
        case 0:
          result.splice(at, 1 + dice.below(4));
          break;
        case 1:
          result.splice(at, 0, dice.below(256));
          break;
        case 2:
          result = result.slice(0, at);
          break;
        case 3:
          result.splice(at, 0, ...result.slice(at, at + dice.below(30)));
          break;
        default:
          if (result.length > 0) result[at] = dice.pick(0, 0xff, 0x80, dice.below(256));
      }
    }
    return Uint8Array.from(result);
  }
}

function isSet(value: unknown): value is { readonly case: string; readonly value: unknown } {
  return typeof value === "object" && value !== null && "case" in value;
}
