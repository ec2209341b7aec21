/** All run-time state of a switch as a text, and back: what the control plane wrote and what the program keeps, but not packets that wait. */
import { applyPort, parsePorts, TrafficDocumentError, trafficDocument } from "./admin/traffic-document.ts";
import type { Engine } from "./engine/engine.ts";
import type { MeterConfig } from "./state/meter.ts";
import type { Switch } from "./switch.ts";
import type { GroupMember } from "./tables/action-profile.ts";
import { SwitchRuntimeError } from "./tables/runtime-error.ts";
import type { Table } from "./tables/table.ts";
import type { ActionCall, CounterValue, EntryAction } from "./tables/table-entry.ts";
import type { Match } from "./tables/table-key.ts";
import { applyTofino, type TofinoDocument, tofinoDocument } from "./tna/tofino-snapshot.ts";

/** A snapshot that does not fit the program, or is none. */
export class SnapshotError extends Error {
  constructor(reason: string) {
    super(`the snapshot cannot be used: ${reason}`);
    this.name = "SnapshotError";
  }
}

interface EntrySnapshot {
  readonly match: Match;
  readonly priority: number;
  readonly action: EntryAction;
  readonly idleTimeout?: number;
  readonly counter?: CounterValue;
  readonly meter?: MeterConfig;
}

type Cells<T> = readonly (readonly [index: number, value: T])[];
type Named<T> = Readonly<Record<string, T>>;

/** JSON; bigints are `{"$": "123"}`, and fields without value `null`. */
export type SwitchSnapshot = string;

interface Contents {
  readonly format: "gradplane-switch-1";
  readonly tables: Named<{ readonly entries: readonly EntrySnapshot[]; readonly default?: EntryAction }>;
  readonly profiles: Named<{
    readonly members: readonly { readonly id: number; readonly call: ActionCall }[];
    readonly groups: readonly {
      readonly id: number;
      readonly maxSize: number;
      readonly members: readonly GroupMember[];
    }[];
  }>;
  readonly counters: Named<Cells<CounterValue>>;
  readonly meters: Named<Cells<MeterConfig>>;
  readonly registers: Named<Cells<bigint>>;
  readonly valueSets: Named<readonly bigint[]>;
  readonly groups: ReturnType<Switch["replication"]["allGroups"]>;
  readonly sessions: ReturnType<Switch["replication"]["allSessions"]>;
  readonly ports: Named<unknown>;
  /** What only a Tofino has. */
  readonly tofino?: TofinoDocument;
}

/** @throws SwitchRuntimeError FAILED_PRECONDITION without a program */
export function takeSnapshot(sw: Switch): SwitchSnapshot {
  const { engine } = sw;
  const contents: Contents = {
    format: "gradplane-switch-1",
    tables: record(engine.tables, (table) => ({
      entries: [...table.entries()].map((entry) => ({
        match: entry.match,
        priority: entry.priority,
        action: entry.action,
        ...(entry.idleTimeout === 0 ? {} : { idleTimeout: entry.idleTimeout }),
        ...(table.description.hasCounters ? { counter: entry.counter } : {}),
        ...(entry.meter?.config === undefined ? {} : { meter: entry.meter.config }),
      })),
      ...(table.defaultEntry === undefined ? {} : { default: table.defaultEntry.action }),
    })),
    profiles: record(engine.profiles, (profile) => ({
      members: profile.members.map(({ id, call }) => ({ id, call })),
      groups: profile.groups.map(({ id, maxSize, members }) => ({ id, maxSize, members })),
    })),
    counters: record(engine.counters, (counter) =>
      cells(counter.size, (i) => {
        const value = counter.read(i);
        return value.packets === 0n && value.bytes === 0n ? undefined : value;
      }),
    ),
    meters: record(engine.meters, (meter) => cells(meter.size, (i) => meter.read(i))),
    registers: record(engine.registers, (register) =>
      cells(register.size, (i) => register.read(i) || undefined),
    ),
    valueSets: record(engine.valueSets, (set) => set.members()),
    groups: sw.replication.allGroups(),
    sessions: sw.replication.allSessions(),
    ports: trafficDocument(sw.trafficManager),
    ...(sw.tofino === undefined ? {} : { tofino: tofinoDocument(sw.tofino) }),
  };
  return JSON.stringify(contents, (_, value) => (typeof value === "bigint" ? { $: String(value) } : value));
}

/**
 * Puts a snapshot into a switch whose program is in its initial state. `now` is in microseconds: from it idle times count, and meters have full
 * buckets.
 *
 * @throws SnapshotError when it is no snapshot, or not of this program; then the switch is of no use
 */
