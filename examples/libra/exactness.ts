import { createHash } from "node:crypto";
import type { JobLayout } from "gradplane/host/libra";
import { converterOf, exponentOfWord, rowCodec, shiftMantissa } from "gradplane/numeric";
import { AGGREGATION_PORT, decodeAggregation, Flag, Kind, parseFrame } from "gradplane/wire";

/** A worker's row in mode `block`. */
interface Block {
  readonly member: number;
  readonly exponent: number;
  readonly mantissas: Int32Array;
}

/** What a round's RESULTs have to be. */
interface Wanted {
  /** The sums of all rows; mode `block` has `blocks` in their place. */
  readonly sums: Int32Array;
  /** Rows in which some value has the mark. */
  readonly marked: Set<number>;
  /** By row: what was contributed, since the sum depends on the exponent that the slot has. */
  readonly blocks: Map<number, Block[]>;
}

/**
 * Watches a job from outside: computes from the workers' own gradients what each row's integer sum has to be, and compares every
 * RESULT that reaches the server with it.
 */
export class ExactnessCheck {
  readonly #layout: JobLayout;
  readonly #wanted = new Map<number, Wanted>();
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
  pushed(round: number, member: number, keys: Uint32Array, values: Float32Array): void {
    const { lanes, rows, mode } = this.#layout;
    const codec = rowCodec(mode);
    const converter = converterOf(mode);
    const dense = new Float32Array(rows.length * lanes);
    const touched = new Uint8Array(rows.length);
    keys.forEach((key, i) => {
      const at = this.#position.get(key);
      if (at === undefined) return;
      dense[at] = values[i] ?? 0;
      touched[Math.floor(at / lanes)] = 1;
    });
    const { sums, marked, blocks } = this.#round(round);
    const words = new Int32Array(lanes);
    for (let row = 0; row < rows.length; row++) {
      if (mode.name === "block") {
        const own = dense.subarray(row * lanes, (row + 1) * lanes);
        const isMarked = codec.encode(own, words);
        if (isMarked) marked.add(row);
        const of = blocks.get(row) ?? [];
        blocks.set(row, of);
        // A row without gradients is sent as NULL, which fits any exponent.
        if (touched[row] === 1) of.push({ member, exponent: codec.exponent(own), mantissas: words.slice() });
        continue;
      }
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
    const { lanes } = this.#layout;
    this.compared++;
    const sums =
      message.exponents === undefined
        ? wanted?.sums.subarray(row * lanes, (row + 1) * lanes)
        : shiftedSums(wanted?.blocks.get(row) ?? [], exponentOfWord(message.exponents.current), lanes);
    const shouldHaveMark = wanted?.marked.has(row) === true || sums === undefined;
    const right = isMarked
      ? shouldHaveMark
      : !shouldHaveMark && message.lanes.every((sum, lane) => sum === sums[lane]);
    if (!right) this.wrong++;
    return { round, row };
  }

  #round(round: number) {
    let wanted = this.#wanted.get(round);
    if (wanted === undefined) {
      const { lanes, rows } = this.#layout;
      wanted = { sums: new Int32Array(rows.length * lanes), marked: new Set(), blocks: new Map() };
      this.#wanted.set(round, wanted);
    }
    return wanted;
  }
}

/** Mode `block`: the sum of the rows, each shifted to the slot's exponent; none when a row lies above it and so has the mark. */
function shiftedSums(contributions: readonly Block[], slot: number, lanes: number): Int32Array | undefined {
  if (contributions.some(({ exponent }) => exponent > slot)) return undefined;
  const sums = new Int32Array(lanes);
  for (const { member, exponent, mantissas } of contributions)
    for (let lane = 0; lane < lanes; lane++)
      sums[lane] = (sums[lane] ?? 0) + shiftMantissa(mantissas[lane] ?? 0, slot - exponent, member);
  return sums;
}

/** A short name for the exact bits of a model. */
export function fingerprint(weights: Float32Array): string {
  const bytes = new Uint8Array(weights.buffer, weights.byteOffset, weights.byteLength);
  return createHash("sha256").update(bytes).digest("hex").slice(0, 16);
}
