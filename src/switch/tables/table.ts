import type { MatchKind } from "../bmv2json/program.ts";
import { Meter, type MeterConfig, type MeterUnit } from "../state/meter.ts";
import type { ActionProfile, ActionResolver, Group, Member } from "./action-profile.ts";
import { KeyStore } from "./key-store.ts";
import { LpmMatcher, OneWordLpmMatcher } from "./lpm-matcher.ts";
import { ExactMatcher, type Matcher } from "./matcher.ts";
import { SwitchRuntimeError } from "./runtime-error.ts";
import { type ActionData, type EntryAction, TableEntry } from "./table-entry.ts";
import { EntryKey, type KeyField, KeyLayout, type Match } from "./table-key.ts";
import { TernaryMatcher } from "./ternary-matcher.ts";

export interface TableDescription {
  readonly name: string;
  readonly id: number;
  /** "ingress" or "egress". */
  readonly pipeline: string;
  readonly key: readonly KeyField[];
  readonly matchType: Exclude<MatchKind, "optional">;
  readonly capacity: number;
  readonly isConst: boolean;
  readonly hasCounters: boolean;
  readonly meterUnit: MeterUnit | undefined;
  readonly supportsTimeout: boolean;
  readonly profile: ActionProfile | undefined;
  /** True if the default action can't be changed. */
  readonly hasConstDefault: boolean;
  readonly actions: readonly string[];
}

/** What an entry may carry beside match and action. */
export interface EntryOptions {
  /** Greater wins. Must be positive in tables with a ternary, range or optional field, and 0 (or absent) in others. */
  readonly priority?: number;
  /** Microseconds without a hit after which `idleEntries` reports the entry; 0 or absent means never. */
  readonly idleTimeout?: number;
  /** Microseconds; from when the idle time counts. */
  readonly now?: number;
}

/** An action that is known to be one of the table's, with arguments as generated code takes them, or a member or group. */
export type ResolvedAction =
  | { readonly kind: "action"; readonly actionIndex: number; readonly data: ActionData }
  | { readonly kind: "member"; readonly member: Member }
  | { readonly kind: "group"; readonly group: Group };

/** The fields with a bound of their own are few; all other entries share this. */
const noRanges = new Uint32Array(0);

/**
 * A match-action table at run time. Packets use `matcher`, `key` and `defaultEntry`; the control plane uses the methods,
 * which throw {@link SwitchRuntimeError} and then change nothing.
 *
 * There are two ways in: by `Match` and name of the action, where everything is checked; and by `EntryKey` and `ResolvedAction`, for a
 * control plane that has checked already and writes many entries.
 */
export class Table {
  readonly description: TableDescription;
  readonly name: string;
  readonly layout: KeyLayout;
  readonly store: KeyStore;
  readonly matcher: Matcher;
  /** Scratch space for the key of the lookup that is being made. */
  readonly key: Uint32Array;
  defaultEntry: TableEntry | undefined = undefined;
  private initialDefault: EntryAction | undefined = undefined;
  private readonly resolver: ActionResolver;
  private readonly entryKey: EntryKey;
  private nextHandle = 1;

  constructor(description: TableDescription, resolver: ActionResolver) {
    this.description = description;
    this.name = description.name;
    this.resolver = resolver;
    this.layout = new KeyLayout(description.key);
    this.store = new KeyStore(this.layout.words);
    this.entryKey = new EntryKey(this.layout);
    this.key = new Uint32Array(this.layout.words);
    this.matcher = matcherFor(description, this.store, this.layout);
  }

  private failure(code: SwitchRuntimeError["code"], problem: string): SwitchRuntimeError {
    return new SwitchRuntimeError(code, this.name, problem);
  }

  private fail(code: SwitchRuntimeError["code"], problem: string): never {
    throw this.failure(code, problem);
  }

  /** True if entries of this table need a priority. */
  get usesPriority(): boolean {
    return this.description.matchType === "ternary" || this.description.matchType === "range";
  }

  get capacity(): number {
    return this.description.capacity;
  }

  get size(): number {
    return this.store.size;
  }

  /** Entries in the order in which they were inserted, the default entry left out. */
  entries(): IterableIterator<TableEntry> {
    return this.store.entries();
  }

