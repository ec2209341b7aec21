import type { Init } from "../../p4info/message/descriptor.ts";
import { Code } from "../../p4runtime/code.ts";
import { decodeMatch, encodeMatch, formatMatch, type Match } from "../../p4runtime/match.ts";
import type {
  ActionProfileActionSet,
  CounterData,
  FieldMatch,
  MeterConfig,
  TableAction,
  TableEntry,
  Update_Type,
} from "../../p4runtime/proto/generated/p4runtime.ts";
import type { Schema, TableSchema } from "../../p4runtime/schema.ts";
import { actionMessage, type BoundAction, bindAction, boundActionOf, targetAction } from "./action-spec.ts";
import { counterData, counterValue, meterRates } from "./cells.ts";
import type { OneShot, ProfileStore } from "./profile-store.ts";
import { invalidArgument, notFound, StatusError, unimplemented } from "./status.ts";
import type { InstalledEntry, TargetActionChoice, TargetProgram } from "./target.ts";

/** What the table holds when the P4Info does not say (the default of P4 compilers). */
const DEFAULT_SIZE = 1024;

type EntryAction =
  | { readonly kind: "action"; readonly action: BoundAction }
  | { readonly kind: "member"; readonly memberId: number }
  | { readonly kind: "group"; readonly groupId: number }
  | { readonly kind: "oneShot"; readonly message: ActionProfileActionSet; readonly oneShot: OneShot };

/** What a client attached to an entry and gets back unchanged. */
interface Attached {
  readonly metadata: Uint8Array;
  readonly controllerMetadata: bigint;
  readonly meterConfig: MeterConfig | undefined;
}

interface Entry extends Attached {
  readonly match: readonly (Match | undefined)[];
  readonly priority: number;
  readonly isConst: boolean;
  readonly action: EntryAction;
  readonly installed: InstalledEntry;
}

interface DefaultEntry extends Attached {
  readonly action: BoundAction | undefined;
}

interface TableState {
  readonly schema: TableSchema;
  readonly entries: Map<string, Entry>;
  readonly initialDefault: BoundAction | undefined;
  default: DefaultEntry;
}

const NOTHING_ATTACHED: Attached = {
  metadata: new Uint8Array(0),
  controllerMetadata: 0n,
  meterConfig: undefined,
};

/** Table entries as P4Runtime specification 9.1 has them. What is checked goes on to the target; what clients wrote is kept for reads. */
export class TableStore {
  readonly #program: TargetProgram;
  readonly #profiles: ProfileStore;
  readonly #tables = new Map<number, TableState>();

  constructor(schema: Schema, program: TargetProgram, profiles: ProfileStore) {
    this.#program = program;
    this.#profiles = profiles;
    for (const table of schema.tables.all) {
      const initialDefault = boundActionOf(table, program.initialDefaultAction(table));
      const state: TableState = {
        schema: table,
        entries: new Map(),
        initialDefault,
        default: { ...NOTHING_ATTACHED, action: initialDefault },
      };
      for (const initial of program.initialEntries(table)) {
        const action =
          initial.action.kind === "action" ? boundActionOf(table, initial.action.action) : undefined;
        if (action === undefined) continue;
        state.entries.set(keyOf(initial.match, initial.priority), {
          ...NOTHING_ATTACHED,
          match: initial.match,
          priority: initial.priority,
          isConst: initial.isConst || table.isConst,
          action: { kind: "action", action },
          installed: initial.installed,
        });
      }
      this.#tables.set(table.id, state);
    }
  }

