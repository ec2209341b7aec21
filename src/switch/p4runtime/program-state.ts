import { create } from "../../p4info/message/create.ts";
import type { Init } from "../../p4info/message/descriptor.ts";
import {
  ActionProfileMember,
  CounterEntry,
  DigestEntry,
  type DirectCounterEntry,
  type DirectMeterEntry,
  type Entity,
  MeterEntry,
  PacketReplicationEngineEntry,
  RegisterEntry,
  TableEntry,
  type Update,
  type Update_Type,
  ValueSetEntry,
} from "../../p4runtime/proto/generated/p4runtime.ts";
import type { Schema, TableSchema } from "../../p4runtime/schema.ts";
import type { Steps } from "./access-queue.ts";
import { CellStore, counterData, counterValue, meterRates } from "./cells.ts";
import { DigestStore } from "./digest-store.ts";
import { idleMessage } from "./entry-messages.ts";
import { ProfileStore } from "./profile-store.ts";
import type { ReadAnswer } from "./read-answer.ts";
import { ReplicationStore } from "./replication-store.ts";
import { invalidArgument, statusOf, unimplemented } from "./status.ts";
import { TableStore } from "./table-store.ts";
import type { TargetProgram } from "./target.ts";
import { ValueSetStore } from "./value-set-store.ts";
import { WireEntries } from "./wire-entries.ts";

/** Something that a client wrote: what it is, in words, and the update that writes it again. */
export interface Written {
  readonly what: string;
  readonly update: Update;
}

/** A program of the target together with everything that clients wrote to it: one store per kind of entity. */
export class ProgramState {
  readonly schema: Schema;
  readonly program: TargetProgram;
  readonly digests: DigestStore;
  /** The fast way for plain table entries. */
  readonly wire: WireEntries;
  readonly #tables: TableStore;
  readonly #profiles: ProfileStore;
  readonly #cells: CellStore;
  readonly #replication: ReplicationStore;
  readonly #valueSets: ValueSetStore;

