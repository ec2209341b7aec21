import type { Init } from "../../p4info/message/descriptor.ts";
import { Code } from "../../p4runtime/code.ts";
import { decodeMatch, formatMatch, type Match } from "../../p4runtime/match.ts";
import type {
  CounterData,
  FieldMatch,
  MeterConfig,
  TableAction,
  TableEntry as TableEntryMessage,
  Update_Type,
} from "../../p4runtime/proto/generated/p4runtime.ts";
import type { Schema, TableSchema } from "../../p4runtime/schema.ts";
import type { ResolvedAction, Table } from "../tables/table.ts";
import { TableEntry } from "../tables/table-entry.ts";
import { EntryKey } from "../tables/table-key.ts";
import type { Steps } from "./access-queue.ts";
import { actionMessage, type BoundAction, bindAction } from "./action-spec.ts";
import { BoundTable, matchOf } from "./bound-table.ts";
import { counterValue, meterRates } from "./cells.ts";
import { EntryBytes } from "./entry-bytes.ts";
import { type Attachment, attach, attachmentOf, entryMessage, keyMessage } from "./entry-messages.ts";
import type { ProfileStore } from "./profile-store.ts";
import type { ReadAnswer } from "./read-answer.ts";
import { invalidArgument, notFound, StatusError, unimplemented } from "./status.ts";
import type { MeterRates, TargetProgram } from "./target.ts";

/** An action that was checked, and with it what has to be given back when the entry goes. */
interface Acquired {
  readonly resolved: ResolvedAction;
  readonly oneShot: Attachment["oneShot"];
}

interface DefaultEntry {
  readonly action: BoundAction | undefined;
  readonly metadata: Uint8Array;
  readonly controllerMetadata: bigint;
}

interface TableState {
  readonly bound: BoundTable;
  default: DefaultEntry;
}

const NO_BYTES = new Uint8Array(0);

/** Table entries as P4Runtime specification 9.1 has them: what clients write is checked here and goes to the tables of the switch. */
export class TableStore {
  readonly #program: TargetProgram;
  readonly #profiles: ProfileStore;
  readonly #tables = new Map<number, TableState>();
  readonly #entryBytes: EntryBytes;

