/**
 * Frames on their way from the receiving thread to the switch: a ring in shared memory with one writer and one reader.
 *
 * Each slot has room for one frame. `produced` and `consumed` only grow (modulo 2^32), so their difference is what waits.
 */
const produced = 0;
const consumed = 1;
const isReaderAsleep = 2;
const isClosed = 3;
/** From here on one word for each source: frames that were longer than a slot. */
const tooLong = 16;
export const mostSources = 64;
const controlWords = tooLong + mostSources;
const wordsPerSlot = 2;

export interface RingMemory {
  readonly control: SharedArrayBuffer;
  readonly frames: SharedArrayBuffer;
  readonly slots: number;
  readonly slotBytes: number;
}

export function ringMemory(slots: number, slotBytes: number): RingMemory {
  return {
    control: new SharedArrayBuffer(4 * (controlWords + slots * wordsPerSlot)),
    frames: new SharedArrayBuffer(slots * slotBytes),
    slots,
    slotBytes,
  };
}

/** Both ends look at it through this. `slots` must be a power of two. */
export class FrameRing {
  readonly slots: number;
  readonly slotBytes: number;
  readonly frames: Uint8Array;
  readonly #words: Int32Array;

  constructor(memory: RingMemory) {
    this.slots = memory.slots;
    this.slotBytes = memory.slotBytes;
    this.frames = new Uint8Array(memory.frames);
    this.#words = new Int32Array(memory.control);
  }

  /** Frames that wait for the reader. */
  get waiting(): number {
    return (Atomics.load(this.#words, produced) - Atomics.load(this.#words, consumed)) | 0;
  }

  get isClosed(): boolean {
    return Atomics.load(this.#words, isClosed) !== 0;
  }

  // ---------------------------------------------------------------- writer

  /** The first free slot, and how many lie behind each other from there. */
  freeSlots(): { readonly first: number; readonly count: number } {
    const first = Atomics.load(this.#words, produced) & (this.slots - 1);
    return { first, count: Math.min(this.slots - this.waiting, this.slots - first) };
  }

  /** Describes the frame in a free slot: its source, where it begins in the slot, and its length (0: nothing). */
  describe(slot: number, source: number, offset: number, length: number): void {
    const at = controlWords + slot * wordsPerSlot;
    this.#words[at] = (source << 16) | offset;
    this.#words[at + 1] = length;
  }

  countTooLong(source: number): void {
    Atomics.add(this.#words, tooLong + source, 1);
  }

  /** Hands `count` frames over. @returns true when the reader sleeps and must be woken */
  publish(count: number): boolean {
    Atomics.add(this.#words, produced, count);
    return Atomics.exchange(this.#words, isReaderAsleep, 0) === 1;
  }

  /** Waits until the reader has taken something, at most some milliseconds. */
  waitForRoom(milliseconds: number): void {
    const seen = Atomics.load(this.#words, consumed);
    if (this.waiting < this.slots) return;
    Atomics.wait(this.#words, consumed, seen, milliseconds);
  }

  // ---------------------------------------------------------------- reader

  /** Takes up to `most` frames, each valid during its call only. @returns how many there were */
  take(most: number, each: (source: number, frame: Uint8Array) => void): number {
    const count = Math.min(most, this.waiting);
    const first = Atomics.load(this.#words, consumed);
    for (let n = 0; n < count; n++) {
      const slot = (first + n) & (this.slots - 1);
      const at = controlWords + slot * wordsPerSlot;
      const where = this.#words[at] ?? 0;
      const length = this.#words[at + 1] ?? 0;
      const begin = slot * this.slotBytes + (where & 0xffff);
      if (length > 0) each(where >>> 16, this.frames.subarray(begin, begin + length));
    }
    if (count > 0) {
      Atomics.add(this.#words, consumed, count);
      Atomics.notify(this.#words, consumed);
    }
    return count;
  }

  /** The reader has nothing to do. @returns false when something came meanwhile */
  sleep(): boolean {
    Atomics.store(this.#words, isReaderAsleep, 1);
    if (this.waiting === 0) return true;
    return Atomics.exchange(this.#words, isReaderAsleep, 0) === 0;
  }

  /** Frames of a source that were longer than a slot. */
  tooLong(source: number): number {
    return Atomics.load(this.#words, tooLong + source) >>> 0;
  }

  close(): void {
    Atomics.store(this.#words, isClosed, 1);
    Atomics.notify(this.#words, consumed);
  }
}
