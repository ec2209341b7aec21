import type { TableEntry } from "./table-entry.ts";

/** Rows beside those in use that a store keeps before it is worth to close the gaps. */
const mostGaps = 64;

/**
 * The entries of a table in rows, in the order in which they came, with their key words in one array. Hash maps hold row numbers, so that
 * an entry costs them a few bytes and the garbage collector nothing.
 */
export class KeyStore {
  /** Words of a key. */
  readonly words: number;
  /** `words` per row. */
  keys: Uint32Array;
  /** By row; undefined where an entry was removed. */
  rows: (TableEntry | undefined)[] = [];
  private live = 0;

  constructor(words: number) {
    this.words = words;
    this.keys = new Uint32Array(16 * words);
  }

  get size(): number {
    return this.live;
  }

  /** Gives an entry the next row. */
  add(entry: TableEntry, value: Uint32Array): void {
    const { words } = this;
    const row = this.rows.length;
    const at = row * words;
    if (at + words > this.keys.length) {
      const larger = new Uint32Array(Math.max(16 * words, this.keys.length * 2));
      larger.set(this.keys);
      this.keys = larger;
    }
    const { keys } = this;
    for (let i = 0; i < words; i++) keys[at + i] = value[i] ?? 0;
    this.rows.push(entry);
    entry.row = row;
    this.live++;
  }

  remove(entry: TableEntry): void {
    this.rows[entry.row] = undefined;
    this.live--;
  }

  /** True when most rows are gaps, so that `compact` is due. */
  get isSparse(): boolean {
    return this.rows.length - this.live > this.live + mostGaps;
  }

  /** Closes the gaps. Row numbers change: hash maps must be made anew. */
  compact(): void {
    const { words, keys } = this;
    const rows: TableEntry[] = [];
    for (const entry of this.rows) {
      if (entry === undefined) continue;
      keys.copyWithin(rows.length * words, entry.row * words, (entry.row + 1) * words);
      entry.row = rows.length;
      rows.push(entry);
    }
    this.rows = rows;
    this.keys = keys.slice(0, Math.max(16, rows.length) * words);
  }

  *entries(): IterableIterator<TableEntry> {
    for (const entry of this.rows) if (entry !== undefined) yield entry;
  }
}
