/**
 * IEEE-754 codes: binary32 (`fp32`), binary16 (`fp16`) and the upper half of binary32 (`bf16`). Codes are unsigned integers; numbers
 * are rounded to the nearest code, to the even one half-way.
 */
export interface FloatLayout {
  /** Bits of a code: sign, exponent, mantissa. */
  readonly bits: number;
  readonly exponentBits: number;
  readonly mantissaBits: number;
  /** The code of a number. */
  readonly encode: (value: number) => number;
  /** The number of a code. */
  readonly decode: (code: number) => number;
}

export type FloatName = "fp32" | "fp16" | "bf16";

const scratch = new DataView(new ArrayBuffer(4));

/** The binary32 code of a number. */
export function float32Code(value: number): number {
  scratch.setFloat32(0, value);
  return scratch.getUint32(0);
}

/** The number of a binary32 code. */
export function float32Value(code: number): number {
  scratch.setUint32(0, code);
  return scratch.getFloat32(0);
}

/** The binary16 code of a float32 number. From 65520 on it is infinity. */
export function float16Code(value: number): number {
  const code = float32Code(value);
  const sign = (code >>> 16) & 0x8000;
  const magnitude = code & 0x7fff_ffff;
  if (magnitude > 0x7f80_0000) return sign | 0x7e00;
  if (magnitude >= 0x477f_f000) return sign | 0x7c00;
  // Below 2^-14 the codes count steps of 2^-24; the step after the largest denormal is the smallest normal number.
  if (magnitude < 0x3880_0000) return sign | nearestEven(float32Value(magnitude) * 2 ** 24);
  const rebiased = magnitude - ((127 - 15) << 23);
  return sign | ((rebiased + 0xfff + ((rebiased >>> 13) & 1)) >>> 13);
}

/** The number of a binary16 code. */
export function float16Value(code: number): number {
  const sign = (code & 0x8000) === 0 ? 1 : -1;
  const exponent = (code >>> 10) & 0x1f;
  const mantissa = code & 0x3ff;
  if (exponent === 0x1f) return mantissa === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (exponent === 0 ? mantissa : 1024 + mantissa) * 2 ** (Math.max(exponent, 1) - 25);
}

/** The bfloat16 code of a float32 number. */
export function bfloat16Code(value: number): number {
  const code = float32Code(value);
  if ((code & 0x7fff_ffff) > 0x7f80_0000) return ((code >>> 16) & 0x8000) | 0x7fc0;
  return (code + 0x7fff + ((code >>> 16) & 1)) >>> 16;
}

/** The number of a bfloat16 code. */
export function bfloat16Value(code: number): number {
  return float32Value((code << 16) >>> 0);
}

export const FLOATS: Readonly<Record<FloatName, FloatLayout>> = {
  fp32: { bits: 32, exponentBits: 8, mantissaBits: 23, encode: float32Code, decode: float32Value },
  fp16: { bits: 16, exponentBits: 5, mantissaBits: 10, encode: float16Code, decode: float16Value },
  bf16: { bits: 16, exponentBits: 8, mantissaBits: 7, encode: bfloat16Code, decode: bfloat16Value },
};

function nearestEven(value: number): number {
  const whole = Math.floor(value);
  const rest = value - whole;
  return rest > 0.5 || (rest === 0.5 && whole % 2 === 1) ? whole + 1 : whole;
}
