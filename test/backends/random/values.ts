import { folded } from "../../../src/ir/folding.ts";
import {
  bit,
  bool,
  type DataType,
  type Expression,
  int,
  rangeOf,
  sameType,
  widthOf,
} from "../../../src/ir/index.ts";
import type { Dice } from "../dice.ts";
import { arithmetic, binary, cast, concat, constant, mux, slice, unary, valid } from "../nodes.ts";

/** What random expressions may name. */
export interface Scope {
  /** Fields of headers that are valid here, metadata, parameters, values of the architecture. */
  readonly leaves: readonly Expression[];
  /** Headers of which it may be asked whether they are valid. */
  readonly headers: readonly string[];
}

type Numeric = DataType & { readonly width: number };

/** Types of fields and metadata; odd widths often are where padding and signs go wrong. */
const types: readonly Numeric[] = [
  ...[1, 3, 4, 7, 8, 9, 12, 16, 16, 24, 32, 32, 48, 64, 128].map((w) => bit(w)),
  ...[2, 8, 13, 16, 32, 64].map((w) => int(w)),
];

export function numericType(dice: Dice): Numeric {
  return types[dice.below(types.length)] ?? bit(8);
}

export function anyType(dice: Dice): DataType {
  return dice.below(6) === 0 ? bool : numericType(dice);
}

/** Random expressions of all operators. None is made of constants alone, which compilers would fold away. */
export class Values {
  readonly #dice: Dice;

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  /** A value of the type; `depth` bounds the height of the tree. */
  of(type: DataType, depth: number, scope: Scope): Expression {
    return type.kind === "bool" ? this.logical(depth, scope) : this.numeric(type, depth, scope);
  }

  constant(type: DataType): Expression {
    const [low, high] = rangeOf(type);
    const small = BigInt(2 + this.#dice.below(99));
    const values = [small, small, high - 1n, low, this.#dice.bits(widthOf(type))];
    const value = values[this.#dice.below(values.length)] ?? high;
    return constant(
      type.kind === "int" ? BigInt.asIntN(type.width, value) : BigInt.asUintN(widthOf(type), value),
      type,
    );
  }

  numeric(type: Numeric, depth: number, scope: Scope): Expression {
    const made = this.#numeric(type, depth, scope);
    return folded(made) === made ? made : this.leaf(type, scope);
  }

  logical(depth: number, scope: Scope): Expression {
    for (let i = 0; i < 9; i++) {
      const made = this.#logical(depth, scope);
      if (folded(made) === made) return made;
    }
    throw new Error("no condition that could be true or false");
  }

  #numeric(type: Numeric, depth: number, scope: Scope): Expression {
    if (depth === 0) return this.leaf(type, scope);
    const dice = this.#dice;
    const inner = (t: Numeric = type): Expression => this.numeric(t, depth - 1, scope);
    switch (dice.below(11)) {
      case 0:
      case 1:
      case 2: {
        const operator = dice.pick("+", "-", "*", "|+|", "|-|", "&", "|", "^");
        return arithmetic(inner(), operator, this.#other(type, depth, scope));
      }
      case 3:
        return binary(inner(), dice.pick("<<", ">>"), this.#amount(type, scope));
      case 4:
        return unary(dice.pick("-", "~"), inner());
      case 5:
        return mux(this.logical(depth - 1, scope), inner(), this.#other(type, depth, scope));
      case 6: {
        const other = numericType(dice);
        // A cast changes the width or the sign, not both.
        if (other.kind === type.kind) return cast(inner(other), type);
        if (type.width === 1) return cast(this.logical(depth - 1, scope), type);
        return cast(inner(type.kind === "bit" ? int(type.width) : bit(type.width)), type);
      }
      case 7: {
        if (type.kind !== "bit" || type.width < 2) return this.leaf(type, scope);
        const low = 1 + dice.below(type.width - 1);
        return concat(
          inner(bit(type.width - low)),
          dice.below(4) === 0 ? this.constant(bit(low)) : inner(bit(low)),
        );
      }
      case 8: {
        const wide = bit(type.width + 1 + dice.below(9));
        const low = dice.below(wide.width - type.width + 1);
        const part = slice(this.numeric(wide, depth - 1, scope), low + type.width - 1, low);
        return type.kind === "bit" ? part : cast(part, type);
      }
      default:
        return this.leaf(type, scope);
    }
  }

  #logical(depth: number, scope: Scope): Expression {
    const dice = this.#dice;
    const inner = (): Expression => this.logical(depth - 1, scope);
    switch (depth === 0 ? 9 : dice.below(10)) {
      case 0:
        return binary(inner(), dice.pick("&&", "||"), inner());
      case 1:
        return binary(inner(), dice.pick("==", "!="), inner());
      case 2:
        return unary("!", inner());
      case 3:
        return cast(this.numeric(bit(1), depth - 1, scope), bool);
      case 4:
      case 5:
      case 6: {
        const type = numericType(dice);
        const operator = dice.pick("==", "!=", "<", "<=", ">", ">=");
        return binary(this.numeric(type, depth - 1, scope), operator, this.#other(type, depth, scope));
      }
      default: {
        const header = scope.headers[dice.below(Math.max(1, scope.headers.length))];
        if (header !== undefined && dice.below(3) === 0) return valid(header);
        const truths = scope.leaves.filter((e) => e.type.kind === "bool");
        const found = truths[dice.below(Math.max(1, truths.length))];
        if (found !== undefined && dice.below(2) === 0) return found;
        const type = numericType(dice);
        return binary(this.leaf(type, scope), dice.pick("==", "!=", "<", ">"), this.constant(type));
      }
    }
  }

  /** A leaf of the type, or the nearest thing that can be made of one. */
  leaf(type: Numeric, scope: Scope): Expression {
    const dice = this.#dice;
    const suited = scope.leaves.filter((e) => sameType(e.type, type));
    const found = suited[dice.below(Math.max(1, suited.length))];
    if (found !== undefined) return found;
    if (type.kind === "int") return cast(this.leaf(bit(type.width), scope), type);
    const numbers = scope.leaves.filter((e) => e.type.kind === "bit");
    const any = numbers[dice.below(Math.max(1, numbers.length))];
    if (any === undefined || any.type.kind === "bool") throw new Error("a scope without numbers");
    const spare = any.type.width - type.width;
    if (spare < 0) return cast(any, type);
    const low = dice.below(spare + 1);
    if (dice.below(3) === 0) return cast(any, type);
    return slice(any, low + type.width - 1, low);
  }

  #other(type: Numeric, depth: number, scope: Scope): Expression {
    return this.#dice.below(3) === 0 ? this.constant(type) : this.numeric(type, depth - 1, scope);
  }

  /** v1model shifts by at most 8 bits of amount. */
  #amount(type: Numeric, scope: Scope): Expression {
    const dice = this.#dice;
    if (dice.below(2) === 0) return constant(dice.below(Math.min(type.width, 256)), bit(8));
    return this.leaf(bit(1 + dice.below(8)), scope);
  }
}