  constructor(schema: Schema, program: TargetProgram, profiles: ProfileStore) {
    this.#program = program;
    this.#profiles = profiles;
    for (const table of schema.tables.all) {
      const bound = new BoundTable(table, program.table(table));
      this.#tables.set(table.id, {
        bound,
        default: { action: bound.initialDefault, metadata: NO_BYTES, controllerMetadata: 0n },
      });
    }
    this.#entryBytes = new EntryBytes(this.tables());
  }

  write(type: Update_Type, message: TableEntryMessage): void {
    const state = this.#table(message.tableId);
    const { schema } = state.bound;
    if (message.isDefaultAction) {
      this.#writeDefault(state, type, message);
      return;
    }
    checkUnsupported(schema, message);
    if (state.bound.isConst && (type !== "MODIFY" || message.action !== undefined))
      throw new StatusError(Code.PERMISSION_DENIED, `table ${schema.name} is constant`);
    if (schema.fields.all.length === 0)
      throw invalidArgument(`table ${schema.name} has no key, so it has only a default entry`);
    const match = matchesOf(schema, message.match);
    const key = state.bound.fillKey(match, priorityOf(schema, message.priority));
    const before = state.bound.table.entryAt(state.bound.table.matcher.same(key));
    switch (type) {
      case "INSERT":
        if (before !== undefined)
          throw new StatusError(
            Code.ALREADY_EXISTS,
            `${describe(schema, match, message.priority)} exists already`,
          );
        this.#insert(state.bound, key, message);
        return;
      case "MODIFY":
        if (before === undefined)
          throw notFound(`${describe(schema, match, message.priority)} does not exist`);
        this.#modify(state.bound, before, message);
        return;
      case "DELETE":
        if (before === undefined)
          throw notFound(`${describe(schema, match, message.priority)} does not exist`);
        if (state.bound.isConstEntry(before)) throw constEntry(schema, before);
        this.#replace(schema, before, () => before.table.remove(before.row));
        return;
      default:
        throw invalidArgument("the update has no type");
    }
  }

  /** @throws StatusError before the first entry or not at all */
  read(message: TableEntryMessage): Iterable<Init<TableEntryMessage>> {
    if (message.tableId === 0) {
      const tables = [...this.#tables.values()];
      return message.isDefaultAction
        ? tables.map(defaultMessage)
        : this.#readEntries(
            tables.map(({ bound }) => bound),
            message,
          );
    }
    const state = this.#table(message.tableId);
    if (message.timeSinceLastHit !== undefined && !state.bound.schema.supportsIdleTimeout)
      throw invalidArgument(`table ${state.bound.schema.name} has no idle timeouts`);
    if (!message.isDefaultAction) return this.#readEntries([state.bound], message);
    checkDefaultKey(state.bound.schema, message);
    return [defaultMessage(state)];
  }

  /** `read`, into an answer: most entries straight from their rows. */
  *readInto(message: TableEntryMessage, answer: ReadAnswer): Steps<void> {
    const { isDefaultAction, counterData, meterConfig, timeSinceLastHit } = message;
    if (isDefaultAction || (counterData ?? meterConfig ?? timeSinceLastHit) !== undefined) {
      yield* answer.entities(this.read(message), (value) => ({ entity: { case: "tableEntry", value } }));
      return;
    }
    const tables = message.tableId === 0 ? this.tables() : [this.#table(message.tableId).bound];
    const now = this.#program.now();
    for (const bound of tables) {
      const { table } = bound;
      for (const row of rowsOf(bound, message)) {
        if (row === pause) {
          yield;
          continue;
        }
        const bytes = this.#entryBytes.of(table, row);
        if (bytes !== undefined) {
          answer.add(bytes);
          continue;
        }
        const value = entryMessage(bound, new TableEntry(table, row), message, now);
        answer.entity({ entity: { case: "tableEntry", value } });
      }
    }
  }

  /**
   * Entries that a DirectCounterEntry or DirectMeterEntry with this key means: one, or all of the table when there is no key.
   *
   * @throws StatusError before the first entry or not at all
   */
  select(message: TableEntryMessage): Iterable<{
    readonly key: Init<TableEntryMessage>;
    readonly entry: TableEntry;
    readonly meterConfig: MeterConfig | undefined;
  }> {
    const { bound } = this.#table(message.tableId);
    this.#refuseDefault(bound.schema, message);
    const hasKey = message.match.length > 0 || message.priority !== 0;
    const rows = hasKey ? [...rowsOf(bound, message)].filter((row) => row !== pause) : rowsOf(bound, message);
    if (hasKey && Array.isArray(rows) && rows.length === 0)
      throw notFound(`table ${bound.schema.name} has no such entry`);
    return selected(bound, rows);
  }

  /** The one entry with this key. @throws StatusError NOT_FOUND */
  selectOne(message: TableEntryMessage): TableEntry {
    const { bound } = this.#table(message.tableId);
    const { schema } = bound;
    this.#refuseDefault(schema, message);
    const match = matchesOf(schema, message.match);
    const key = bound.fillKey(match, priorityOf(schema, message.priority));
    const entry = bound.table.entryAt(bound.table.matcher.same(key));
    if (entry === undefined) throw notFound(`${describe(schema, match, message.priority)} does not exist`);
    return entry;
  }

  #refuseDefault(schema: TableSchema, message: TableEntryMessage): void {
    if (message.isDefaultAction)
      throw unimplemented(`table ${schema.name}: the default entry has no counter or meter of its own`);
  }

  /** Set the meter of an entry, and remember its configuration. */
  setMeter(entry: TableEntry, rates: MeterRates | undefined, config: MeterConfig | undefined): void {
    entry.table.setMeter(entry, rates, this.#program.now());
    attach(entry, { ...attachmentOf(entry), meterConfig: config });
  }

  table(tableId: number): TableSchema {
    return this.#table(tableId).bound.schema;
  }

  /** All tables of the P4Info, in its order. */
  tables(): readonly BoundTable[] {
    return [...this.#tables.values()].map((state) => state.bound);
  }

  /** The table with an id, for those who write without messages; undefined if there is none. */
  bound(tableId: number): BoundTable | undefined {
    return this.#tables.get(tableId)?.bound;
  }

  /** Entries that clients may remove, and default entries that they changed, as messages that write them again; of one table only if it is named. */
  changes(only?: number): {
    readonly table: TableSchema;
    readonly entries: Init<TableEntryMessage>[];
    readonly default: Init<TableEntryMessage> | undefined;
  }[] {
    const everything = { counterData: {}, meterConfig: {} };
    const tables = [...this.#tables.values()].filter(
      ({ bound }) => only === undefined || bound.schema.id === only,
    );
    return tables.map((state) => ({
      table: state.bound.schema,
      entries: [...state.bound.table.entries()]
        .filter((entry) => !state.bound.isConstEntry(entry))
        .map((entry) => entryMessage(state.bound, entry, everything, 0)),
      default: state.default.action === state.bound.initialDefault ? undefined : defaultMessage(state),
    }));
  }

  #table(id: number): TableState {
    const state = this.#tables.get(id);
    if (state !== undefined) return state;
    throw id === 0
      ? invalidArgument("the table has no id")
      : notFound(`there is no table with id 0x${id.toString(16)}`);
  }

  #insert(bound: BoundTable, key: EntryKey, message: TableEntryMessage): void {
    const { schema, table, capacity } = bound;
    if (message.action === undefined)
      throw invalidArgument(`table ${schema.name}: a new entry needs an action`);
    // The action is checked first: a malformed entry is malformed in a full table, too.
    const meter = message.meterConfig === undefined ? undefined : ratesOf(schema, message.meterConfig);
    checkCounter(schema, message.counterData);
    const action = this.#acquire(bound, message.action, table.size >= capacity);
    if (action === undefined)
      throw new StatusError(
        Code.RESOURCE_EXHAUSTED,
        `table ${schema.name} is full: it has room for ${capacity} entries`,
      );
    const now = this.#program.now();
    const row = table.insertNew(key, now);
    table.perform(row, action.resolved);
    const entry = new TableEntry(table, row);
    if (meter !== undefined) table.setMeter(entry, meter, now);
    if (message.counterData !== undefined) entry.setCounter(counterValue(message.counterData));
    this.#attach(entry, message, action.oneShot);
  }

  #modify(bound: BoundTable, entry: TableEntry, message: TableEntryMessage): void {
    const { schema, table } = bound;
    if (bound.isConstEntry(entry) && message.action !== undefined) throw constEntry(schema, entry);
    const meter = message.meterConfig === undefined ? undefined : ratesOf(schema, message.meterConfig);
    checkCounter(schema, message.counterData);
    const action = message.action === undefined ? undefined : this.#acquire(bound, message.action, false);
    let { oneShot } = attachmentOf(entry);
    if (action !== undefined) {
      this.#replace(schema, entry, () => table.perform(entry.row, action.resolved));
      oneShot = action.oneShot;
    }
    const now = this.#program.now();
    // An absent meter configuration resets the meter; absent counter data leave the counter alone (9.1.7).
    if (schema.directMeter !== undefined) table.setMeter(entry, meter, now);
    if (message.counterData !== undefined) entry.setCounter(counterValue(message.counterData));
    // The time begins anew with another timeout.
    if (message.idleTimeoutNs !== attachmentOf(entry).idleTimeoutNs) entry.lastHit = now;
    this.#attach(entry, message, oneShot);
  }

  #attach(entry: TableEntry, message: TableEntryMessage, oneShot: Attachment["oneShot"]): void {
    const { metadata, controllerMetadata, meterConfig, idleTimeoutNs } = message;
    attach(entry, { metadata, controllerMetadata, meterConfig, idleTimeoutNs, oneShot });
    entry.idleTimeout = Number(idleTimeoutNs) / 1000;
  }

  #writeDefault(state: TableState, type: Update_Type, message: TableEntryMessage): void {
    const { schema, table, initialDefault } = state.bound;
    if (type !== "MODIFY")
      throw invalidArgument(`table ${schema.name}: the default entry can only be modified`);
    checkDefaultKey(schema, message);
    checkUnsupported(schema, message);
    if (message.counterData !== undefined || message.meterConfig !== undefined)
      throw unimplemented(`table ${schema.name}: the default entry has no counter or meter of its own`);
    if (schema.constDefaultAction || schema.implementation !== undefined)
      throw new StatusError(Code.PERMISSION_DENIED, `table ${schema.name}: its default entry is constant`);
    if (message.action === undefined) {
      table.resetDefault();
      state.default = { action: initialDefault, metadata: NO_BYTES, controllerMetadata: 0n };
      return;
    }
    const spec = message.action.type;
    if (spec?.case !== "action")
      throw invalidArgument(`table ${schema.name}: the default entry takes an action`);
    const action = bindAction(schema, spec.value, "default");
    table.setDefault({ kind: "action", action: action.schema.name, parameters: action.args });
    state.default = {
      action,
      metadata: message.metadata,
      controllerMetadata: message.controllerMetadata,
    };
  }

  /** Check what an entry does, and count its use of members and groups. Undefined when it is all right but there is no room for it. */
  #acquire(bound: BoundTable, message: TableAction, isFull: boolean): Acquired | undefined {
    const table = bound.schema;
    const spec = message.type;
    if (spec === undefined) throw invalidArgument(`table ${table.name}: the action is empty`);
    if ((spec.case === "action") !== (table.implementation === undefined))
      throw invalidArgument(
        table.implementation === undefined
          ? `table ${table.name} has no action profile, so its entries take an action`
          : `table ${table.name} is implemented by action profile ${table.implementation.name}, so its entries take a member or a group`,
      );
    const selects = spec.case === "actionProfileGroupId" || spec.case === "actionProfileActionSet";
    if (selects && table.implementation?.withSelector === false)
      throw invalidArgument(
        `table ${table.name}: action profile ${table.implementation.name} has no selector`,
      );
    switch (spec.case) {
      case "action": {
        const action = bindAction(table, spec.value, "entry");
        return isFull ? undefined : { resolved: bound.resolve(action), oneShot: undefined };
      }
      case "actionProfileMemberId":
        if (spec.value === 0) throw invalidArgument(`table ${table.name}: member id 0 is not valid`);
        if (isFull) return undefined;
        this.#profiles.useMember(table, spec.value, 1);
        return {
          resolved: bound.table.resolve({ kind: "member", member: spec.value }),
          oneShot: undefined,
        };
      case "actionProfileGroupId":
        if (spec.value === 0) throw invalidArgument(`table ${table.name}: group id 0 is not valid`);
        if (isFull) return undefined;
        this.#profiles.useGroup(table, spec.value, 1);
        return { resolved: bound.table.resolve({ kind: "group", group: spec.value }), oneShot: undefined };
      case "actionProfileActionSet": {
        if (isFull) return undefined;
        const installed = this.#profiles.installOneShot(table, spec.value);
        return {
          resolved: bound.table.resolve({ kind: "group", group: installed.groupId }),
          oneShot: { message: spec.value, installed },
        };
      }
    }
  }

  /** Let an entry do something else, or go, and then give back what it used before. */
  #replace(table: TableSchema, entry: TableEntry, change: () => void): void {
    const { member, group } = entry;
    const { oneShot } = attachmentOf(entry);
    change();
    if (oneShot !== undefined) this.#profiles.removeOneShot(table, oneShot.installed);
    else if (member !== undefined) this.#profiles.useMember(table, member.id, -1);
    else if (group !== undefined) this.#profiles.useGroup(table, group.id, -1);
  }

  #readEntries(tables: readonly BoundTable[], message: TableEntryMessage): Iterable<Init<TableEntryMessage>> {
    const found = tables.map((bound) => ({ bound, rows: rowsOf(bound, message) }));
    return entriesIn(found, message, this.#program.now());
  }
}

