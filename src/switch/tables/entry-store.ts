import type { Meter } from "../state/meter.ts";
import type { Group, Member } from "./action-profile.ts";
import type { KeyLayout } from "./table-key.ts";

/** Arguments of actions as generated code takes them: numbers up to 52 bits, bigints above. */
export type ActionData = Float64Array | (number | bigint)[];

/** What of a table its entries depend on. */
export interface EntryShape {
  readonly layout: KeyLayout;
  /** Most parameters that an action of the table has. */
  readonly parameters: number;
  /** Some parameter has more than 52 bits. */
  readonly hasWideParameters: boolean;
  readonly hasCounters: boolean;
  readonly hasMeters: boolean;
  readonly hasTimeouts: boolean;
  readonly hasPriorities: boolean;
  /** Entries point to members and groups of an action profile. */
  readonly isIndirect: boolean;
  /** Entries that the table is declared to hold. */
  readonly capacity: number;
}

/** From so many entries on, copying them takes so long that it should be the last time. */
const manyRows = 65_536;

/**
 * The next size of something that grows by copying: larger by `factor`, or at once as large as it is ever to be, when that is in sight. Memory
 * that is not used yet is only a number to the operating system, but each copy of a large table holds up packets.
 */
export function nextSize(size: number, factor: number, largest: number): number {
  return size >= manyRows && largest > factor * size && largest <= 16 * size ? largest : factor * size;
}

/** Rows beside those in use that a store keeps before it is worth to close the gaps. */
const mostGaps = 64;
const firstRows = 16;
/** What `actions` holds in rows without an entry. */
const noEntry = -2;

/** `count` columns per row; empty for none. */
function larger(column: Uint32Array, length: number): Uint32Array {
  const grown = new Uint32Array(length);
  grown.set(column.subarray(0, length));
  return grown;
}

function largerInt(column: Int32Array, length: number): Int32Array {
  const grown = new Int32Array(length);
  grown.set(column.subarray(0, length));
  return grown;
}

function largerFloat(column: Float64Array, length: number): Float64Array {
  const grown = new Float64Array(length);
  grown.set(column.subarray(0, length));
  return grown;
}

/** Arguments of one action, or of many rows. */
export function newActionData(length: number, isWide: boolean): ActionData {
  return isWide ? new Array<number | bigint>(length).fill(0) : new Float64Array(length);
}

/**
 * The entries of a table, one per row, in the order in which they came. Columns are arrays of numbers, so that hundreds of thousands of entries
 * take little room and the garbage collector has nothing to do with them. The packet path reads and writes the columns; their arrays are
 * replaced as the table grows.
 */
export class EntryStore {
  readonly shape: EntryShape;
  /** Words of a key. */
  readonly words: number;
  /** `words` per row. */
  keys: Uint32Array;
  /** Index of the action among the program's; -1 for an entry that points to a member or group. */
  actions: Int32Array;
  /** `shape.parameters` per row. */
  args: ActionData;
  /** In indirect tables. */
  readonly targets: (Member | Group | undefined)[] = [];
  packets: Float64Array;
  bytes: Float64Array;
  readonly meters: (Meter | undefined)[] = [];
  /** Microseconds. */
  lastHit: Float64Array;
  /** Microseconds; 0 means never. */
  idleTimeout: Float64Array;
  priorities: Int32Array;
  /** Of the lpm field, in tables that have one. */
  prefixLengths: Int32Array;
  /** Bounds of range fields, as `KeyLayout` has them. */
  ranges: Uint32Array;
  /** Unique and growing. */
  private handles: Float64Array;
  private nextHandle = 1;
  /** Rows that were given out, gaps included. */
  private used = 0;
  private live = 0;
  private capacity = firstRows;

  constructor(shape: EntryShape) {
    this.shape = shape;
    this.words = shape.layout.words;
    const rows = (isThere: boolean, each = 1): number => (isThere ? firstRows * each : 0);
    this.keys = new Uint32Array(firstRows * this.words);
    this.actions = new Int32Array(firstRows);
    this.args = newActionData(rows(!shape.isIndirect, shape.parameters), shape.hasWideParameters);
    this.packets = new Float64Array(rows(shape.hasCounters));
    this.bytes = new Float64Array(rows(shape.hasCounters));
    this.lastHit = new Float64Array(rows(shape.hasTimeouts));
    this.idleTimeout = new Float64Array(rows(shape.hasTimeouts));
    this.priorities = new Int32Array(rows(shape.hasPriorities));
    this.prefixLengths = new Int32Array(rows(shape.layout.hasPrefix));
    this.ranges = new Uint32Array(rows(true, shape.layout.rangeWords));
    this.handles = new Float64Array(firstRows);
  }

  get size(): number {
    return this.live;
  }

  /** Rows that may hold an entry are below this. */
  get end(): number {
    return this.used;
  }

  holds(row: number): boolean {
    return (this.actions[row] ?? noEntry) !== noEntry;
  }

  handleOf(row: number): number {
    return this.handles[row] ?? 0;
  }

