import { type HeaderValues, type WireHeader, wireHeader } from "./header.ts";

/** UDP destination port of hot-parameter aggregation. */
export const AGGREGATION_PORT = 0x4750;

export const AGGREGATION_VERSION = 1;

/** Member number of the job's parameter server when it asks with COLLECT. Workers are members 0..31. */
export const COLLECTOR = 255;

export const MAX_WORKERS = 32;

/** The clone session that sends acknowledgements out of a port; ids start at 1. */
export function ackSession(port: number): number {
  return port + 1;
}

/** The multicast group of a job whose RESULTs go to all workers. Ids start at 1; no two jobs of a switch share a chunk of slots. */
export function workersGroup(slotBase: number, chunk: number): number {
  return slotBase / chunk + 1;
}

/** Which copy is for a member; 0 is what packets have that are not replicated. */
export function replicaOf(member: number): number {
  return member + 1;
}

/** What an aggregation packet is. CONTRIBUTION, NULL, COLLECT and RESET are requests to an aggregator; the others are its answers. */
export const Kind = {
  /** One worker's values for one row and round; the lanes follow the header. */
  CONTRIBUTION: 1,
  /** The same from a worker without gradients for the row: header only, adds nothing. */
  NULL: 2,
  /** Answer to CONTRIBUTION and NULL, lanes cut off. */
  ACK: 3,
  /** The sum of one contribution per worker; the lanes follow the header. */
  RESULT: 4,
  /** The parameter server asks for a RESULT again; reading never destroys. Header only. */
  COLLECT: 5,
  /** Answer to COLLECT while the row is not complete. Header only. */
  PENDING: 6,
  /** From the controller's port only: the slot forgets, and takes the packet's round as its own. Header only, echoed to the controller. */
  RESET: 7,
} as const;
export type Kind = (typeof Kind)[keyof typeof Kind];

export const Flag = {
  /** Contribution: a value does not fit the window. Result: some contribution had the mark; the lanes are not to be used. */
  MARK: 0x01,
  /** Acknowledgement: this worker's contribution had been counted before. */
  DUPLICATE: 0x02,
  /** Acknowledgement: the slot has moved on to a newer round. */
  STALE: 0x04,
} as const;

/** Header of every aggregation packet, after Ethernet, IPv4 and UDP. 16 bytes. */
export const aggregation = wireHeader(
  "aggregation",
  {
    version: 4,
    kind: [4, "Kind"],
    flags: [8, "Flag, or-ed"],
    job: 16,
    generation: [16, "placement of the job; raised by the controller at each move"],
    member: [8, "worker 0..31, or 255 for the parameter server"],
    scale: [
      8,
      "unit of the job: fraction bits (int32, fp16: signed), window base (fp32, bf16), first exponent (block)",
    ],
    slot: [16, "row of the switch's register grid = the job's slot base + row"],
    lanes: [8, "lanes of a row"],
    mode: [8, "numeric mode: 1 int32, 2 block, 3 fp32, 4 fp16, 5 bf16"],
    round: [32, "serial number (RFC 1982), from 1; its lowest bit is the bank"],
  },
  "One row of one job in one round.",
);

/** Fields of a decoded aggregation header. */
export type AggregationHeader = HeaderValues<typeof aggregation>;

export const ModeId = { int32: 1, block: 2, fp32: 3, fp16: 4, bf16: 5 } as const;

/**
 * After the header of every packet in mode `block`: exponents, each in a word of a 24-bit tag and 8 bits; the tag is
 * the round that it is meant for, shifted right by two. 8 bytes.
 */
export const blockExponents = wireHeader(
  "block_exponents",
  {
    current: [32, "CONTRIBUTION: exponent of the row's mantissas; RESULT: exponent of the sums"],
    next: [32, "CONTRIBUTION and NULL: largest exponent that the sender expects of the round after next"],
  },
  "Exponents of a row, tagged with their rounds; mode block only.",
);

/** The exponent words of a packet in mode `block`. */
export type BlockExponents = HeaderValues<typeof blockExponents>;

/** Does every packet of this mode carry exponent words? */
export function carriesExponents(mode: number): boolean {
  return mode === ModeId.block;
}

/** Bits of one value in a contribution: 16-bit codes stand next to each other; sums always have 32 bits. */
export function valueBits(kind: number, mode: number): 16 | 32 {
  return kind === Kind.CONTRIBUTION && (mode === ModeId.fp16 || mode === ModeId.bf16) ? 16 : 32;
}

/** The lanes of a CONTRIBUTION or RESULT: `count` 32-bit words, lane_00 first. */
export function lanesHeader(count: number): WireHeader {
  return rowHeader("lanes", count, laneName, 32);
}

export function laneName(index: number): string {
  return `lane_${String(index).padStart(2, "0")}`;
}

/** The values of a CONTRIBUTION in the modes `fp16` and `bf16`: `count` 16-bit codes, code_00 first. */
export function codesHeader(count: number): WireHeader {
  return rowHeader("codes", count, codeName, 16);
}

export function codeName(index: number): string {
  return `code_${String(index).padStart(2, "0")}`;
}

function rowHeader(name: string, count: number, nameOf: (index: number) => string, bits: number): WireHeader {
  const fields: Record<string, number> = {};
  for (let i = 0; i < count; i++) fields[nameOf(i)] = bits;
  return wireHeader(name, fields);
}
