import type { KeyStore } from "./key-store.ts";
import { RowMap } from "./row-map.ts";
import type { TableEntry } from "./table-entry.ts";
import type { EntryKey } from "./table-key.ts";

/** Finds the entry that a lookup key hits. Keys are words, most significant first; entries are in a `KeyStore`. */
export interface Matcher {
  /** The entry that a packet with this key hits. */
  find(key: Uint32Array): TableEntry | undefined;
  /** The entry with just this match and priority. */
  same(key: EntryKey): TableEntry | undefined;
  /** Takes in an entry that has its row; `mask` is the key's. Sets the entry's `mask`. */
  insert(entry: TableEntry, mask: Uint32Array): void;
  /** To be called while the entry still has its row. */
  remove(entry: TableEntry): void;
  /** Forgets everything. */
  clear(): void;
}

export class ExactMatcher implements Matcher {
  private readonly store: KeyStore;
  private map: RowMap;
  private readonly isOneWord: boolean;
  private mask: Uint32Array | undefined = undefined;

  constructor(store: KeyStore) {
    this.store = store;
    this.map = new RowMap(store);
    this.isOneWord = store.words === 1;
  }

  find(key: Uint32Array): TableEntry | undefined {
    return this.isOneWord ? this.map.find1(key[0] ?? 0) : this.map.find(key);
  }

  same(key: EntryKey): TableEntry | undefined {
    return this.map.find(key.value);
  }

  insert(entry: TableEntry, mask: Uint32Array): void {
    this.mask ??= mask.slice();
    entry.mask = this.mask;
    this.map.add(entry.row);
  }

  remove(entry: TableEntry): void {
    this.map.remove(entry.row);
  }

  clear(): void {
    this.map = new RowMap(this.store);
  }
}
