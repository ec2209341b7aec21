import type {
  Assign,
  Binary,
  BinaryOperator,
  Block,
  Constant,
  DataType,
  Expression,
  If,
  MetadataField,
  MetadataReference,
  Program,
  SourceLocation,
  Statement,
} from "../../ir/index.ts";
import { bit, bool, rangeOf, widthOf } from "../../ir/index.ts";
import { Names } from "../p4text/names.ts";
import { gatewayCondition, join } from "./conditions.ts";
import { both, fitsGateways, opposite } from "./gateways.ts";
import { Layout } from "./layout.ts";
import { isAtom } from "./stages.ts";

/** Bits of the widest container. */
const WORD = 32;

/**
 * The program with conditions that gateways can ask. Order that they have no bits for is told from a difference that saturates, which
 * an action computes before: `a < b` is `b |-| a != 0`. What compares more than one gateway holds is asked piece by piece.
 */
export function withGatewayConditions(program: Program): Program {
  const pass = new ConditionPass(program);
  const controls = program.controls.map((c) => ({ ...c, apply: pass.block(c.apply) }));
  const [ingress, egress] = [pass.block(program.ingress), pass.block(program.egress)];
  return { ...program, controls, ingress, egress, metadata: [...program.metadata, ...pass.added] };
}

class ConditionPass {
  readonly added: MetadataField[] = [];
  readonly #names: Names;
  readonly #layout: Layout;

  constructor(program: Program) {
    this.#names = new Names(program.metadata.map((m) => m.name));
    this.#layout = new Layout(program);
  }

  block(block: Block): Block {
    return block.flatMap((s): Block => {
      if (s.kind === "applyTable") return [{ ...s, hit: this.block(s.hit), miss: this.block(s.miss) }];
      if (s.kind !== "if") return [s];
      const inner = { ...s, whenTrue: this.block(s.whenTrue), whenFalse: this.block(s.whenFalse) };
      const before: Statement[] = [];
      const condition = this.#comparable(
        gatewayCondition(s.condition, () => {}, s.at),
        before,
        s.at,
      );
      // The compiler leaves out what never runs; here it still uses its registers and counters.
      if (condition.kind === "constant" && isPrintable(s.condition)) return [inner];
      return [...before, ...this.#ask({ ...inner, condition })];
    });
  }

  #ask(s: If): Block {
    const e = s.condition;
    if (fitsGateways(e, this.#layout)) return [s];
    if (e.kind !== "binary" || (e.operator !== "&&" && e.operator !== "||")) return [s];
    if (e.operator === "&&" && s.whenFalse.length === 0)
      return this.#ask({ ...s, condition: e.left, whenTrue: this.#ask({ ...s, condition: e.right }) });
    // The answer to the half that takes more is kept in a flag.
    const isLeft = sizeOf(e.left) >= sizeOf(e.right);
    const flag = this.#place("condition", bit(1), "what a part of a condition says");
    const one: Constant = { kind: "constant", type: bit(1), value: 1n };
    const set: Assign = { kind: "assign", target: flag, value: one };
    const isSet: Expression = { kind: "binary", type: bool, operator: "==", left: flag, right: one };
    const [asked, rest] = isLeft ? [e.left, e.right] : [e.right, e.left];
    return [
      ...this.#ask({ ...s, condition: asked, whenTrue: [set], whenFalse: [] }),
      ...this.#ask({ ...s, condition: both(isSet, e.operator, rest) }),
    ];
  }

  /** The condition with comparisons that one gateway each can make; what has to be computed first is put into `before`. */
  #comparable(e: Expression, before: Statement[], at: SourceLocation | undefined): Expression {
    const inner = (part: Expression): Expression => this.#comparable(part, before, part.at ?? at);
    if (e.kind === "unary" && e.operator === "!")
      return e.operand.kind === "binary" || e.operand.kind === "unary" ? inner(opposite(e.operand)) : e;
    if (e.kind !== "binary") return e;
    if (e.operator === "&&" || e.operator === "||")
      return join({ ...e, left: inner(e.left), right: inner(e.right) });
    const { left, right } = e;
    if (![left, right].every((side) => isAtom(side) && side.type.kind !== "bool")) return e;
    if (left.kind === "constant") return right.kind === "constant" ? e : inner(turned(e));
    const isSigned = left.type.kind === "int";
    const isEquality = e.operator === "==" || e.operator === "!=";
    const decided = decision(e);
    if (decided !== undefined) return truth(decided);
    const isNarrow = widthOf(left.type) <= WORD;
    const isDirect = isEquality || (right.kind === "constant" && !isSigned && isNarrow);
    if (isDirect && fitsGateways(e, this.#layout)) return e;
    if (!isNarrow) return isSigned ? e : inner(inParts(e));
    return isEquality ? e : this.#byDifference(e, before, at);
  }

  #byDifference(e: Binary, before: Statement[], at: SourceLocation | undefined): Expression {
    const { left, right, operator } = e;
    const width = widthOf(left.type);
    const isSigned = left.type.kind === "int";
    const isLess = operator === "<" || operator === "<=";
    const isStrict = operator === "<" || operator === ">";
    // Where a container ends is where it saturates: what is narrower is widened.
    const container = bit([8, 16].find((bits) => bits >= width) ?? WORD);
    const type = isSigned ? left.type : container;
    const widened = (e: Expression): Expression => {
      if (widthOf(type) === width) return e;
      return e.kind === "constant" ? { ...e, type } : { kind: "cast", type, operand: e };
    };
    const difference = (minuend: Expression, subtrahend: Expression): MetadataReference => {
      const place = this.#place("difference", bit(widthOf(type)), "tells which of two values is greater");
      const value: Expression = {
        kind: "binary",
        type,
        operator: "|-|",
        left: widened(minuend),
        right: widened(subtrahend),
      };
      const cast: Expression = isSigned ? { kind: "cast", type: place.type, operand: value } : value;
      before.push({ kind: "assign", target: place, value: cast, ...(at === undefined ? {} : { at }) });
      return place;
    };
    if (right.kind === "constant") {
      // A constant can be what is subtracted from, and not what is subtracted.
      const least = boundOf(operator, right.value);
      const minuend: Constant = { ...right, value: isSigned ? least - 1n : least };
      const found = difference(minuend, left);
      return isSigned ? isNegative(found, !isLess) : isZero(found, !isLess);
    }
    // `a < b` and `a >= b` compare the two as they stand, `a > b` and `a <= b` the other way round.
    const [a, b] = isLess === isStrict ? [left, right] : [right, left];
    return isSigned ? isNegative(difference(a, b), isStrict) : isZero(difference(b, a), !isStrict);
  }

  #place(name: string, type: DataType, doc: string): MetadataReference {
    const taken = this.#names.take(name);
    this.added.push({ name: taken, type, doc });
    return { kind: "metadata", name: taken, type };
  }
}

