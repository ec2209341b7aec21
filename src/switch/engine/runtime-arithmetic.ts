/**
 * Functions that generated code calls. Numbers are integers of magnitude below 2^53; results are exact. Nothing here
 * throws on values that a packet can bring: division by zero gives 0, far shifts give what is left of the value.
 */

const two32 = 4294967296;

/** value modulo 2^k for modulus = 2^k; non-negative also for negative values. */
export function floorMod(value: number, modulus: number): number {
  return value - Math.floor(value / modulus) * modulus;
}

/** Reads the unsigned `value` of width k as two's complement; modulus = 2^k. */
export function signExtend(value: number, modulus: number): number {
  return value >= modulus / 2 ? value - modulus : value;
}

export function clampIndex(index: number, size: number): number {
  return index >= 0 && index < size ? index : size;
}

export function and53(a: number, b: number): number {
  return (Math.floor(a / two32) & Math.floor(b / two32)) * two32 + ((a & b) >>> 0);
}

export function or53(a: number, b: number): number {
  return (Math.floor(a / two32) | Math.floor(b / two32)) * two32 + ((a | b) >>> 0);
}

export function xor53(a: number, b: number): number {
  return (Math.floor(a / two32) ^ Math.floor(b / two32)) * two32 + ((a ^ b) >>> 0);
}

/** Division that truncates; the result of a division by zero is 0. */
export function divide(a: number, b: number): number {
  return b === 0 ? 0 : Math.trunc(a / b);
}

export function modulo(a: number, b: number): number {
  // `+ 0` turns -0 into 0.
  return b === 0 ? 0 : (a % b) + 0;
}

export function divideBig(a: bigint, b: bigint): bigint {
  return b === 0n ? 0n : a / b;
}

export function moduloBig(a: bigint, b: bigint): bigint {
  return b === 0n ? 0n : a % b;
}

/** Low 32 bits of a << distance. */
export function shiftLeft32(a: number, distance: number | bigint): number {
  const n = Number(distance);
  return n < 32 ? a << n : 0;
}

/** a >> distance for 0 <= a < 2^32. */
export function shiftRight32(a: number, distance: number | bigint): number {
  const n = Number(distance);
  return n < 32 ? a >>> n : 0;
}

export function shiftRight(a: number, distance: number | bigint): number {
  const n = Number(distance);
  return n < 64 ? Math.floor(a / 2 ** n) : a < 0 ? -1 : 0;
}

const furthest = 1 << 20;

/** Shifts beyond 2^20 bits give 0: no field keeps any of their bits. */
export function shiftLeftBig(a: bigint, distance: number | bigint): bigint {
  const n = Number(distance);
  return n <= furthest ? a << BigInt(n) : 0n;
}

export function shiftRightBig(a: bigint, distance: number | bigint): bigint {
  const n = Number(distance);
  return n <= furthest ? a >> BigInt(n) : a < 0n ? -1n : 0n;
}

export function saturate(value: number, low: number, high: number): number {
  return Math.max(low, Math.min(high, value));
}

export function saturateBig(value: bigint, low: bigint, high: bigint): bigint {
  return value < low ? low : value > high ? high : value;
}

export function sameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
