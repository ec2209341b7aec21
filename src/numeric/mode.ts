import { ModeId } from "../wire/aggregation.ts";
import {
  blockExponent,
  blockUnit,
  encodeBlockRow,
  exponentOfWord,
  MAX_EXPONENT,
  mantissaBits,
} from "./block.ts";
import { FLOATS } from "./floatcode.ts";
import { fp16Unit } from "./fp16.ts";
import { contributionLimit } from "./headroom.ts";
import { encodeInt32Row, fractionBitsToScale } from "./int32.ts";
import { LookupConverter, lookupFormat } from "./lookup.ts";
import { MAX_BASE, MIN_BASE, windowUnit } from "./window.ts";

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
      readonly name: "block";
      readonly workers: number;
      /** What is expected of the largest exponent of any row in the first two rounds of a placement, 0..254. */
      readonly exponent: number;
    }
  | {
      readonly name: "fp32" | "bf16";
      /** Most workers of any job of the switch program. */
      readonly workers: number;
      /** Exponent at the window's lower end, 1..223. */
      readonly base: number;
      /** Widths of the mantissa slices of the program's tables, highest bits first. */
      readonly slices: readonly number[];
    }
  | {
      readonly name: "fp16";
      readonly workers: number;
      /** The code is that of value * 2^fractionBits, -128..127; 0 sends the gradients as they are. */
      readonly fractionBits: number;
      readonly slices: readonly number[];
    };

/** What a host needs of a mode. */
export interface RowCodec {
  /** The header's `mode`. */
  readonly id: number;
  /** The header's `scale`, an unsigned byte. */
  readonly scale: number;
  /** Value of one unit of a RESULT's sums: sum * unit is exact in float64. `word`: its exponent word, in mode `block`. */
  unit(word?: number): number;
  /**
   * The row's exponent in mode `block`, 0..254; 0 in the other modes, and for values that no exponent can hold: those need the mark.
   */
  exponent(values: Float32Array): number;
  /**
   * Writes the words of a contribution into `out`, which sets the number of lanes; missing values are 0. Returns
   * true when the host knows that the row needs the mark.
   */
  encode(values: Float32Array, out: Int32Array): boolean;
}

/** @throws RangeError for parameters out of range. */
export function rowCodec(mode: NumericMode): RowCodec {
  const id = ModeId[mode.name];
  switch (mode.name) {
    case "int32": {
      contributionLimit(mode.workers);
      const scale = fractionBitsToScale(mode.fractionBits);
      const unit = 2 ** -mode.fractionBits;
      return {
        id,
        scale,
        unit: () => unit,
        exponent: () => 0,
        encode: (values, out) => encodeInt32Row(values, mode.fractionBits, mode.workers, out),
      };
    }
    case "block": {
      mantissaBits(mode.workers);
      const { workers, exponent } = mode;
      if (!Number.isInteger(exponent) || exponent < 0 || exponent > MAX_EXPONENT)
        throw new RangeError(`exponent must be an integer from 0 to ${MAX_EXPONENT}, not ${exponent}`);
      return {
        id,
        // Rows carry their own exponents; the job's unit says what the first ones are expected to be.
        scale: exponent,
        unit: (word = 0) => blockUnit(exponentOfWord(word), workers),
        exponent: (values) => blockExponent(values) ?? 0,
        encode: (values, out) => {
          const own = blockExponent(values);
          if (own === undefined) out.fill(0);
          else encodeBlockRow(values, own, workers, out);
          return own === undefined;
        },
      };
    }
    case "fp16": {
      lookupFormat(mode.name, mode.workers, mode.slices);
      const scale = fractionBitsToScale(mode.fractionBits);
      const unit = fp16Unit(mode.fractionBits);
      return {
        id,
        scale,
        unit: () => unit,
        exponent: () => 0,
        encode: codes("fp16", 2 ** mode.fractionBits),
      };
    }
    case "fp32":
    case "bf16": {
      const { name, base, workers } = mode;
      lookupFormat(name, workers, mode.slices);
      if (!Number.isInteger(base) || base < MIN_BASE || base > MAX_BASE)
        throw new RangeError(`window base must be an integer from ${MIN_BASE} to ${MAX_BASE}, not ${base}`);
      const unit = windowUnit(base, workers);
      return { id, scale: base, unit: () => unit, exponent: () => 0, encode: codes(name, 1) };
    }
  }
}

/** Writes codes. The switch looks each up and sets the mark itself. */
function codes(float: keyof typeof FLOATS, factor: number): RowCodec["encode"] {
  const { encode } = FLOATS[float];
  return (values, out) => {
    for (let i = 0; i < out.length; i++) out[i] = encode(i < values.length ? (values[i] ?? 0) * factor : 0);
    return false;
  };
}

/** The lookup tables of a mode that converts in the switch. Build them once: they are not small. */
export function converterOf(mode: NumericMode): LookupConverter | undefined {
  return mode.name === "int32" || mode.name === "block"
    ? undefined
    : new LookupConverter(lookupFormat(mode.name, mode.workers, mode.slices));
}
