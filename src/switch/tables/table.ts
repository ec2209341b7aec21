import type { MatchKind } from "../bmv2json/program.ts";
import { Meter, type MeterConfig, type MeterUnit } from "../state/meter.ts";
import type { ActionProfile, ActionResolver, Group, Member } from "./action-profile.ts";
import { type ActionData, EntryStore } from "./entry-store.ts";
import { LpmMatcher, OneWordLpmMatcher } from "./lpm-matcher.ts";
import { ExactMatcher, type Matcher } from "./matcher.ts";
import { SwitchRuntimeError } from "./runtime-error.ts";
import { type CounterValue, type EntryAction, TableEntry } from "./table-entry.ts";
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
  | Member
  | Group;

/** What a table does on a miss. */
export interface DefaultEntry {
  readonly actionIndex: number;
  readonly data: ActionData;
  readonly action: EntryAction;
}

/** What few entries have. */
interface EntryExtras {
  readonly isConst?: boolean;
  readonly counterBase?: CounterValue | undefined;
  readonly note?: unknown;
}

const noData: ActionData = new Float64Array(0);

/**
 * A match-action table at run time. Packets use `matcher`, `store`, `key` and what is said of misses; the control plane uses the methods,
 * which throw {@link SwitchRuntimeError} and then change nothing.
 *
 * There are two ways in: by `Match` and name of the action, where everything is checked; and by `EntryKey` and rows, for a control plane
 * that has checked already and writes many entries.
 */
export class Table {
  readonly description: TableDescription;
  readonly name: string;
  readonly layout: KeyLayout;
  readonly store: EntryStore;
  readonly matcher: Matcher;
  /** Scratch space for the key of the lookup that is being made. */
  readonly key: Uint32Array;
  /** Index of the action of a miss, -1 for none, and its arguments. */
  missAction = -1;
  missData: ActionData = noData;
  private initialDefault: EntryAction | undefined = undefined;
  private currentDefault: EntryAction | undefined = undefined;
  private readonly resolver: ActionResolver;
  private readonly entryKey: EntryKey;
  /** By handle. */
  private readonly rare = new Map<number, EntryExtras>();