  constructor(schema: Schema, program: TargetProgram, hasPort: (port: number) => boolean) {
    this.schema = schema;
    this.program = program;
    this.digests = new DigestStore(schema);
    this.#profiles = new ProfileStore(schema, program, hasPort);
    this.#tables = new TableStore(schema, program, this.#profiles);
    this.wire = new WireEntries(this.#tables.tables());
    this.#cells = new CellStore(schema, program);
    this.#replication = new ReplicationStore(program);
    this.#valueSets = new ValueSetStore(schema, program);
  }

  /**
   * Carry out one update, wholly or not at all.
   *
   * @throws StatusError, EntityError or TargetError
   */
  write(update: Update): void {
    const { type } = update;
    if (type !== "INSERT" && type !== "MODIFY" && type !== "DELETE")
      throw invalidArgument(`the update has ${type === "UNSPECIFIED" ? "no" : "an unknown"} type`);
    const entity = update.entity?.entity;
    if (entity === undefined) throw invalidArgument("the update has no entity");
    switch (entity.case) {
      case "tableEntry":
        this.#tables.write(type, entity.value);
        return;
      case "actionProfileMember":
        this.#profiles.writeMember(type, entity.value);
        return;
      case "actionProfileGroup":
        this.#profiles.writeGroup(type, entity.value);
        return;
      case "counterEntry":
        this.#cells.writeCounter(type, entity.value);
        return;
      case "meterEntry":
        this.#cells.writeMeter(type, entity.value);
        return;
      case "registerEntry":
        this.#cells.writeRegister(type, entity.value);
        return;
      case "directCounterEntry":
        this.#writeDirectCounter(type, entity.value);
        return;
      case "directMeterEntry":
        this.#writeDirectMeter(type, entity.value);
        return;
      case "packetReplicationEngineEntry":
        this.#replication.write(type, entity.value);
        return;
      case "digestEntry":
        this.digests.write(type, entity.value);
        return;
      case "valueSetEntry":
        this.#valueSets.write(type, entity.value);
        return;
      default:
        throw unimplemented(`${entity.case} is not supported`);
    }
  }

  /**
   * The entities that a read request selects.
   *
   * @throws StatusError, EntityError or TargetError, before the first entity or not at all
   */
  read(request: Entity): Iterable<Init<Entity>> {
    const entity = request.entity;
    if (entity === undefined) throw invalidArgument("the entity to read is empty");
    switch (entity.case) {
      case "tableEntry":
        return each(this.#tables.read(entity.value), (value) => ({ case: "tableEntry", value }));
      case "actionProfileMember":
        return each(this.#profiles.readMembers(entity.value), (value) => ({
          case: "actionProfileMember",
          value,
        }));
      case "actionProfileGroup":
        return each(this.#profiles.readGroups(entity.value), (value) => ({
          case: "actionProfileGroup",
          value,
        }));
      case "counterEntry":
        return each(this.#cells.readCounters(entity.value), (value) => ({ case: "counterEntry", value }));
      case "meterEntry":
        return each(this.#cells.readMeters(entity.value), (value) => ({ case: "meterEntry", value }));
      case "registerEntry":
        return each(this.#cells.readRegisters(entity.value), (value) => ({ case: "registerEntry", value }));
      case "directCounterEntry":
        return each(this.#readDirectCounters(entity.value), (value) => ({
          case: "directCounterEntry",
          value,
        }));
      case "directMeterEntry":
        return each(this.#readDirectMeters(entity.value), (value) => ({ case: "directMeterEntry", value }));
      case "packetReplicationEngineEntry":
        return each(this.#replication.read(entity.value), (value) => ({
          case: "packetReplicationEngineEntry",
          value,
        }));
      case "digestEntry":
        return each(this.digests.read(entity.value), (value) => ({ case: "digestEntry", value }));
      case "valueSetEntry":
        return each(this.#valueSets.read(entity.value), (value) => ({ case: "valueSetEntry", value }));
      default:
        throw unimplemented(`${entity.case} is not supported`);
    }
  }

  /** `read`, into an answer. @throws as `read`; then nothing was added */
  *readInto(request: Entity, answer: ReadAnswer): Steps<void> {
    if (request.entity?.case === "tableEntry") yield* this.#tables.readInto(request.entity.value, answer);
    else yield* answer.entities(this.read(request), (entity) => entity);
  }

  /** True when some table can have entries with an idle timeout. */
  get hasIdleTimeouts(): boolean {
    return this.#tables.tables().some(({ schema }) => schema.supportsIdleTimeout);
  }

  /** Entries that nothing hit for their idle timeout, one list per table, of each table at most `most`. Their time begins anew (16.4). */
  idleEntries(most = Number.POSITIVE_INFINITY): Init<TableEntry>[][] {
    const now = this.program.now();
    return this.#tables.tables().flatMap((bound) => {
      const idle = bound.table.idleEntries(now, most);
      for (const entry of idle) entry.lastHit = now;
      return idle.length === 0 ? [] : [idle.map((entry) => idleMessage(bound, entry))];
    });
  }

  /**
   * Take over what clients wrote to another program: entries, members, groups, multicast groups, clone sessions, meters, and the cells of
   * counters and registers that both programs have.
   *
   * @throws StatusError INVALID_ARGUMENT that names the first thing that cannot be kept; then this state is of no use.
   */
  takeOver(old: ProgramState): void {
    this.replay(old.written(), old.schema);
    this.#copyCells(old);
  }

  /** What clients wrote, as updates that write it again, in an order in which they can be; cells of counters and registers aside. */
  *written(): Iterable<Written> {
    const { members, groups } = this.#profiles.entries();
    for (const value of members)
      yield insertion("an action profile member", {
        case: "actionProfileMember",
        value: create(ActionProfileMember, value),
      });
    for (const value of groups)
      yield insertion("an action profile group", { case: "actionProfileGroup", value });
    for (const { table, entries, default: defaultEntry } of this.#tables.changes()) {
      for (const entry of entries)
        yield insertion(`an entry of table ${table.name}`, {
          case: "tableEntry",
          value: withoutReadOnly(entry),
        });
      if (defaultEntry !== undefined)
        yield modification(`the default entry of table ${table.name}`, {
          case: "tableEntry",
          value: create(TableEntry, defaultEntry),
        });
    }
    for (const value of this.#replication.entries())
      yield insertion("a multicast group or clone session", {
        case: "packetReplicationEngineEntry",
        value: create(PacketReplicationEngineEntry, value),
      });
    for (const value of this.digests.read(create(DigestEntry)))
      yield insertion("a digest", { case: "digestEntry", value: create(DigestEntry, value) });
    for (const value of this.#valueSets.read(create(ValueSetEntry)))
      if (value.members !== undefined && value.members.length > 0)
        yield modification("a value set", { case: "valueSetEntry", value: create(ValueSetEntry, value) });
    for (const value of this.#cells.meterChanges())
      yield modification("a meter", { case: "meterEntry", value: create(MeterEntry, value) });
  }

  /** Cells of counters and registers that are not zero, as updates that write them again. */
  *cells(): Iterable<Written> {
    for (const { id: counterId, name, size } of this.schema.counters.all)
      for (let at = 0; at < size; at++) {
        const index = { index: BigInt(at) };
        for (const { data } of this.#cells.readCounters(create(CounterEntry, { counterId, index })))
          if ((data?.packetCount ?? 0n) !== 0n || (data?.byteCount ?? 0n) !== 0n)
            yield modification(`counter ${name}`, {
              case: "counterEntry",
              value: create(CounterEntry, { counterId, index, data }),
            });
      }
    for (const register of this.schema.registers.all) {
      if (register.bitwidth === undefined) continue;
      for (let at = 0; at < register.size; at++) {
        if (this.program.readRegister(register, at) === 0n) continue;
        const wanted = create(RegisterEntry, { registerId: register.id, index: { index: BigInt(at) } });
        for (const value of this.#cells.readRegisters(wanted))
          yield modification(`register ${register.name}`, {
            case: "registerEntry",
            value: create(RegisterEntry, value),
          });
      }
    }
  }

  /**
   * Carry out what `written` and `cells` gave, on a program in its initial state; `from` is the schema where it comes from, when that may be
   * another.
   *
   * @throws StatusError INVALID_ARGUMENT that names the first thing that cannot be kept; then this state is of no use.
   */
  replay(updates: Iterable<Written>, from?: Schema): void {
    const replaced = new Set<number>();
    const write = (what: string, update: Update): void => {
      try {
        this.write(update);
      } catch (error) {
        throw invalidArgument(`${what} cannot be kept: ${statusOf(error).message}`);
      }
    };
    for (const { what, update } of updates) {
      const entity = update.entity?.entity;
      if (entity?.case === "tableEntry" && !replaced.has(entity.value.tableId)) {
        const { tableId } = entity.value;
        replaced.add(tableId);
        if (from !== undefined) this.#checkShape(from, tableId);
        // Entries that the program brings and that may be deleted: what was is what counts.
        for (const own of this.#tables.changes(tableId)[0]?.entries ?? [])
          write(what, {
            type: "DELETE",
            entity: { entity: { case: "tableEntry", value: create(TableEntry, own) } },
          });
      }
      write(what, update);
    }
  }

  #checkShape(from: Schema, tableId: number): void {
    const table = from.tables.find(tableId);
    const kept = this.schema.tables.find(tableId);
    if (table !== undefined && (kept === undefined || shapeOf(kept) !== shapeOf(table)))
      throw invalidArgument(
        `the entries of table ${table.name} cannot be kept: the table is not the same in the new program`,
      );
  }

  /** Cells go on counting where an array of the same name, size and width is there. */
  #copyCells(old: ProgramState): void {
    for (const counter of this.schema.counters.all) {
      const before = old.schema.counters.find(counter.name);
      if (before === undefined || before.size !== counter.size) continue;
      for (const { index, data } of old.#cells.readCounters(create(CounterEntry, { counterId: before.id })))
        if (data !== undefined)
          this.#cells.writeCounter("MODIFY", create(CounterEntry, { counterId: counter.id, index, data }));
    }
    for (const register of this.schema.registers.all) {
      const before = old.schema.registers.find(register.name);
      const isSame = before?.size === register.size && before.bitwidth === register.bitwidth;
      if (before === undefined || !isSame || register.bitwidth === undefined) continue;
      for (const { index, data } of old.#cells.readRegisters(
        create(RegisterEntry, { registerId: before.id }),
      ))
        this.#cells.writeRegister("MODIFY", create(RegisterEntry, { registerId: register.id, index, data }));
    }
  }

  #writeDirectCounter(type: Update_Type, message: DirectCounterEntry): void {
    if (type !== "MODIFY") throw invalidArgument("direct counters can only be modified");
    const key = keyOf(message.tableEntry);
    this.#expectCounter(this.#tables.table(key.tableId));
    const entry = this.#tables.selectOne(key);
    if (message.data !== undefined) entry.setCounter(counterValue(message.data));
  }

  #readDirectCounters(message: DirectCounterEntry): Iterable<Init<DirectCounterEntry>> {
    const key = keyOf(message.tableEntry);
    const ids = this.#tableIds(key, (table) => table.directCounter !== undefined);
    const found = ids.map((tableId) => {
      this.#expectCounter(this.#tables.table(tableId));
      return this.#tables.select({ ...key, tableId });
    });
    return eachOf(found, ({ key: tableEntry, entry }) => ({ tableEntry, data: counterData(entry.counter) }));
  }

  #writeDirectMeter(type: Update_Type, message: DirectMeterEntry): void {
    if (type !== "MODIFY") throw invalidArgument("direct meters can only be modified");
    if (message.counterData !== undefined) throw unimplemented("counters of meter colours are not supported");
    const key = keyOf(message.tableEntry);
    const table = this.#tables.table(key.tableId);
    if (table.directMeter === undefined) throw invalidArgument(`table ${table.name} has no direct meter`);
    const rates = message.config === undefined ? undefined : meterRates(table.directMeter, message.config);
    this.#tables.setMeter(this.#tables.selectOne(key), rates, message.config);
  }

  #readDirectMeters(message: DirectMeterEntry): Iterable<Init<DirectMeterEntry>> {
    const key = keyOf(message.tableEntry);
    const ids = this.#tableIds(key, (table) => table.directMeter !== undefined);
    const found = ids.map((tableId) => {
      const table = this.#tables.table(tableId);
      if (table.directMeter === undefined) throw invalidArgument(`table ${table.name} has no direct meter`);
      return this.#tables.select({ ...key, tableId });
    });
    return eachOf(found, ({ key: tableEntry, meterConfig: config }) => ({ tableEntry, config }));
  }

  #tableIds(key: TableEntry, has: (table: TableSchema) => boolean): number[] {
    if (key.tableId !== 0) return [key.tableId];
    return this.#tables
      .tables()
      .map((bound) => bound.schema)
      .filter(has)
      .map((table) => table.id);
  }

  #expectCounter(table: TableSchema): void {
    if (table.directCounter === undefined) throw invalidArgument(`table ${table.name} has no direct counter`);
  }
}

