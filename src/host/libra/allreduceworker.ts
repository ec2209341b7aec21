import { withExponents } from "../../numeric/block.ts";
import { type RowCodec, rowCodec } from "../../numeric/mode.ts";
import {
  AGGREGATION_PORT,
  AGGREGATION_VERSION,
  type AggregationHeader,
  Flag,
  Kind,
} from "../../wire/aggregation.ts";
import {
  type AggregationMessage,
  type AggregationRefusal,
  aggregationFrame,
  decodeAggregation,
  NO_LANES,
} from "../../wire/aggregationpacket.ts";
import { type Addressing, type FrameRefusal, parseFrame } from "../../wire/datagram.ts";
import { Counters } from "../counters.ts";
import { addressingBetween, type NetworkAddress, resolveEndpoint } from "../endpoint.ts";
import type { FrameEvent, HostMachine, SendAction, TickEvent } from "../machine.ts";
import { backOff, RoundTripTimer } from "../retry.ts";
import { LibraError } from "./errors.ts";
import { ExponentForecast } from "./forecast.ts";
import { checkLayout, isNewerGeneration, type JobLayout } from "./layout.ts";
import { DEFAULT_OPTIONS, type LibraOptions } from "./options.ts";

/** A job without a parameter server: rows have no keys, they carry whatever part of a tensor is next. */
export interface AllreduceLayout extends Omit<JobLayout, "rows" | "server"> {
  /** How many rows of the switch's grid the job has: as many packets of a worker may be under way. */
  readonly rows: number;
}

export type AllreduceEvent =
  /** The worker's part of the next tensor. All workers reduce tensors of the same lengths in the same order. */
  | { readonly type: "reduce"; readonly values: Float32Array }
  /** The job has moved. */
  | { readonly type: "layout"; readonly layout: AllreduceLayout };

export type AllreduceAction =
  /** The sums over all workers: the same bits at each of them. Tensors count from 0, and end in order. */
  | { readonly type: "reduced"; readonly tensor: number; readonly sums: Float32Array }
  | { readonly type: "error"; readonly error: LibraError };

export type AllreduceCounter =
  | FrameRefusal["refused"]
  | AggregationRefusal["refused"]
  | "result_taken"
  | "result_taken_before"
  | "result_marked"
  | "waits_for_others"
  | "stale"
  | "other_address"
  | "other_port"
  | "other_job"
  | "other_placement"
  | "unexpected_kind"
  | "old_layout";

interface Tensor {
  readonly number: number;
  readonly sums: Float32Array;
  /** Chunks that are still to come. */
  open: number;
}

/** A part of a tensor that fits a row. */
interface Chunk {
  readonly tensor: Tensor;
  readonly offset: number;
  readonly values: Float32Array;
  /** Counts all chunks of the job: the order in which they are sent. */
  readonly order: number;
  /** Binades by which the values are made smaller, since with less some did not fit. */
  shift: number;
  /** Times that the RESULT had the mark. */
  marks: number;
}

/** What was sent in one round of a row, and is sent again in the same form. */
interface Contribution {
  readonly round: number;
  readonly message: AggregationMessage;
  sentAt: number;
  dueAt: number;
  timeout: number;
  tries: number;
  readonly since: number;
}

interface Row {
  readonly number: number;
  readonly chunks: Chunk[];
  /** Round of the next contribution, or of the one under way. */
  round: number;
  current: Contribution | undefined;
  /** The one before: a worker that has not got its RESULT needs it again when the job moves. */
  before: Contribution | undefined;
  isBeforeWanted: boolean;
}

/** Binades that a chunk is made smaller by when it had the mark, and after how many times it can't be summed at all. */
const STEP = 8;
const MOST_MARKS = 40;

/**
 * A worker of a job with result `allreduce` (SwitchML, NSDI'21): tensors are cut into rows, the switch sums each row and sends the RESULT to
 * all workers. A row's next contribution follows its RESULT, so each slot's two banks are enough, and the RESULT is the acknowledgement;
 * what is not answered is sent again. Rows go on independently of each other; the oldest chunk goes first.
 *
 * A RESULT with the mark (a value did not fit) says so to all workers alike: all send the chunk again, 8 binades smaller; in mode `block`
 * as it is, since its exponent has been announced meanwhile. Where that never helps (NaN, infinity) the sums are NaN.
 *
 * When the job moves, the round before goes to the new place too, for workers that have not got its RESULT. In mode `block` such a RESULT
 * could be rounded otherwise than the first, so there a job may move only between tensors.
 */
