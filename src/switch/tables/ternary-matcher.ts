import type { EntryStore } from "./entry-store.ts";
import type { Matcher } from "./matcher.ts";
import { RowMap } from "./row-map.ts";
import { areEqualWords, type EntryKey, type KeyLayout } from "./table-key.ts";

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

/** All entries with one combination of masks. */
class MaskGroup {
  readonly mask: Uint32Array;
  /** For each masked value the entry that wins; the others with the same value hang on it. */
  readonly map: RowMap;
  /** No entry has a greater priority; after removals it may be too great for a while. */
  highest = 0;
  /** Place in the matcher's order. */
  place = 0;
  size = 0;
  removals = 0;

  constructor(store: EntryStore, mask: Uint32Array) {
    this.mask = mask;
    this.map = new RowMap(store);
  }
}

/**
 * Tuple space search: entries are grouped by their masks, each group is a hash map, and groups are asked in the order of
 * the highest priority within, until no later group can win. Ranges take no part in the hash and are checked per entry.
 */
export class TernaryMatcher implements Matcher {
  private readonly store: EntryStore;
  private readonly layout: KeyLayout;
  private readonly groups = new Map<string, MaskGroup>();
  private order: MaskGroup[] = [];
  /** By row. */
  private groupOf: (MaskGroup | undefined)[] = [];
  /** By row: row plus one of the entry that is asked next among those with the same masked value; 0 for none. */
  private next = new Int32Array(16);
  /** The group that was asked for last: entries with the same mask often come one after the other. */
  private recent: MaskGroup | undefined = undefined;
  private readonly value: Uint32Array;

  constructor(store: EntryStore) {
    this.store = store;
    this.layout = store.shape.layout;
    this.value = new Uint32Array(store.words);
  }

  private priority(row: number): number {
    return this.store.priorities[row] ?? 0;
  }

  /** Greater priority first; among equals the one that was there first, which is in the lower row. */
  private precedes(a: number, b: number): boolean {
    const difference = this.priority(a) - this.priority(b);
    return difference > 0 || (difference === 0 && a < b);
  }

  private nextOf(row: number): number {
    return (this.next[row] ?? 0) - 1;
  }

  private matchesRanges(key: Uint32Array, row: number): boolean {
    const { fields, rangeIndex, rangeAt, rangeWords } = this.layout;
    const { ranges } = this.store;
    const base = row * rangeWords;
    for (let i = 0; i < fields.length; i++) {
      const at = rangeAt[rangeIndex[i] ?? -1];
      const field = fields[i];
      if (at === undefined || field === undefined) continue;
      if (!isWithin(key, field.word, field.words, ranges, base + at)) return false;
    }
    return true;
  }

  find(key: Uint32Array): number {
    const { order } = this;
    const hasRanges = this.layout.rangeWords > 0;
    let best = -1;
    for (let i = 0; i < order.length; i++) {
      const group = order[i];
      if (group === undefined) break;
      if (best >= 0 && this.priority(best) > group.highest) break;
      let row = group.map.findMasked(key, group.mask);
      if (hasRanges) while (row >= 0 && !this.matchesRanges(key, row)) row = this.nextOf(row);
      if (row >= 0 && (best < 0 || this.precedes(row, best))) best = row;
    }
    return best;
  }

  same(key: EntryKey): number {
    let row = this.group(key.mask)?.map.find(key.value) ?? -1;
    while (row >= 0 && !(this.priority(row) === key.priority && this.hasRanges(row, key.ranges)))
      row = this.nextOf(row);
    return row;
  }

  private hasRanges(row: number, wanted: Uint32Array): boolean {
    const { ranges } = this.store;
    const at = row * wanted.length;
    for (let i = 0; i < wanted.length; i++) if (ranges[at + i] !== wanted[i]) return false;
    return true;
  }

  private group(mask: Uint32Array): MaskGroup | undefined {
    if (this.recent === undefined || !areEqualWords(this.recent.mask, mask))
      this.recent = this.groups.get(mask.join());
    return this.recent;
  }

  private valueOf(row: number): Uint32Array {
    const { words, keys } = this.store;
    for (let i = 0; i < words; i++) this.value[i] = keys[row * words + i] ?? 0;
    return this.value;
  }

  insert(row: number, key: EntryKey): void {
    let group = this.group(key.mask);
    if (group === undefined) {
      group = new MaskGroup(this.store, key.mask.slice());
      this.groups.set(key.mask.join(), group);
      this.recent = group;
      group.place = this.order.length;
      this.order.push(group);
    }
    this.groupOf[row] = group;
    group.size++;
    this.link(group, row);
    if (this.priority(row) > group.highest) {
      group.highest = this.priority(row);
      this.moveUp(group);
    }
  }

  private link(group: MaskGroup, row: number): void {
    if (row >= this.next.length) {
      const larger = new Int32Array(2 * row);
      larger.set(this.next);
      this.next = larger;
    }
    this.next[row] = 0;
    const first = group.map.find(this.valueOf(row));
    if (first < 0) {
      group.map.add(row);
      return;
    }
    if (this.precedes(row, first)) {
      group.map.replace(first, row);
      this.next[row] = first + 1;
      return;
    }
    let before = first;
    for (
      let after = this.nextOf(before);
      after >= 0 && !this.precedes(row, after);
      after = this.nextOf(before)
    )
      before = after;
    this.next[row] = this.next[before] ?? 0;
    this.next[before] = row + 1;
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

  remove(row: number): void {
    const group = this.groupOf[row];
    if (group === undefined) return;
    this.groupOf[row] = undefined;
    group.size--;
    group.removals++;
    const first = group.map.find(this.valueOf(row));
    if (first === row) {
      if (this.next[row] === 0) group.map.remove(row);
      else group.map.replace(row, this.nextOf(row));
    } else {
      let before = first;
      while (this.nextOf(before) !== row) before = this.nextOf(before);
      this.next[before] = this.next[row] ?? 0;
    }
    if (group.size === 0) {
      this.groups.delete(group.mask.join());
      this.recent = undefined;
      this.order = this.order.filter((other) => other !== group);
      this.number();
    } else if (group.removals * 4 >= group.map.capacity) {
      // So rarely that it costs little: find out anew which priority is the highest.
      group.removals = 0;
      group.highest = 0;
      for (const head of group.map.rows())
        if (this.priority(head) > group.highest) group.highest = this.priority(head);
      this.order.sort((a, b) => b.highest - a.highest);
      this.number();
    }
  }

  private number(): void {
    this.order.forEach((group, place) => {
      group.place = place;
    });
  }

  renumber(): void {
    // The gaps are closed, and the order is the same.
    const groupOf = this.groupOf.filter((group) => group !== undefined);
    this.groupOf = groupOf;
    this.next = new Int32Array(Math.max(16, groupOf.length));
    for (const { map } of this.order) map.clear();
    groupOf.forEach((group, row) => {
      this.link(group, row);
    });
  }

  maskOf(row: number): Uint32Array {
    return this.groupOf[row]?.mask ?? this.value;
  }
}
