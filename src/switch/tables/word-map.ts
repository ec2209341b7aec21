/**
 * A hash map whose keys are fixed numbers of 32-bit words. Lookups allocate nothing and can mask the key on the fly.
 * Open addressing with linear probing; deletion shifts later entries back, so there are no tombstones.
 */
export class WordMap<T> {
  private readonly words: number;
  private capacityMask = 15;
  private keys: Uint32Array;
  private values: (T | undefined)[];
  private count = 0;

  constructor(words: number) {
    this.words = words;
    this.keys = new Uint32Array(16 * words);
    this.values = new Array<T | undefined>(16).fill(undefined);
  }

  get size(): number {
    return this.count;
  }

  private static mix(hash: number): number {
    return hash ^ (hash >>> 16);
  }

  private hash(key: Uint32Array, from: number): number {
    let h = 0;
    for (let i = 0; i < this.words; i++) h = Math.imul(h ^ (key[from + i] ?? 0), 0x9e3779b1) ^ (h >>> 15);
    return WordMap.mix(h);
  }

  /** The value stored under the key, or undefined. */
  find(key: Uint32Array): T | undefined {
    const { words, keys, values, capacityMask } = this;
    let slot = this.hash(key, 0) & capacityMask;
    for (;;) {
      const value = values[slot];
      if (value === undefined) return undefined;
      const base = slot * words;
      let i = 0;
      while (i < words && keys[base + i] === key[i]) i++;
      if (i === words) return value;
      slot = (slot + 1) & capacityMask;
    }
  }

  /** `find` for keys of one word. */
  find1(word: number): T | undefined {
    const { keys, values, capacityMask } = this;
    let slot = WordMap.mix(Math.imul(word, 0x9e3779b1)) & capacityMask;
    for (;;) {
      const value = values[slot];
      if (value === undefined || keys[slot] === word) return value;
      slot = (slot + 1) & capacityMask;
    }
  }

  /** The value stored under `key & mask`, or undefined. */
  findMasked(key: Uint32Array, mask: Uint32Array): T | undefined {
    const { words, keys, values, capacityMask } = this;
    let h = 0;
    for (let i = 0; i < words; i++) {
      h = Math.imul(h ^ ((key[i] ?? 0) & (mask[i] ?? 0)), 0x9e3779b1) ^ (h >>> 15);
    }
    let slot = WordMap.mix(h) & capacityMask;
    for (;;) {
      const value = values[slot];
      if (value === undefined) return undefined;
      const base = slot * words;
      let i = 0;
      while (i < words && keys[base + i] === ((key[i] ?? 0) & (mask[i] ?? 0)) >>> 0) i++;
      if (i === words) return value;
      slot = (slot + 1) & capacityMask;
    }
  }

  set(key: Uint32Array, value: T): void {
    if ((this.count + 1) * 2 > this.capacityMask + 1) this.grow();
    this.put(key, 0, value);
  }

  private put(key: Uint32Array, from: number, value: T): void {
    const { words, keys, values, capacityMask } = this;
    let slot = this.hash(key, from) & capacityMask;
    for (;;) {
      if (values[slot] === undefined) {
        for (let i = 0; i < words; i++) keys[slot * words + i] = key[from + i] ?? 0;
        values[slot] = value;
        this.count++;
        return;
      }
      let i = 0;
      while (i < words && keys[slot * words + i] === key[from + i]) i++;
      if (i === words) {
        values[slot] = value;
        return;
      }
      slot = (slot + 1) & capacityMask;
    }
  }

  private grow(): void {
    const { keys, values, words } = this;
    const capacity = (this.capacityMask + 1) * 2;
    this.capacityMask = capacity - 1;
    this.keys = new Uint32Array(capacity * words);
    this.values = new Array<T | undefined>(capacity).fill(undefined);
    this.count = 0;
    values.forEach((value, slot) => {
      if (value !== undefined) this.put(keys, slot * words, value);
    });
  }

  delete(key: Uint32Array): boolean {
    const { words, keys, values, capacityMask } = this;
    let slot = this.hash(key, 0) & capacityMask;
    for (;;) {
      if (values[slot] === undefined) return false;
      let i = 0;
      while (i < words && keys[slot * words + i] === key[i]) i++;
      if (i === words) break;
      slot = (slot + 1) & capacityMask;
    }
    // Move back what was displaced over this slot.
    let hole = slot;
    let next = (hole + 1) & capacityMask;
    while (values[next] !== undefined) {
      const home = this.hash(keys, next * words) & capacityMask;
      if (((next - home) & capacityMask) >= ((next - hole) & capacityMask)) {
        keys.copyWithin(hole * words, next * words, next * words + words);
        values[hole] = values[next];
        hole = next;
      }
      next = (next + 1) & capacityMask;
    }
    values[hole] = undefined;
    this.count--;
    return true;
  }
}
