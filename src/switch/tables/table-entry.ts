import type { Meter } from "../state/meter.ts";
import type { Group, Member } from "./action-profile.ts";
import type { Table } from "./table.ts";
import { areEqualWords, type EntryKey, type Match, matchOfWords } from "./table-key.ts";

/** Arguments of an action as generated code takes them: numbers up to 52 bits, bigints above. */
export type ActionData = readonly (number | bigint)[];

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
const noWords = new Uint32Array(0);

/**
 * An entry of a table. The fields that the packet path reads and writes are public and mutable for its sake. Tables have hundreds of
 * thousands of them, so the key is in the table's `KeyStore` and match and action are made when somebody asks.
 */
export class TableEntry {
  readonly table: Table;
  /** Unique within the table; entries are iterated in the order of handles. */
  readonly handle: number;
  /** Greater wins; 0 in tables that have no priorities. */
  readonly priority: number;
  readonly prefixLength: number;
  readonly isConst: boolean;
  /** Place in the table's store; -1 for the default entry. */
  row = -1;
  /** Of the key; the object is shared by all entries with the same mask. */
  mask: Uint32Array = noWords;
  /** Bounds of range fields, as `KeyLayout` has them. */
  readonly ranges: Uint32Array;
  /** The one that is asked next among those with the same masked value. */
  next: TableEntry | undefined = undefined;

  /** Index of the action among the program's; -1 if the entry points to a member or group. */
  actionIndex = -1;
  data: ActionData = [];
  member: Member | undefined = undefined;
  group: Group | undefined = undefined;

  packets = 0;
  bytes = 0;
  private counterBase: CounterValue | undefined = undefined;
  meter: Meter | undefined = undefined;
  /** Microseconds; meaningful in tables that support timeouts. */
  lastHit = 0;
  /** Microseconds; 0 means never. */
  idleTimeout = 0;
  /** Whatever the control plane keeps with the entry. */
  note: unknown = undefined;

  constructor(
    table: Table,
    handle: number,
    priority: number,
    prefixLength: number,
    ranges: Uint32Array,
    isConst: boolean,
  ) {
    this.table = table;
    this.handle = handle;
    this.priority = priority;
    this.prefixLength = prefixLength;
    this.ranges = ranges;
    this.isConst = isConst;
  }

  get match(): Match {
    if (this.row < 0) return [];
    const { store, layout } = this.table;
    return matchOfWords(
      layout,
      store.keys,
      this.row * layout.words,
      this.mask,
      this.prefixLength,
      this.ranges,
    );
  }

  /** Whether the entry has this match, whatever its priority. */
  hasMatch(key: EntryKey): boolean {
    const { keys } = this.table.store;
    const { words } = this.table.layout;
    for (let i = 0; i < words; i++) if (keys[this.row * words + i] !== key.value[i]) return false;
    return (
      this.prefixLength === key.prefixLength &&
      areEqualWords(this.mask, key.mask) &&
      areEqualWords(this.ranges, key.ranges)
    );
  }

  get action(): EntryAction {
    if (this.member !== undefined) return { kind: "member", member: this.member.id };
    if (this.group !== undefined) return { kind: "group", group: this.group.id };
    return {
      kind: "action",
      action: this.table.actionName(this.actionIndex),
      parameters: this.data.map(BigInt),
    };
  }

  /** The direct counter, modulo 2^64. */
  get counter(): CounterValue {
    return {
      packets: ((this.counterBase?.packets ?? 0n) + BigInt(this.packets)) % two64,
      bytes: ((this.counterBase?.bytes ?? 0n) + BigInt(this.bytes)) % two64,
    };
  }

  setCounter(value: CounterValue): void {
    this.counterBase = value;
    this.packets = 0;
    this.bytes = 0;
  }
}