function* entriesIn(
  found: readonly { readonly bound: BoundTable; readonly rows: Iterable<number> }[],
  message: TableEntryMessage,
  now: number,
): Iterable<Init<TableEntryMessage>> {
  for (const { bound, rows } of found)
    for (const row of rows)
      if (row !== pause) yield entryMessage(bound, new TableEntry(bound.table, row), message, now);
}

function* selected(bound: BoundTable, rows: Iterable<number>): ReturnType<TableStore["select"]> {
  for (const row of rows) {
    if (row === pause) continue;
    const entry = new TableEntry(bound.table, row);
    yield { key: keyMessage(bound, entry), entry, meterConfig: attachmentOf(entry).meterConfig };
  }
}

/** No row: many were looked at since the last one or the last pause, and others may be let in. */
const pause = -1;
const rowsBetweenPauses = 64;

/**
 * Rows of the entries that a read request wants, with pauses (9.1.6: a filter that has its default value lets everything pass).
 *
 * @throws StatusError or EntityError at once
 */
function rowsOf(bound: BoundTable, message: TableEntryMessage): Iterable<number> {
  const { table, schema } = bound;
  const { match, priority, action, metadata, controllerMetadata } = message;
  // With table id 0 no other filter may be used.
  if (message.tableId === 0) return rowsThat(table);
  const tests: ((entry: TableEntry) => boolean)[] = [];
  let only: number | undefined;
  if (match.length > 0) {
    const matches = matchesOf(schema, match);
    if (priority !== 0 || !schema.needsPriority) {
      only = table.matcher.same(bound.fillKey(matches, priority));
    } else {
      // The table's own key may be filled for another request meanwhile.
      const wanted = new EntryKey(table.layout);
      bound.fillKey(matches, 0, wanted);
      tests.push((entry) => entry.hasMatch(wanted));
    }
  }
  if (priority !== 0) tests.push((entry) => entry.priority === priority);
  const actionId = action?.type?.case === "action" ? action.type.value.actionId : 0;
  if (actionId !== 0) {
    const actionIndex = bound.actions.get(actionId)?.actionIndex ?? -2;
    tests.push((entry) => entry.actionIndex === actionIndex);
  }
  if (controllerMetadata !== 0n)
    tests.push((entry) => attachmentOf(entry).controllerMetadata === controllerMetadata);
  if (metadata.length > 0)
    tests.push((entry) => Buffer.compare(attachmentOf(entry).metadata, metadata) === 0);
  const passes =
    tests.length === 0
      ? undefined
      : (row: number): boolean => {
          const entry = new TableEntry(table, row);
          return tests.every((test) => test(entry));
        };
  if (only === undefined) return rowsThat(table, passes);
  return only >= 0 && (passes?.(only) ?? true) ? [only] : [];
}

