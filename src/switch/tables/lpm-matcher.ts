import type { EntryStore } from "./entry-store.ts";
import type { Matcher } from "./matcher.ts";
import { RowMap } from "./row-map.ts";
import type { EntryKey } from "./table-key.ts";

interface PrefixGroup {
  readonly prefixLength: number;
  readonly mask: Uint32Array;
  readonly map: RowMap;
}

/** One hash map per prefix length in use, asked from the longest to the shortest. For keys of several words. */
export class LpmMatcher implements Matcher {
  private readonly store: EntryStore;
  private groups: PrefixGroup[] = [];

  constructor(store: EntryStore) {
    this.store = store;
  }

  private group(prefixLength: number): PrefixGroup | undefined {
    for (const group of this.groups) if (group.prefixLength === prefixLength) return group;
    return undefined;
  }

  private groupOf(row: number): PrefixGroup | undefined {
    return this.group(this.store.prefixLengths[row] ?? 0);
  }

  find(key: Uint32Array): number {
    const { groups } = this;
    for (let i = 0; i < groups.length; i++) {
      const group = groups[i];
      if (group === undefined) break;
      const row = group.map.findMasked(key, group.mask);
      if (row >= 0) return row;
    }
    return -1;
  }

  same(key: EntryKey): number {
    return this.group(key.prefixLength)?.map.find(key.value) ?? -1;
  }

  insert(row: number, key: EntryKey): void {
    let group = this.groupOf(row);
    if (group === undefined) {
      group = { prefixLength: key.prefixLength, mask: key.mask.slice(), map: new RowMap(this.store) };
      this.groups.push(group);
      this.groups.sort((a, b) => b.prefixLength - a.prefixLength);
    }
    group.map.add(row);
  }

  remove(row: number): void {
    const group = this.groupOf(row);
    group?.map.remove(row);
    if (group?.map.size === 0) this.groups = this.groups.filter((candidate) => candidate !== group);
  }

  renumber(): void {
    for (const { map } of this.groups) map.clear();
    for (let row = 0; row < this.store.end; row++) if (this.store.holds(row)) this.groupOf(row)?.map.add(row);
  }

  maskOf(row: number): Uint32Array {
    return this.groupOf(row)?.mask ?? new Uint32Array(this.store.words);
  }
}

/** The leading bits by which `OneWordLpmMatcher` knows which prefix lengths can match. */
const indexBits = 16;

/**
 * Longest prefix match on one field of up to 32 bits. As in `LpmMatcher` there is a hash map per prefix length, but for
 * each value of the leading 16 bits a bitmap tells which lengths occur there, so that few maps are asked.
 */
export class OneWordLpmMatcher implements Matcher {
  private readonly store: EntryStore;
  private readonly width: number;
  private readonly maps: readonly RowMap[];
  /** By prefix length. */
  private readonly masks: Uint32Array;
  /** Bit n - 1 of an element: prefixes of length n occur under these leading bits. */
  private readonly lengths = new Uint32Array(1 << indexBits);
  /** How many prefixes set a bit, for those that are longer than the index. */
  private readonly uses = new Map<number, number>();
  /** The entry that matches anything. */
  private all = -1;

  constructor(store: EntryStore, width: number) {
    this.store = store;
    this.width = width;
    this.maps = Array.from({ length: width + 1 }, () => new RowMap(store));
    this.masks = Uint32Array.from({ length: width + 1 }, (_, length) =>
      length === 0 ? 0 : (2 ** width - 2 ** (width - length)) >>> 0,
    );
  }

  find(key: Uint32Array): number {
    const word = key[0] ?? 0;
    const { maps, masks } = this;
    let left = this.lengths[(word << (32 - this.width)) >>> (32 - indexBits)] ?? 0;
    while (left !== 0) {
      const bit = 31 - Math.clz32(left);
      const row = maps[bit + 1]?.find1((word & (masks[bit + 1] ?? 0)) >>> 0) ?? -1;
      if (row >= 0) return row;
      left ^= 1 << bit;
    }
    return this.all;
  }

  same(key: EntryKey): number {
    if (key.prefixLength === 0) return this.all;
    return this.maps[key.prefixLength]?.find1(key.value[0] ?? 0) ?? -1;
  }

  /** First of the indices that a prefix covers. */
  private firstIndex(row: number): number {
    return ((this.store.keys[row] ?? 0) << (32 - this.width)) >>> (32 - indexBits);
  }

  insert(row: number): void {
    const prefixLength = this.store.prefixLengths[row] ?? 0;
    if (prefixLength === 0) {
      this.all = row;
      return;
    }
    this.maps[prefixLength]?.add(row);
    const { lengths } = this;
    const first = this.firstIndex(row);
    const bit = 1 << (prefixLength - 1);
    const end = first + (prefixLength < indexBits ? 1 << (indexBits - prefixLength) : 1);
    for (let i = first; i < end; i++) lengths[i] = (lengths[i] ?? 0) | bit;
    if (prefixLength <= indexBits) return;
    const use = first * 64 + prefixLength;
    this.uses.set(use, (this.uses.get(use) ?? 0) + 1);
  }

  remove(row: number): void {
    const prefixLength = this.store.prefixLengths[row] ?? 0;
    if (prefixLength === 0) {
      this.all = -1;
      return;
    }
    this.maps[prefixLength]?.remove(row);
    const { lengths } = this;
    const first = this.firstIndex(row);
    if (prefixLength > indexBits) {
      const use = first * 64 + prefixLength;
      const left = (this.uses.get(use) ?? 0) - 1;
      if (left > 0) {
        this.uses.set(use, left);
        return;
      }
      this.uses.delete(use);
    }
    const bit = 1 << (prefixLength - 1);
    const end = first + (prefixLength < indexBits ? 1 << (indexBits - prefixLength) : 1);
    for (let i = first; i < end; i++) lengths[i] = (lengths[i] ?? 0) & ~bit;
  }

  renumber(): void {
    const { store } = this;
    for (const map of this.maps) map.clear();
    for (let row = 0; row < store.end; row++) {
      if (!store.holds(row)) continue;
      const prefixLength = store.prefixLengths[row] ?? 0;
      if (prefixLength === 0) this.all = row;
      else this.maps[prefixLength]?.add(row);
    }
  }

  maskOf(row: number): Uint32Array {
    return Uint32Array.of(this.masks[this.store.prefixLengths[row] ?? 0] ?? 0);
  }
}