  /** The name of an action by its index among the program's. */
  actionName(index: number): string {
    return this.resolver.nameOf(index);
  }

  /** An action of the table by name: its index among the program's, and the widths of its parameters. */
  action(
    name: string,
  ): { readonly actionIndex: number; readonly parameterWidths: readonly number[] } | undefined {
    return this.resolver.find(name);
  }

  private checkPriority(priority: number): void {
    if (!Number.isInteger(priority) || priority < 0)
      this.fail("INVALID_ARGUMENT", `${priority} is no priority`);
    if (this.usesPriority && priority === 0) {
      this.fail(
        "INVALID_ARGUMENT",
        "a table with a ternary, range or optional field needs a priority above 0",
      );
    }
    if (!this.usesPriority && priority !== 0) {
      this.fail("INVALID_ARGUMENT", "a table with exact and lpm fields only has no priorities");
    }
  }

  private refuseIfConst(): void {
    if (this.description.isConst) this.fail("PERMISSION_DENIED", "the table has const entries");
  }

  /**
   * Checks an action: it must be one of the table's, or a member or group of its action profile.
   *
   * @throws SwitchRuntimeError INVALID_ARGUMENT, or NOT_FOUND for a member or group that does not exist
   */
  resolve(action: EntryAction): ResolvedAction {
    const { profile } = this.description;
    if (action.kind === "action") {
      if (profile !== undefined) this.fail("INVALID_ARGUMENT", "entries must name a member or group");
      const { actionIndex, data } = this.resolver.resolve(action);
      return { kind: "action", actionIndex, data };
    }
    if (profile === undefined) throw this.failure("INVALID_ARGUMENT", "the table has no action profile");
    return action.kind === "member"
      ? { kind: "member", member: profile.member(action.member) }
      : { kind: "group", group: profile.group(action.group) };
  }

  /** Makes an entry perform another action. Its counter, meter and idle time stay. */
  perform(entry: TableEntry, action: ResolvedAction): void {
    this.release(entry);
    entry.actionIndex = -1;
    entry.data = [];
    switch (action.kind) {
      case "action":
        entry.actionIndex = action.actionIndex;
        entry.data = action.data;
        return;
      case "member":
        entry.member = action.member;
        action.member.entries++;
        return;
      case "group":
        entry.group = action.group;
        action.group.entries++;
    }
  }

  private release(entry: TableEntry): void {
    if (entry.member !== undefined) entry.member.entries--;
    if (entry.group !== undefined) entry.group.entries--;
    entry.member = undefined;
    entry.group = undefined;
  }

  /** Adds an entry. ALREADY_EXISTS for the same match and priority; RESOURCE_EXHAUSTED if the table is full. */
  insert(match: Match, action: EntryAction, options: EntryOptions = {}): TableEntry {
    this.refuseIfConst();
    return this.add(match, action, options, false);
  }

  /** Adds an entry of the program itself, whether the table is const or not. */
  insertInitial(match: Match, action: EntryAction, options: EntryOptions): TableEntry {
    return this.add(match, action, options, true);
  }

  private add(match: Match, action: EntryAction, options: EntryOptions, isConst: boolean): TableEntry {
    if (this.description.key.length === 0) {
      this.fail("INVALID_ARGUMENT", "a table without key has a default entry only");
    }
    const key = this.keyOf(match, options.priority ?? 0);
    if (this.matcher.same(key) !== undefined)
      return this.fail("ALREADY_EXISTS", "there is an entry with this match");
    const resolved = this.resolve(action);
    if (this.size >= this.capacity)
      return this.fail("RESOURCE_EXHAUSTED", `all ${this.capacity} entries are in use`);
    const entry = this.insertNew(key, resolved, options.now ?? 0, isConst);
    entry.idleTimeout = options.idleTimeout ?? 0;
    return entry;
  }

