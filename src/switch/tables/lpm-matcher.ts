import type { KeyStore } from "./key-store.ts";
import type { Matcher } from "./matcher.ts";
import { RowMap } from "./row-map.ts";
import type { TableEntry } from "./table-entry.ts";
import type { EntryKey } from "./table-key.ts";

interface PrefixGroup {
  readonly prefixLength: number;
  readonly mask: Uint32Array;
  readonly map: RowMap;
}

/** One hash map per prefix length in use, asked from the longest to the shortest. For keys of several words. */
export class LpmMatcher implements Matcher {
  private readonly store: KeyStore;
  private groups: PrefixGroup[] = [];

  constructor(store: KeyStore) {
    this.store = store;
  }

  private group(prefixLength: number): PrefixGroup | undefined {
    for (const group of this.groups) if (group.prefixLength === prefixLength) return group;
    return undefined;
  }

  find(key: Uint32Array): TableEntry | undefined {
    const { groups } = this;
    for (let i = 0; i < groups.length; i++) {
      const group = groups[i];
      if (group === undefined) break;
      const entry = group.map.findMasked(key, group.mask);
      if (entry !== undefined) return entry;
    }
    return undefined;
  }

  same(key: EntryKey): TableEntry | undefined {
    return this.group(key.prefixLength)?.map.find(key.value);
  }

  insert(entry: TableEntry, mask: Uint32Array): void {
    const { prefixLength } = entry;
    let group = this.group(prefixLength);
    if (group === undefined) {
      group = { prefixLength, mask: mask.slice(), map: new RowMap(this.store) };
      this.groups.push(group);
      this.groups.sort((a, b) => b.prefixLength - a.prefixLength);
    }
    entry.mask = group.mask;
    group.map.add(entry.row);
  }

  remove(entry: TableEntry): void {
    const group = this.group(entry.prefixLength);
    group?.map.remove(entry.row);
    if (group?.map.size === 0) this.groups = this.groups.filter((candidate) => candidate !== group);
  }

  clear(): void {
    this.groups = [];
  }
}

/** The leading bits by which `OneWordLpmMatcher` knows which prefix lengths can match. */
const indexBits = 16;

/**
 * Longest prefix match on one field of up to 32 bits. As in `LpmMatcher` there is a hash map per prefix length, but for
 * each value of the leading 16 bits a bitmap tells which lengths occur there, so that few maps are asked.
 */
export class OneWordLpmMatcher implements Matcher {
  private readonly store: KeyStore;
  private readonly width: number;
  private maps: readonly RowMap[];
  private readonly masks: readonly Uint32Array[];
  private readonly maskWords: Uint32Array;
  /** Bit n - 1 of an element: prefixes of length n occur under these leading bits. */
  private readonly lengths = new Uint32Array(1 << indexBits);
  /** How many prefixes set a bit, for those that are longer than the index. */
  private readonly uses = new Map<number, number>();
  private all: TableEntry | undefined = undefined;

  constructor(store: KeyStore, width: number) {
    this.store = store;
    this.width = width;
    this.maps = this.emptyMaps();
    this.masks = Array.from({ length: width + 1 }, (_, length) =>
      Uint32Array.of(length === 0 ? 0 : (2 ** width - 2 ** (width - length)) >>> 0),
    );
    this.maskWords = Uint32Array.from(this.masks, (mask) => mask[0] ?? 0);
  }

  private emptyMaps(): readonly RowMap[] {
    return Array.from({ length: this.width + 1 }, () => new RowMap(this.store));
  }

  find(key: Uint32Array): TableEntry | undefined {
    const word = key[0] ?? 0;
    const { maps, maskWords } = this;
    let left = this.lengths[(word << (32 - this.width)) >>> (32 - indexBits)] ?? 0;
    while (left !== 0) {
      const bit = 31 - Math.clz32(left);
      const entry = maps[bit + 1]?.find1((word & (maskWords[bit + 1] ?? 0)) >>> 0);
      if (entry !== undefined) return entry;
      left ^= 1 << bit;
    }
    return this.all;
  }

  same(key: EntryKey): TableEntry | undefined {
    return key.prefixLength === 0 ? this.all : this.maps[key.prefixLength]?.find1(key.value[0] ?? 0);
  }

  /** First of the indices that a prefix covers. */
  private firstIndex(entry: TableEntry): number {
    return ((this.store.keys[entry.row] ?? 0) << (32 - this.width)) >>> (32 - indexBits);
  }

  insert(entry: TableEntry, mask: Uint32Array): void {
    const { prefixLength } = entry;
    entry.mask = this.masks[prefixLength] ?? mask;
    if (prefixLength === 0) {
      this.all = entry;
      return;
    }
    this.maps[prefixLength]?.add(entry.row);
    const { lengths } = this;
    const first = this.firstIndex(entry);
    const bit = 1 << (prefixLength - 1);
    const end = first + (prefixLength < indexBits ? 1 << (indexBits - prefixLength) : 1);
    for (let i = first; i < end; i++) lengths[i] = (lengths[i] ?? 0) | bit;
    if (prefixLength <= indexBits) return;
    const use = first * 64 + prefixLength;
    this.uses.set(use, (this.uses.get(use) ?? 0) + 1);
  }

  remove(entry: TableEntry): void {
    const { prefixLength } = entry;
    if (prefixLength === 0) {
      this.all = undefined;
      return;
    }
    this.maps[prefixLength]?.remove(entry.row);
    const { lengths } = this;
    const first = this.firstIndex(entry);
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

  clear(): void {
    this.maps = this.emptyMaps();
    this.lengths.fill(0);
    this.uses.clear();
    this.all = undefined;
  }
}