export class AllreduceWorker implements HostMachine<AllreduceEvent, AllreduceAction> {
  readonly counters = new Counters<AllreduceCounter>();
  readonly member: number;
  readonly #options: LibraOptions;
  readonly #timer: RoundTripTimer;
  readonly #tensors: Tensor[] = [];
  readonly #reported = new Set<string>();
  #layout: AllreduceLayout;
  #codec: RowCodec;
  #me: NetworkAddress;
  #addressing: Addressing;
  #rows: Row[];
  #lanes: Int32Array;
  #forecast: ExponentForecast | undefined;
  #tensorCount = 0;
  #chunkCount = 0;
  #isUnreachable = false;
  #actions: (AllreduceAction | SendAction)[] = [];
  /** Packets sent, and of them again. */
  traffic = { sent: 0, resent: 0 };

  /** @throws LibraError `layout_invalid` */
  constructor(layout: AllreduceLayout, member: number, options: Partial<LibraOptions> = {}) {
    this.#options = { ...DEFAULT_OPTIONS, ...options };
    this.#timer = new RoundTripTimer(this.#options);
    this.member = member;
    checkAllreduceLayout(layout);
    this.#layout = layout;
    this.#codec = rowCodec(layout.mode);
    this.#me = workerAddress(layout, member);
    this.#addressing = addressingBetween(this.#me, resolveEndpoint(layout.aggregator), AGGREGATION_PORT);
    this.#lanes = new Int32Array(layout.lanes);
    this.#rows = Array.from({ length: layout.rows }, (_, number) => ({
      number,
      chunks: [],
      round: layout.firstRound,
      current: undefined,
      before: undefined,
      isBeforeWanted: false,
    }));
  }

  get wakeAt(): number {
    let at = Number.POSITIVE_INFINITY;
    if (this.#isUnreachable) return at;
    for (const row of this.#rows) {
      if (row.current !== undefined) at = Math.min(at, row.current.dueAt);
      if (row.isBeforeWanted && row.before !== undefined) at = Math.min(at, row.before.dueAt);
    }
    return at;
  }

  handle(
    event: AllreduceEvent | FrameEvent | TickEvent,
    now: number,
  ): readonly (AllreduceAction | SendAction)[] {
    this.#actions = [];
    switch (event.type) {
      case "frame": {
        const counter = this.#receive(event.frame, now);
        if (counter !== undefined) this.counters.add(counter);
        break;
      }
      case "reduce":
        this.#cut(event.values);
        break;
      case "layout":
        this.#move(event.layout);
        break;
      case "tick":
        break;
    }
    this.#advance(now);
    return this.#actions;
  }

  /** Gives each row its chunks, in turn: all workers alike, so a chunk has the same row at each. */
  #cut(values: Float32Array): void {
    const { lanes, rows } = this.#layout;
    const chunks = Math.ceil(values.length / lanes);
    const tensor = { number: this.#tensorCount++, sums: new Float32Array(values.length), open: chunks };
    this.#tensors.push(tensor);
    for (let i = 0; i < chunks; i++) {
      const offset = i * lanes;
      const order = this.#chunkCount++;
      const own = values.slice(offset, offset + lanes);
      this.#rows[order % rows]?.chunks.push({ tensor, offset, values: own, order, shift: 0, marks: 0 });
    }
    this.#tell();
  }

  #receive(frame: Uint8Array, now: number): AllreduceCounter | undefined {
    const datagram = parseFrame(frame);
    if ("refused" in datagram) return datagram.refused;
    if (datagram.dstIp !== this.#me.ip) return "other_address";
    if (datagram.dstPort !== AGGREGATION_PORT) return "other_port";
    const message = decodeAggregation(datagram.payload);
    if ("refused" in message) return message.refused;
    const { header } = message;
    if (header.job !== this.#layout.job) return "other_job";
    if (header.generation !== this.#layout.generation) return "other_placement";
    const row = this.#rows[header.slot - this.#layout.slotBase];
    if (row === undefined) return "other_job";
    switch (header.kind) {
      case Kind.RESULT:
        return this.#result(row, message, now);
      case Kind.ACK:
        return this.#waits(row, header);
      default:
        return "unexpected_kind";
    }
  }

  #result(row: Row, message: AggregationMessage, now: number): AllreduceCounter {
    const { round, flags } = message.header;
    const { current } = row;
    const [chunk] = row.chunks;
    if (row.before?.round === round) row.isBeforeWanted = false;
    if (current?.round !== round || chunk === undefined) return "result_taken_before";
    if (current.tries === 1) this.#timer.measured(now - current.sentAt);
    row.before = current;
    // Everybody has the round before: nobody completes a round without it.
    row.isBeforeWanted = false;
    row.current = undefined;
    row.round = (round + 1) >>> 0;
    this.#reported.delete(`stalled ${row.number}`);
    if ((flags & Flag.MARK) !== 0) {
      this.#again(row, chunk, round);
      return "result_marked";
    }
    row.chunks.shift();
    const unit = this.#codec.unit(message.exponents?.current) * 2 ** chunk.shift;
    const { sums } = chunk.tensor;
    for (let i = 0; i < chunk.values.length; i++) sums[chunk.offset + i] = (message.lanes[i] ?? 0) * unit;
    this.#done(chunk);
    return "result_taken";
  }

  /** All workers see the mark, so all do the same. */
  #again(row: Row, chunk: Chunk, round: number): void {
    chunk.marks++;
    if (this.#layout.mode.name !== "block") chunk.shift += STEP;
    if (chunk.marks < (this.#layout.mode.name === "block" ? 4 : MOST_MARKS)) return;
    row.chunks.shift();
    chunk.tensor.sums.fill(Number.NaN, chunk.offset, chunk.offset + chunk.values.length);
    const { job } = this.#layout;
    const message = `job ${job}: element ${chunk.offset} or one of the next of tensor ${chunk.tensor.number} is no finite number at some worker`;
    this.#report(
      new LibraError("not_finite", message, { job, round, row: row.number }),
      `not_finite ${chunk.order}`,
    );
    this.#done(chunk);
  }

  #done({ tensor }: Chunk): void {
    tensor.open--;
    this.#tell();
  }

  /** Tensors end in order, though rows do not. */
  #tell(): void {
    for (;;) {
      const [first] = this.#tensors;
      if (first === undefined || first.open > 0) return;
      this.#tensors.shift();
      this.#actions.push({ type: "reduced", tensor: first.number, sums: first.sums });
    }
  }

  /** The aggregator has the contribution, and others are not there yet; or the slot is further. */
  #waits(row: Row, { round, flags }: AggregationHeader): AllreduceCounter {
    const isStale = (flags & Flag.STALE) !== 0;
    if (row.before?.round === round && isStale) row.isBeforeWanted = false;
    for (const sent of [row.current, row.before]) if (sent?.round === round) sent.tries = 1;
    return isStale ? "stale" : "waits_for_others";
  }

  #move(layout: AllreduceLayout): void {
    const previous = this.#layout;
    if (layout.job === previous.job && !isNewerGeneration(layout.generation, previous.generation)) {
      this.counters.add("old_layout");
      return;
    }
    try {
      checkAllreduceLayout(layout);
      const grid = ({ job, lanes, rows, mode }: AllreduceLayout) => JSON.stringify([job, lanes, rows, mode]);
      if (grid(previous) !== grid(layout))
        throw new LibraError("layout_invalid", "layout: a job keeps its number, rows, lanes and mode");
      if (layout.mode.name === "block" && this.#rows.some((row) => row.current !== undefined))
        throw new LibraError("layout_invalid", "layout: in mode block a job moves between tensors only");
      this.#me = workerAddress(layout, this.member);
    } catch (error) {
      if (!(error instanceof LibraError)) throw error;
      this.#actions.push({ type: "error", error });
      return;
    }
    this.#layout = layout;
    this.#codec = rowCodec(layout.mode);
    this.#addressing = addressingBetween(this.#me, resolveEndpoint(layout.aggregator), AGGREGATION_PORT);
    this.#isUnreachable = false;
    this.#reported.clear();
    this.#timer.restart();
    const { generation, slotBase } = layout;
    const moved = (sent: Contribution | undefined, row: Row): Contribution | undefined =>
      sent === undefined
        ? undefined
        : {
            ...sent,
            message: {
              ...sent.message,
              header: { ...sent.message.header, generation, slot: slotBase + row.number },
            },
            dueAt: Number.NEGATIVE_INFINITY,
            timeout: this.#timer.timeout,
            tries: 0,
          };
    for (const row of this.#rows) {
      row.current = moved(row.current, row);
      row.before = moved(row.before, row);
      // In mode block nothing is under way anywhere, and the new place knows no exponents for old rounds.
      row.isBeforeWanted = row.before !== undefined && layout.mode.name !== "block";
      if (layout.mode.name === "block") row.round = layout.firstRound;
    }
    if (layout.mode.name === "block") this.#forecast = undefined;
  }

  #advance(now: number): void {
    if (this.#isUnreachable) return;
    let underWay = 0;
    for (const row of this.#rows) {
      for (const sent of row.isBeforeWanted ? [row.before, row.current] : [row.current]) {
        if (sent === undefined) continue;
        if (sent.dueAt <= now && !this.#sendAgain(row, sent, now)) return;
      }
      if (row.current !== undefined) underWay++;
    }
    for (; underWay < this.#options.window; underWay++) {
      const row = this.#nextRow();
      if (row === undefined) return;
      this.#begin(row, now);
    }
  }

  /** The idle row with the oldest chunk: so the oldest of all is under way at each worker, and none waits for ever. */
  #nextRow(): Row | undefined {
    let best: Row | undefined;
    for (const row of this.#rows) {
      const [chunk] = row.chunks;
      if (row.current !== undefined || chunk === undefined) continue;
      if (best === undefined || chunk.order < (best.chunks[0]?.order ?? 0)) best = row;
    }
    return best;
  }

  #begin(row: Row, now: number): void {
    const [chunk] = row.chunks;
    if (chunk === undefined) return;
    const message = this.#messageOf(row, chunk);
    const timeout = this.#timer.timeout;
    row.current = { round: row.round, message, sentAt: now, dueAt: now, timeout, tries: 0, since: now };
    this.#transmit(row.current, now);
  }

  #messageOf(row: Row, chunk: Chunk): AggregationMessage {
    const { job, generation, slotBase, lanes, mode } = this.#layout;
    const factor = 2 ** -chunk.shift;
    const values = chunk.shift === 0 ? chunk.values : chunk.values.map((value) => value * factor);
    const isNull = values.every((value) => value === 0);
    const isMarked = !isNull && this.#codec.encode(values, this.#lanes);
    const header = {
      version: AGGREGATION_VERSION,
      kind: isNull ? Kind.NULL : Kind.CONTRIBUTION,
      flags: isMarked ? Flag.MARK : 0,
      job,
      generation,
      member: this.member,
      scale: this.#codec.scale,
      slot: slotBase + row.number,
      lanes,
      mode: this.#codec.id,
      round: row.round,
    };
    const message = { header, lanes: isNull ? NO_LANES : this.#lanes.slice() };
    if (mode.name !== "block") return message;
    this.#forecast ??= new ExponentForecast(this.#layout.rows, mode.exponent);
    const exponent = this.#codec.exponent(values);
    if (!isNull) this.#forecast.observe(row.number, exponent);
    return withExponents(message, exponent, this.#forecast.expect(row.number));
  }

  /** @returns false when the aggregator is given up. */
  #sendAgain(row: Row, sent: Contribution, now: number): boolean {
    const { job, aggregator } = this.#layout;
    if (sent.tries > this.#options.retries) {
      this.#isUnreachable = true;
      const message = `job ${job}: aggregator ${aggregator.ip} does not answer for row ${row.number} of worker ${this.member}`;
      this.#report(
        new LibraError("aggregator_unreachable", message, {
          job,
          row: row.number,
          worker: this.member,
          peer: aggregator.ip,
        }),
      );
      return false;
    }
    if (sent === row.current && now - sent.since > this.#options.silence) {
      const message = `job ${job}: row ${row.number} has waited for other workers for more than ${this.#options.silence} ms`;
      this.#report(
        new LibraError("worker_lost", message, { job, row: row.number, round: sent.round }),
        `stalled ${row.number}`,
      );
    }
    if (sent.tries > 0) this.traffic.resent++;
    this.#transmit(sent, now);
    return true;
  }

  #transmit(sent: Contribution, now: number): void {
    sent.tries++;
    sent.sentAt = now;
    sent.dueAt = now + sent.timeout;
    if (sent.tries > 1) this.#timer.resent(sent.timeout);
    sent.timeout = backOff(sent.timeout, this.#options);
    this.traffic.sent++;
    this.#actions.push({ type: "send", frame: aggregationFrame(this.#addressing, sent.message) });
  }

  #report(error: LibraError, cause: string = error.code): void {
    if (this.#reported.has(cause)) return;
    this.#reported.add(cause);
    this.#actions.push({ type: "error", error });
  }
}

/** @throws LibraError `layout_invalid` */
function checkAllreduceLayout({ rows, ...rest }: AllreduceLayout): void {
  if (!Number.isInteger(rows) || rows < 1 || rows > 0x1_0000)
    throw new LibraError("layout_invalid", `layout: rows must be an integer from 1 to 65536, not ${rows}`);
  checkLayout({ ...rest, rows: Array.from({ length: rows }, () => []), server: rest.aggregator });
}

function workerAddress(layout: AllreduceLayout, member: number): NetworkAddress {
  const endpoint = layout.workers.find((worker) => worker.member === member);
  if (endpoint !== undefined) return resolveEndpoint(endpoint);
  throw new LibraError("layout_invalid", `layout: job ${layout.job} has no worker ${member}`, {
    worker: member,
  });
}
