import type { Meter } from "../state/meter.ts";
import type { Group, Member } from "./action-profile.ts";
import type { Table } from "./table.ts";
import { areEqualWords, type EntryKey, type Match, matchOfWords } from "./table-key.ts";

/** An action with its arguments, as the control plane names it. Arguments are in the action's order. */
export interface ActionCall {
  readonly action: string;
  readonly parameters: readonly bigint[];
}

/** What an entry does: an action (simple tables), or a member or group of the table's action profile. */
export type EntryAction =
  | ({ readonly kind: "action" } & ActionCall)
  | { readonly kind: "member"; readonly member: number }
  | { readonly kind: "group"; readonly group: number };

export interface CounterValue {
  readonly packets: bigint;
  readonly bytes: bigint;
}

const two64 = 1n << 64n;

/**
 * An entry of a table, seen by the control plane. It is only a name: what it tells is in the table's `EntryStore`. Once the entry is deleted,
 * `isGone` is true and nothing else means anything.
 */
export class TableEntry {
  readonly table: Table;
  /** Unique within the table; entries are iterated in the order of handles. */
  readonly handle: number;
  /** Where the entry was last. */
  private place: number;

  constructor(table: Table, row: number) {
    this.table = table;
    this.handle = table.store.handleOf(row);
    this.place = row;
  }

  /** The entry's row in the store now; -1 if it was deleted. */
  get row(): number {
    const { store } = this.table;
    if (this.place < 0 || store.handleOf(this.place) !== this.handle || !store.holds(this.place))
      this.place = store.rowOf(this.handle);
    return this.place;
  }

  get isGone(): boolean {
    return this.row < 0;
  }

  get match(): Match {
    const { store, layout, matcher } = this.table;
    const { row } = this;
    return matchOfWords(layout, {
      values: store.keys,
      valueAt: row * layout.words,
      mask: matcher.maskOf(row),
      prefixLength: this.prefixLength,
      ranges: store.ranges,
      rangeAt: row * layout.rangeWords,
    });
  }

  /** Greater wins; 0 in tables that have no priorities. */
  get priority(): number {
    return this.table.store.priorities[this.row] ?? 0;
  }

  get prefixLength(): number {
    return this.table.store.prefixLengths[this.row] ?? 0;
  }

  /** Whether the entry has this match, whatever its priority. */
  hasMatch(key: EntryKey): boolean {
    const { store, layout, matcher } = this.table;
    const { row } = this;
    for (let i = 0; i < layout.words; i++)
      if (store.keys[row * layout.words + i] !== key.value[i]) return false;
    for (let i = 0; i < layout.rangeWords; i++)
      if (store.ranges[row * layout.rangeWords + i] !== key.ranges[i]) return false;
    return areEqualWords(matcher.maskOf(row), key.mask);
  }

  /** Index of the action among the program's; -1 if the entry points to a member or group. */
  get actionIndex(): number {
    return this.table.store.actions[this.row] ?? -1;
  }

  /** Arguments of the action: numbers up to 52 bits, bigints above. */
  get data(): readonly (number | bigint)[] {
    return this.table.argumentsAt(this.row);
  }

  get member(): Member | undefined {
    const target = this.table.store.targets[this.row];
    return target === undefined || target.isGroup ? undefined : target;
  }

  get group(): Group | undefined {
    const target = this.table.store.targets[this.row];
    return target?.isGroup === true ? target : undefined;
  }

  get action(): EntryAction {
    const { member, group } = this;
    if (member !== undefined) return { kind: "member", member: member.id };
    if (group !== undefined) return { kind: "group", group: group.id };
    return {
      kind: "action",
      action: this.table.actionName(this.actionIndex),
      parameters: this.data.map(BigInt),
    };
  }

  /** True for entries that the program itself brings. */
  get isConst(): boolean {
    return this.table.extras(this.handle)?.isConst ?? false;
  }

  /** Packets that hit the entry, in tables with a counter, since the counter was set. */
  get packets(): number {
    return this.table.store.packets[this.row] ?? 0;
  }

  get bytes(): number {
    return this.table.store.bytes[this.row] ?? 0;
  }

  /** The direct counter, modulo 2^64. */
  get counter(): CounterValue {
    const base = this.table.extras(this.handle)?.counterBase;
    return {
      packets: ((base?.packets ?? 0n) + BigInt(this.packets)) % two64,
      bytes: ((base?.bytes ?? 0n) + BigInt(this.bytes)) % two64,
    };
  }

  setCounter(value: CounterValue): void {
    const { store } = this.table;
    store.packets[this.row] = 0;
    store.bytes[this.row] = 0;
    const isZero = value.packets === 0n && value.bytes === 0n;
    this.table.setExtras(this.handle, { counterBase: isZero ? undefined : value });
  }

  /** There in tables with a direct meter. */
  get meter(): Meter | undefined {
    return this.table.store.meters[this.row];
  }

  /** Microseconds; meaningful in tables that support timeouts. */
  get lastHit(): number {
    return this.table.store.lastHit[this.row] ?? 0;
  }

  set lastHit(time: number) {
    if (this.table.description.supportsTimeout) this.table.store.lastHit[this.row] = time;
  }

  /** Microseconds; 0 means never. */
  get idleTimeout(): number {
    return this.table.store.idleTimeout[this.row] ?? 0;
  }

  set idleTimeout(time: number) {
    if (this.table.description.supportsTimeout) this.table.store.idleTimeout[this.row] = time;
  }

  /** Whatever the control plane keeps with the entry. */
  get note(): unknown {
    return this.table.extras(this.handle)?.note;
  }

  set note(note: unknown) {
    this.table.setExtras(this.handle, { note });
  }
}
