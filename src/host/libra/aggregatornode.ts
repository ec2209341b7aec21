import {
  type Admission,
  type AggregatorAnswer,
  type AggregatorEvent,
  type AggregatorFormat,
  admissionsOf,
  GoldenAggregator,
  resetMessage,
  resetRounds,
} from "../../numeric/aggregator.ts";
import { converterOf, rowCodec } from "../../numeric/mode.ts";
import { AGGREGATION_PORT } from "../../wire/aggregation.ts";
import {
  type AggregationMessage,
  aggregationFrame,
  decodeAggregation,
} from "../../wire/aggregationpacket.ts";
import { type Addressing, answerTo, parseFrame } from "../../wire/datagram.ts";
import { addressingBetween, type NetworkAddress, resolveEndpoint } from "../endpoint.ts";
import type { JobLayout } from "./layout.ts";

/** One packet that the aggregator sends. */
export interface AggregatorPacket {
  readonly to: Addressing;
  readonly message: AggregationMessage;
}

export interface AggregatorNodeOutcome {
  readonly event: AggregatorEvent;
  readonly packets: readonly AggregatorPacket[];
}

/**
 * The golden aggregator with addresses: takes a request and gives the packets that an aggregating switch sends.
 * The parameter server runs it for jobs without a switch.
 */
export class AggregatorNode {
  readonly golden: GoldenAggregator;
  readonly #address: NetworkAddress;
  readonly #servers = new Map<number, NetworkAddress>();
  readonly #workers = new Map<number, ReadonlyMap<number, NetworkAddress>>();
  /** Entries of each job's present placement. */
  readonly #admitted = new Map<number, readonly Admission[]>();

  constructor(address: NetworkAddress, format: AggregatorFormat) {
    this.#address = address;
    this.golden = new GoldenAggregator(format);
  }

  /** Takes a job in: resets its slots, then writes its admission entries. What a controller does to a switch. */
  place(layout: JobLayout): void {
    const { chunk } = this.golden.format;
    const { job, generation, slotBase } = layout;
    for (const { member, chunk: old } of this.#admitted.get(job) ?? []) this.golden.dismiss(job, member, old);
    for (const round of resetRounds(layout.firstRound))
      for (let row = 0; row < layout.rows.length; row++)
        this.golden.handle(resetOf(layout, row, round), true);
    const workers = layout.workers.map((worker) => worker.member);
    const { scale } = rowCodec(layout.mode);
    const { result } = this.golden.format;
    const entries = admissionsOf(
      {
        job,
        generation,
        workers,
        slotBase,
        rows: layout.rows.length,
        scale,
        ...(result === undefined ? {} : { result }),
      },
      chunk,
    );
    for (const entry of entries) this.golden.admit(entry);
    this.#admitted.set(job, entries);
    this.#servers.set(job, resolveEndpoint(layout.server));
    this.#workers.set(job, new Map(layout.workers.map((w) => [w.member, resolveEndpoint(w)])));
  }

  /** Handles a frame as a switch does: what is not addressed to the aggregator is none of its business. */
  receive(frame: Uint8Array, fromController = false): AggregatorNodeOutcome | undefined {
    const datagram = parseFrame(frame);
    if ("refused" in datagram) return undefined;
    if (datagram.dstIp !== this.#address.ip || datagram.dstPort !== AGGREGATION_PORT) return undefined;
    const message = decodeAggregation(datagram.payload);
    if (!("refused" in message)) return this.handle(datagram, message, fromController);
    const { event } = this.golden.refuseMalformed();
    return { event, packets: [] };
  }

  /** Handles one request that was addressed to the aggregator. */
  handle(request: Addressing, message: AggregationMessage, fromController = false): AggregatorNodeOutcome {
    const { event, answers } = this.golden.handle(message, fromController);
    const packets: AggregatorPacket[] = [];
    for (const { to, ...message } of answers)
      for (const addressing of this.#addressings(to, message.header.job, request))
        packets.push({ to: addressing, message });
    return { event, packets };
  }

  #addressings(to: AggregatorAnswer["to"], job: number, request: Addressing): readonly Addressing[] {
    if (to === "sender") return [answerTo(request)];
    const workers = this.#workers.get(job);
    const hosts =
      to === "server" ? [this.#servers.get(job)] : to.workers.map((member) => workers?.get(member));
    return hosts.flatMap((host) =>
      host === undefined ? [] : [addressingBetween(this.#address, host, AGGREGATION_PORT)],
    );
  }
}

/** The frame of an aggregator's packet. */
export function frameOf({ to, message }: AggregatorPacket): Uint8Array {
  return aggregationFrame(to, message);
}

/** Size of an aggregator that serves one job alone. */
export function formatFor(layout: JobLayout): AggregatorFormat {
  const slots = Math.max(1, layout.slotBase + layout.rows.length);
  const converter = converterOf(layout.mode);
  return { lanes: layout.lanes, slots, chunk: 1, mode: rowCodec(layout.mode).id, converter };
}

/** The RESET of one row's slot. */
export function resetOf(layout: JobLayout, row: number, round: number): AggregationMessage {
  const { id, scale } = rowCodec(layout.mode);
  return resetMessage({ ...layout, scale, mode: id }, layout.slotBase + row, round);
}