  constructor(description: TableDescription, resolver: ActionResolver) {
    this.description = description;
    this.name = description.name;
    this.resolver = resolver;
    this.layout = new KeyLayout(description.key);
    this.store = new EntryStore({
      layout: this.layout,
      parameters: resolver.parameters,
      hasWideParameters: resolver.hasWideParameters,
      hasCounters: description.hasCounters,
      hasMeters: description.meterUnit !== undefined,
      hasTimeouts: description.supportsTimeout,
      hasPriorities: this.usesPriority,
      isIndirect: description.profile !== undefined,
      capacity: description.capacity,
    });
    this.entryKey = new EntryKey(this.layout);
    this.key = new Uint32Array(this.layout.words);
    this.matcher = matcherFor(description, this.store);
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
  *entries(): IterableIterator<TableEntry> {
    const { store } = this;
    for (let row = 0; row < store.end; row++) if (store.holds(row)) yield new TableEntry(this, row);
  }

  /** What happens on a miss; undefined if that is nothing. */
  get defaultEntry(): DefaultEntry | undefined {
    const action = this.currentDefault;
    return action === undefined ? undefined : { actionIndex: this.missAction, data: this.missData, action };
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

  /** The arguments that the action of a row has. */
  argumentsAt(row: number): readonly (number | bigint)[] {
    const { args, actions, shape } = this.store;
    const from = row * shape.parameters;
    const actionIndex = actions[row] ?? -1;
    return actionIndex < 0 ? [] : [...args.slice(from, from + this.resolver.parametersOf(actionIndex))];
  }

  private checkPriority(priority: number): void {
    if (!Number.isInteger(priority) || priority < 0 || priority > 0x7fff_ffff)
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
    return action.kind === "member" ? profile.member(action.member) : profile.group(action.group);
  }

  /** Makes an entry perform another action. Its counter, meter and idle time stay. */
  perform(row: number, action: ResolvedAction): void {
    const { store } = this;
    this.release(row);
    if ("isGroup" in action) {
      store.actions[row] = -1;
      store.targets[row] = action;
      action.entries++;
      return;
    }
    this.performAction(row, action.actionIndex, action.data);
  }

  /** `perform` for an action, in a table without action profile. */
  performAction(row: number, actionIndex: number, data: ActionData): void {
    const { actions, args, shape } = this.store;
    actions[row] = actionIndex;
    const at = row * shape.parameters;
    for (let i = 0; i < data.length; i++) args[at + i] = data[i] ?? 0;
  }

  private release(row: number): void {
    const { store } = this;
    if (!store.shape.isIndirect) return;
    const target = store.targets[row];
    if (target !== undefined) target.entries--;
    store.targets[row] = undefined;
  }

  /** Adds an entry. ALREADY_EXISTS for the same match and priority; RESOURCE_EXHAUSTED if the table is full. */
  insert(match: Match, action: EntryAction, options: EntryOptions = {}): TableEntry {
    this.refuseIfConst();
    return this.add(match, action, options);
  }

  /** Adds an entry of the program itself, whether the table is const or not. */
  insertInitial(match: Match, action: EntryAction, options: EntryOptions): TableEntry {
    const entry = this.add(match, action, options);
    this.setExtras(entry.handle, { isConst: true });
    return entry;
  }

  private add(match: Match, action: EntryAction, options: EntryOptions): TableEntry {
    if (this.description.key.length === 0) {
      this.fail("INVALID_ARGUMENT", "a table without key has a default entry only");
    }
    const key = this.keyOf(match, options.priority ?? 0);
    if (this.matcher.same(key) >= 0) return this.fail("ALREADY_EXISTS", "there is an entry with this match");
    const resolved = this.resolve(action);
    if (this.size >= this.capacity)
      return this.fail("RESOURCE_EXHAUSTED", `all ${this.capacity} entries are in use`);
    const row = this.insertNew(key, options.now ?? 0);
    this.perform(row, resolved);
    const entry = new TableEntry(this, row);
    entry.idleTimeout = options.idleTimeout ?? 0;
    return entry;
  }

  /**
   * Adds an entry without a question, and without an action, which must follow: no entry has this key, the table has room and is not const.
   * `now` in microseconds; from it the idle time counts.
   */
  insertNew(key: EntryKey, now: number): number {
    const { store, description } = this;
    const row = store.add(key.value);
    const { shape } = store;
    if (shape.hasPriorities) store.priorities[row] = key.priority;
    if (this.layout.hasPrefix) store.prefixLengths[row] = key.prefixLength;
    if (this.layout.rangeWords > 0) store.ranges.set(key.ranges, row * this.layout.rangeWords);
    if (shape.hasTimeouts) store.lastHit[row] = now;
    if (description.meterUnit !== undefined) store.meters[row] = new Meter(description.meterUnit);
    this.matcher.insert(row, key);
    return row;
  }

  private keyOf(match: Match, priority: number): EntryKey {
    this.checkPriority(priority);
    this.entryKey.fill(this.name, match, priority);
    return this.entryKey;
  }

  /** The entry with this match and priority, or undefined. */
  find(match: Match, priority = 0): TableEntry | undefined {
    if (this.usesPriority !== priority > 0) return undefined;
    return this.entryAt(this.matcher.same(this.keyOf(match, priority)));
  }

  /** The entry in a row; undefined for -1. */
  entryAt(row: number): TableEntry | undefined {
    return row < 0 ? undefined : new TableEntry(this, row);
  }

  /** The entry with this match and priority; NOT_FOUND if there is none. */
  get(match: Match, priority = 0): TableEntry {
    return this.find(match, priority) ?? this.fail("NOT_FOUND", "there is no entry with this match");
  }

  /** Gives an entry another action. Its counter, meter and idle time stay. */
  modify(match: Match, action: EntryAction, options: EntryOptions = {}): TableEntry {
    this.refuseIfConst();
    const entry = this.get(match, options.priority ?? 0);
    this.perform(entry.row, this.resolve(action));
    if (options.idleTimeout !== undefined) entry.idleTimeout = options.idleTimeout;
    return entry;
  }

  delete(match: Match, priority = 0): void {
    this.refuseIfConst();
    this.remove(this.get(match, priority).row);
  }

  /** Removes an entry. */
  remove(row: number): void {
    const { store, matcher } = this;
    this.release(row);
    if (this.rare.size > 0) this.rare.delete(store.handleOf(row));
    matcher.remove(row);
    store.remove(row);
    if (!store.isSparse) return;
    store.compact();
    matcher.renumber();
  }

  /** What few entries have; undefined if an entry has nothing of it. */
  extras(handle: number): EntryExtras | undefined {
    return this.rare.get(handle);
  }

  hasExtras(row: number): boolean {
    return this.rare.size > 0 && this.rare.has(this.store.handleOf(row));
  }

  setExtras(handle: number, extras: EntryExtras): void {
    const all = { ...this.rare.get(handle), ...extras };
    const isNothing = all.isConst !== true && all.counterBase === undefined && all.note === undefined;
    if (isNothing) this.rare.delete(handle);
    else this.rare.set(handle, all);
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
    const resolved = action === undefined ? undefined : this.resolve(action);
    if (resolved !== undefined && "isGroup" in resolved)
      throw this.failure("INVALID_ARGUMENT", "a miss performs an action");
    this.currentDefault = action;
    this.missAction = resolved?.actionIndex ?? -1;
    this.missData = resolved?.data ?? noData;
  }

  /** The meter of an entry; FAILED_PRECONDITION if the table has no direct meter. */
  setMeter(entry: TableEntry, config: MeterConfig | undefined, now: number): void {
    const { meter } = entry;
    if (meter === undefined) throw this.failure("FAILED_PRECONDITION", "the table has no direct meter");
    meter.configure(config, now);
  }

  /** Entries whose idle timeout has run out at `now` (microseconds), the first `most` of them. */
  idleEntries(now: number, most = Number.POSITIVE_INFINITY): readonly TableEntry[] {
    const { store } = this;
    const idle: TableEntry[] = [];
    if (!store.shape.hasTimeouts) return idle;
    for (let row = 0; row < store.end && idle.length < most; row++) {
      const timeout = store.idleTimeout[row] ?? 0;
      if (timeout > 0 && now - (store.lastHit[row] ?? 0) >= timeout && store.holds(row))
        idle.push(new TableEntry(this, row));
    }
    return idle;
  }
}

function matcherFor(description: TableDescription, store: EntryStore): Matcher {
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
      return new TernaryMatcher(store);
  }
}
