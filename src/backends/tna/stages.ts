import type { Assign, Expression, StraightStatement, Target } from "../../ir/index.ts";
import { bit, typeName, widthOf } from "../../ir/index.ts";
import { expressionsOf, targetOf } from "../../ir/walk.ts";
import type { Refuse } from "./refuse.ts";

/**
 * Straight-line code in steps that one stage each can do. A Tofino action is parallel: every field gets one operation of at
 * most two operands, all of which have the values from before the stage. So what reads a computed value comes one stage later;
 * only moves may follow moves, since the compiler traces them back (that is how a swap needs no stage between).
 */
export function stagesOf(
  statements: readonly StraightStatement[],
  refuse: Refuse,
): readonly (readonly StraightStatement[])[] {
  const simple = withoutUnread(statements.flatMap((s) => (s.kind === "assign" ? decompose(s, refuse) : [s])));
  const levels: number[] = [];
  const immediate: number[] = [];
  simple.forEach((s, i) => {
    let level = 0;
    for (let j = 0; j < i; j++) {
      const before = simple[j];
      const apart = before === undefined ? undefined : distance(before, s);
      if (apart !== undefined) level = Math.max(level, (levels[j] ?? 0) + apart);
    }
    const bits = immediateBits(s);
    if (bits > 0) {
      while ((immediate[level] ?? 0) + bits > IMMEDIATE_BITS && (immediate[level] ?? 0) > 0) level++;
      immediate[level] = (immediate[level] ?? 0) + bits;
    }
    levels.push(level);
  });
  const count = Math.max(-1, ...levels) + 1;
  return Array.from({ length: count }, (_, level) => simple.filter((_, i) => levels[i] === level));
}

/** The statements without assignments of which others overwrite all bits before anybody reads one: an action writes a field once. */
function withoutUnread(statements: readonly StraightStatement[]): readonly StraightStatement[] {
  return statements.filter((s, i) => {
    const written = s.kind === "assign" ? bitsOf(s.target) : undefined;
    if (written === undefined) return true;
    const left = new Set(Array.from({ length: written.high - written.low + 1 }, (_, n) => written.low + n));
    for (const later of statements.slice(i + 1)) {
      const isRead = readsOf(later).some((r) => r.key === written.key && [...left].some((n) => has(r, n)));
      if (isRead || isTold(later)) return true;
      const over = writtenBy(later);
      if (over?.key !== written.key) continue;
      for (const n of left) if (has(over, n)) left.delete(n);
      if (left.size === 0) return false;
    }
    return true;
  });
}

/** Whether the statement sends values of fields: what they are at the end of ingress, so nothing is said of those before. */
function isTold(s: StraightStatement): boolean {
  return s.kind === "digest" || s.kind === "resubmit" || s.kind === "recirculate";
}

function has({ low, high }: Bits, n: number): boolean {
  return low <= n && n <= high;
}

/** Bits that the other units of a stage can hand to one table's actions: hashes, random numbers, colours. */
export const IMMEDIATE_BITS = 32;

/** What a statement takes of them: the container that the value goes to. */
export function immediateBits(s: StraightStatement): number {
  if (s.kind !== "hash" && s.kind !== "random" && s.kind !== "meter") return 0;
  const width = widthOf(s.into.kind === "slice" ? s.into.operand.type : s.into.type);
  return width <= 8 ? 8 : width <= 16 ? 16 : 32;
}

/** Whether the order of two statements, the first before the second, matters. */
export function areRelated(before: StraightStatement, s: StraightStatement): boolean {
  return distance(before, s) !== undefined;
}

/** Stages between two statements in this order, at least; undefined: they have nothing to do with each other. */
function distance(before: StraightStatement, s: StraightStatement): 0 | 1 | undefined {
  // One action runs one stateful program, and computes one index.
  if (usesIndex(before) && usesIndex(s)) return 1;
  // Of what is said about where a packet goes, the last holds; an invalid header's fields have no value.
  const isOrdered = (decides(before) && decides(s)) || switchesUsed(before, s) || switchesUsed(s, before);
  const apart = distanceOfData(before, s) ?? (isOrdered ? 0 : undefined);
  // What the hash unit moves is an action of its own.
  return apart !== undefined && (isHashed(before) || isHashed(s)) ? 1 : apart;
}

/** Whether a statement says where the packet goes, or that it goes nowhere. */
function decides(s: StraightStatement): boolean {
  if (s.kind === "assign")
    return (
      s.target.kind === "intrinsic" &&
      (s.target.name === "egress_port" || s.target.name === "multicast_group")
    );
  return s.kind === "drop" || s.kind === "resubmit" || s.kind === "recirculate";
}

