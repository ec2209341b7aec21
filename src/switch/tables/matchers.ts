import type { TableEntry } from "./table-entry.ts";
import type { RangeBounds } from "./table-key.ts";
import { WordMap } from "./word-map.ts";

/** Finds the entry that a lookup key hits. Keys are words, most significant first. */
export interface Matcher {
  find(key: Uint32Array): TableEntry | undefined;
  insert(entry: TableEntry): void;
  remove(entry: TableEntry): void;
}

export class ExactMatcher implements Matcher {
  private readonly map: WordMap<TableEntry>;
  private readonly isOneWord: boolean;

  constructor(words: number) {
    this.map = new WordMap(words);
    this.isOneWord = words === 1;
  }

  find(key: Uint32Array): TableEntry | undefined {
    return this.isOneWord ? this.map.find1(key[0] ?? 0) : this.map.find(key);
  }

  insert(entry: TableEntry): void {
    this.map.set(entry.compiled.value, entry);
  }

  remove(entry: TableEntry): void {
    this.map.delete(entry.compiled.value);
  }
}

interface PrefixGroup {
  readonly prefixLength: number;
  readonly mask: Uint32Array;
  readonly map: WordMap<TableEntry>;
}

/** One hash map per prefix length in use, asked from the longest to the shortest. For keys of several words. */
export class LpmMatcher implements Matcher {
  private readonly words: number;
  private groups: PrefixGroup[] = [];

  constructor(words: number) {
    this.words = words;
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

  insert(entry: TableEntry): void {
    const { prefixLength, mask } = entry.compiled;
    let group = this.groups.find((candidate) => candidate.prefixLength === prefixLength);
    if (group === undefined) {
      group = { prefixLength, mask, map: new WordMap(this.words) };
      this.groups.push(group);
      this.groups.sort((a, b) => b.prefixLength - a.prefixLength);
    }
    group.map.set(entry.compiled.value, entry);
  }

  remove(entry: TableEntry): void {
    const group = this.groups.find((candidate) => candidate.prefixLength === entry.compiled.prefixLength);
    group?.map.delete(entry.compiled.value);
    if (group?.map.size === 0) this.groups = this.groups.filter((candidate) => candidate !== group);
  }
}

/** The leading bits by which `OneWordLpmMatcher` knows which prefix lengths can match. */
const indexBits = 16;

/**
 * Longest prefix match on one field of up to 32 bits. As in `LpmMatcher` there is a hash map per prefix length, but for
 * each value of the leading 16 bits a bitmap tells which lengths occur there, so that few maps are asked.
 */
export class OneWordLpmMatcher implements Matcher {
  private readonly width: number;
  private readonly maps: readonly WordMap<TableEntry>[];
  private readonly masks: Uint32Array;
  /** Bit n - 1 of an element: prefixes of length n occur under these leading bits. */
  private readonly lengths = new Uint32Array(1 << indexBits);
  /** How many prefixes set a bit, for those that are longer than the index. */
  private readonly uses = new Map<number, number>();
  private all: TableEntry | undefined = undefined;

  constructor(width: number) {
    this.width = width;
    this.maps = Array.from({ length: width + 1 }, () => new WordMap<TableEntry>(1));
    this.masks = Uint32Array.from({ length: width + 1 }, (_, length) =>
      length === 0 ? 0 : (2 ** width - 2 ** (width - length)) >>> 0,
    );
  }

  find(key: Uint32Array): TableEntry | undefined {
    const word = key[0] ?? 0;
    let left = this.lengths[(word << (32 - this.width)) >>> (32 - indexBits)] ?? 0;
    while (left !== 0) {
      const bit = 31 - Math.clz32(left);
      const entry = this.maps[bit + 1]?.find1((word & (this.masks[bit + 1] ?? 0)) >>> 0);
      if (entry !== undefined) return entry;
      left ^= 1 << bit;
    }
    return this.all;
  }

  /** First index and number of indices that a prefix covers. */
  private covered(entry: TableEntry): { readonly first: number; readonly count: number } {
    const value = entry.compiled.value[0] ?? 0;
    const first = (value << (32 - this.width)) >>> (32 - indexBits);
    return { first, count: 2 ** Math.max(0, indexBits - entry.compiled.prefixLength) };
  }

  insert(entry: TableEntry): void {
    const { prefixLength } = entry.compiled;
    if (prefixLength === 0) {
      this.all = entry;
      return;
    }
    this.maps[prefixLength]?.set(entry.compiled.value, entry);
    const { first, count } = this.covered(entry);
    const bit = 1 << (prefixLength - 1);
    for (let i = first; i < first + count; i++) this.lengths[i] = (this.lengths[i] ?? 0) | bit;
    const use = first * 64 + prefixLength;
    this.uses.set(use, (this.uses.get(use) ?? 0) + 1);
  }

