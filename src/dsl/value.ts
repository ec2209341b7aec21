import {
  type BinaryOperator,
  type BitType,
  type BoolType,
  bit,
  bool,
  type Constant,
  type ConstantName,
  type DataType,
  type Expression,
  type IntType,
  type SourceLocation,
  type Target,
  typeName,
} from "../ir/index.ts";
import { callSite } from "./callsite.ts";
import { ProgramError } from "./programerror.ts";

/** A number in a program. A plain number must be an integer of at most 2^53; beyond that write a bigint. */
export type Literal = number | bigint;

type Tuple<N extends number, A extends 0[] = []> = A["length"] extends N ? A : Tuple<N, [...A, 0]>;
/** Whether the compiler can count to N: a whole number of at most three digits. */
type IsCountable<N extends number> = number extends N
  ? false
  : `${N}` extends `-${string}` | `${string}.${string}` | `${string}e${string}`
    ? false
    : `${N}` extends `${infer _A}${infer _B}${infer _C}${infer Rest}`
      ? Rest extends ""
        ? true
        : false
      : true;
/** Width of bits H..L where both are literals below 1000; `number` otherwise. */
export type SliceWidth<H extends number, L extends number> = false extends IsCountable<H> | IsCountable<L>
  ? number
  : [...Tuple<H>, 0] extends [...Tuple<L>, ...infer Rest extends 0[]]
    ? Rest["length"]
    : never;
export type SumWidth<A extends number, B extends number> = false extends IsCountable<A> | IsCountable<B>
  ? number
  : [...Tuple<A>, ...Tuple<B>]["length"] & number;

export type Numeric = BitType | IntType;

/** What may stand where a value of type T is wanted. */
export type Operand<T extends DataType> = T extends BoolType ? Bool | boolean : Value<T> | Literal;

/** An expression in the making. Build with the methods; `node` is the finished plain data. */
export abstract class Value<T extends DataType> {
  readonly node: Expression & { readonly type: T };

  constructor(node: Expression & { readonly type: T }) {
    this.node = Object.freeze(node);
  }

  get type(): T {
    return this.node.type;
  }
}

/** A bit<W> or int<W> value. Operators follow P4: both sides have the same type; results wrap unless saturating. */
export class Num<T extends Numeric = Numeric> extends Value<T> {
  add(other: Operand<T>): Num<T> {
    return this.#arithmetic("+", other);
  }
  sub(other: Operand<T>): Num<T> {
    return this.#arithmetic("-", other);
  }
  mul(other: Operand<T>): Num<T> {
    return this.#arithmetic("*", other);
  }
  /** Saturating addition, `|+|`. */
  addSat(other: Operand<T>): Num<T> {
    return this.#arithmetic("|+|", other);
  }
  /** Saturating subtraction, `|-|`. */
  subSat(other: Operand<T>): Num<T> {
    return this.#arithmetic("|-|", other);
  }
  bitAnd(other: Operand<T>): Num<T> {
    return this.#arithmetic("&", other);
  }
  bitOr(other: Operand<T>): Num<T> {
    return this.#arithmetic("|", other);
  }
  bitXor(other: Operand<T>): Num<T> {
    return this.#arithmetic("^", other);
  }
  bitNot(): Num<T> {
    return new Num<T>(at({ kind: "unary", operator: "~", operand: this.node, type: this.type }));
  }
  negate(): Num<T> {
    return new Num<T>(at({ kind: "unary", operator: "-", operand: this.node, type: this.type }));
  }
  shiftLeft(amount: number | Num<BitType>): Num<T> {
    return this.#shift("<<", amount);
  }
  /** Logical for bit, arithmetic for int. */
  shiftRight(amount: number | Num<BitType>): Num<T> {
    return this.#shift(">>", amount);
  }
  eq(other: Operand<T>): Bool {
    return this.#compare("==", other);
  }
  ne(other: Operand<T>): Bool {
    return this.#compare("!=", other);
  }
  lt(other: Operand<T>): Bool {
    return this.#compare("<", other);
  }
  le(other: Operand<T>): Bool {
    return this.#compare("<=", other);
  }
  gt(other: Operand<T>): Bool {
    return this.#compare(">", other);
  }
  ge(other: Operand<T>): Bool {
    return this.#compare(">=", other);
  }
  /** Bits high..low, both included. */
  slice<const H extends number, const L extends number>(high: H, low: L): Num<BitType<SliceWidth<H, L>>> {
    const width = (high - low + 1) as SliceWidth<H, L>;
    return new Num(at({ kind: "slice", operand: this.node, high, low, type: bit(width) }));
  }
  /** This value as the high bits, `other` as the low ones. */
  concat<W extends number>(other: Num<BitType<W>>): Num<BitType<SumWidth<T["width"], W>>> {
    const width = (this.type.width + other.type.width) as SumWidth<T["width"], W>;
    return new Num(at({ kind: "concat", left: this.node, right: other.node, type: bit(width) }));
  }
  cast<U extends Numeric>(type: U): Num<U> {
    return new Num<U>(at({ kind: "cast", operand: this.node, type }));
  }

