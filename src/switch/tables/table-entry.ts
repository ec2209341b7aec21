import type { Meter } from "../state/meter.ts";
import type { Group, Member } from "./action-profile.ts";
import type { CompiledMatch, Match } from "./table-key.ts";

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

/** An entry of a table. The fields that the packet path reads and writes are public and mutable for its sake. */
export class TableEntry {
  /** Unique within the table; entries are iterated in the order of handles. */
  readonly handle: number;
  readonly match: Match;
  /** Greater wins; 0 in tables that have no priorities. */
  readonly priority: number;
  readonly isConst: boolean;
  readonly compiled: CompiledMatch;

  /** Index of the action among the program's; -1 if the entry points to a member or group. */
  actionIndex = -1;
  data: ActionData = [];
  member: Member | undefined = undefined;
  group: Group | undefined = undefined;
  /** The action as it was given. */
  action: EntryAction;

  packets = 0;
  bytes = 0;
  private packetBase = 0n;
  private byteBase = 0n;
  meter: Meter | undefined = undefined;
  /** Microseconds; meaningful in tables that support timeouts. */
  lastHit = 0;
  /** Microseconds; 0 means never. */
  idleTimeout = 0;

  constructor(
    handle: number,
    match: Match,
    compiled: CompiledMatch,
    priority: number,
    isConst: boolean,
    action: EntryAction,
  ) {
    this.handle = handle;
    this.match = match;
    this.compiled = compiled;
    this.priority = priority;
    this.isConst = isConst;
    this.action = action;
  }

  /** The direct counter, modulo 2^64. */
  get counter(): CounterValue {
    return {
      packets: (this.packetBase + BigInt(this.packets)) % two64,
      bytes: (this.byteBase + BigInt(this.bytes)) % two64,
    };
  }

  setCounter(value: CounterValue): void {
    this.packetBase = value.packets;
    this.byteBase = value.bytes;
    this.packets = 0;
    this.bytes = 0;
  }
}