  /** The row of the entry with this handle; -1 if it is gone. Handles grow with the rows. */
  rowOf(handle: number): number {
    let low = 0;
    let high = this.used - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = this.handles[middle] ?? 0;
      if (found === handle) return this.holds(middle) ? middle : -1;
      if (found < handle) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  private resize(capacity: number): void {
    const { shape } = this;
    this.capacity = capacity;
    this.keys = larger(this.keys, capacity * this.words);
    this.actions = largerInt(this.actions, capacity);
    this.handles = largerFloat(this.handles, capacity);
    if (!shape.isIndirect) {
      const length = capacity * shape.parameters;
      if (this.args instanceof Float64Array) this.args = largerFloat(this.args, length);
      else {
        const grown = this.args.slice(0, length);
        while (grown.length < length) grown.push(0);
        this.args = grown;
      }
    }
    if (shape.hasCounters) {
      this.packets = largerFloat(this.packets, capacity);
      this.bytes = largerFloat(this.bytes, capacity);
    }
    if (shape.hasTimeouts) {
      this.lastHit = largerFloat(this.lastHit, capacity);
      this.idleTimeout = largerFloat(this.idleTimeout, capacity);
    }
    if (shape.hasPriorities) this.priorities = largerInt(this.priorities, capacity);
    if (shape.layout.hasPrefix) this.prefixLengths = largerInt(this.prefixLengths, capacity);
    if (shape.layout.rangeWords > 0) this.ranges = larger(this.ranges, capacity * shape.layout.rangeWords);
  }

  /** The next row, with this key and without anything else: counters and times are 0, the action is to be set. */
  add(value: Uint32Array): number {
    const row = this.used;
    // Wide arguments are no numbers, and take memory at once.
    if (row === this.capacity)
      this.resize(this.shape.hasWideParameters ? 2 * row : nextSize(row, 2, this.shape.capacity));
    const { words, keys } = this;
    const at = row * words;
    for (let i = 0; i < words; i++) keys[at + i] = value[i] ?? 0;
    this.actions[row] = -1;
    this.handles[row] = this.nextHandle++;
    this.used = row + 1;
    this.live++;
    return row;
  }

  remove(row: number): void {
    const { shape } = this;
    this.actions[row] = noEntry;
    this.live--;
    if (shape.isIndirect) this.targets[row] = undefined;
    if (shape.hasMeters) this.meters[row] = undefined;
  }

  /** Whether so many rows are gaps that `compact` is due. */
  get isSparse(): boolean {
    return this.used - this.live > this.live + mostGaps;
  }

  /** Closes the gaps. Row numbers change: whoever holds any must ask anew. */
  compact(): void {
    const { shape, words, actions } = this;
    const kept = new Int32Array(this.live);
    let to = 0;
    for (let row = 0; row < this.used; row++) if (this.holds(row)) kept[to++] = row;
    gather(this.keys, words, kept);
    gather(this.args, shape.parameters, kept);
    gather(this.packets, 1, kept);
    gather(this.bytes, 1, kept);
    gather(this.lastHit, 1, kept);
    gather(this.idleTimeout, 1, kept);
    gather(this.priorities, 1, kept);
    gather(this.prefixLengths, 1, kept);
    gather(this.ranges, shape.layout.rangeWords, kept);
    gather(this.handles, 1, kept);
    for (let row = 0; row < to; row++) {
      const from = kept[row] ?? 0;
      if (shape.isIndirect) this.targets[row] = this.targets[from];
      if (shape.hasMeters) this.meters[row] = this.meters[from];
    }
    gather(actions, 1, kept);
    actions.fill(noEntry, to, this.used);
    this.used = to;
    this.targets.length = Math.min(this.targets.length, to);
    this.meters.length = Math.min(this.meters.length, to);
    // Rows behind the end are given out as they are: what counts must begin at 0.
    for (const column of [this.packets, this.bytes, this.lastHit, this.idleTimeout]) column.fill(0, to);
    let capacity = firstRows;
    while (capacity < 2 * to) capacity *= 2;
    if (capacity < this.capacity) this.resize(capacity);
  }
}

/** Moves rows to the front of a column. They stand in order, so that none is overwritten before it has moved. */
function gather(
  column: Uint32Array | Int32Array | Float64Array | (number | bigint)[],
  each: number,
  rows: Int32Array,
): void {
  if (column.length === 0 || each === 0) return;
  if (Array.isArray(column)) {
    for (let i = 0, to = 0; i < rows.length; i++) {
      const from = (rows[i] ?? 0) * each;
      for (let k = 0; k < each; k++) column[to++] = column[from + k] ?? 0;
    }
    return;
  }
  // Of one type all columns are moved by the same machine code.
  const words = new Uint32Array(column.buffer, column.byteOffset, column.byteLength >>> 2);
  gatherWords(words, (each * column.BYTES_PER_ELEMENT) >>> 2, rows);
}

function gatherWords(words: Uint32Array, each: number, rows: Int32Array): void {
  for (let i = 0, to = 0; i < rows.length; i++) {
    const from = (rows[i] ?? 0) * each;
    for (let k = 0; k < each; k++) words[to++] = words[from + k] ?? 0;
  }
}
