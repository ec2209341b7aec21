import type { KeyStore } from "./key-store.ts";
import type { Matcher } from "./matcher.ts";
import { RowMap } from "./row-map.ts";
import type { TableEntry } from "./table-entry.ts";
import { areEqualWords, type EntryKey, type KeyLayout } from "./table-key.ts";

/** Greater priority first; among equals the one that was there first. */
function precedes(a: TableEntry, b: TableEntry): boolean {
  return a.priority > b.priority || (a.priority === b.priority && a.handle < b.handle);
}

/** Whether `words` words of the key from `word` on lie between two bounds, the low one at `at`, the high one behind it. */
function isWithin(key: Uint32Array, word: number, words: number, bounds: Uint32Array, at: number): boolean {
  let above = false;
  let below = false;
  for (let i = 0; i < words && !(above && below); i++) {
    const value = key[word + i] ?? 0;
    const least = bounds[at + i] ?? 0;
    const most = bounds[at + words + i] ?? 0;
    if (!above && value < least) return false;
    if (!below && value > most) return false;
    if (value > least) above = true;
    if (value < most) below = true;
  }
  return true;
}

/** All entries with one combination of masks. Those with the same masked value are a list in the order in which they win. */
class MaskGroup {
  readonly mask: Uint32Array;
  readonly map: RowMap;
  /** No entry has a greater priority; after removals it may be too great for a while. */
  highest = 0;
  /** Place in the matcher's order. */
  place = 0;
  size = 0;
  private removals = 0;

  constructor(store: KeyStore, mask: Uint32Array) {
    this.mask = mask;
    this.map = new RowMap(store);
  }

  insert(entry: TableEntry, value: Uint32Array): void {
    this.size++;
    if (entry.priority > this.highest) this.highest = entry.priority;
    const first = this.map.find(value);
    if (first === undefined) {
      this.map.add(entry.row);
      return;
    }
    if (precedes(entry, first)) {
      this.map.replace(first.row, entry.row);
      entry.next = first;
      return;
    }
    let before = first;
    while (before.next !== undefined && !precedes(entry, before.next)) before = before.next;
    entry.next = before.next;
    before.next = entry;
  }

  /** True if `highest` changed, which happens so rarely that finding it costs little. */
  remove(entry: TableEntry, value: Uint32Array): boolean {
    this.size--;
    const first = this.map.find(value);
    if (first === entry) {
      if (entry.next === undefined) this.map.remove(entry.row);
      else this.map.replace(entry.row, entry.next.row);
    } else if (first !== undefined) {
      let before = first;
      while (before.next !== undefined && before.next !== entry) before = before.next;
      before.next = entry.next;
    }
    entry.next = undefined;
    this.removals++;
    if (this.removals * 4 < this.map.capacity) return false;
    this.removals = 0;
    this.highest = 0;
    // Of the entries with one value the first has the highest priority.
    for (const head of this.map.entries()) if (head.priority > this.highest) this.highest = head.priority;
    return true;
  }
}

/**
 * Tuple space search: entries are grouped by their masks, each group is a hash map, and groups are asked in the order of
 * the highest priority within, until no later group can win. Ranges take no part in the hash and are checked per entry.
 */
export class TernaryMatcher implements Matcher {
  private readonly store: KeyStore;
  private readonly layout: KeyLayout;
  private readonly groups = new Map<string, MaskGroup>();
  private order: MaskGroup[] = [];
  /** The group that was asked for last: entries with the same mask often come one after the other. */
  private recent: MaskGroup | undefined = undefined;
  private readonly value: Uint32Array;

  constructor(store: KeyStore, layout: KeyLayout) {
    this.store = store;
    this.layout = layout;
    this.value = new Uint32Array(store.words);
  }

  private matchesRanges(key: Uint32Array, ranges: Uint32Array): boolean {
    const { fields, rangeIndex, rangeAt } = this.layout;
    for (let i = 0; i < fields.length; i++) {
      const at = rangeAt[rangeIndex[i] ?? -1];
      const field = fields[i];
      if (at === undefined || field === undefined) continue;
      if (!isWithin(key, field.word, field.words, ranges, at)) return false;
    }
    return true;
  }

  find(key: Uint32Array): TableEntry | undefined {
    const { order } = this;
    let best: TableEntry | undefined;
    for (let i = 0; i < order.length; i++) {
      const group = order[i];
      if (group === undefined) break;
      if (best !== undefined && best.priority > group.highest) break;
      let entry = group.map.findMasked(key, group.mask);
      while (entry !== undefined && entry.ranges.length > 0 && !this.matchesRanges(key, entry.ranges))
        entry = entry.next;
      if (entry !== undefined && (best === undefined || precedes(entry, best))) best = entry;
    }
    return best;
  }

  same(key: EntryKey): TableEntry | undefined {
    let entry = this.group(key.mask)?.map.find(key.value);
    while (
      entry !== undefined &&
      !(entry.priority === key.priority && areEqualWords(entry.ranges, key.ranges))
    )
      entry = entry.next;
    return entry;
  }

  private group(mask: Uint32Array): MaskGroup | undefined {
    if (this.recent === undefined || !areEqualWords(this.recent.mask, mask))
      this.recent = this.groups.get(mask.join());
    return this.recent;
  }

  private valueOf(entry: TableEntry): Uint32Array {
    const { words, keys } = this.store;
    for (let i = 0; i < words; i++) this.value[i] = keys[entry.row * words + i] ?? 0;
    return this.value;
  }

  insert(entry: TableEntry, mask: Uint32Array): void {
    let group = this.group(mask);
    if (group === undefined) {
      group = new MaskGroup(this.store, mask.slice());
      this.groups.set(mask.join(), group);
      this.recent = group;
      group.place = this.order.length;
      this.order.push(group);
    }
    entry.mask = group.mask;
    group.insert(entry, this.valueOf(entry));
    this.moveUp(group);
  }

  private moveUp(group: MaskGroup): void {
    const { order } = this;
    for (;;) {
      const before = order[group.place - 1];
      if (before === undefined || before.highest >= group.highest) return;
      order[before.place + 1] = before;
      order[before.place] = group;
      group.place = before.place;
      before.place++;
    }
  }

  remove(entry: TableEntry): void {
    const group = this.group(entry.mask);
    if (group === undefined) return;
    const isLower = group.remove(entry, this.valueOf(entry));
    if (group.size === 0) {
      this.groups.delete(entry.mask.join());
      this.recent = undefined;
      this.order = this.order.filter((other) => other !== group);
      this.number();
    } else if (isLower) {
      this.order.sort((a, b) => b.highest - a.highest);
      this.number();
    }
  }

  private number(): void {
    this.order.forEach((group, place) => {
      group.place = place;
    });
  }

  clear(): void {
    for (const entry of this.store.entries()) entry.next = undefined;
    this.groups.clear();
    this.order = [];
    this.recent = undefined;
  }
}
