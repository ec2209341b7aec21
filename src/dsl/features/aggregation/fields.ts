import { type BitType, bit } from "../../../ir/index.ts";
import { AGGREGATOR_EVENTS } from "../../../numeric/aggregator.ts";
import {
  AGGREGATION_PORT,
  AGGREGATION_VERSION,
  aggregation,
  blockExponents,
  codeName,
  codesHeader,
  Flag,
  Kind,
  laneName,
  lanesHeader,
  ModeId,
  valueBits,
} from "../../../wire/aggregation.ts";
import { headBytes } from "../../../wire/aggregationpacket.ts";
import { headerBytes } from "../../../wire/header.ts";
import { ipv4 as ipv4Declaration, udp as udpDeclaration } from "../../../wire/internet.ts";
import type { Header } from "../../headers.ts";
import type { ProgramBuilder } from "../../program.ts";
import type { ActionSteps } from "../../steps.ts";
import type { Bool, Variable } from "../../value.ts";
import { internet } from "../internet.ts";
import type { FullAggregationOptions } from "./options.ts";

/** Says why a packet is dropped, as `control.reason`, for who counts that. */
export type Because = (s: ActionSteps, reason: string) => void;

export const u8: BitType = bit(8);
export const u9: BitType = bit(9);
export const u16: BitType = bit(16);
export const u32: BitType = bit(32);
export const u48: BitType = bit(48);

const ANSWER_TTL = 64;

/** Bits of one value in a contribution: 32, or 16 for codes of half the width. */
export function contributionWidth({ mode }: FullAggregationOptions): number {
  return valueBits(Kind.CONTRIBUTION, ModeId[mode.name]);
}

/** The headers and metadata through which the parts of aggregation work together. */
export function aggregationFields(p: ProgramBuilder, o: FullAggregationOptions) {
  const net = p.once(internet);
  const agg = p.header(aggregation);
  const exponents = o.mode.name === "block" ? p.header(blockExponents) : undefined;
  const codes = contributionWidth(o) === 16 ? p.header(codesHeader(o.lanes)) : undefined;
  const lanes = p.header(lanesHeader(o.lanes));
  const lane = fieldsOf(lanes, o.lanes, laneName);
  const request = p.metadata("aggregation_request", u8, "what the packet asks for");
  const names = aggregationNames(p, o);
  return {
    ...net,
    agg,
    /** Mode block: exponent words. */
    exponents,
    /** The sums, and what is added to them. */
    lanes,
    lane,
    /** What a contribution carries: codes of half the width, or the lanes themselves. */
    row: codes ?? lanes,
    value: codes === undefined ? lane : fieldsOf(codes, o.lanes, codeName),
    request,
    names,
    isRequest: (name: keyof typeof names.REQUEST): Bool => request.eq(names.REQUEST[name]),
    event: p.metadata("aggregation_event", u8, "what aggregation did"),
    bit: p.metadata("worker_bit", u32, "the sender's bit in the bitmap; 0 for the parameter server"),
    full: p.metadata("full_mask", u32, "bits of all workers of the job"),
    admitted: p.metadata("admitted", bit(1), "1: the sender is a member of the job"),
    generation: p.metadata("job_generation", u16),
    scale: p.metadata("job_scale", u8, "unit of the job's values"),
    /** Result `ps`: where RESULTs and the acknowledgements of completing contributions go. */
    server:
      o.result === "ps"
        ? {
            port: p.metadata("result_port", u9),
            mac: p.metadata("server_mac", u48),
            addr: p.metadata("server_addr", u32),
            ackSession: p.metadata("ack_session", u16, "clone session to the sender's port"),
          }
        : undefined,
    /** Result `allreduce`. */
    workers:
      o.result === "ps" ? undefined : p.metadata("workers_group", u16, "multicast group of all workers"),
    index: p.metadata("slot_index", bit(slotBits(o.rows) + 1), "register cell: slot and bank"),
    taken: p.metadata("request_taken", u8, "1: the request is in order and has met its slot"),
    relation: p.metadata("slot_relation", u8, "the packet's round, seen from the slot's"),
    seen: p.metadata("worker_seen", u32, "not 0: this worker was counted before"),
    arrived: p.metadata("workers_arrived", u32, "bitmap after this packet"),
    mark: p.metadata("row_mark", u8, "some contribution did not fit the window"),
    shift:
      exponents === undefined
        ? undefined
        : p.metadata(
            "row_shift",
            u32,
            "how far the row lies below its slot's exponent; above 255: it does not fit",
          ),
  };
}
export type AggregationFields = ReturnType<typeof aggregationFields>;

/** Names of the numbers in packets and metadata, for readers of the P4 program. */
function aggregationNames(p: ProgramBuilder, o: FullAggregationOptions) {
  const udpBytes = headerBytes(udpDeclaration) + headBytes(ModeId[o.mode.name]);
  const bytes = headerBytes(ipv4Declaration) + udpBytes;
  // What a contribution holds is shorter than a RESULT's where codes have half the width.
  const values = (contributionWidth(o) / 8) * o.lanes;
  const row = 4 * o.lanes;
  const LENGTH = p.constants(
    "LENGTH",
    u16,
    { empty: bytes, row: bytes + row },
    "Bytes of a packet without lanes and with a row, from the IPv4 header on.",
  );
  const UDP_LENGTH = p.constants(
    "UDP",
    u16,
    { empty: udpBytes, row: udpBytes + row },
    "The same from the UDP header on.",
  );
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
    VERSION: p.constant("VERSION", bit(4), AGGREGATION_VERSION),
    KIND: p.constants("KIND", bit(4), Kind, "Kinds of aggregation packets."),
    FLAG: p.constants("FLAG", u8, Flag, "Flags of aggregation packets."),
    MODE: p.constants("MODE", u8, ModeId, "Numeric modes."),
    LANES: p.constant("LANES", u8, o.lanes, "lanes of a row"),
    ROWS: p.constant("ROWS", u32, o.rows, "rows of the register grid"),
    TTL: p.constant("ANSWER_TTL", u8, ANSWER_TTL, "of packets that the switch makes"),
    LENGTH,
    CONTRIBUTION_LENGTH:
      values === row
        ? LENGTH.row
        : p.constant("LENGTH_CODES", u16, bytes + values, "bytes of a contribution, from the IPv4 header on"),
    UDP_LENGTH,
    CONTRIBUTION_UDP_LENGTH:
      values === row
        ? UDP_LENGTH.row
        : p.constant("UDP_CODES", u16, udpBytes + values, "the same from the UDP header on"),
  };
}

function fieldsOf(
  header: Header,
  count: number,
  nameOf: (i: number) => string,
): readonly Variable<BitType>[] {
  return Array.from({ length: count }, (_, i) => {
    const field = header[nameOf(i)];
    if (field === undefined) throw new RangeError(`no ${nameOf(i)}`);
    return field;
  });
}

/** Cells of each register array: two banks. */
export function cells(o: FullAggregationOptions): number {
  return o.rows * 2;
}

/** Bits that number the slots of a grid. */
export function slotBits(rows: number): number {
  return Math.max(1, Math.ceil(Math.log2(rows)));
}
