import { type EntryStore, nextSize } from "./entry-store.ts";

/** Odd, and far from regular: 2^32 divided by the golden ratio. */
const spread = 0x9e3779b1;
const initialSlots = 16;

/** Slots for so many rows, a power of two: half of them stay empty. */
function slotsFor(rows: number): number {
  return Math.max(initialSlots, 2 ** Math.ceil(Math.log2(2 * (rows + 1))));
}

/**
 * A hash map from keys of an `EntryStore` to their rows. Lookups allocate nothing and can mask the key on the fly; a key that is not there gives
 * -1. Open addressing with linear probing; deletion shifts later entries back, so there are no tombstones.
 */
export class RowMap {
  private readonly store: EntryStore;
  private readonly words: number;
  /** Rows that it is to hold, if that is known. */
  private readonly most: number;
  /** Row plus one; 0 is an empty slot. */
  private slots = new Int32Array(initialSlots);
  private slotMask = initialSlots - 1;
  private count = 0;

  /** @param most rows that it will have to hold */
  constructor(store: EntryStore, most = 0) {
    this.store = store;
    this.most = most;
    this.words = store.words;
  }

  get size(): number {
    return this.count;
  }

  /** Slots that there is memory for. */
  get capacity(): number {
    return this.slots.length;
  }

  /** All rows, in no particular order. */
  *rows(): IterableIterator<number> {
    for (const slot of this.slots) if (slot !== 0) yield slot - 1;
  }

  clear(): void {
    this.slots = new Int32Array(initialSlots);
    this.slotMask = initialSlots - 1;
    this.count = 0;
  }

  /** Forgets everything and holds the rows in use instead. */
  holdAll(): void {
    const { store } = this;
    this.slots = new Int32Array(slotsFor(store.size));
    this.slotMask = this.slots.length - 1;
    this.count = store.size;
    for (let row = 0; row < store.end; row++) if (store.holds(row)) this.put(row);
  }

  private hash(key: Uint32Array, from: number): number {
    let h = 0;
    for (let i = 0; i < this.words; i++) h = Math.imul(h ^ (key[from + i] ?? 0), spread) ^ (h >>> 15);
    return h ^ (h >>> 16);
  }

  /** The row with this key. */
  find(key: Uint32Array): number {
    const { slots, slotMask, words } = this;
    const { keys } = this.store;
    let slot = this.hash(key, 0) & slotMask;
    for (;;) {
      const row = (slots[slot] ?? 0) - 1;
      if (row < 0) return -1;
      const base = row * words;
      let i = 0;
      while (i < words && keys[base + i] === key[i]) i++;
      if (i === words) return row;
      slot = (slot + 1) & slotMask;
    }
  }

  /** `find` for keys of one word. */
  find1(word: number): number {
    const { slots, slotMask } = this;
    const { keys } = this.store;
    const h = Math.imul(word, spread);
    let slot = (h ^ (h >>> 16)) & slotMask;
    for (;;) {
      const row = (slots[slot] ?? 0) - 1;
      if (row < 0 || keys[row] === word) return row;
      slot = (slot + 1) & slotMask;
    }
  }

  /** The row with the key `key & mask`. */
  findMasked(key: Uint32Array, mask: Uint32Array): number {
    const { slots, slotMask, words } = this;
    const { keys } = this.store;
    let h = 0;
    for (let i = 0; i < words; i++) h = Math.imul(h ^ ((key[i] ?? 0) & (mask[i] ?? 0)), spread) ^ (h >>> 15);
    let slot = (h ^ (h >>> 16)) & slotMask;
    for (;;) {
      const row = (slots[slot] ?? 0) - 1;
      if (row < 0) return -1;
      const base = row * words;
      let i = 0;
      while (i < words && keys[base + i] === ((key[i] ?? 0) & (mask[i] ?? 0)) >>> 0) i++;
      if (i === words) return row;
      slot = (slot + 1) & slotMask;
    }
  }

  /** Adds a row whose key is not in the map. */
  add(row: number): void {
    if ((this.count + 1) * 2 > this.slots.length) this.grow();
    this.put(row);
    this.count++;
  }

  private put(row: number): void {
    const { slots, slotMask } = this;
    let slot = this.hash(this.store.keys, row * this.words) & slotMask;
    while (slots[slot] !== 0) slot = (slot + 1) & slotMask;
    slots[slot] = row + 1;
  }

  private grow(): void {
    const before = this.slots;
    this.slots = new Int32Array(nextSize(before.length, 4, slotsFor(this.most)));
    this.slotMask = this.slots.length - 1;
    for (let i = 0; i < before.length; i++) {
      const slot = before[i] ?? 0;
      if (slot !== 0) this.put(slot - 1);
    }
  }

  private slotOf(row: number): number {
    const { slots, slotMask } = this;
    let slot = this.hash(this.store.keys, row * this.words) & slotMask;
    while (slots[slot] !== row + 1) slot = (slot + 1) & slotMask;
    return slot;
  }

  /** Puts another row with the same key in the place of one that is there. */
  replace(row: number, by: number): void {
    this.slots[this.slotOf(row)] = by + 1;
  }

  /** Removes a row that is there. */
  remove(row: number): void {
    const { slots, slotMask, words } = this;
    const { keys } = this.store;
    let hole = this.slotOf(row);
    // Move back what was displaced over this slot.
    let next = (hole + 1) & slotMask;
    for (let other = slots[next] ?? 0; other !== 0; other = slots[next] ?? 0) {
      const home = this.hash(keys, (other - 1) * words) & slotMask;
      if (((next - home) & slotMask) >= ((next - hole) & slotMask)) {
        slots[hole] = other;
        hole = next;
      }
      next = (next + 1) & slotMask;
    }
    slots[hole] = 0;
    this.count--;
  }
}