  write(type: Update_Type, message: TableEntry): void {
    const state = this.#table(message.tableId);
    if (message.isDefaultAction) {
      this.#writeDefault(state, type, message);
      return;
    }
    checkUnsupported(state.schema, message);
    if (state.schema.isConst && (type !== "MODIFY" || message.action !== undefined))
      throw new StatusError(Code.PERMISSION_DENIED, `table ${state.schema.name} is constant`);
    if (state.schema.fields.all.length === 0)
      throw invalidArgument(`table ${state.schema.name} has no key, so it has only a default entry`);
    const match = matchOf(state.schema, message.match);
    const priority = priorityOf(state.schema, message.priority);
    const key = keyOf(match, priority);
    const before = state.entries.get(key);
    switch (type) {
      case "INSERT":
        if (before !== undefined)
          throw new StatusError(
            Code.ALREADY_EXISTS,
            `${describe(state.schema, match, priority)} exists already`,
          );
        this.#insert(state, key, match, priority, message);
        return;
      case "MODIFY":
        if (before === undefined) throw notFound(`${describe(state.schema, match, priority)} does not exist`);
        this.#modify(state, key, before, message);
        return;
      case "DELETE":
        if (before === undefined) throw notFound(`${describe(state.schema, match, priority)} does not exist`);
        if (before.isConst) throw constEntry(state.schema, before);
        before.installed.remove();
        this.#release(state.schema, before.action);
        state.entries.delete(key);
        return;
      default:
        throw invalidArgument("the update has no type");
    }
  }

