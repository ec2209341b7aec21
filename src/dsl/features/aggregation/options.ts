import { DEFAULT_SLICES, fp32Format } from "../../../numeric/fp32.ts";
import { MAX_WORKERS } from "../../../wire/aggregation.ts";
import type { callSite } from "../../callsite.ts";
import { onlyKnown } from "../../options.ts";
import { ProgramError } from "../../programerror.ts";

/** Host-scaled integers: the switch adds. */
export interface Int32Mode {
  readonly name: "int32";
}

/** Raw IEEE-754 float32 codes, turned into fixed point by lookup tables; see `numeric/fp32.ts`. */
export interface Fp32Mode {
  readonly name: "fp32";
  /** Widths of the mantissa slices, highest bits first; they sum to 23. More slices: smaller tables. */
  readonly slices: readonly number[];
}

export type NumericMode = Int32Mode | Fp32Mode;

export const int32: Int32Mode = Object.freeze({ name: "int32" });

export function fp32(options: { readonly slices?: readonly number[] } = {}): Fp32Mode {
  return Object.freeze({ name: "fp32", slices: options.slices ?? DEFAULT_SLICES });
}

export interface AggregationOptions {
  /** Most workers of a job, 1 to 32. */
  readonly workers: number;
  /** Keys in a row, each in a register array of its own. */
  readonly lanes: number;
  /** Rows of the register grid, for all jobs together. */
  readonly rows: number;
  readonly mode: NumericMode;
  /** RESULTs go to the job's parameter server. */
  readonly result: "ps";
  /** Rows that one admission entry covers, a power of two; a job has whole chunks. Default 16. */
  readonly chunk?: number;
  /** Entries of the admission table; default room for four jobs over all rows. */
  readonly admissions?: number;
}

/** The options with all defaults filled in. */
export type FullAggregationOptions = Required<AggregationOptions>;

const OPTIONS: readonly string[] = ["workers", "lanes", "rows", "mode", "result", "chunk", "admissions"];
const MODES: readonly unknown[] = ["int32", "fp32"];

/** Checks what a user wrote, and fills in the defaults. @throws ProgramError GP1701 */
export function checkedOptions(
  options: AggregationOptions,
  at: ReturnType<typeof callSite>,
): FullAggregationOptions {
  onlyKnown("hotAggregation", options, OPTIONS, at);
  const chunk = options.chunk ?? 16;
  const refuse = (message: string): never => {
    throw new ProgramError({ code: "GP1701", message: `hotAggregation: ${message}`, at });
  };
  const whole = (name: keyof AggregationOptions, low: number, high: number): void => {
    const given = { ...options, chunk }[name];
    if (typeof given !== "number" || !Number.isInteger(given) || given < low || given > high) {
      refuse(`${name} is ${String(given)}; it may be ${low} to ${high}`);
    }
  };
  const mode: unknown = options.mode;
  if (typeof mode !== "object" || mode === null || !("name" in mode) || !MODES.includes(mode.name)) {
    refuse(`mode is ${JSON.stringify(mode)}; write int32 or fp32(), imported from gradplane`);
  }
  if (options.result !== "ps") refuse(`result is ${JSON.stringify(options.result)}; it may be "ps"`);
  whole("workers", 1, MAX_WORKERS);
  whole("lanes", 1, 255);
  whole("rows", 1, 0x1_0000);
  whole("chunk", 1, 0x8000);
  if ((chunk & (chunk - 1)) !== 0) refuse(`chunk is ${chunk}; it must be a power of two`);
  if (options.rows % chunk !== 0)
    refuse(
      `rows is ${options.rows}; it must be a multiple of chunk (${chunk}), for example ${Math.ceil(options.rows / chunk) * chunk}`,
    );
  if (options.mode.name === "fp32") {
    try {
      fp32Format(options.workers, options.mode.slices);
    } catch (error) {
      if (error instanceof RangeError) refuse(error.message);
      throw error;
    }
  }
  const admissions = options.admissions ?? Math.max(64, 4 * (options.workers + 1) * (options.rows / chunk));
  return { ...options, chunk, admissions };
}
