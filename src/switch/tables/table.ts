import type { MatchKind } from "../bmv2json/program.ts";
import { Meter, type MeterConfig, type MeterUnit } from "../state/meter.ts";
import type { ActionProfile, ActionResolver, Group, Member } from "./action-profile.ts";
import { ExactMatcher, LpmMatcher, type Matcher, OneWordLpmMatcher, TernaryMatcher } from "./matchers.ts";
import { SwitchRuntimeError } from "./runtime-error.ts";
import { type EntryAction, TableEntry } from "./table-entry.ts";
import { compileMatch, type KeyField, type Match } from "./table-key.ts";

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

/**
 * A match-action table at run time. Packets use `matcher`, `key` and `defaultEntry`; the control plane uses the methods,
 * which throw {@link SwitchRuntimeError} and then change nothing.
 */
export class Table {
  readonly description: TableDescription;
  readonly name: string;
  readonly matcher: Matcher;
  /** Scratch space for the key of the lookup that is being made. */
  readonly key: Uint32Array;
  defaultEntry: TableEntry | undefined = undefined;
  private initialDefault: EntryAction | undefined = undefined;
  private readonly resolver: ActionResolver;
  private readonly byIdentity = new Map<string, TableEntry>();
  private nextHandle = 1;

  constructor(description: TableDescription, resolver: ActionResolver) {
    this.description = description;
    this.name = description.name;
    this.resolver = resolver;
    const words = description.key.reduce((sum, field) => sum + field.words, 0);
    this.key = new Uint32Array(words);
    switch (description.matchType) {
      case "exact":
        this.matcher = new ExactMatcher(words);
        break;
      case "lpm": {
        const only = description.key.length === 1 ? description.key[0] : undefined;
        this.matcher =
          only !== undefined && only.width <= 32 ? new OneWordLpmMatcher(only.width) : new LpmMatcher(words);
        break;
      }
      default:
        this.matcher = new TernaryMatcher();
    }
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
    return this.byIdentity.size;
  }

  /** Entries in the order in which they were inserted, the default entry left out. */
  entries(): IterableIterator<TableEntry> {
    return this.byIdentity.values();
  }

  private identity(compiledIdentity: string, priority: number): string {
    return this.usesPriority ? `${priority}:${compiledIdentity}` : compiledIdentity;
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

  /** Checks an action and makes the entry perform it. */
  private apply(entry: TableEntry, action: EntryAction): void {
    const { profile } = this.description;
    let member: Member | undefined;
    let group: Group | undefined;
    let resolved: { actionIndex: number; data: TableEntry["data"] } = { actionIndex: -1, data: [] };
    switch (action.kind) {
      case "action":
        if (profile !== undefined) this.fail("INVALID_ARGUMENT", "entries must name a member or group");
        resolved = this.resolver.resolve(action);
        break;
      case "member":
        if (profile === undefined) throw this.failure("INVALID_ARGUMENT", "the table has no action profile");
        member = profile.member(action.member);
        break;
      case "group":
        if (profile === undefined) throw this.failure("INVALID_ARGUMENT", "the table has no action profile");
        group = profile.group(action.group);
        break;
    }
    this.release(entry);
    entry.action = action;
    entry.actionIndex = resolved.actionIndex;
    entry.data = resolved.data;
    entry.member = member;
    entry.group = group;
    if (member !== undefined) member.entries++;
    if (group !== undefined) group.entries++;
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
    const priority = options.priority ?? 0;
    this.checkPriority(priority);
    const compiled = compileMatch(this.name, this.description.key, match);
    const identity = this.identity(compiled.identity, priority);
    if (this.byIdentity.has(identity))
      return this.fail("ALREADY_EXISTS", "there is an entry with this match");
    const entry = new TableEntry(this.nextHandle, match, compiled, priority, isConst, action);
    this.apply(entry, action);
    if (this.byIdentity.size >= this.capacity) {
      this.release(entry);
      return this.fail("RESOURCE_EXHAUSTED", `all ${this.capacity} entries are in use`);
    }
    entry.lastHit = options.now ?? 0;
    entry.idleTimeout = options.idleTimeout ?? 0;
    if (this.description.meterUnit !== undefined) entry.meter = new Meter(this.description.meterUnit);
    this.nextHandle++;
    this.byIdentity.set(identity, entry);
    this.matcher.insert(entry);
    return entry;
  }

  /** The entry with this match and priority, or undefined. */
  find(match: Match, priority = 0): TableEntry | undefined {
    const compiled = compileMatch(this.name, this.description.key, match);
    return this.byIdentity.get(this.identity(compiled.identity, priority));
  }

  /** The entry with this match and priority; NOT_FOUND if there is none. */
  get(match: Match, priority = 0): TableEntry {
    return this.find(match, priority) ?? this.fail("NOT_FOUND", "there is no entry with this match");
  }

  /** Gives an entry another action. Its counter, meter and idle time stay. */
  modify(match: Match, action: EntryAction, options: EntryOptions = {}): TableEntry {
    this.refuseIfConst();
    const entry = this.get(match, options.priority ?? 0);
    this.apply(entry, action);
    if (options.idleTimeout !== undefined) entry.idleTimeout = options.idleTimeout;
    return entry;
  }

  delete(match: Match, priority = 0): void {
    this.refuseIfConst();
    const entry = this.get(match, priority);
    this.release(entry);
    this.matcher.remove(entry);
    this.byIdentity.delete(this.identity(entry.compiled.identity, entry.priority));
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
    const nothing = {
      value: new Uint32Array(0),
      mask: new Uint32Array(0),
      ranges: [],
      prefixLength: 0,
      identity: "",
    };
    const entry = this.defaultEntry ?? new TableEntry(0, [], nothing, 0, false, action);
    this.apply(entry, action);
    this.defaultEntry = entry;
  }

  /** The meter of an entry; FAILED_PRECONDITION if the table has no direct meter. */
  setMeter(entry: TableEntry, config: MeterConfig | undefined, now: number): void {
    if (entry.meter === undefined) throw this.failure("FAILED_PRECONDITION", "the table has no direct meter");
    entry.meter.configure(config, now);
  }

  /** Entries whose idle timeout has run out at `now` (microseconds). */
  idleEntries(now: number): readonly TableEntry[] {
    const idle: TableEntry[] = [];
    for (const entry of this.byIdentity.values()) {
      if (entry.idleTimeout > 0 && now - entry.lastHit >= entry.idleTimeout) idle.push(entry);
    }
    return idle;
  }
}