/** Whether the compiler takes the comparisons of a condition that is decided: it folds them as they stand. */
function isPrintable(e: Expression): boolean {
  if (e.kind === "unary") return isPrintable(e.operand);
  if (e.kind !== "binary" || e.type.kind !== "bool") return true;
  if (e.operator === "&&" || e.operator === "||") return isPrintable(e.left) && isPrintable(e.right);
  const isKnown = e.operator === "==" || e.operator === "!=" || decision(e) !== undefined;
  return (
    isKnown && isAtom(e.left) && isAtom(e.right) && e.left.type.kind === "bit" && widthOf(e.left.type) <= WORD
  );
}

function sizeOf(e: Expression): number {
  return e.kind === "binary" && e.type.kind === "bool" && e.left.type.kind !== "bool"
    ? widthOf(e.left.type)
    : e.kind === "binary"
      ? sizeOf(e.left) + sizeOf(e.right)
      : 1;
}

const TURNED: Partial<Record<BinaryOperator, BinaryOperator>> = {
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
};

/** `5 < x` as `x > 5`. */
function turned(e: Binary): Binary {
  return { ...e, left: e.right, operator: TURNED[e.operator] ?? e.operator, right: e.left };
}

/** A comparison of wide values as comparisons of what stands above the lowest word, and of that word. */
function inParts({ left, operator, right, ...e }: Binary): Binary {
  const part = (value: Expression, high: number, low: number): Expression =>
    value.kind === "constant"
      ? {
          ...value,
          type: bit(high - low + 1),
          value: BigInt.asUintN(high - low + 1, value.value >> BigInt(low)),
        }
      : { kind: "slice", type: bit(high - low + 1), operand: value, high, low };
  const compared = (by: BinaryOperator, high: number, low: number): Binary => ({
    ...e,
    operator: by,
    left: part(left, high, low),
    right: part(right, high, low),
  });
  const top = widthOf(left.type) - 1;
  const ofWord = compared(operator, WORD - 1, 0);
  if (operator === "==") return both(compared("==", top, WORD), "&&", ofWord);
  if (operator === "!=") return both(compared("!=", top, WORD), "||", ofWord);
  const strict = operator === "<" || operator === "<=" ? "<" : ">";
  return both(compared(strict, top, WORD), "||", both(compared("==", top, WORD), "&&", ofWord));
}

/** `x < bound` or `x >= bound` says the same as this comparison with the value. */
function boundOf(operator: BinaryOperator, value: bigint): bigint {
  return operator === "<" || operator === ">=" ? value : value + 1n;
}

/** What a comparison with a constant says of any value of the type, if it says one thing of all. */
function decision({ left, operator, right }: Binary): boolean | undefined {
  if (right.kind !== "constant" || operator === "==" || operator === "!=") return undefined;
  const [low, high] = rangeOf(left.type);
  const bound = boundOf(operator, right.value);
  const isLess = operator === "<" || operator === "<=";
  if (bound <= low) return !isLess;
  return bound > high ? isLess : undefined;
}

function truth(isTrue: boolean): Constant {
  return { kind: "constant", type: bool, value: isTrue ? 1n : 0n };
}

function isZero(place: MetadataReference, is: boolean): Binary {
  const zero: Constant = { kind: "constant", type: place.type, value: 0n };
  return { kind: "binary", type: bool, operator: is ? "==" : "!=", left: place, right: zero };
}

function isNegative(place: MetadataReference, is: boolean): Binary {
  const top = widthOf(place.type) - 1;
  const sign: Expression = { kind: "slice", type: bit(1), operand: place, high: top, low: top };
  const value: Constant = { kind: "constant", type: bit(1), value: is ? 1n : 0n };
  return { kind: "binary", type: bool, operator: "==", left: sign, right: value };
}
