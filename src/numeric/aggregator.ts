import {
  AGGREGATION_VERSION,
  type AggregationHeader,
  COLLECTOR,
  Flag,
  Kind,
  ModeId,
} from "../wire/aggregation.ts";
import { type AggregationMessage, carriesLanes, NO_LANES } from "../wire/aggregationpacket.ts";
import type { Fp32Converter } from "./fp32.ts";

/**
 * The golden model of hot-parameter aggregation: what a switch does with one decoded aggregation packet, bit for
 * bit. The parameter server uses it too, when a job runs without a switch. It is pure: no addresses, clock or I/O.
 */

/** What the aggregator did with a request; each is a counter. */
export const AGGREGATOR_EVENTS = [
  /** A worker's lanes were added; the row is not complete yet. */
  "contribution",
  /** A NULL was counted; the row is not complete yet. */
  "null",
  /** A contribution or NULL that made the row complete. */
  "complete",
  /** The worker had been counted in this round: acknowledged, not added. */
  "duplicate",
  /** The slot is in a newer round: acknowledged as stale, not added. */
  "stale",
  /** No entry for this job, member and chunk of slots, or the member has no such role. */
  "refused_unknown",
  /** The job has moved: the packet belongs to another placement. */
  "refused_generation",
  /** The packet's values are in another unit than the job's: sums of them would mean nothing. */
  "refused_scale",
  /** RESET of a slot whose job has been admitted: a copy that comes late must not touch what runs. */
  "refused_reset",
  /** Wrong version, kind, mode, lane count or length; RESET from anywhere but the controller's port. */
  "malformed",
  "collect_result",
  "collect_pending",
  "reset",
] as const;
export type AggregatorEvent = (typeof AGGREGATOR_EVENTS)[number];

/** `sender`: back to whoever sent the request. `server`: to the job's parameter server. */
export interface AggregatorAnswer extends AggregationMessage {
  readonly to: "sender" | "server";
}

export interface AggregatorOutcome {
  readonly event: AggregatorEvent;
  readonly answers: readonly AggregatorAnswer[];
}

export interface AggregatorFormat {
  /** Lanes of a row. */
  readonly lanes: number;
  /** Rows of the register grid; each has two banks. */
  readonly slots: number;
  /** Slots that one admission entry covers, a power of two. A job's slot range is made of whole chunks. */
  readonly chunk: number;
  readonly mode: number;
  /** Needed in mode fp32: the lookup tables. */
  readonly fp32?: Fp32Converter;
}

/** One entry of the admission table, keyed by (job, member, chunk of the slot). */
export interface Admission {
  readonly job: number;
  /** Worker 0..31, or 255 for the parameter server, whose bit is 0. */
  readonly member: number;
  /** Number of the chunk: slot / chunk size. */
  readonly chunk: number;
  /** The worker's bit, or 0 for the collector, who may ask and not contribute. */
  readonly bit: number;
  /** Bits of all workers of the job. */
  readonly full: number;
  readonly generation: number;
  /** The header's `scale` of all of the job's packets, 0..255. */
  readonly scale: number;
}

/** Is serial number `a` newer than `b` (RFC 1982, 32 bits)? Rounds wrap, so they are never compared as integers. */
export function isNewerRound(a: number, b: number): boolean {
  return ((a - b) | 0) > 0;
}

const NO_ANSWERS: readonly AggregatorAnswer[] = [];

export class GoldenAggregator {
  readonly format: AggregatorFormat;
  /** How often each event happened. */
  readonly counters: Record<AggregatorEvent, number>;
  readonly #admissions = new Map<number, Admission>();
  // All indexed by slot * 2 + bank, the lanes by (slot * 2 + bank) * lanes + lane.
  readonly #rounds: Uint32Array;
  readonly #bitmaps: Uint32Array;
  readonly #marks: Uint8Array;
  readonly #sums: Int32Array;
  readonly #values: Int32Array;

