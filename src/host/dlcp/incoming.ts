import { decodeFloatsInto } from "../../wire/floatbody.ts";
import { BITMAP_SEGMENTS, bitmapOf, type TensorHeader } from "../../wire/tensor.ts";
import { enough, type TensorSpec } from "./job.ts";

/** Values `offset` to `offset + count`. */
export interface ValueRange {
  readonly offset: number;
  readonly count: number;
}

/** A tensor of which enough has arrived. */
export interface Arrived {
  readonly iteration: number;
  /** Belongs to whom it is given. */
  readonly values: Float32Array;
  /** What is not from this iteration, in order. */
  readonly lost: readonly ValueRange[];
}

export type SegmentFate =
  | "taken"
  /** The last one that was needed. */
  | "complete"
  | "duplicate"
  /** Of an iteration that is done with. */
  | "late"
  /** Of one that can't be under way yet. */
  | "early"
  /** Does not fit the tensor. */
  | "inconsistent";

export interface BitmapPart {
  readonly first: number;
  readonly count: number;
  readonly bits: Uint8Array;
}

/** The transfers of one tensor from one host, one at a time: one buffer, into which packets are written by their offset. */
export class Incoming {
  /** The latest iteration that is done. */
  done = 0;
  lastNews = Number.NEGATIVE_INFINITY;
  /** The PROBE that has to be answered. */
  probe: { round: number; patience: number } | undefined;
  isTimerSet = false;
  /** Late packets since the last STOP. */
  late = 0;
  readonly #spec: TensorSpec;
  readonly #segment: number;
  readonly #store: boolean;
  readonly #segments: number;
  readonly #enough: number;
  #has: Uint8Array | undefined;
  #values: Float32Array | undefined;
  /** What stands for missing values. */
  #last: Float32Array | undefined;
  #arrived = 0;

  constructor(spec: TensorSpec, segment: number, store: boolean) {
    this.#spec = spec;
    this.#segment = segment;
    this.#store = store;
    this.#segments = Math.ceil(spec.elements / segment);
    this.#enough = enough(spec);
  }

  /** Has a transfer begun that is not done? */
  get isOpen(): boolean {
    return this.#has !== undefined;
  }

  /** Values of the transfer under way. */
  get arrived(): number {
    return this.#arrived;
  }

  /** Sorts a packet in. Its number of elements was compared with the job's. */
  take({ iteration, offset, count }: TensorHeader, body: Uint8Array, now: number): SegmentFate {
    const ahead = (iteration - this.done) | 0;
    if (ahead <= 0) return "late";
    if (ahead > 1) return "early";
    const index = offset / this.#segment;
    if (!this.#fits(offset, count)) return "inconsistent";
    const has = this.#begin();
    if (has[index] === 1) return "duplicate";
    has[index] = 1;
    this.#arrived += count;
    this.lastNews = now;
    if (this.#values !== undefined) decodeFloatsInto(body, this.#values, offset);
    return this.#arrived >= this.#enough ? "complete" : "taken";
  }

  /** Ends the transfer. */
  finish(): Arrived {
    const values = this.#values ?? new Float32Array(0);
    const lost = this.#lost();
    if (this.#spec.missing === "last" && this.#store) this.#last = values.slice();
    this.done = (this.done + 1) >>> 0;
    this.drop();
    return { iteration: this.done, values, lost };
  }

  /** Forgets the transfer under way. */
  drop(): void {
    this.#has = undefined;
    this.#values = undefined;
    this.#arrived = 0;
    this.probe = undefined;
    this.late = 0;
  }

  /** What has arrived of the transfer under way; nothing, if none of it has. */
  *bitmap(): Generator<BitmapPart> {
    const has = this.#has ?? new Uint8Array(this.#segments);
    for (let first = 0; first < this.#segments; first += BITMAP_SEGMENTS) {
      const count = Math.min(BITMAP_SEGMENTS, this.#segments - first);
      yield { first, count, bits: bitmapOf(has, first, count) };
    }
  }

  #fits(offset: number, count: number): boolean {
    const { elements } = this.#spec;
    return (
      offset % this.#segment === 0 &&
      offset < elements &&
      count === Math.min(this.#segment, elements - offset)
    );
  }

  #begin(): Uint8Array {
    if (this.#has === undefined) {
      this.#has = new Uint8Array(this.#segments);
      if (this.#store) this.#values = this.#last?.slice() ?? new Float32Array(this.#spec.elements);
    }
    return this.#has;
  }

  #lost(): readonly ValueRange[] {
    const { elements } = this.#spec;
    const lost: { offset: number; count: number }[] = [];
    for (let i = 0; i < this.#segments; i++) {
      if (this.#has?.[i] === 1) continue;
      const offset = i * this.#segment;
      const count = Math.min(this.#segment, elements - offset);
      const before = lost.at(-1);
      if (before !== undefined && before.offset + before.count === offset) before.count += count;
      else lost.push({ offset, count });
    }
    return lost;
  }
}
