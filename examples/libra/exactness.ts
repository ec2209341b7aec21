import { createHash } from "node:crypto";
import type { JobLayout } from "gradplane/host/libra";
import { converterOf, rowCodec } from "gradplane/numeric";
import { AGGREGATION_PORT, decodeAggregation, Flag, Kind, parseFrame } from "gradplane/wire";

/**
 * Watches a job from outside: computes from the workers' own gradients what each row's integer sum has to be, and compares every
 * RESULT that reaches the server with it.
 */
export class ExactnessCheck {
  readonly #layout: JobLayout;
  /** By round: the sums of all rows, and the rows in which some value has the mark. */
  readonly #wanted = new Map<number, { readonly sums: Int32Array; readonly marked: Set<number> }>();
  readonly #position = new Map<number, number>();
  compared = 0;
  wrong = 0;

  constructor(layout: JobLayout) {
    this.#layout = layout;
    layout.rows.forEach((row, r) => {
      row.forEach((key, lane) => {
        this.#position.set(key, r * layout.lanes + lane);
      });
    });
  }

  /** A worker's gradients of a round, before they are sent. Each worker once. */
  pushed(round: number, keys: Uint32Array, values: Float32Array): void {
    const { lanes, rows, mode } = this.#layout;
    const codec = rowCodec(mode);
    const converter = converterOf(mode);
    const dense = new Float32Array(rows.length * lanes);
    keys.forEach((key, i) => {
      const at = this.#position.get(key);
      if (at !== undefined) dense[at] = values[i] ?? 0;
    });
    const { sums, marked } = this.#round(round);
    const words = new Int32Array(lanes);
    for (let row = 0; row < rows.length; row++) {
      if (codec.encode(dense.subarray(row * lanes, (row + 1) * lanes), words)) marked.add(row);
      for (let lane = 0; lane < lanes; lane++) {
        const word = words[lane] ?? 0;
        const integer = converter === undefined ? word : converter.convert(word, codec.scale);
        if (integer === undefined) marked.add(row);
        const at = row * lanes + lane;
        sums[at] = (sums[at] ?? 0) + (integer ?? 0);
      }
    }
  }

  /** A frame as it reaches the server. Returns the round and row of a RESULT. */
  frame(frame: Uint8Array, slotBase: number): { readonly round: number; readonly row: number } | undefined {
    const datagram = parseFrame(frame);
    if ("refused" in datagram || datagram.dstPort !== AGGREGATION_PORT) return undefined;
    const message = decodeAggregation(datagram.payload);
    if ("refused" in message || message.header.kind !== Kind.RESULT) return undefined;
    const { round, slot, flags } = message.header;
    const row = slot - slotBase;
    const wanted = this.#wanted.get(round);
    const isMarked = (flags & Flag.MARK) !== 0;
    const first = row * this.#layout.lanes;
    this.compared++;
    const right = isMarked
      ? wanted?.marked.has(row) === true
      : wanted?.marked.has(row) === false &&
        message.lanes.every((sum, lane) => sum === wanted.sums[first + lane]);
    if (!right) this.wrong++;
    return { round, row };
  }

  #round(round: number) {
    let wanted = this.#wanted.get(round);
    if (wanted === undefined) {
      const { lanes, rows } = this.#layout;
      wanted = { sums: new Int32Array(rows.length * lanes), marked: new Set() };
      this.#wanted.set(round, wanted);
    }
    return wanted;
  }
}

/** A short name for the exact bits of a model. */
export function fingerprint(weights: Float32Array): string {
  const bytes = new Uint8Array(weights.buffer, weights.byteOffset, weights.byteLength);
  return createHash("sha256").update(bytes).digest("hex").slice(0, 16);
}
