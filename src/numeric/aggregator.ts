import {
  AGGREGATION_VERSION,
  type AggregationHeader,
  type BlockExponents,
  COLLECTOR,
  carriesExponents,
  Flag,
  Kind,
  ModeId,
} from "../wire/aggregation.ts";
import { type AggregationMessage, carriesLanes, NO_LANES } from "../wire/aggregationpacket.ts";
import { exponentRegister, MAX_DIFFERENCE, resetWords, shiftMantissa } from "./block.ts";
import type { CodeConverter } from "./lookup.ts";

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
  /** The same with result `allreduce`, when the row is complete: the worker gets the RESULT again. */
  "result_again",
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

/** `sender`: back to whoever sent the request. `server`: to the job's parameter server. `workers`: a copy to each of these members. */
export interface AggregatorAnswer extends AggregationMessage {
  readonly to: "sender" | "server" | { readonly workers: readonly number[] };
}

/**
 * Who gets the RESULT of a row. `ps`: the job's parameter server; every contribution is acknowledged. `allreduce`: all workers; the
 * RESULT is the acknowledgement, and a contribution that does not complete a row has no other.
 */
export type ResultTo = "ps" | "allreduce";

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
  /** Needed in the modes that send float codes: the lookup tables. */
  readonly converter?: CodeConverter | undefined;
  /** Default `ps`. */
  readonly result?: ResultTo;
}

/** One entry of the admission table, keyed by (job, member, chunk of the slot). */
export interface Admission {
  readonly job: number;
  /** Worker 0..31, or 255 for the parameter server, whose bit is 0. */
  readonly member: number;
  /** Number of the chunk: slot / chunk size. */
  readonly chunk: number;
  /** The worker's bit, or 0 for the collector, who may ask and not contribute; with result `allreduce` workers ask for themselves. */
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
  /** Mode block: exponent words for the rounds that the two registers take turns in; see `exponentRegister`. */
  readonly #exponents: readonly [Int32Array, Int32Array];
  readonly #values: Int32Array;

  constructor(format: AggregatorFormat) {
    const sendsCodes = ([ModeId.fp32, ModeId.fp16, ModeId.bf16] as readonly number[]).includes(format.mode);
    if (sendsCodes && format.converter === undefined)
      throw new RangeError(`numeric mode ${format.mode} needs its lookup tables`);
    if (!sendsCodes && format.mode !== ModeId.int32 && format.mode !== ModeId.block)
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
    const words = carriesExponents(format.mode) ? format.slots * 2 : 0;
    this.#exponents = [new Int32Array(words), new Int32Array(words)];
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
      (message.exponents === undefined) === carriesExponents(this.format.mode) ||
      lanes.length !== wanted
    )
      return this.#refuse("malformed");
    if (kind === Kind.RESET) return fromController ? this.#reset(message) : this.#refuse("malformed");
    if (kind !== Kind.CONTRIBUTION && kind !== Kind.NULL && kind !== Kind.COLLECT)
      return this.#refuse("malformed");