  read(message: TableEntry): Init<TableEntry>[] {
    if (message.tableId === 0) {
      const tables = [...this.#tables.values()];
      return tables.flatMap((state) =>
        message.isDefaultAction ? [defaultMessage(state)] : this.#readEntries(state, message),
      );
    }
    const state = this.#table(message.tableId);
    if (!message.isDefaultAction) return this.#readEntries(state, message);
    checkDefaultKey(state.schema, message);
    return [defaultMessage(state)];
  }

  /** Entries that a DirectCounterEntry or DirectMeterEntry with this key means: one, or all of the table when there is no key. */
  select(message: TableEntry): {
    readonly entry: Init<TableEntry>;
    readonly installed: InstalledEntry;
    readonly meterConfig: MeterConfig | undefined;
  }[] {
    const state = this.#table(message.tableId);
    if (message.isDefaultAction)
      throw unimplemented(`table ${state.schema.name}: the default entry has no counter or meter of its own`);
    const hasKey = message.match.length > 0 || message.priority !== 0;
    const found = this.#filtered(state, message);
    if (hasKey && found.length === 0) throw notFound(`table ${state.schema.name} has no such entry`);
    return found.map((entry) => ({
      entry: keyMessage(state.schema, entry),
      installed: entry.installed,
      meterConfig: entry.meterConfig,
    }));
  }

  /** The one entry with this key. @throws StatusError NOT_FOUND */
  selectOne(message: TableEntry): InstalledEntry {
    const state = this.#table(message.tableId);
    if (message.isDefaultAction)
      throw unimplemented(`table ${state.schema.name}: the default entry has no counter or meter of its own`);
    return this.#entry(state, message).entry.installed;
  }

  /** Remember the meter configuration that was written through a DirectMeterEntry. */
  setMeterConfig(message: TableEntry, meterConfig: MeterConfig | undefined): void {
    const state = this.#table(message.tableId);
    const { key, entry } = this.#entry(state, message);
    state.entries.set(key, { ...entry, meterConfig });
  }

  table(tableId: number): TableSchema {
    return this.#table(tableId).schema;
  }

  /** All tables of the P4Info, in its order. */
  tables(): TableSchema[] {
    return [...this.#tables.values()].map((state) => state.schema);
  }

  #entry(state: TableState, message: TableEntry): { readonly key: string; readonly entry: Entry } {
    const match = matchOf(state.schema, message.match);
    const priority = priorityOf(state.schema, message.priority);
    const key = keyOf(match, priority);
    const entry = state.entries.get(key);
    if (entry === undefined) throw notFound(`${describe(state.schema, match, priority)} does not exist`);
    return { key, entry };
  }

  /** Entries that clients may remove, and default entries that they changed, as messages that write them again. */
  changes(): {
    readonly table: TableSchema;
    readonly entries: Init<TableEntry>[];
    readonly default: Init<TableEntry> | undefined;
  }[] {
    const everything = { counterData: {}, meterConfig: {} };
    return [...this.#tables.values()].map((state) => ({
      table: state.schema,
      entries: [...state.entries.values()]
        .filter((entry) => !entry.isConst)
        .map((entry) => entryMessage(state.schema, entry, everything)),
      default: state.default.action === state.initialDefault ? undefined : defaultMessage(state),
    }));
  }

  #table(id: number): TableState {
    const state = this.#tables.get(id);
    if (state !== undefined) return state;
    throw id === 0
      ? invalidArgument("the table has no id")
      : notFound(`there is no table with id 0x${id.toString(16)}`);
  }

  #insert(
    state: TableState,
    key: string,
    match: Entry["match"],
    priority: number,
    message: TableEntry,
  ): void {
    const { schema } = state;
    if (message.action === undefined)
      throw invalidArgument(`table ${schema.name}: a new entry needs an action`);
    const size = schema.size > 0 ? schema.size : DEFAULT_SIZE;
    // The action is checked first: a malformed entry is malformed in a full table, too.
    const meter =
      message.meterConfig === undefined ? undefined : this.#meterRates(schema, message.meterConfig);
    this.#checkCounter(schema, message.counterData);
    const action = this.#acquire(schema, message.action, state.entries.size >= size);
    if (action === undefined)
      throw new StatusError(
        Code.RESOURCE_EXHAUSTED,
        `table ${schema.name} is full: it has room for ${size} entries`,
      );
    let installed: InstalledEntry;
    try {
      installed = this.#program.insertEntry(schema, { match, priority, action: choiceOf(action) });
    } catch (error) {
      this.#release(schema, action);
      throw error;
    }
    if (meter !== undefined) installed.writeMeter(meter);
    if (message.counterData !== undefined) installed.writeCounter(counterValue(message.counterData));
    // Written out, as a spread makes objects that take far more time and room; tables have hundreds of thousands of entries.
    state.entries.set(key, {
      metadata: message.metadata,
      controllerMetadata: message.controllerMetadata,
      meterConfig: message.meterConfig,
      match,
      priority,
      isConst: false,
      action,
      installed,
    });
  }

  #modify(state: TableState, key: string, before: Entry, message: TableEntry): void {
    const { schema } = state;
    if (before.isConst && message.action !== undefined) throw constEntry(schema, before);
    const meter =
      message.meterConfig === undefined ? undefined : this.#meterRates(schema, message.meterConfig);
    this.#checkCounter(schema, message.counterData);
    const action = message.action === undefined ? undefined : this.#acquire(schema, message.action, false);
    if (action !== undefined) {
      try {
        before.installed.setAction(choiceOf(action));
      } catch (error) {
        this.#release(schema, action);
        throw error;
      }
      this.#release(schema, before.action);
    }
    // An absent meter configuration resets the meter; absent counter data leave the counter alone (9.1.7).
    if (schema.directMeter !== undefined) before.installed.writeMeter(meter);
    if (message.counterData !== undefined) before.installed.writeCounter(counterValue(message.counterData));
    state.entries.set(key, { ...before, ...attachedOf(message), action: action ?? before.action });
  }

  #writeDefault(state: TableState, type: Update_Type, message: TableEntry): void {
    const { schema } = state;
    if (type !== "MODIFY")
      throw invalidArgument(`table ${schema.name}: the default entry can only be modified`);
    checkDefaultKey(schema, message);
    checkUnsupported(schema, message);
    if (message.counterData !== undefined || message.meterConfig !== undefined)
      throw unimplemented(`table ${schema.name}: the default entry has no counter or meter of its own`);
    if (schema.constDefaultAction || schema.implementation !== undefined)
      throw new StatusError(Code.PERMISSION_DENIED, `table ${schema.name}: its default entry is constant`);
    if (message.action === undefined) {
      this.#program.setDefaultAction(schema, undefined);
      state.default = { ...NOTHING_ATTACHED, action: state.initialDefault };
      return;
    }
    const spec = message.action.type;
    if (spec?.case !== "action")
      throw invalidArgument(`table ${schema.name}: the default entry takes an action`);
    const action = bindAction(schema, spec.value, "default");
    this.#program.setDefaultAction(schema, targetAction(action));
    state.default = { ...attachedOf(message), action };
  }

  /** Check what an entry does, and count its use of members and groups. Undefined when it is all right but there is no room for it. */
  #acquire(table: TableSchema, message: TableAction, isFull: boolean): EntryAction | undefined {
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
        return isFull ? undefined : { kind: "action", action };
      }
      case "actionProfileMemberId":
        if (spec.value === 0) throw invalidArgument(`table ${table.name}: member id 0 is not valid`);
        if (isFull) return undefined;
        this.#profiles.useMember(table, spec.value, 1);
        return { kind: "member", memberId: spec.value };
      case "actionProfileGroupId":
        if (spec.value === 0) throw invalidArgument(`table ${table.name}: group id 0 is not valid`);
        if (isFull) return undefined;
        this.#profiles.useGroup(table, spec.value, 1);
        return { kind: "group", groupId: spec.value };
      case "actionProfileActionSet":
        if (isFull) return undefined;
        return {
          kind: "oneShot",
          message: spec.value,
          oneShot: this.#profiles.installOneShot(table, spec.value),
        };
    }
  }

  #release(table: TableSchema, action: EntryAction): void {
    switch (action.kind) {
      case "action":
        return;
      case "member":
        this.#profiles.useMember(table, action.memberId, -1);
        return;
      case "group":
        this.#profiles.useGroup(table, action.groupId, -1);
        return;
      case "oneShot":
        this.#profiles.removeOneShot(table, action.oneShot);
    }
  }

  #meterRates(table: TableSchema, config: MeterConfig) {
    if (table.directMeter === undefined) throw invalidArgument(`table ${table.name} has no direct meter`);
    return meterRates(table.directMeter, config);
  }

  #checkCounter(table: TableSchema, data: CounterData | undefined): void {
    if (data !== undefined && table.directCounter === undefined)
      throw invalidArgument(`table ${table.name} has no direct counter`);
  }

  #readEntries(state: TableState, message: TableEntry): Init<TableEntry>[] {
    return this.#filtered(state, message).map((entry) => entryMessage(state.schema, entry, message));
  }

  /** Wildcard reads of 9.1.6: a filter that has its default value lets everything pass. */
  #filtered(state: TableState, message: TableEntry): Entry[] {
    // With table id 0 no other filter may be used.
    if (message.tableId === 0) return [...state.entries.values()];
    let candidates: Iterable<Entry> = state.entries.values();
    if (message.match.length > 0) {
      const match = matchOf(state.schema, message.match);
      if (message.priority !== 0 || !state.schema.needsPriority) {
        const only = state.entries.get(keyOf(match, message.priority));
        candidates = only === undefined ? [] : [only];
      } else {
        const wanted = keyOf(match, 0);
        candidates = [...state.entries.values()].filter((entry) => keyOf(entry.match, 0) === wanted);
      }
    }
    const actionId = message.action?.type?.case === "action" ? message.action.type.value.actionId : 0;
    return [...candidates].filter(
      (entry) =>
        (message.priority === 0 || entry.priority === message.priority) &&
        (actionId === 0 || (entry.action.kind === "action" && entry.action.action.schema.id === actionId)) &&
        (message.controllerMetadata === 0n || entry.controllerMetadata === message.controllerMetadata) &&
        (message.metadata.length === 0 || Buffer.compare(entry.metadata, message.metadata) === 0),
    );
  }
}