  remove(entry: TableEntry): void {
    const { prefixLength } = entry.compiled;
    if (prefixLength === 0) {
      this.all = undefined;
      return;
    }
    this.maps[prefixLength]?.delete(entry.compiled.value);
    const { first, count } = this.covered(entry);
    const use = first * 64 + prefixLength;
    const left = (this.uses.get(use) ?? 0) - 1;
    if (left > 0) {
      this.uses.set(use, left);
      return;
    }
    this.uses.delete(use);
    const bit = 1 << (prefixLength - 1);
    for (let i = first; i < first + count; i++) this.lengths[i] = (this.lengths[i] ?? 0) & ~bit;
  }
}

function isWithin(key: Uint32Array, range: RangeBounds): boolean {
  const { word, low, high } = range;
  let above = false;
  let below = false;
  for (let i = 0; i < low.length && !(above && below); i++) {
    const value = key[word + i] ?? 0;
    const least = low[i] ?? 0;
    const most = high[i] ?? 0;
    if (!above && value < least) return false;
    if (!below && value > most) return false;
    if (value > least) above = true;
    if (value < most) below = true;
  }
  return true;
}

function matchesRanges(key: Uint32Array, ranges: readonly RangeBounds[]): boolean {
  for (let i = 0; i < ranges.length; i++) {
    const range = ranges[i];
    if (range !== undefined && !isWithin(key, range)) return false;
  }
  return true;
}

/** Greater priority first; among equals the one that was there first. */
function precedes(a: TableEntry, b: TableEntry): boolean {
  return a.priority > b.priority || (a.priority === b.priority && a.handle < b.handle);
}

/** All entries with one combination of masks. */
class MaskGroup {
  readonly mask: Uint32Array;
  highest = 0;
  private readonly map: WordMap<TableEntry[]>;
  private readonly priorities = new Map<number, number>();

  constructor(mask: Uint32Array) {
    this.mask = mask;
    this.map = new WordMap(mask.length);
  }

  get isEmpty(): boolean {
    return this.map.size === 0;
  }

  find(key: Uint32Array): TableEntry | undefined {
    const bucket = this.map.findMasked(key, this.mask);
    if (bucket === undefined) return undefined;
    for (let i = 0; i < bucket.length; i++) {
      const entry = bucket[i];
      if (entry === undefined) break;
      if (entry.compiled.ranges.length === 0 || matchesRanges(key, entry.compiled.ranges)) return entry;
    }
    return undefined;
  }

  insert(entry: TableEntry): void {
    const bucket = this.map.find(entry.compiled.value);
    if (bucket === undefined) this.map.set(entry.compiled.value, [entry]);
    else {
      const at = bucket.findIndex((other) => precedes(entry, other));
      bucket.splice(at < 0 ? bucket.length : at, 0, entry);
    }
    this.priorities.set(entry.priority, (this.priorities.get(entry.priority) ?? 0) + 1);
    this.highest = Math.max(this.highest, entry.priority);
  }

  remove(entry: TableEntry): void {
    const bucket = this.map.find(entry.compiled.value);
    const at = bucket?.indexOf(entry) ?? -1;
    if (bucket === undefined || at < 0) return;
    bucket.splice(at, 1);
    if (bucket.length === 0) this.map.delete(entry.compiled.value);
    const left = (this.priorities.get(entry.priority) ?? 0) - 1;
    if (left > 0) this.priorities.set(entry.priority, left);
    else this.priorities.delete(entry.priority);
    if (entry.priority === this.highest && left <= 0) {
      this.highest = 0;
      for (const priority of this.priorities.keys()) this.highest = Math.max(this.highest, priority);
    }
  }
}

/**
 * Tuple space search: entries are grouped by their masks, each group is a hash map, and groups are asked in the order of
 * the highest priority within, until no later group can win. Ranges take no part in the hash and are checked per entry.
 */
export class TernaryMatcher implements Matcher {
  private readonly groups = new Map<string, MaskGroup>();
  private order: MaskGroup[] = [];

  find(key: Uint32Array): TableEntry | undefined {
    const { order } = this;
    let best: TableEntry | undefined;
    for (let i = 0; i < order.length; i++) {
      const group = order[i];
      if (group === undefined) break;
      if (best !== undefined && best.priority > group.highest) break;
      const entry = group.find(key);
      if (entry !== undefined && (best === undefined || precedes(entry, best))) best = entry;
    }
    return best;
  }

  insert(entry: TableEntry): void {
    const name = entry.compiled.mask.join(",");
    let group = this.groups.get(name);
    if (group === undefined) {
      group = new MaskGroup(entry.compiled.mask);
      this.groups.set(name, group);
      this.order.push(group);
    }
    const before = group.highest;
    group.insert(entry);
    if (group.highest !== before) this.sort();
  }

  remove(entry: TableEntry): void {
    const name = entry.compiled.mask.join(",");
    const group = this.groups.get(name);
    if (group === undefined) return;
    const before = group.highest;
    group.remove(entry);
    if (group.isEmpty) {
      this.groups.delete(name);
      this.order = this.order.filter((other) => other !== group);
    } else if (group.highest !== before) {
      this.sort();
    }
  }

  /** Nearly in order already, which makes this cheap. */
  private sort(): void {
    this.order.sort((a, b) => b.highest - a.highest);
  }
}