    const chunk = Math.floor(header.slot / this.format.chunk);
    const admission = this.#admissions.get(admissionKey(header.job, header.member, chunk));
    if (admission === undefined || header.slot >= this.format.slots) return this.#refuse("refused_unknown");
    // Without a bit a contribution would never be a duplicate, so the collector may not contribute.
    const mayAsk = this.format.result === "allreduce" ? admission.bit !== 0 : admission.bit === 0;
    if (kind === Kind.COLLECT ? !mayAsk : admission.bit === 0) return this.#refuse("refused_unknown");
    if (admission.generation !== header.generation) return this.#refuse("refused_generation");
    if (admission.scale !== header.scale) return this.#refuse("refused_scale");
    return kind === Kind.COLLECT ? this.#collect(message, admission) : this.#contribute(message, admission);
  }

  /** A packet that was addressed to the aggregator and can't even be decoded: counted. */
  refuseMalformed(): AggregatorOutcome {
    return this.#refuse("malformed");
  }

  #contribute(message: AggregationMessage, { bit, full }: Admission): AggregatorOutcome {
    const { header, exponents, lanes } = message;
    const index = header.slot * 2 + (header.round & 1);
    // Whatever becomes of the packet: words of older rounds change nothing, and those of the same round are a maximum.
    const shift = exponents === undefined ? 0 : this.#announce(index, header.round, exponents);
    const age = (header.round - (this.#rounds[index] ?? 0)) | 0;
    if (age < 0) return this.#acknowledge("stale", message, Flag.STALE);
    const restart = age > 0;
    const before = restart ? 0 : (this.#bitmaps[index] ?? 0);
    if ((before & bit) !== 0) {
      if (this.format.result !== "allreduce" || before !== full >>> 0)
        return this.#acknowledge("duplicate", message, Flag.DUPLICATE);
      this.counters.result_again++;
      return { event: "result_again", answers: [this.#result(message, index, "sender")] };
    }

    const bitmap = (before | bit) >>> 0;
    this.#rounds[index] = header.round;
    this.#bitmaps[index] = bitmap;
    const isNull = header.kind === Kind.NULL;
    let mark = header.flags & Flag.MARK;
    if (!isNull && this.#convert(lanes, header, shift)) mark = Flag.MARK;
    this.#marks[index] = restart ? mark : (this.#marks[index] ?? 0) | mark;
    const first = index * this.format.lanes;
    for (let lane = 0; lane < this.format.lanes; lane++) {
      const value = isNull ? 0 : (this.#values[lane] ?? 0);
      this.#sums[first + lane] = restart ? value : (this.#sums[first + lane] ?? 0) + value; // wraps at 32 bits
    }
    const event = bitmap === full >>> 0 ? "complete" : isNull ? "null" : "contribution";
    if (this.format.result === "allreduce") {
      this.counters[event]++;
      if (event !== "complete") return { event, answers: NO_ANSWERS };
      return { event, answers: [this.#result(message, index, { workers: membersOf(full) })] };
    }
    if (event !== "complete") return this.#acknowledge(event, message, 0);
    this.counters.complete++;
    return { event, answers: [acknowledgement(message, 0), this.#result(message, index, "server")] };
  }

  /** Takes the announcement of a row in mode block. Returns how far its own mantissas are to be shifted; not 0..255: they do not fit. */
  #announce(index: number, round: number, { current, next }: BlockExponents): number {
    const own = exponentRegister(round);
    const words = this.#exponents[own === 0 ? 1 : 0];
    if (((next - (words[index] ?? 0)) | 0) > 0) words[index] = next;
    return ((this.#exponents[own][index] ?? 0) - current) | 0;
  }

  /** Puts the integers of a row's lanes into `#values`. Returns true when one of them does not fit. */
  #convert(lanes: Int32Array, { scale, member }: AggregationHeader, shift: number): boolean {
    const { converter, mode } = this.format;
    if (mode === ModeId.block) {
      const fits = shift >= 0 && shift <= MAX_DIFFERENCE;
      for (let lane = 0; lane < lanes.length; lane++)
        this.#values[lane] = fits ? shiftMantissa(lanes[lane] ?? 0, shift, member) : 0;
      return !fits;
    }
    if (converter === undefined) {
      this.#values.set(lanes);
      return false;
    }
    let mark = false;
    for (let lane = 0; lane < lanes.length; lane++) {
      const value = converter.convert(lanes[lane] ?? 0, scale);
      if (value === undefined) mark = true;
      this.#values[lane] = value ?? 0;
    }
    return mark;
  }

  #collect(message: AggregationMessage, { full }: Admission): AggregatorOutcome {
    const { header } = message;
    const index = header.slot * 2 + (header.round & 1);
    if (this.#rounds[index] === header.round && this.#bitmaps[index] === full >>> 0) {
      this.counters.collect_result++;
      return { event: "collect_result", answers: [this.#result(message, index, "sender")] };
    }
    this.counters.collect_pending++;
    const pending = { ...header, kind: Kind.PENDING, flags: 0 };
    return {
      event: "collect_pending",
      answers: [{ ...message, to: "sender", header: pending, lanes: NO_LANES }],
    };
  }

  #reset(message: AggregationMessage): AggregatorOutcome {
    const { header, exponents } = message;
    if (header.slot >= this.format.slots) return this.#refuse("refused_unknown");
    const chunk = Math.floor(header.slot / this.format.chunk);
    if (this.#admissions.has(admissionKey(header.job, header.member, chunk)))
      return this.#refuse("refused_reset");
    const index = header.slot * 2 + (header.round & 1);
    this.#rounds[index] = header.round;
    if (exponents !== undefined) {
      const own = exponentRegister(header.round);
      this.#exponents[own][index] = exponents.current;
      this.#exponents[own === 0 ? 1 : 0][index] = exponents.next;
    }
    this.counters.reset++;
    return { event: "reset", answers: [{ ...message, to: "sender", lanes: NO_LANES }] };
  }

  #result(request: AggregationMessage, index: number, to: AggregatorAnswer["to"]): AggregatorAnswer {
    const { header, exponents } = request;
    const first = index * this.format.lanes;
    const flags = (this.#marks[index] ?? 0) === 0 ? 0 : Flag.MARK;
    const lanes = this.#sums.slice(first, first + this.format.lanes);
    const result = { to, header: { ...header, kind: Kind.RESULT, flags }, lanes };
    if (exponents === undefined) return result;
    const current = (this.#exponents[exponentRegister(header.round)][index] ?? 0) >>> 0;
    return { ...result, exponents: { ...exponents, current } };
  }

  #acknowledge(event: AggregatorEvent, request: AggregationMessage, flags: number): AggregatorOutcome {
    this.counters[event]++;
    return { event, answers: [acknowledgement(request, flags)] };
  }

  #refuse(event: AggregatorEvent): AggregatorOutcome {
    this.counters[event]++;
    return { event, answers: NO_ANSWERS };
  }
}

function membersOf(full: number): readonly number[] {
  return Array.from({ length: 32 }, (_, member) => member).filter((member) => ((full >>> member) & 1) === 1);
}

function acknowledgement(request: AggregationMessage, flags: number): AggregatorAnswer {
  return {
    ...request,
    to: "sender",
    header: { ...request.header, kind: Kind.ACK, flags },
    lanes: NO_LANES,
  };
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

/** The RESET that gives a slot's bank one of the `resetRounds`, before a placement whose first round is `firstRound`. */
export function resetMessage(
  placement: Pick<AggregationHeader, "job" | "generation" | "scale" | "lanes" | "mode"> & {
    readonly firstRound: number;
  },
  slot: number,
  round: number,
): AggregationMessage {
  const { job, generation, scale, lanes, mode, firstRound } = placement;
  const header = {
    version: AGGREGATION_VERSION,
    kind: Kind.RESET,
    flags: 0,
    job,
    generation,
    member: 0,
    scale,
    slot,
    lanes,
    mode,
    round,
  };
  // In mode block the job's scale is the exponent that its first rounds are expected to have.
  return carriesExponents(mode)
    ? { header, exponents: resetWords(round, firstRound, scale), lanes: NO_LANES }
    : { header, lanes: NO_LANES };
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
  /** Default `ps`. */
  readonly result?: ResultTo;
}

/** The admission entries of a job: each worker, and the collector if there is one, for each chunk of its slots. */
export function admissionsOf(job: JobAdmission, chunk: number): Admission[] {
  if (job.slotBase % chunk !== 0)
    throw new RangeError(`job ${job.job}: slot base ${job.slotBase} is not a multiple of the chunk ${chunk}`);
  const full = job.workers.reduce((mask, worker) => mask | (1 << worker), 0) >>> 0;
  const members = job.result === "allreduce" ? job.workers : [...job.workers, COLLECTOR];
  const entries: Admission[] = [];
  for (let slot = job.slotBase; slot < job.slotBase + job.rows; slot += chunk)
    for (const member of members)
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