  /**
   * Adds an entry without a question: no entry has this key, the table has room and is not const. `now` in microseconds; from it the idle
   * time counts.
   */
  insertNew(key: EntryKey, action: ResolvedAction, now: number, isConst = false): TableEntry {
    const ranges = key.ranges.length === 0 ? noRanges : key.ranges.slice();
    const entry = new TableEntry(this, this.nextHandle++, key.priority, key.prefixLength, ranges, isConst);
    this.perform(entry, action);
    entry.lastHit = now;
    if (this.description.meterUnit !== undefined) entry.meter = new Meter(this.description.meterUnit);
    this.store.add(entry, key.value);
    this.matcher.insert(entry, key.mask);
    return entry;
  }

  private keyOf(match: Match, priority: number): EntryKey {
    this.checkPriority(priority);
    this.entryKey.fill(this.name, match, priority);
    return this.entryKey;
  }

  /** The entry with this match and priority, or undefined. */
  find(match: Match, priority = 0): TableEntry | undefined {
    if (this.usesPriority !== priority > 0) return undefined;
    return this.matcher.same(this.keyOf(match, priority));
  }

  /** The entry with this match and priority; NOT_FOUND if there is none. */
  get(match: Match, priority = 0): TableEntry {
    return this.find(match, priority) ?? this.fail("NOT_FOUND", "there is no entry with this match");
  }

  /** Gives an entry another action. Its counter, meter and idle time stay. */
  modify(match: Match, action: EntryAction, options: EntryOptions = {}): TableEntry {
    this.refuseIfConst();
    const entry = this.get(match, options.priority ?? 0);
    this.perform(entry, this.resolve(action));
    if (options.idleTimeout !== undefined) entry.idleTimeout = options.idleTimeout;
    return entry;
  }

  delete(match: Match, priority = 0): void {
    this.refuseIfConst();
    this.remove(this.get(match, priority));
  }

  /** Removes an entry of this table. */
  remove(entry: TableEntry): void {
    this.release(entry);
    this.matcher.remove(entry);
    this.store.remove(entry);
    if (!this.store.isSparse) return;
    this.store.compact();
    this.matcher.clear();
    for (const left of this.store.entries()) this.matcher.insert(left, left.mask);
  }

  /** Changes what happens on a miss. PERMISSION_DENIED if the program made the default action const. */
  setDefault(action: EntryAction): void {
    if (this.description.hasConstDefault) this.fail("PERMISSION_DENIED", "the default action is const");
    this.replaceDefault(action);
  }

  /** Goes back to the program's default action. */
  resetDefault(): void {
    if (this.description.hasConstDefault) this.fail("PERMISSION_DENIED", "the default action is const");
    this.replaceDefault(this.initialDefault);
  }

  /** Sets the program's own default action. */
  setInitialDefault(action: EntryAction): void {
    this.initialDefault = action;
    this.replaceDefault(action);
  }

  private replaceDefault(action: EntryAction | undefined): void {
    if (action === undefined) {
      if (this.defaultEntry !== undefined) this.release(this.defaultEntry);
      this.defaultEntry = undefined;
      return;
    }
    const resolved = this.resolve(action);
    this.defaultEntry ??= new TableEntry(this, 0, 0, 0, noRanges, false);
    this.perform(this.defaultEntry, resolved);
  }

  /** The meter of an entry; FAILED_PRECONDITION if the table has no direct meter. */
  setMeter(entry: TableEntry, config: MeterConfig | undefined, now: number): void {
    if (entry.meter === undefined) throw this.failure("FAILED_PRECONDITION", "the table has no direct meter");
    entry.meter.configure(config, now);
  }

  /** Entries whose idle timeout has run out at `now` (microseconds). */
  idleEntries(now: number): readonly TableEntry[] {
    const idle: TableEntry[] = [];
    for (const entry of this.entries()) {
      if (entry.idleTimeout > 0 && now - entry.lastHit >= entry.idleTimeout) idle.push(entry);
    }
    return idle;
  }
}

function matcherFor(description: TableDescription, store: KeyStore, layout: KeyLayout): Matcher {
  switch (description.matchType) {
    case "exact":
      return new ExactMatcher(store);
    case "lpm": {
      const only = description.key.length === 1 ? description.key[0] : undefined;
      return only !== undefined && only.width <= 32
        ? new OneWordLpmMatcher(store, only.width)
        : new LpmMatcher(store);
    }
    default:
      return new TernaryMatcher(store, layout);
  }
}
