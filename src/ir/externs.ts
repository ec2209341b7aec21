import type { Annotated, Annotation } from "./annotations.ts";
import type { FieldReference, MetadataReference } from "./expressions.ts";
import type { SourceLocation } from "./source.ts";
import { bit, type DataType } from "./types.ts";

/**
 * Hash functions, with the bits of their results. `identity` is the number that its input makes, of which the low 32 bits count; all of
 * them where it is brought to a number of buckets.
 * `csum16` is the Internet checksum (RFC 1071); crc16 is CRC-16/ARC, crc32 that of Ethernet.
 */
export const hashAlgorithms = {
  crc16: 16,
  crc32: 32,
  csum16: 16,
  xor16: 16,
  identity: 32,
} as const;

export type HashAlgorithm = keyof typeof hashAlgorithms;

/**
 * Actions with their data, kept apart from the entries that use them: an entry of a table with this implementation names a member, or
 * with a selector a group of members. Members and groups are the control plane's.
 */
export interface ActionProfile extends Annotated {
  /** `control.profile` */
  readonly name: string;
  /** Most members. */
  readonly size: number;
  readonly selector?: Selector;
  readonly doc?: string;
  readonly at?: SourceLocation;
}

/** Which member of a group a packet takes: the hash of the keys chooses, the same for all tables that share the profile. */
export interface Selector {
  readonly algorithm: HashAlgorithm;
  readonly keys: readonly (FieldReference | MetadataReference)[];
  /** Most members of a group, each counted as often as its weight says; without it the profile's size is the limit. */
  readonly maxGroupSize?: number;
}

/** Colours of meters: what keeps to its rate is green. */
export const colours = { green: 0, yellow: 1, red: 2 } as const;
export const colourType = bit(2);

/** Two-rate three-colour meters (RFC 2698), one per cell, whose rates the control plane sets; without rates all is green. */
export interface Meter extends Annotated {
  /** `control.meter` */
  readonly name: string;
  readonly size: number;
  readonly unit: MeterUnit;
  readonly doc?: string;
  readonly at?: SourceLocation;
}

export type MeterUnit = "packets" | "bytes";

/** A meter per entry of a table. A hit writes the packet's colour before its action runs; a miss writes nothing. */
export interface DirectMeter {
  readonly name: string;
  readonly unit: MeterUnit;
  readonly into: MetadataReference;
}

/** What the control plane is told of a packet: a struct of values. */
export interface Digest {
  /** `control.digest` */
  readonly name: string;
  readonly fields: readonly { readonly name: string; readonly type: DataType }[];
  readonly doc?: string;
  /** In the P4 text alone: P4Info has none for digests. */
  readonly annotations?: readonly Annotation[];
  readonly at?: SourceLocation;
}