function insertion(what: string, entity: Entity["entity"]): Written {
  return { what, update: { type: "INSERT", entity: { entity } } };
}

function modification(what: string, entity: Entity["entity"]): Written {
  return { what, update: { type: "MODIFY", entity: { entity } } };
}

function* each<T>(values: Iterable<T>, entity: (value: T) => Init<Entity>["entity"]): Iterable<Init<Entity>> {
  for (const value of values) yield { entity: entity(value) };
}

function* eachOf<T, R>(lists: readonly Iterable<T>[], of: (value: T) => R): Iterable<R> {
  for (const list of lists) for (const value of list) yield of(value);
}

function keyOf(entry: TableEntry | undefined): TableEntry {
  return entry ?? create(TableEntry);
}

function withoutReadOnly(entry: Init<TableEntry>): TableEntry {
  return { ...create(TableEntry, entry), isConst: false };
}

/** What of a table decides whether entries of one program mean the same in another. */
function shapeOf(table: TableSchema): string {
  return JSON.stringify({
    name: table.name,
    fields: table.fields.all.map(({ id, name, kind, bitwidth }) => [id, name, kind, bitwidth]),
    actions: [...table.actions.values()].map(({ action, scope }) => [
      action.id,
      action.name,
      scope,
      action.params.all.map(({ id, bitwidth }) => [id, bitwidth]),
    ]),
    implementation: table.implementation?.name,
    resources: [table.directCounter?.name, table.directMeter?.name],
  });
}
