import type { ResultTo } from "../../../numeric/aggregator.ts";
import { mantissaBits } from "../../../numeric/block.ts";
import type { FloatName } from "../../../numeric/floatcode.ts";
import { DEFAULT_SLICES, lookupFormat } from "../../../numeric/lookup.ts";
import { MAX_WORKERS } from "../../../wire/aggregation.ts";
import type { callSite } from "../../callsite.ts";
import { onlyKnown } from "../../options.ts";
import { ProgramError } from "../../programerror.ts";

/** Host-scaled integers: the switch adds. */
export interface Int32Mode {
  readonly name: "int32";
}

/** An exponent for each row, and integers that the switch shifts to the exponent of the row's slot; see `numeric/block.ts`. */
export interface BlockMode {
  readonly name: "block";
}

/** Raw IEEE-754 codes, turned into fixed point by lookup tables; see `numeric/lookup.ts`. */
export interface FloatMode<F extends FloatName = FloatName> {
  readonly name: F;
  /** Widths of the mantissa slices, highest bits first; they sum to its 23, 10 or 7 bits. More slices: smaller tables. */
  readonly slices: readonly number[];
}

export type NumericMode = Int32Mode | BlockMode | FloatMode<"fp32"> | FloatMode<"fp16"> | FloatMode<"bf16">;

export const int32: Int32Mode = Object.freeze({ name: "int32" });

export const block: BlockMode = Object.freeze({ name: "block" });

interface FloatOptions {
  readonly slices?: readonly number[];
}

export function fp32(options: FloatOptions = {}): FloatMode<"fp32"> {
  return floatMode("fp32", options);
}

export function fp16(options: FloatOptions = {}): FloatMode<"fp16"> {
  return floatMode("fp16", options);
}

export function bf16(options: FloatOptions = {}): FloatMode<"bf16"> {
  return floatMode("bf16", options);
}

function floatMode<F extends FloatName>(
  name: F,
  { slices = DEFAULT_SLICES[name] }: FloatOptions,
): FloatMode<F> {
  return Object.freeze({ name, slices });
}

/** Does the switch turn codes into integers by tables? */
export function sendsCodes(mode: NumericMode): mode is Exclude<NumericMode, Int32Mode | BlockMode> {
  return mode.name !== "int32" && mode.name !== "block";
}

export interface AggregationOptions {
  /** Most workers of a job, 1 to 32. */
  readonly workers: number;
  /** Keys in a row, each in a register array of its own. */
  readonly lanes: number;
  /** Rows of the register grid, for all jobs together. */
  readonly rows: number;
  readonly mode: NumericMode;
  /**
   * `ps`: RESULTs go to the job's parameter server. `allreduce`: they go to all workers, as in SwitchML (NSDI'21), and are the
   * acknowledgement of what they sum up.
   */
  readonly result: ResultTo;
  /** Rows that one admission entry covers, a power of two; a job has whole chunks. Default 16. */
  readonly chunk?: number;
  /** Entries of the admission table; default room for four jobs over all rows. */
  readonly admissions?: number;
}

/** The options with all defaults filled in. */
export type FullAggregationOptions = Required<AggregationOptions>;

/** More than any switch has room for, so that a slip of the pen is told as one. */
const MAX_ADMISSIONS = 2 ** 24;

const OPTIONS: readonly string[] = ["workers", "lanes", "rows", "mode", "result", "chunk", "admissions"];
const MODES: readonly unknown[] = ["int32", "block", "fp32", "fp16", "bf16"];

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
    refuse(
      `mode is ${JSON.stringify(mode)}; write int32, block, fp32(), fp16() or bf16(), imported from gradplane`,
    );
  }
  if (options.result !== "ps" && options.result !== "allreduce")
    refuse(`result is ${JSON.stringify(options.result)}; it may be "ps" or "allreduce"`);
  whole("workers", 1, MAX_WORKERS);
  whole("lanes", 1, 255);
  whole("rows", 1, 0x1_0000);
  whole("chunk", 1, 0x8000);
  if ((chunk & (chunk - 1)) !== 0) refuse(`chunk is ${chunk}; it must be a power of two`);
  if (options.rows % chunk !== 0)
    refuse(
      `rows is ${options.rows}; it must be a multiple of chunk (${chunk}), for example ${Math.ceil(options.rows / chunk) * chunk}`,
    );
  try {
    if (sendsCodes(options.mode)) lookupFormat(options.mode.name, options.workers, options.mode.slices);
    if (options.mode.name === "block") mantissaBits(options.workers);
  } catch (error) {
    if (error instanceof RangeError) refuse(error.message);
    throw error;
  }
  if (options.admissions !== undefined) whole("admissions", 1, MAX_ADMISSIONS);
  const admissions = options.admissions ?? Math.max(64, 4 * (options.workers + 1) * (options.rows / chunk));
  return { ...options, chunk, admissions };
}