/** Whether a statement makes the header valid or invalid of which another uses a field. */
function switchesUsed(s: StraightStatement, other: StraightStatement): boolean {
  if (s.kind !== "setValidity") return false;
  const written = writtenBy(other);
  const used = written === undefined ? readsOf(other) : [...readsOf(other), written];
  return used.some(({ key }) => key.startsWith(`hdr.${s.header}.`));
}

function distanceOfData(before: StraightStatement, s: StraightStatement): 0 | 1 | undefined {
  const written = writtenBy(before);
  const reads = written === undefined ? [] : readsOf(s).filter((r) => overlaps(r, written));
  if (written === undefined || reads.length === 0) {
    const writes = writtenBy(s);
    if (writes === undefined) return undefined;
    // An action writes each bit once.
    if (written !== undefined && overlaps(written, writes)) return 1;
    return readsOf(before).some((r) => overlaps(r, writes)) ? 0 : undefined;
  }
  const isMoveOfMove =
    before.kind === "assign" &&
    s.kind === "assign" &&
    isAtom(before.value) &&
    isAtom(s.value) &&
    reads.every((r) => r.low === written.low && r.high === written.high);
  return isMoveOfMove ? 0 : 1;
}

function usesIndex(s: StraightStatement): boolean {
  return s.kind === "registerUpdate" || s.kind === "count" || s.kind === "meter";
}

/** Bits of a field. */
export interface Bits {
  readonly key: string;
  readonly low: number;
  readonly high: number;
}

export function overlaps(a: Bits, b: Bits): boolean {
  return a.key === b.key && a.low <= b.high && b.low <= a.high;
}

function writtenBy(s: StraightStatement): Bits | undefined {
  const target = targetOf(s);
  return target === undefined ? undefined : bitsOf(target);
}

function readsOf(s: StraightStatement): readonly Bits[] {
  switch (s.kind) {
    case "digest":
    case "resubmit":
    case "recirculate":
      // What is sent has the value that it has when ingress ends; nothing waits for it.
      return [];
    default:
      return expressionsOf(s).flatMap(atomsOf);
  }
}

/** The fields that an expression reads. */
export function atomsOf(e: Expression): readonly Bits[] {
  switch (e.kind) {
    case "field":
    case "metadata":
    case "intrinsic":
      return [bitsOf(e)];
    case "slice":
      return e.operand.kind === "field" || e.operand.kind === "metadata"
        ? [bitsOf({ ...e, operand: e.operand })]
        : atomsOf(e.operand);
    case "unary":
    case "cast":
      return atomsOf(e.operand);
    case "binary":
    case "concat":
      return [...atomsOf(e.left), ...atomsOf(e.right)];
    case "mux":
      return [e.condition, e.whenTrue, e.whenFalse].flatMap(atomsOf);
    default:
      return [];
  }
}

export function bitsOf(t: Target): Bits {
  switch (t.kind) {
    case "field":
      return { key: `hdr.${t.header}.${t.field}`, low: 0, high: widthOf(t.type) - 1 };
    case "metadata":
      return { key: `meta.${t.name}`, low: 0, high: widthOf(t.type) - 1 };
    case "intrinsic":
      return { key: `intrinsic.${t.name}`, low: 0, high: widthOf(t.type) - 1 };
    case "slice":
      return { ...bitsOf(t.operand), low: t.low, high: t.high };
  }
}

/** A value as it stands somewhere, perhaps cut or widened. */
export function isAtom(e: Expression): boolean {
  switch (e.kind) {
    case "field":
    case "metadata":
    case "parameter":
    case "intrinsic":
    case "constant":
      return true;
    case "slice":
      return isAtom(e.operand);
    case "cast":
      return e.operand.type.kind !== "bool" && e.type.kind !== "bool" && isAtom(e.operand);
    default:
      return false;
  }
}

/** What an operation can take as it stands: its bits beside a narrower value are not zero, so widening is a step of its own. */
function isOperand(e: Expression): boolean {
  if (e.kind === "cast" && widthOf(e.type) > widthOf(e.operand.type)) return e.operand.kind === "constant";
  return e.kind === "cast" ? isOperand(e.operand) : isAtom(e);
}

/** A move that Tofino's hash unit makes: it takes bits from anywhere and puts them anywhere, which an ALU cannot. */
export interface HashedMove extends Assign {
  readonly inHash: true;
}

export function isHashed(s: object): boolean {
  return "inHash" in s;
}

