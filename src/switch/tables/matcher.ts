import type { EntryStore } from "./entry-store.ts";
import { RowMap } from "./row-map.ts";
import { allOnes, type EntryKey, putWords } from "./table-key.ts";

/** Finds entries by their keys: rows of an `EntryStore`, -1 for none. Keys are words, most significant first. */
export interface Matcher {
  /** The entry that a packet with this key hits. */
  find(key: Uint32Array): number;
  /** The entry with just this match and priority. */
  same(key: EntryKey): number;
  /** Takes in an entry that is in the store, its prefix length and priority too. */
  insert(row: number, key: EntryKey): void;
  /** To be called while the entry is still in the store. */
  remove(row: number): void;
  /** The rows of the store have other numbers now. */
  renumber(): void;
  /** The mask of an entry's key. */
  maskOf(row: number): Uint32Array;
}

export class ExactMatcher implements Matcher {
  private readonly map: RowMap;
  private readonly isOneWord: boolean;
  private readonly mask: Uint32Array;

  constructor(store: EntryStore) {
    this.map = new RowMap(store, store.shape.capacity);
    this.isOneWord = store.words === 1;
    this.mask = new Uint32Array(store.words);
    for (const { word, words, width } of store.shape.layout.fields)
      putWords(this.mask, word, words, allOnes(width));
  }

  find(key: Uint32Array): number {
    return this.isOneWord ? this.map.find1(key[0] ?? 0) : this.map.find(key);
  }

  same(key: EntryKey): number {
    return this.map.find(key.value);
  }

  insert(row: number): void {
    this.map.add(row);
  }

  remove(row: number): void {
    this.map.remove(row);
  }

  renumber(): void {
    this.map.holdAll();
  }

  maskOf(): Uint32Array {
    return this.mask;
  }
}