  constructor(format: AggregatorFormat) {
    if (format.mode === ModeId.fp32 && format.fp32 === undefined)
      throw new RangeError("mode fp32 needs its lookup tables");
    if (format.mode !== ModeId.fp32 && format.mode !== ModeId.int32)
      throw new RangeError(`numeric mode ${format.mode} has no golden model`);
    if (format.chunk < 1 || (format.chunk & (format.chunk - 1)) !== 0)
      throw new RangeError(`a chunk must be a power of two of slots, not ${format.chunk}`);
    this.format = format;
    this.counters = Object.fromEntries(AGGREGATOR_EVENTS.map((event) => [event, 0])) as Record<
      AggregatorEvent,
      number
    >; // fromEntries forgets the key type
    this.#rounds = new Uint32Array(format.slots * 2);
    this.#bitmaps = new Uint32Array(format.slots * 2);
    this.#marks = new Uint8Array(format.slots * 2);
    this.#sums = new Int32Array(format.slots * 2 * format.lanes);
    this.#values = new Int32Array(format.lanes);
  }

  /** Inserts or replaces one entry of the admission table. */
  admit(entry: Admission): void {
    this.#admissions.set(admissionKey(entry.job, entry.member, entry.chunk), entry);
  }

  /** Removes one entry; its packets are refused from now on. */
  dismiss(job: number, member: number, chunk: number): void {
    this.#admissions.delete(admissionKey(job, member, chunk));
  }

  /**
   * Handles one packet. `fromController` says that it came in by the controller's port, the only one from which
   * RESET is taken. Never throws, whatever the packet holds.
   */
  handle(message: AggregationMessage, fromController = false): AggregatorOutcome {
    const { header, lanes } = message;
    const { kind } = header;
    const wanted = carriesLanes(kind) ? this.format.lanes : 0;
    if (
      header.version !== AGGREGATION_VERSION ||
      header.lanes !== this.format.lanes ||
      header.mode !== this.format.mode ||
      lanes.length !== wanted
    )
      return this.#refuse("malformed");
    if (kind === Kind.RESET) return fromController ? this.#reset(header) : this.#refuse("malformed");
    if (kind !== Kind.CONTRIBUTION && kind !== Kind.NULL && kind !== Kind.COLLECT)
      return this.#refuse("malformed");

    const chunk = Math.floor(header.slot / this.format.chunk);
    const admission = this.#admissions.get(admissionKey(header.job, header.member, chunk));
    if (admission === undefined || header.slot >= this.format.slots) return this.#refuse("refused_unknown");
    // Without a bit a contribution would never be a duplicate, so the collector may not contribute.
    if ((admission.bit === 0) !== (kind === Kind.COLLECT)) return this.#refuse("refused_unknown");
    if (admission.generation !== header.generation) return this.#refuse("refused_generation");
    if (admission.scale !== header.scale) return this.#refuse("refused_scale");
    return kind === Kind.COLLECT ? this.#collect(header, admission) : this.#contribute(message, admission);
  }

  /** A packet that was addressed to the aggregator and can't even be decoded: counted. */
  refuseMalformed(): AggregatorOutcome {
    return this.#refuse("malformed");
  }

