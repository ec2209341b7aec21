import type { FieldSlot, HeaderSlot, SlotRange, UnionSlot } from "./layout.ts";

/**
 * JavaScript for a data value, with the interval that the value is known to lie in. BMv2 computes with unbounded
 * integers and cuts only on assignment; the intervals tell where plain numbers give the same result.
 */
export interface DataCode {
  readonly kind: "data";
  readonly code: string;
  /** True if the code yields a bigint. */
  readonly big: boolean;
  readonly low: bigint;
  readonly high: bigint;
}

export interface BoolCode {
  readonly kind: "bool";
  readonly code: string;
}

/** A header, perhaps one element of a stack chosen at run time: `element` is then the code of its index. */
export interface HeaderCode {
  readonly kind: "header";
  readonly slot: HeaderSlot;
  readonly element: string | undefined;
  readonly stride: SlotRange;
}

export interface UnionCode {
  readonly kind: "union";
  readonly slot: UnionSlot;
  readonly element: string | undefined;
  readonly stride: SlotRange;
}

export type ValueCode = DataCode | BoolCode | HeaderCode | UnionCode;

/** A place that can be assigned: slot, and the code of its index within its store. */
export interface PlaceCode {
  readonly slot: FieldSlot;
  readonly index: string;
}

export const safe = 1n << 53n;
export const two32 = 1n << 32n;
export const noStride: SlotRange = { u: 0, d: 0, b: 0, v: 0 };

/** Results of shifts further than this are not computed; no field is that wide. */
export const largestShift = 1n << 20n;

export function isNumber(low: bigint, high: bigint): boolean {
  return low > -safe && high < safe;
}

export function min(values: readonly bigint[]): bigint {
  let least = values[0] ?? 0n;
  for (const value of values) if (value < least) least = value;
  return least;
}

export function max(values: readonly bigint[]): bigint {
  let most = values[0] ?? 0n;
  for (const value of values) if (value > most) most = value;
  return most;
}

export function number(code: string, low: bigint, high: bigint): DataCode {
  return { kind: "data", code, big: false, low, high };
}

export function bigint(code: string, low: bigint, high: bigint): DataCode {
  return { kind: "data", code, big: true, low, high };
}

/** The bits of a non-negative value, for bounds of `|` and `^`. */
export function allOnes(value: bigint): bigint {
  return (1n << BigInt(value.toString(2).length)) - 1n;
}

/** k if the value is 2^k - 1, k > 0. */
export function lowMaskWidth(value: bigint): number | undefined {
  if (value <= 0n || (value & (value + 1n)) !== 0n) return undefined;
  return value.toString(2).length;
}

export function bigintLiteral(value: bigint): string {
  return value < 0n ? `(${value}n)` : `${value}n`;
}

export function numberLiteral(value: bigint): string {
  return value < 0n ? `(${value})` : `${value}`;
}

export function asBigint(code: DataCode): string {
  return code.big ? code.code : `BigInt(${code.code})`;
}

/** Picks the number form if the result is sure to be exact as a number. */
export function narrow(asNumber: string, asBigint: string, low: bigint, high: bigint): DataCode {
  return isNumber(low, high) ? number(asNumber, low, high) : bigint(asBigint, low, high);
}

/** A bigint expression whose result is narrow comes back as a number. */
export function fromBig(code: string, low: bigint, high: bigint): DataCode {
  return isNumber(low, high) ? number(`Number(${code})`, low, high) : bigint(code, low, high);
}

export function constantCode(value: bigint): DataCode {
  return isNumber(value, value)
    ? number(numberLiteral(value), value, value)
    : bigint(bigintLiteral(value), value, value);
}

export function arithmeticCode(op: "+" | "-" | "*", a: DataCode, b: DataCode): DataCode {
  const bounds =
    op === "+"
      ? [a.low + b.low, a.high + b.high]
      : op === "-"
        ? [a.low - b.high, a.high - b.low]
        : [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high];
  const low = min(bounds);
  const high = max(bounds);
  const big = `(${asBigint(a)} ${op} ${asBigint(b)})`;
  return a.big || b.big ? bigint(big, low, high) : narrow(`(${a.code} ${op} ${b.code})`, big, low, high);
}

export function divisionCode(op: "/" | "%", a: DataCode, b: DataCode): DataCode {
  const magnitude = max([a.high, -a.low, 0n]);
  const other = max([b.high, -b.low, 0n]);
  const bound = op === "/" ? magnitude : min([magnitude, other]);
  const low = a.low < 0n || b.low < 0n ? -bound : 0n;
  const name = op === "/" ? "divide" : "modulo";
  if (!a.big && !b.big) return number(`${name}(${a.code}, ${b.code})`, low, bound);
  return bigint(`${name}Big(${asBigint(a)}, ${asBigint(b)})`, low, bound);
}

export function orCode(op: "|" | "^", a: DataCode, b: DataCode): DataCode {
  if (a.low >= 0n && b.low >= 0n) {
    const high = allOnes(max([a.high, b.high]));
    if (!a.big && !b.big) {
      if (high < two32) return number(`((${a.code} ${op} ${b.code}) >>> 0)`, 0n, high);
      return number(`${op === "|" ? "or53" : "xor53"}(${a.code}, ${b.code})`, 0n, high);
    }
    return bigint(`(${asBigint(a)} ${op} ${asBigint(b)})`, 0n, high);
  }
  const bound = allOnes(max([a.high, b.high, -a.low, -b.low, 1n]));
  return fromBig(`(${asBigint(a)} ${op} ${asBigint(b)})`, -bound - 1n, bound);
}
