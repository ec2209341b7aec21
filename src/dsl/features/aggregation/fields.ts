import { type BitType, bit } from "../../../ir/index.ts";
import { AGGREGATOR_EVENTS, type AggregatorEvent } from "../../../numeric/aggregator.ts";
import { aggregation, laneName, lanesHeader } from "../../../wire/aggregation.ts";
import { headerBytes } from "../../../wire/header.ts";
import { ipv4 as ipv4Declaration, udp as udpDeclaration } from "../../../wire/internet.ts";
import type { ProgramBuilder } from "../../program.ts";
import type { Bool } from "../../value.ts";
import { internet } from "../internet.ts";
import type { FullAggregationOptions } from "./options.ts";

/** Values of metadata `aggregation_request`. */
export const REQUEST = { none: 0, contribution: 1, null: 2, collect: 3, reset: 4 } as const;
/** Values of metadata `slot_relation`: the packet's round, seen from the slot's. */
export const RELATION = { older: 0, equal: 1, newer: 2 } as const;

export const u8: BitType = bit(8);
export const u9: BitType = bit(9);
export const u16: BitType = bit(16);
export const u32: BitType = bit(32);
export const u48: BitType = bit(48);

/** Length in bytes of a packet without lanes, from the IPv4 header on. */
export const HEADER_BYTES =
  headerBytes(ipv4Declaration) + headerBytes(udpDeclaration) + headerBytes(aggregation);

/** The headers and metadata through which the parts of aggregation work together. */
export function aggregationFields(p: ProgramBuilder, o: FullAggregationOptions) {
  const net = p.once(internet);
  const agg = p.header(aggregation);
  const lanes = p.header(lanesHeader(o.lanes));
  const lane = Array.from({ length: o.lanes }, (_, i) => {
    const field = lanes[laneName(i)];
    if (field === undefined) throw new RangeError(`no lane ${i}`);
    return field;
  });
  const request = p.metadata("aggregation_request", u8, "0 none, 1 contribution, 2 null, 3 collect, 4 reset");
  return {
    ...net,
    agg,
    lanes,
    lane,
    request,
    isRequest: (name: keyof typeof REQUEST): Bool => request.eq(REQUEST[name]),
    event: p.metadata("aggregation_event", u8, "what aggregation did"),
    bit: p.metadata("worker_bit", u32, "the sender's bit in the bitmap; 0 for the parameter server"),
    full: p.metadata("full_mask", u32, "bits of all workers of the job"),
    admitted: p.metadata("admitted", u8, "1: the sender is a member of the job"),
    generation: p.metadata("job_generation", u16),
    scale: p.metadata("job_scale", u8, "unit of the job's values"),
    resultPort: p.metadata("result_port", u9),
    serverMac: p.metadata("server_mac", u48),
    serverAddr: p.metadata("server_addr", u32),
    ackSession: p.metadata("ack_session", u16, "clone session to the sender's port"),
    index: p.metadata("slot_index", bit(slotBits(o.rows) + 1), "register cell: slot and bank"),
    taken: p.metadata("request_taken", u8, "1: the request is in order and has met its slot"),
    relation: p.metadata(
      "slot_relation",
      u8,
      "the packet's round is 0 older, 1 equal, 2 newer than the slot's",
    ),
    seen: p.metadata("worker_seen", u32, "not 0: this worker was counted before"),
    arrived: p.metadata("workers_arrived", u32, "bitmap after this packet"),
    mark: p.metadata("row_mark", u8, "some contribution did not fit the window"),
    base:
      o.mode.name === "fp32"
        ? p.metadata("window_base", u32, "the job's scale, where a float32 code has its exponent")
        : undefined,
  };
}
export type AggregationFields = ReturnType<typeof aggregationFields>;

/** Number of an event: its value in `aggregation_event` and its cell of `answer.events`. */
export function eventCode(name: AggregatorEvent): number {
  return AGGREGATOR_EVENTS.indexOf(name);
}

/** Cells of each register array: two banks. */
export function cells(o: FullAggregationOptions): number {
  return o.rows * 2;
}

/** Bits that number the slots of a grid. */
export function slotBits(rows: number): number {
  return Math.max(1, Math.ceil(Math.log2(rows)));
}