function checkUnsupported(table: TableSchema, message: TableEntry): void {
  if (message.isConst) throw invalidArgument(`table ${table.name}: is_const cannot be written`);
  if (message.idleTimeoutNs < 0n) throw invalidArgument(`table ${table.name}: a negative idle timeout`);
  if (message.idleTimeoutNs > 0n) {
    if (!table.supportsIdleTimeout) throw invalidArgument(`table ${table.name} has no idle timeouts`);
    throw unimplemented("idle timeouts are not supported");
  }
  if (message.meterCounterData !== undefined)
    throw unimplemented("counters of meter colours are not supported");
}

function checkDefaultKey(table: TableSchema, message: TableEntry): void {
  if (message.match.length > 0 || message.priority !== 0)
    throw invalidArgument(`table ${table.name}: the default entry has neither a match nor a priority`);
}

/** The match of each field in the order of the P4Info. @throws StatusError or EntityError */
function matchOf(table: TableSchema, messages: readonly FieldMatch[]): (Match | undefined)[] {
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

function keyOf(match: readonly (Match | undefined)[], priority: number): string {
  let key = priority.toString();
  for (const field of match) key += `|${field === undefined ? "" : matchKey(field)}`;
  return key;
}

function matchKey(match: Match): string {
  switch (match.kind) {
    case "EXACT":
    case "OPTIONAL":
      return match.value.toString(16);
    case "LPM":
      return `${match.value.toString(16)}/${match.prefixLength}`;
    case "TERNARY":
      return `${match.value.toString(16)}&${match.mask.toString(16)}`;
    case "RANGE":
      return `${match.low.toString(16)}-${match.high.toString(16)}`;
  }
}

function describe(table: TableSchema, match: readonly (Match | undefined)[], priority: number): string {
  const fields = table.fields.all.flatMap((field, index) => {
    const value = match[index];
    return value === undefined ? [] : [`${field.name} = ${formatMatch(value, field.bitwidth)}`];
  });
  const key = fields.length === 0 ? "anything" : fields.join(", ");
  return `table ${table.name}: entry for ${key}${priority > 0 ? ` with priority ${priority}` : ""}`;
}

function constEntry(table: TableSchema, entry: Entry): StatusError {
  return new StatusError(
    Code.PERMISSION_DENIED,
    `${describe(table, entry.match, entry.priority)} is constant`,
  );
}

function attachedOf(message: TableEntry): Attached {
  return {
    metadata: message.metadata,
    controllerMetadata: message.controllerMetadata,
    meterConfig: message.meterConfig,
  };
}

function choiceOf(action: EntryAction): TargetActionChoice {
  switch (action.kind) {
    case "action":
      return { kind: "action", action: targetAction(action.action) };
    case "oneShot":
      return { kind: "group", groupId: action.oneShot.groupId };
    default:
      return action;
  }
}

function tableAction(action: EntryAction): Init<TableAction> {
  switch (action.kind) {
    case "action":
      return { type: { case: "action", value: actionMessage(action.action) } };
    case "member":
      return { type: { case: "actionProfileMemberId", value: action.memberId } };
    case "group":
      return { type: { case: "actionProfileGroupId", value: action.groupId } };
    case "oneShot":
      return { type: { case: "actionProfileActionSet", value: action.message } };
  }
}

function keyMessage(table: TableSchema, entry: Entry): Init<TableEntry> {
  return { tableId: table.id, match: matchMessages(table, entry), priority: entry.priority };
}

function matchMessages(table: TableSchema, entry: Entry): Init<FieldMatch>[] {
  const messages: Init<FieldMatch>[] = [];
  for (const [index, field] of table.fields.all.entries()) {
    const match = entry.match[index];
    if (match !== undefined) messages.push(encodeMatch(field, match));
  }
  return messages;
}

/** Direct resources are in the answer when they are in the question (9.1.7). */
function entryMessage(table: TableSchema, entry: Entry, wanted: Init<TableEntry>): Init<TableEntry> {
  const hasCounter = wanted.counterData !== undefined && table.directCounter !== undefined;
  return {
    tableId: table.id,
    match: matchMessages(table, entry),
    priority: entry.priority,
    action: tableAction(entry.action),
    isConst: entry.isConst,
    metadata: entry.metadata,
    controllerMetadata: entry.controllerMetadata,
    counterData: hasCounter ? counterData(entry.installed.readCounter()) : undefined,
    meterConfig: wanted.meterConfig === undefined ? undefined : entry.meterConfig,
  };
}

function defaultMessage(state: TableState): Init<TableEntry> {
  const { action, metadata, controllerMetadata } = state.default;
  return {
    tableId: state.schema.id,
    isDefaultAction: true,
    action: action === undefined ? undefined : { type: { case: "action", value: actionMessage(action) } },
    metadata,
    controllerMetadata,
  };
}