export function applySnapshot(sw: Switch, snapshot: SwitchSnapshot, now: number): void {
  const contents = contentsOf(snapshot);
  const { engine } = sw;
  try {
    restoreProfiles(engine, contents);
    for (const [name, { entries, default: action }] of Object.entries(contents.tables)) {
      const table = found("table", engine.tables, name);
      restoreEntries(table, entries, now);
      if (!table.description.hasConstDefault && action !== undefined) table.setDefault(action);
    }
    for (const [name, values] of Object.entries(contents.counters))
      for (const [index, value] of values) found("counter", engine.counters, name).write(index, value);
    for (const [name, values] of Object.entries(contents.meters))
      for (const [index, value] of values) found("meter", engine.meters, name).write(index, value, now);
    for (const [name, values] of Object.entries(contents.registers))
      for (const [index, value] of values) found("register", engine.registers, name).write(index, value);
    for (const [name, members] of Object.entries(contents.valueSets))
      found("value set", engine.valueSets, name).set(members);
    for (const { id, replicas } of contents.groups) sw.replication.insertGroup(id, replicas);
    for (const { id, replicas, packetLength, classOfService } of contents.sessions)
      sw.replication.insertSession(id, replicas, packetLength, classOfService);
    if ((contents.tofino === undefined) !== (sw.tofino === undefined))
      throw new SnapshotError("it is of another personality");
    if (sw.tofino !== undefined && contents.tofino !== undefined)
      applyTofino(sw.tofino, contents.tofino, now);
    const { trafficManager } = sw;
    for (const port of parsePorts(contents.ports, trafficManager.options.queues))
      applyPort(trafficManager, port);
  } catch (error) {
    if (error instanceof SnapshotError) throw error;
    // Whatever else is thrown: the text has another shape than `takeSnapshot` gives it.
    const isSpecific =
      error instanceof SwitchRuntimeError ||
      error instanceof TrafficDocumentError ||
      error instanceof RangeError;
    throw new SnapshotError(isSpecific ? error.message : "it is damaged");
  }
}

function restoreProfiles(engine: Engine, { profiles }: Contents): void {
  for (const [name, { members, groups }] of Object.entries(profiles)) {
    const profile = found("action profile", engine.profiles, name);
    for (const { id, call } of members) profile.insertMember(id, call);
    for (const group of groups) profile.insertGroup(group.id, group.members, group.maxSize);
  }
}

function restoreEntries(table: Table, entries: readonly EntrySnapshot[], now: number): void {
  const { isConst } = table.description;
  // Entries that the program brings: they may have been changed, or deleted.
  const own = new Map([...table.entries()].map((entry) => [entry.handle, entry]));
  for (const { match: written, priority, action, idleTimeout, counter, meter } of entries) {
    const match = written.map((field) => field ?? undefined);
    let entry = table.find(match, priority);
    if (entry === undefined) entry = table.insert(match, action, { priority, now });
    else {
      own.delete(entry.handle);
      if (!isConst) table.perform(entry.row, table.resolve(action));
    }
    if (idleTimeout !== undefined) entry.idleTimeout = idleTimeout;
    if (counter !== undefined) entry.setCounter(counter);
    if (meter !== undefined) table.setMeter(entry, meter, now);
  }
  if (!isConst) for (const entry of own.values()) table.remove(entry.row);
}

function contentsOf(snapshot: SwitchSnapshot): Contents {
  let parsed: unknown;
  try {
    parsed = JSON.parse(snapshot, (_, value) => {
      if (typeof value !== "object" || value === null || !("$" in value)) return value;
      return BigInt(value.$);
    });
  } catch {
    throw new SnapshotError("it is no JSON");
  }
  if (!isContents(parsed)) throw new SnapshotError("it is no snapshot of this version");
  return parsed;
}

/** Only what all snapshots have; the rest is found out where it is used. */
function isContents(value: unknown): value is Contents {
  return (
    typeof value === "object" && value !== null && "format" in value && value.format === "gradplane-switch-1"
  );
}

function found<T>(what: string, objects: ReadonlyMap<string, T>, name: string): T {
  const object = objects.get(name);
  if (object === undefined) throw new SnapshotError(`the program has no ${what} ${name}`);
  return object;
}

function record<T, R>(objects: ReadonlyMap<string, T>, value: (object: T) => R): Named<R> {
  return Object.fromEntries([...objects].map(([name, object]) => [name, value(object)]));
}

function cells<T>(size: number, read: (index: number) => T | undefined): Cells<T> {
  const values: (readonly [number, T])[] = [];
  for (let index = 0; index < size; index++) {
    const value = read(index);
    if (value !== undefined) values.push([index, value]);
  }
  return values;
}