  #contribute({ header, lanes }: AggregationMessage, { bit, full }: Admission): AggregatorOutcome {
    const index = header.slot * 2 + (header.round & 1);
    const age = (header.round - (this.#rounds[index] ?? 0)) | 0;
    if (age < 0) return this.#acknowledge("stale", header, Flag.STALE);
    const restart = age > 0;
    const before = restart ? 0 : (this.#bitmaps[index] ?? 0);
    if ((before & bit) !== 0) return this.#acknowledge("duplicate", header, Flag.DUPLICATE);

    const bitmap = (before | bit) >>> 0;
    this.#rounds[index] = header.round;
    this.#bitmaps[index] = bitmap;
    const isNull = header.kind === Kind.NULL;
    let mark = header.flags & Flag.MARK;
    if (!isNull && this.#convert(lanes, header.scale)) mark = Flag.MARK;
    this.#marks[index] = restart ? mark : (this.#marks[index] ?? 0) | mark;
    const first = index * this.format.lanes;
    for (let lane = 0; lane < this.format.lanes; lane++) {
      const value = isNull ? 0 : (this.#values[lane] ?? 0);
      this.#sums[first + lane] = restart ? value : (this.#sums[first + lane] ?? 0) + value; // wraps at 32 bits
    }
    if (bitmap !== full >>> 0) return this.#acknowledge(isNull ? "null" : "contribution", header, 0);
    this.counters.complete++;
    return {
      event: "complete",
      answers: [acknowledgement(header, 0), this.#result(header, index, "server")],
    };
  }

  /** Puts the integers of a row's lanes into `#values`. Returns true when one of them is above the window. */
  #convert(lanes: Int32Array, base: number): boolean {
    const { fp32 } = this.format;
    if (fp32 === undefined) {
      this.#values.set(lanes);
      return false;
    }
    let mark = false;
    for (let lane = 0; lane < lanes.length; lane++) {
      const value = fp32.convert(lanes[lane] ?? 0, base);
      if (value === undefined) mark = true;
      this.#values[lane] = value ?? 0;
    }
    return mark;
  }

  #collect(header: AggregationHeader, { full }: Admission): AggregatorOutcome {
    const index = header.slot * 2 + (header.round & 1);
    if (this.#rounds[index] === header.round && this.#bitmaps[index] === full >>> 0) {
      this.counters.collect_result++;
      return { event: "collect_result", answers: [this.#result(header, index, "sender")] };
    }
    this.counters.collect_pending++;
    const pending = { ...header, kind: Kind.PENDING, flags: 0 };
    return { event: "collect_pending", answers: [{ to: "sender", header: pending, lanes: NO_LANES }] };
  }

  #reset(header: AggregationHeader): AggregatorOutcome {
    if (header.slot >= this.format.slots) return this.#refuse("refused_unknown");
    const chunk = Math.floor(header.slot / this.format.chunk);
    if (this.#admissions.has(admissionKey(header.job, header.member, chunk)))
      return this.#refuse("refused_reset");
    this.#rounds[header.slot * 2 + (header.round & 1)] = header.round;
    this.counters.reset++;
    return { event: "reset", answers: [{ to: "sender", header: { ...header }, lanes: NO_LANES }] };
  }

  #result(header: AggregationHeader, index: number, to: AggregatorAnswer["to"]): AggregatorAnswer {
    const first = index * this.format.lanes;
    const flags = (this.#marks[index] ?? 0) === 0 ? 0 : Flag.MARK;
    const lanes = this.#sums.slice(first, first + this.format.lanes);
    return { to, header: { ...header, kind: Kind.RESULT, flags }, lanes };
  }

  #acknowledge(event: AggregatorEvent, header: AggregationHeader, flags: number): AggregatorOutcome {
    this.counters[event]++;
    return { event, answers: [acknowledgement(header, flags)] };
  }

  #refuse(event: AggregatorEvent): AggregatorOutcome {
    this.counters[event]++;
    return { event, answers: NO_ANSWERS };
  }
}

function acknowledgement(header: AggregationHeader, flags: number): AggregatorAnswer {
  return { to: "sender", header: { ...header, kind: Kind.ACK, flags }, lanes: NO_LANES };
}

/** Distinct for every job (16 bits), member (8 bits) and chunk (16 bits). */
function admissionKey(job: number, member: number, chunk: number): number {
  return (job * 256 + member) * 65536 + chunk;
}

/**
 * Rounds that both banks of a slot are reset to before a placement starts, one RESET each: whatever the register held, `firstRound` and
 * all later rounds are then newer, and no earlier one is equal. Two rounds back in the bank of `firstRound`, three in the other.
 * RESETs come before the job's admission entries; after those they are refused.
 */
export function resetRounds(firstRound: number): readonly [number, number] {
  return [(firstRound - 2) >>> 0, (firstRound - 3) >>> 0];
}

/** Who may use a job's slots, in the controller's words. */
export interface JobAdmission {
  readonly job: number;
  readonly generation: number;
  /** Members that contribute, as worker numbers 0..31. */
  readonly workers: readonly number[];
  /** First slot; a multiple of the chunk. */
  readonly slotBase: number;
  readonly rows: number;
  readonly scale: number;
}

/** The admission entries of a job: each worker and the collector, for each chunk of its slots. */
export function admissionsOf(job: JobAdmission, chunk: number): Admission[] {
  if (job.slotBase % chunk !== 0)
    throw new RangeError(`job ${job.job}: slot base ${job.slotBase} is not a multiple of the chunk ${chunk}`);
  const full = job.workers.reduce((mask, worker) => mask | (1 << worker), 0) >>> 0;
  const entries: Admission[] = [];
  for (let slot = job.slotBase; slot < job.slotBase + job.rows; slot += chunk)
    for (const member of [...job.workers, COLLECTOR])
      entries.push({
        job: job.job,
        member,
        chunk: slot / chunk,
        bit: member === COLLECTOR ? 0 : (1 << member) >>> 0,
        full,
        generation: job.generation,
        scale: job.scale,
      });
  return entries;
}
