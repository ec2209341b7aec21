import { type NumericMode, rowCodec } from "../../numeric/mode.ts";
import { MAX_WORKERS } from "../../wire/aggregation.ts";
import { type Endpoint, resolveEndpoint } from "../endpoint.ts";
import { LibraError } from "./errors.ts";

export interface WorkerEndpoint extends Endpoint {
  /** Member number 0..31: the worker's bit. */
  readonly member: number;
  /**
   * Which life of the worker this is, 0..255: 0 when absent. One that starts again has forgotten what it sent, so it gets a new life, and with
   * it a new generation: what the former life contributed to open rounds does not count.
   */
  readonly life?: number;
}

/**
 * One placement of a job, the same for all its hosts and for the controller. Plain data: it travels as JSON.
 *
 * A job moves by a new layout with a higher generation. The controller first resets the slots of the new
 * place (`resetRounds`), then writes its admission entries, and only then gives the layout to the hosts.
 */
export interface JobLayout {
  readonly job: number;
  /** Serial number (16 bits) of the placement. */
  readonly generation: number;
  readonly workers: readonly WorkerEndpoint[];
  /** First slot of the aggregator's register grid. */
  readonly slotBase: number;
  readonly lanes: number;
  /** Hot keys (unsigned 32 bits): row by row, the position in the row is the lane. */
  readonly rows: readonly (readonly number[])[];
  readonly mode: NumericMode;
  /** Switch that adds; the server's own endpoint when the job runs without a switch. */
  readonly aggregator: Endpoint;
  readonly server: Endpoint;
  /** First round of this placement, a serial number (32 bits). A fresh job starts with 1; a job that moves, with the oldest unfinished round. */
  readonly firstRound: number;
}

/** Widest row whose packet fits a 1400-byte frame with room to spare. */
export const MAX_LANES = 255;

/** Does the parameter server add in the switch's place? */
export function isServerOnly(layout: JobLayout): boolean {
  return layout.aggregator.ip === layout.server.ip;
}

/** Is the 16-bit serial number `a` newer than `b`? */
export function isNewerGeneration(a: number, b: number): boolean {
  return ((a - b) << 16) >> 16 > 0;
}

/**
 * May `next` take over rounds that began under `previous`? Rows and numbers have to be the same: some rows may be
 * finished already.
 */
export function isSamePlacement(previous: JobLayout, next: JobLayout): boolean {
  const grid = ({ lanes, rows, mode }: JobLayout): string => JSON.stringify([lanes, rows, mode]);
  return previous === next || grid(previous) === grid(next);
}

/**
 * Reads a layout that travelled as JSON.
 *
 * @throws LibraError `layout_invalid`
 */
export function parseLayout(text: string): JobLayout {
  try {
    return checkLayout(JSON.parse(text) as JobLayout); // checkLayout looks at every field
  } catch (error) {
    // A missing part shows itself as a TypeError, text that is no JSON as a SyntaxError.
    if (error instanceof TypeError || error instanceof SyntaxError) fail(error.message);
    throw error;
  }
}

/**
 * Checks the numbers of a layout.
 *
 * @throws LibraError `layout_invalid` that names the field.
 */
export function checkLayout(layout: JobLayout): JobLayout {
  checkInteger("job", layout.job, 0, 0xffff);
  checkInteger("generation", layout.generation, 0, 0xffff);
  checkInteger("firstRound", layout.firstRound, 0, 0xffffffff);
  checkInteger("lanes", layout.lanes, 1, MAX_LANES);
  checkInteger("slotBase", layout.slotBase, 0, 0xffff);
  checkInteger("last slot", layout.slotBase + layout.rows.length - 1, -1, 0xffff);
  checkInteger("number of workers", layout.workers.length, 1, Math.min(MAX_WORKERS, layout.mode.workers));
  for (const worker of layout.workers) {
    checkInteger("worker's member number", worker.member, 0, MAX_WORKERS - 1);
    checkInteger(`life of worker ${worker.member}`, worker.life ?? 0, 0, 255);
    checkEndpoint(`worker ${worker.member}`, worker);
  }
  if (new Set(layout.workers.map((worker) => worker.member)).size !== layout.workers.length)
    fail("two workers have the same member number");
  checkEndpoint("aggregator", layout.aggregator);
  checkEndpoint("server", layout.server);
  const seen = new Set<number>();
  layout.rows.forEach((row, index) => {
    checkInteger(`number of keys of row ${index}`, row.length, 0, layout.lanes);
    for (const key of row) {
      checkInteger(`key in row ${index}`, key, 0, 0xffffffff);
      if (seen.has(key)) fail(`key ${key} is placed twice`);
      seen.add(key);
    }
  });
  try {
    rowCodec(layout.mode);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    fail(`mode: ${error.message}`);
  }
  return layout;
}

function checkInteger(what: string, value: unknown, least: number, most: number): void {
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most)
    fail(`${what} must be an integer from ${least} to ${most}, not ${String(value)}`);
}

function checkEndpoint(what: string, endpoint: Endpoint): void {
  try {
    resolveEndpoint(endpoint);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    fail(`${what}: ${error.message}`);
  }
}

function fail(reason: string): never {
  throw new LibraError("layout_invalid", `layout: ${reason}`);
}

/** Where each hot key is: row * lanes + lane. */
export function keyPositions(layout: JobLayout): ReadonlyMap<number, number> {
  const positions = new Map<number, number>();
  layout.rows.forEach((row, index) => {
    row.forEach((key, lane) => {
      positions.set(key, index * layout.lanes + lane);
    });
  });
  return positions;
}