  #arithmetic(operator: BinaryOperator, other: Operand<T>): Num<T> {
    const right = operand(other, this.type);
    return new Num<T>(at({ kind: "binary", operator, left: this.node, right, type: this.type }));
  }

  #compare(operator: BinaryOperator, other: Operand<T>): Bool {
    const right = operand(other, this.type);
    return new Bool(at({ kind: "binary", operator, left: this.node, right, type: bool }));
  }

  #shift(operator: BinaryOperator, amount: number | Num<BitType>): Num<T> {
    const right = typeof amount === "number" ? constant(amount, bit(8)) : amount.node;
    return new Num<T>(at({ kind: "binary", operator, left: this.node, right, type: this.type }));
  }
}

export class Bool extends Value<BoolType> {
  and(other: Bool): Bool {
    return new Bool(at({ kind: "binary", operator: "&&", left: this.node, right: truth(other), type: bool }));
  }
  or(other: Bool): Bool {
    return new Bool(at({ kind: "binary", operator: "||", left: this.node, right: truth(other), type: bool }));
  }
  not(): Bool {
    return new Bool(at({ kind: "unary", operator: "!", operand: this.node, type: bool }));
  }
  /** 1 for true. */
  toBit(): Num<BitType<1>> {
    return new Num(at({ kind: "cast", operand: this.node, type: bit(1) }));
  }
}

/** A constant with a name in the generated program; see `ProgramBuilder.constant`. */
export class NamedConstant<T extends Numeric = Numeric> extends Num<T> {
  declare readonly node: Constant & { readonly type: T; readonly named: ConstantName };
}

/** A value that can be written: a header field, a metadata field, an intrinsic. */
export class Variable<T extends Numeric = Numeric> extends Num<T> {
  declare readonly node: Target & { readonly type: T };
  /** Only these bits of the field, for writing. */
  bits<const H extends number, const L extends number>(high: H, low: L): Variable<BitType<SliceWidth<H, L>>> {
    const width = (high - low + 1) as SliceWidth<H, L>;
    return new Variable(at({ kind: "slice", operand: this.node, high, low, type: bit(width) }));
  }
}

/**
 * The node of a condition, for programs that are run without a type checker: JavaScript's own operators compare fields as objects.
 * @throws ProgramError GP1104
 */
export function truth(condition: unknown): Expression {
  if (condition instanceof Value) return condition.node;
  const message = `a condition is ${String(condition)}, which JavaScript has computed: write field.eq(5), a.and(b), p.valid(header)`;
  throw new ProgramError({ code: "GP1104", message, at: callSite() });
}

/** `condition ? a : b` */
export function mux<T extends Numeric>(condition: Bool, a: Num<T>, b: Operand<NoInfer<T>>): Num<T> {
  const node: Expression & { readonly type: T } = at({
    kind: "mux",
    condition: truth(condition),
    whenTrue: a.node,
    whenFalse: operand(b, a.type),
    type: a.type,
  });
  return new Num<T>(node);
}

/** A typed constant. */
export function value<T extends Numeric>(type: T, literal: Literal): Num<T> {
  return new Num<T>(constant(literal, type));
}

/** The node for an operand where a value of `type` is wanted. */
export function operand(o: Value<DataType> | Literal | boolean, type: DataType): Expression {
  return o instanceof Value ? o.node : constant(o, type);
}

export function constant<T extends DataType>(
  literal: Literal | boolean,
  type: T,
): Constant & { readonly type: T } {
  return at({ kind: "constant", value: exact(literal, type), type });
}

/** An integer, exactly; refuses NaN, fractions and plain numbers that a double may have rounded. */
export function exact(literal: Literal | boolean, type?: DataType): bigint {
  if (typeof literal === "bigint") return literal;
  if (typeof literal === "boolean") return literal ? 1n : 0n;
  if (typeof literal !== "number" || !Number.isSafeInteger(literal)) {
    throw new ProgramError({
      code: "GP1101",
      message: `${String(literal)} is not an exact integer${type === undefined ? "" : ` for ${typeName(type)}`}${hintFor(literal)}`,
      at: callSite(),
    });
  }
  return BigInt(literal);
}

function hintFor(literal: unknown): string {
  if (Number.isNaN(literal))
    return ": JavaScript's operators do not work on fields; write field.add(1), field.sub(1), field.bitAnd(3)";
  return typeof literal === "string" ? ": write the number" : "";
}

/** Adds the user's place to a node. */
export function at<const N extends object>(node: N): N & { readonly at?: SourceLocation } {
  const site = callSite();
  return Object.freeze(site === undefined ? node : { ...node, at: site });
}