/** One operation a statement. */
function decompose(s: Assign, refuse: Refuse): readonly StraightStatement[] {
  if (isHashed(s)) return [s];
  const { target, value } = s;
  const at = value.at ?? s.at;
  const refused = (message: string): readonly StraightStatement[] => {
    refuse("GP1809", message, at);
    return [s];
  };
  const parts = concatParts(value);
  if (parts !== undefined && target.type.kind === "bit") {
    // Piece by piece, so no piece may read what another has written.
    if (parts.length > 1 && parts.flatMap(atomsOf).some((read) => overlaps(read, bitsOf(target))))
      return refused("the parts that are put together contain the field itself");
    let high = widthOf(target.type) - 1;
    return parts.flatMap((part) => {
      const width = widthOf(part.type);
      const piece: Assign = { ...s, target: cut(target, high, high - width + 1), value: part };
      high -= width;
      return decompose(piece, refuse);
    });
  }
  if (isAtom(value)) return [s];
  switch (value.kind) {
    case "cast":
      if (widthOf(value.type) === widthOf(value.operand.type) && value.operand.kind !== "binary") break;
      if (widthOf(value.type) === widthOf(value.operand.type) && value.operand.type.kind !== "bool") {
        binary({ ...s, value: value.operand }, refuse);
        return [s];
      }
      break;
    case "unary":
      if (value.operator === "~" && (isAtom(value.operand) || isBitwise(value.operand))) return [s];
      if (value.operator === "-" && isAtom(value.operand)) return [s];
      break;
    case "binary":
      return binary(s, refuse);
    default:
      break;
  }
  refuse("GP1809", `a Tofino action cannot compute this ${typeName(value.type)}`, at);
  return [s];
}

/** `a & b` and the like of two values as they stand, which the ALU has negated as well. */
function isBitwise(e: Expression): boolean {
  if (e.kind !== "binary" || !["&", "|", "^"].includes(e.operator)) return false;
  return isOperand(e.left) && isOperand(e.right);
}

/** The carry goes from one container to one more; what saturates is one container. */
const SUM_BITS = 64;
const SATURATING_BITS = 32;

function binary(s: Assign, refuse: Refuse): readonly StraightStatement[] {
  const { target, value } = s;
  if (value.kind !== "binary") return [s];
  const at = value.at ?? s.at;
  const { operator, left, right } = value;
  if (operator === "<<" || operator === ">>") {
    if (right.kind !== "constant") refuse("GP1809", "the shift amount is not a constant", at);
    else if (!isAtom(left)) refuse("GP1809", "a shift of a computed value", at);
    return [s];
  }
  const most = operator === "+" || operator === "-" ? SUM_BITS : SATURATING_BITS;
  if (["+", "-", "|+|", "|-|"].includes(operator) && widthOf(value.type) > most)
    refuse("GP1861", `${operator} of ${widthOf(value.type)} bits, and the most is ${most}`, at);
  if (!["+", "-", "|+|", "|-|", "&", "|", "^"].includes(operator)) {
    refuse("GP1809", `a Tofino action has no ${operator}`, at);
    return [s];
  }
  if (isOperand(left) && isOperand(right)) return [s];
  const isCommutative = operator !== "-" && operator !== "|-|";
  const [first, last] = isOperand(right)
    ? [left, right]
    : isCommutative && isOperand(left)
      ? [right, left]
      : [];
  const into = bitsOf(target);
  if (
    first === undefined ||
    last === undefined ||
    atomsOf(last).some((a) => overlaps(a, into)) ||
    target.kind === "intrinsic"
  ) {
    refuse("GP1809", "the expression needs a place for a value in between", at);
    return [s];
  }
  const again: Assign = { ...s, value: { ...value, left: target, right: last } };
  return [...decompose({ ...s, value: first }, refuse), again];
}

/** The parts of a concatenation from high to low, all atoms; with zeros in front where it is widened. */
function concatParts(e: Expression): readonly Expression[] | undefined {
  if (e.kind === "concat") {
    const parts = [e.left, e.right].map((side) => concatParts(side) ?? [side]);
    return parts.flat();
  }
  if (
    e.kind === "cast" &&
    e.operand.kind === "concat" &&
    e.type.kind === "bit" &&
    e.operand.type.kind === "bit"
  ) {
    const extra = widthOf(e.type) - widthOf(e.operand.type);
    if (extra < 0) return undefined;
    const parts = concatParts(e.operand) ?? [];
    return extra === 0 ? parts : [{ kind: "constant", type: bit(extra), value: 0n }, ...parts];
  }
  return undefined;
}

function cut(target: Target, high: number, low: number): Target {
  if (low === 0 && high === widthOf(target.type) - 1) return target;
  if (target.kind === "slice") return cut(target.operand, high + target.low, low + target.low);
  if (target.kind === "intrinsic") return target;
  return { kind: "slice", operand: target, high, low, type: bit(high - low + 1) };
}
