import type { PhvLayout } from "./layout.ts";

/** Set beside a clone session id, so that session 0 is told apart from "no clone". */
export const cloneRequested = 0x8000;

/** v1model's values of `standard_metadata.instance_type` in simple_switch. */
export const instanceType = {
  normal: 0,
  ingressClone: 1,
  egressClone: 2,
  recirculated: 4,
  replication: 5,
  resubmitted: 6,
} as const;

const noBytes = new Uint8Array(0);

/**
 * Everything that belongs to one packet in flight: its bytes, its header and metadata values, and what the
 * program asked to happen to it. Instances are pooled; `reset` makes one as good as new.
 */
export class PacketState {
  /** Fields up to 32 bits, validity bits and stack pointers. */
  readonly u: Uint32Array;
  /** Fields of 33 to 52 bits. */
  readonly d: Float64Array;
  /** Wider fields. */
  readonly b: bigint[];
  /** Variable-length fields. */
  readonly v: Uint8Array[];

  /** The frame as it entered this pass; the payload starts at `offset`. */
  bytes: Uint8Array = noBytes;
  length = 0;
  offset = 0;
  /** `standard_metadata.packet_length` in egress: follows setValid and setInvalid. */
  packetLength = 0;
  /** What counters and meters count. */
  ingressLength = 0;
  ingressPort = 0;
  egressPort = 0;
  queue = 0;
  /** Microseconds. */
  now = 0;
  enqueuedAt = 0;
  /** What the caller calls the packet that it comes from; 0 without a name. */
  origin = 0;
  /** Passes through ingress so far. */
  passes = 0;
  parserError = 0;
  checksumError = 0;

  /** `cloneRequested | session` after a clone call; 0 otherwise. */
  clone = 0;
  cloneFieldList = 0;
  digest = 0;
  resubmit = 0;
  recirculate = 0;
  exit = 0;
  /** True if the queue marked it: congestion experienced. */
  isCongested = false;
  /** Colour for the traffic manager, which only Tofino has: 0 green, 3 red. */
  colour = 0;
  /** Leaves as ingress made it, as only Tofino can. */
  bypassesEgress = false;
  /** Longest frame that may leave, in bytes. */
  truncateTo = Number.POSITIVE_INFINITY;
  /** True if `bytes` is this packet's own memory and not the caller's. */
  ownsBytes = false;

  constructor(layout: PhvLayout) {
    this.u = new Uint32Array(layout.size.u);
    this.d = new Float64Array(layout.size.d);
    this.b = new Array<bigint>(layout.size.b).fill(0n);
    this.v = new Array<Uint8Array>(layout.size.v).fill(noBytes);
  }

  clearFields(): void {
    this.u.fill(0);
    if (this.d.length > 0) this.d.fill(0);
    if (this.b.length > 0) this.b.fill(0n);
    if (this.v.length > 0) this.v.fill(noBytes);
  }

  /** Forgets what the program asked for in the pass before. */
  clearRequests(): void {
    this.clone = 0;
    this.cloneFieldList = 0;
    this.digest = 0;
    this.resubmit = 0;
    this.recirculate = 0;
    this.exit = 0;
    this.isCongested = false;
    this.colour = 0;
    this.bypassesEgress = false;
    this.truncateTo = Number.POSITIVE_INFINITY;
  }

  copyFieldsFrom(other: PacketState): void {
    this.u.set(other.u);
    if (this.d.length > 0) this.d.set(other.d);
    for (let i = 0; i < this.b.length; i++) this.b[i] = other.b[i] ?? 0n;
    for (let i = 0; i < this.v.length; i++) this.v[i] = other.v[i] ?? noBytes;
  }

  /** Makes this a copy of another packet: bytes, place in the frame and lengths, but no fields or requests. */
  copyFrameFrom(other: PacketState): void {
    this.bytes = other.bytes;
    this.length = other.length;
    this.offset = other.offset;
    this.packetLength = other.packetLength;
    this.ingressLength = other.ingressLength;
    this.ingressPort = other.ingressPort;
    this.now = other.now;
    this.origin = other.origin;
    this.passes = other.passes;
    this.parserError = other.parserError;
    this.checksumError = other.checksumError;
    this.ownsBytes = other.ownsBytes;
  }

  /** Moves the frame into memory of its own; needed before the packet outlives the call that brought it. */
  detach(): void {
    if (this.ownsBytes) return;
    this.bytes = this.bytes.slice(0, this.length);
    this.ownsBytes = true;
  }
}