function* rowsThat(table: Table, passes?: (row: number) => boolean): Iterable<number> {
  const { store } = table;
  for (let row = 0; row < store.end; row++) {
    if (row % rowsBetweenPauses === rowsBetweenPauses - 1) yield pause;
    if (store.holds(row) && (passes === undefined || passes(row))) yield row;
  }
}

function ratesOf(table: TableSchema, config: MeterConfig): MeterRates {
  if (table.directMeter === undefined) throw invalidArgument(`table ${table.name} has no direct meter`);
  return meterRates(table.directMeter, config);
}

function checkCounter(table: TableSchema, data: CounterData | undefined): void {
  if (data !== undefined && table.directCounter === undefined)
    throw invalidArgument(`table ${table.name} has no direct counter`);
}

function checkUnsupported(table: TableSchema, message: TableEntryMessage): void {
  if (message.isConst) throw invalidArgument(`table ${table.name}: is_const cannot be written`);
  if (message.idleTimeoutNs < 0n) throw invalidArgument(`table ${table.name}: a negative idle timeout`);
  if (message.timeSinceLastHit !== undefined)
    throw invalidArgument(`table ${table.name}: time_since_last_hit cannot be written`);
  if (message.idleTimeoutNs > 0n && message.isDefaultAction)
    throw invalidArgument(`table ${table.name}: the default entry has no idle timeout`);
  if (message.idleTimeoutNs > 0n && !table.supportsIdleTimeout)
    throw invalidArgument(`table ${table.name} has no idle timeouts`);
  if (message.meterCounterData !== undefined)
    throw unimplemented("counters of meter colours are not supported");
}

