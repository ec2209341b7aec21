import { type BitType, bit } from "../../../ir/index.ts";
import { AGGREGATOR_EVENTS } from "../../../numeric/aggregator.ts";
import {
  AGGREGATION_PORT,
  AGGREGATION_VERSION,
  aggregation,
  Flag,
  Kind,
  laneName,
  lanesHeader,
  ModeId,
} from "../../../wire/aggregation.ts";
import { headerBytes } from "../../../wire/header.ts";
import { ipv4 as ipv4Declaration, udp as udpDeclaration } from "../../../wire/internet.ts";
import type { ProgramBuilder } from "../../program.ts";
import type { Bool } from "../../value.ts";
import { internet } from "../internet.ts";
import type { FullAggregationOptions } from "./options.ts";

export const u8: BitType = bit(8);
export const u9: BitType = bit(9);
export const u16: BitType = bit(16);
export const u32: BitType = bit(32);
export const u48: BitType = bit(48);

const ANSWER_TTL = 64;

/** Length in bytes of a packet without lanes, from the IPv4 header on. */
const HEADER_BYTES = headerBytes(ipv4Declaration) + headerBytes(udpDeclaration) + headerBytes(aggregation);

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
  const request = p.metadata("aggregation_request", u8, "what the packet asks for");
  const names = aggregationNames(p, o);
  return {
    ...net,
    agg,
    lanes,
    lane,
    request,
    names,
    isRequest: (name: keyof typeof names.REQUEST): Bool => request.eq(names.REQUEST[name]),
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
    relation: p.metadata("slot_relation", u8, "the packet's round, seen from the slot's"),
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

/** Names of the numbers in packets and metadata, for readers of the P4 program. */
function aggregationNames(p: ProgramBuilder, o: FullAggregationOptions) {
  const udpBytes = HEADER_BYTES - headerBytes(ipv4Declaration);
  return {
    REQUEST: p.constants(
      "REQUEST",
      u8,
      { none: 0, contribution: 1, null: 2, collect: 3, reset: 4 },
      "What a packet asks for.",
    ),
    RELATION: p.constants(
      "ROUND",
      u8,
      { older: 0, equal: 1, newer: 2 },
      "The packet's round, seen from the slot's.",
    ),
    EVENT: p.constants(
      "AGGREGATION",
      u8,
      AGGREGATOR_EVENTS,
      "What aggregation did with a packet; cells of the counter.",
    ),
    PORT: p.constant("AGGREGATION_PORT", u16, AGGREGATION_PORT, "UDP destination port"),
    VERSION: p.constant("AGGREGATION_VERSION", bit(4), AGGREGATION_VERSION),
    KIND: p.constants("KIND", bit(4), Kind, "Kinds of aggregation packets."),
    FLAG: p.constants("FLAG", u8, Flag, "Flags of aggregation packets."),
    MODE: p.constants("MODE", u8, ModeId, "Numeric modes."),
    LANES: p.constant("LANES", u8, o.lanes, "lanes of a row"),
    ROWS: p.constant("ROWS", u32, o.rows, "rows of the register grid"),
    TTL: p.constant("ANSWER_TTL", u8, ANSWER_TTL, "of packets that the switch makes"),
    LENGTH: p.constants(
      "LENGTH",
      u16,
      { empty: HEADER_BYTES, row: HEADER_BYTES + 4 * o.lanes },
      "Bytes of a packet without lanes and with a row, from the IPv4 header on.",
    ),
    UDP_LENGTH: p.constants(
      "UDP_LENGTH",
      u16,
      { empty: udpBytes, row: udpBytes + 4 * o.lanes },
      "The same from the UDP header on.",
    ),
  };
}

/** Cells of each register array: two banks. */
export function cells(o: FullAggregationOptions): number {
  return o.rows * 2;
}

/** Bits that number the slots of a grid. */
export function slotBits(rows: number): number {
  return Math.max(1, Math.ceil(Math.log2(rows)));
}
