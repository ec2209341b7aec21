import { withExponents } from "../../numeric/block.ts";
import type { RowCodec } from "../../numeric/mode.ts";
import {
  AGGREGATION_PORT,
  AGGREGATION_VERSION,
  type AggregationHeader,
  Flag,
  Kind,
} from "../../wire/aggregation.ts";
import { aggregationFrame, NO_LANES } from "../../wire/aggregationpacket.ts";
import { addressingBetween, type NetworkAddress } from "../endpoint.ts";
import { backOff, RoundTripTimer } from "../retry.ts";
import type { JobLayout } from "./layout.ts";
import type { LibraOptions } from "./options.ts";

/** One worker's hot gradients of one round, kept until the server confirms the round. */
export interface HotGradients {
  readonly round: number;
  /** Row-major, rows * lanes. */
  readonly values: Float32Array;
  /** 1 for rows in which some key has a gradient; the other rows are sent as NULL. */
  readonly touched: Uint8Array;
  /** Mode block: the exponent of each row, and what the worker expects of it in the round after next. */
  readonly exponents: Uint8Array;
  readonly expected: Uint8Array;
}

interface SendingRound {
  readonly gradients: HotGradients;
  /** Rows are sent in order; this is the next that was never sent to the present aggregator. */
  nextRow: number;
}

interface RowInFlight {
  readonly gradients: HotGradients;
  readonly row: number;
  sentAt: number;
  dueAt: number;
  timeout: number;
  tries: number;
}

/** What became of an acknowledgement. */
export type Acknowledgement = "acknowledged" | "acknowledged_before" | "other_placement";

/**
 * Sends a worker's rows to the aggregator: at most a window of them under way, each sent again until it is
 * acknowledged. Any order will do, since the aggregator counts each worker once per row and round.
 */
export class ContributionSender {
  readonly #member: number;
  readonly #options: LibraOptions;
  readonly #timer: RoundTripTimer;
  readonly #rounds: SendingRound[] = [];
  /** By (bank, row): only two rounds are open, one per bank. */
  readonly #inFlight = new Map<number, RowInFlight>();
  #layout: JobLayout;
  #codec: RowCodec;
  #addressing;
  #lanes: Int32Array;
  #unreachableRow: number | undefined;
  /** Packets sent again. */
  resent = 0;
  /** Packets sent, with lanes and without. */
  sent = { contributions: 0, nulls: 0 };

  constructor(
    member: number,
    layout: JobLayout,
    codec: RowCodec,
    me: NetworkAddress,
    aggregator: NetworkAddress,
    options: LibraOptions,
  ) {
    this.#member = member;
    this.#options = options;
    this.#timer = new RoundTripTimer(options);
    this.#layout = layout;
    this.#codec = codec;
    this.#addressing = addressingBetween(me, aggregator, AGGREGATION_PORT);
    this.#lanes = new Int32Array(layout.lanes);
  }

  /** A row that was not acknowledged in the allowed number of tries; nothing is sent until the job moves. */
  get unreachableRow(): number | undefined {
    return this.#unreachableRow;
  }

  get wakeAt(): number {
    let at = Number.POSITIVE_INFINITY;
    if (this.#unreachableRow === undefined)
      for (const flight of this.#inFlight.values()) at = Math.min(at, flight.dueAt);
    return at;
  }

  /** Starts to send the rows of a round. */
  begin(gradients: HotGradients): void {
    this.#rounds.push({ gradients, nextRow: 0 });
  }

  /** The server has all of this round: nothing of it needs to be sent. */
  end(round: number): void {
    const index = this.#rounds.findIndex((sending) => sending.gradients.round === round);
    if (index >= 0) this.#rounds.splice(index, 1);
    for (const [key, flight] of this.#inFlight)
      if (flight.gradients.round === round) this.#inFlight.delete(key);
  }

  /**
   * The job has moved: all rows of the open rounds go to the new place. Rounds before the placement's first one
   * are finished at the server, though its word has not reached this worker yet.
   */
  move(layout: JobLayout, codec: RowCodec, me: NetworkAddress, aggregator: NetworkAddress): void {
    this.#layout = layout;
    this.#codec = codec;
    this.#addressing = addressingBetween(me, aggregator, AGGREGATION_PORT);
    this.#lanes = new Int32Array(layout.lanes);
    this.#unreachableRow = undefined;
    this.#timer.restart();
    this.#inFlight.clear();
    for (const sending of this.#rounds) {
      const isFinished = ((sending.gradients.round - layout.firstRound) | 0) < 0;
      sending.nextRow = isFinished ? layout.rows.length : 0;
    }
  }

  /** Takes an ACK. Stale and duplicate ones say as well that this row of this round needs no more sending. */
  acknowledge({ job, generation, slot, round }: AggregationHeader, now: number): Acknowledgement {
    if (job !== this.#layout.job || generation !== this.#layout.generation) return "other_placement";
    const key = flightKey(round, slot - this.#layout.slotBase);
    const flight = this.#inFlight.get(key);
    if (flight?.gradients.round !== round) return "acknowledged_before";
    if (flight.tries === 1) this.#timer.measured(now - flight.sentAt);
    this.#inFlight.delete(key);
    return "acknowledged";
  }

  /** The frames to send now. */
  poll(now: number): Uint8Array[] {
    const frames: Uint8Array[] = [];
    if (this.#unreachableRow !== undefined) return frames;
    for (const flight of this.#inFlight.values()) {
      if (flight.dueAt > now) continue;
      if (flight.tries > this.#options.retries) {
        this.#unreachableRow = flight.row;
        return frames;
      }
      this.resent++;
      frames.push(this.#transmit(flight, now));
    }
    for (const sending of this.#rounds)
      while (sending.nextRow < this.#layout.rows.length && this.#inFlight.size < this.#options.window) {
        const { gradients } = sending;
        const row = sending.nextRow++;
        const flight = { gradients, row, sentAt: now, dueAt: now, timeout: this.#timer.timeout, tries: 0 };
        this.#inFlight.set(flightKey(gradients.round, row), flight);
        frames.push(this.#transmit(flight, now));
      }
    return frames;
  }

  #transmit(flight: RowInFlight, now: number): Uint8Array {
    const { gradients, row } = flight;
    const { lanes, slotBase, job, generation } = this.#layout;
    flight.tries++;
    flight.sentAt = now;
    flight.dueAt = now + flight.timeout;
    if (flight.tries > 1) this.#timer.resent(flight.timeout);
    flight.timeout = backOff(flight.timeout, this.#options);
    const isNull = gradients.touched[row] === 0;
    const values = gradients.values.subarray(row * lanes, (row + 1) * lanes);
    const isMarked = !isNull && this.#codec.encode(values, this.#lanes);
    if (isNull) this.sent.nulls++;
    else this.sent.contributions++;
    const header = {
      version: AGGREGATION_VERSION,
      kind: isNull ? Kind.NULL : Kind.CONTRIBUTION,
      flags: isMarked ? Flag.MARK : 0,
      job,
      generation,
      member: this.#member,
      scale: this.#codec.scale,
      slot: slotBase + row,
      lanes,
      mode: this.#codec.id,
      round: gradients.round,
    };
    const message = { header, lanes: isNull ? NO_LANES : this.#lanes };
    const [exponent = 0, expected = 0] = [gradients.exponents[row], gradients.expected[row]];
    return aggregationFrame(this.#addressing, withExponents(message, exponent, expected));
  }
}

function flightKey(round: number, row: number): number {
  return row * 2 + (round & 1);
}