function checkDefaultKey(table: TableSchema, message: TableEntryMessage): void {
  if (message.match.length > 0 || message.priority !== 0)
    throw invalidArgument(`table ${table.name}: the default entry has neither a match nor a priority`);
  if (message.timeSinceLastHit !== undefined || message.idleTimeoutNs !== 0n)
    throw invalidArgument(`table ${table.name}: the default entry has no idle timeout`);
}

/** The match of each field in the order of the P4Info. @throws StatusError or EntityError */
function matchesOf(table: TableSchema, messages: readonly FieldMatch[]): (Match | undefined)[] {
  const matches = new Map<number, Match>();
  for (const message of messages) {
    const field = table.fields.byId(message.fieldId);
    if (matches.has(field.id)) throw invalidArgument(`${field.where} is given twice`);
    matches.set(field.id, decodeMatch(field, message));
  }
  return table.fields.all.map((field) => {
    const match = matches.get(field.id);
    if (match === undefined && field.kind === "EXACT") throw invalidArgument(`${field.where} is missing`);
    return match;
  });
}

function priorityOf(table: TableSchema, priority: number): number {
  if (table.needsPriority && priority <= 0)
    throw invalidArgument(
      `table ${table.name} has ternary, range or optional fields, so its entries need a priority above 0, not ${priority}`,
    );
  if (!table.needsPriority && priority !== 0)
    throw invalidArgument(
      `table ${table.name} has only exact and LPM fields, so its entries have priority 0, not ${priority}`,
    );
  return priority;
}

function describe(table: TableSchema, match: readonly (Match | undefined)[], priority: number): string {
  const fields = table.fields.all.flatMap((field, index) => {
    const value = match[index];
    return value === undefined ? [] : [`${field.name} = ${formatMatch(value, field.bitwidth)}`];
  });
  const key = fields.length === 0 ? "anything" : fields.join(", ");
  return `table ${table.name}: entry for ${key}${priority > 0 ? ` with priority ${priority}` : ""}`;
}

function constEntry(schema: TableSchema, entry: TableEntry): StatusError {
  const match = entry.match.map((field, index) => {
    const own = schema.fields.all[index];
    return own === undefined ? undefined : matchOf(own, field);
  });
  return new StatusError(Code.PERMISSION_DENIED, `${describe(schema, match, entry.priority)} is constant`);
}

function defaultMessage(state: TableState): Init<TableEntryMessage> {
  const { action, metadata, controllerMetadata } = state.default;
  return {
    tableId: state.bound.schema.id,
    isDefaultAction: true,
    action: action === undefined ? undefined : { type: { case: "action", value: actionMessage(action) } },
    metadata,
    controllerMetadata,
  };
}
