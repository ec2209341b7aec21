import { ModeId } from "../wire/aggregation.ts";
import { Fp32Converter, float32Code, fp32Format, fp32Unit, MAX_BASE, MIN_BASE } from "./fp32.ts";
import { contributionLimit } from "./headroom.ts";
import { encodeInt32Row, fractionBitsToScale } from "./int32.ts";

/** A numeric mode with its parameters: how gradients become integers, and back. Plain data. */
export type NumericMode =
  | {
      readonly name: "int32";
      /** Most workers that the headroom allows. */
      readonly workers: number;
      /** Fraction bits, -128..127: the integer is value * 2^fractionBits. */
      readonly fractionBits: number;
    }
  | {
      readonly name: "fp32";
      /** Most workers of any job of the switch program. */
      readonly workers: number;
      /** Exponent at the window's lower end, 1..223. */
      readonly base: number;
      /** Widths of the mantissa slices of the program's tables, highest bits first. */
      readonly slices: readonly number[];
    };

/** What a host needs of a mode. */
export interface RowCodec {
  /** The header's `mode`. */
  readonly id: number;
  /** The header's `scale`, an unsigned byte. */
  readonly scale: number;
  /** Value of one unit of a sum: sum * unit is exact in float64. */
  readonly unit: number;
  /**
   * Writes the words of a contribution into `out`, which sets the number of lanes; missing values are 0. Returns
   * true when the host knows that the row needs the mark.
   */
  encode(values: Float32Array, out: Int32Array): boolean;
}

/** @throws RangeError for parameters out of range. */
export function rowCodec(mode: NumericMode): RowCodec {
  if (mode.name === "int32") {
    contributionLimit(mode.workers);
    const scale = fractionBitsToScale(mode.fractionBits);
    return {
      id: ModeId.int32,
      scale,
      unit: 2 ** -mode.fractionBits,
      encode: (values, out) => encodeInt32Row(values, mode.fractionBits, mode.workers, out),
    };
  }
  const { base, workers } = mode;
  fp32Format(workers, mode.slices);
  if (!Number.isInteger(base) || base < MIN_BASE || base > MAX_BASE)
    throw new RangeError(`window base must be an integer from ${MIN_BASE} to ${MAX_BASE}, not ${base}`);
  return {
    id: ModeId.fp32,
    scale: base,
    unit: fp32Unit(base, workers),
    encode: (values, out) => {
      for (let i = 0; i < out.length; i++) out[i] = i < values.length ? float32Code(values[i] ?? 0) : 0;
      return false; // the switch looks each code up and sets the mark itself
    },
  };
}

/** The lookup tables of a mode that converts in the switch. Build them once: they are not small. */
export function converterOf(mode: NumericMode): Fp32Converter | undefined {
  return mode.name === "fp32" ? new Fp32Converter(fp32Format(mode.workers, mode.slices)) : undefined;
}
