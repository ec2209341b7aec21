import type { Schema, TableSchema } from "../../src/p4runtime/schema.ts";
import {
  type CloneSession,
  type CounterValue,
  type DigestSample,
  type GroupMember,
  type InitialEntry,
  type InstalledEntry,
  type MeterRates,
  type Replica,
  type SwitchTarget,
  type TargetAction,
  type TargetActionChoice,
  type TargetEntry,
  TargetError,
  type TargetProgram,
} from "../../src/switch/p4runtime/target.ts";

/** A table entry that only remembers. */
export class MemoryEntry implements InstalledEntry {
  readonly entry: TargetEntry;
  action: TargetActionChoice;
  counter: CounterValue = { packets: 0n, bytes: 0n };
  meter: MeterRates | undefined;
  readonly #remove: (entry: MemoryEntry) => void;

  constructor(entry: TargetEntry, remove: (entry: MemoryEntry) => void) {
    this.entry = entry;
    this.action = entry.action;
    this.#remove = remove;
  }

  setAction(action: TargetActionChoice): void {
    this.action = action;
  }
  remove(): void {
    this.#remove(this);
  }
  readCounter(): CounterValue {
    return this.counter;
  }
  writeCounter(value: CounterValue): void {
    this.counter = value;
  }
  writeMeter(config: MeterRates | undefined): void {
    this.meter = config;
  }
}

export class MemoryProgram implements TargetProgram {
  readonly name: string;
  readonly entries = new Map<string, Set<MemoryEntry>>();
  readonly defaults = new Map<string, TargetAction>();
  readonly counters = new Map<string, CounterValue>();
  readonly meters = new Map<string, MeterRates>();
  readonly registers = new Map<string, bigint>();
  readonly members = new Map<number, TargetAction>();
  readonly groups = new Map<number, readonly GroupMember[]>();
  readonly multicastGroups = new Map<number, readonly Replica[]>();
  readonly cloneSessions = new Map<number, CloneSession>();

  constructor(name: string) {
    this.name = name;
  }

  table(name: string): Set<MemoryEntry> {
    const entries = this.entries.get(name) ?? new Set();
    this.entries.set(name, entries);
    return entries;
  }

  initialEntries(table: TableSchema): readonly InitialEntry[] {
    if (table.name !== "ingress.fixed") return [];
    return [3n, 5n].map((value) => {
      const entry: TargetEntry = {
        match: [{ kind: "EXACT", value }],
        priority: 0,
        action: { kind: "action", action: { name: "ingress.drop", args: [] } },
      };
      return { ...entry, isConst: true, installed: this.insertEntry(table, entry) };
    });
  }
  initialDefaultAction(table: TableSchema): TargetAction | undefined {
    return table.name === "ingress.ipv4_lpm" ? { name: "NoAction", args: [] } : undefined;
  }
  insertEntry(table: TableSchema, entry: TargetEntry): MemoryEntry {
    const entries = this.table(table.name);
    const installed = new MemoryEntry(entry, (which) => entries.delete(which));
    entries.add(installed);
    return installed;
  }
  setDefaultAction(table: TableSchema, action: TargetAction | undefined): void {
    if (action === undefined) this.defaults.delete(table.name);
    else this.defaults.set(table.name, action);
  }
  readCounter(counter: { readonly name: string }, index: number): CounterValue {
    return this.counters.get(`${counter.name}[${index}]`) ?? { packets: 0n, bytes: 0n };
  }
  writeCounter(counter: { readonly name: string }, index: number, value: CounterValue): void {
    this.counters.set(`${counter.name}[${index}]`, value);
  }
  writeMeter(meter: { readonly name: string }, index: number, config: MeterRates | undefined): void {
    if (config === undefined) this.meters.delete(`${meter.name}[${index}]`);
    else this.meters.set(`${meter.name}[${index}]`, config);
  }
  readRegister(register: { readonly name: string }, index: number): bigint {
    return this.registers.get(`${register.name}[${index}]`) ?? 0n;
  }
  writeRegister(register: { readonly name: string }, index: number, value: bigint): void {
    this.registers.set(`${register.name}[${index}]`, value);
  }
  setMember(_profile: { readonly name: string }, memberId: number, action: TargetAction | undefined): void {
    if (action === undefined) this.members.delete(memberId);
    else this.members.set(memberId, action);
  }
  setGroup(
    _profile: { readonly name: string },
    groupId: number,
    members: readonly GroupMember[] | undefined,
  ): void {
    if (members === undefined) this.groups.delete(groupId);
    else this.groups.set(groupId, members);
  }
  setMulticastGroup(groupId: number, replicas: readonly Replica[] | undefined): void {
    if (replicas === undefined) this.multicastGroups.delete(groupId);
    else this.multicastGroups.set(groupId, replicas);
  }
  setCloneSession(sessionId: number, session: CloneSession | undefined): void {
    if (session === undefined) this.cloneSessions.delete(sessionId);
    else this.cloneSessions.set(sessionId, session);
  }
}

/**
 * A switch without packets: it keeps what it is told, so that tests of the P4Runtime server can look at it. Its "programs" are any bytes;
 * those that start with "bad" cannot be compiled.
 */
export class MemoryTarget implements SwitchTarget {
  running: MemoryProgram | undefined;
  readonly packetOuts: Uint8Array[] = [];
  #digestListener: (sample: DigestSample) => void = () => {};
  #listener: (packet: Uint8Array) => void = () => {};

  prepare(_schema: Schema, deviceConfig: Uint8Array): MemoryProgram {
    const name = new TextDecoder().decode(deviceConfig);
    if (name.startsWith("bad")) throw new TargetError("bad-program", "the program is bad");
    return new MemoryProgram(name);
  }
  activate(program: TargetProgram): void {
    if (program instanceof MemoryProgram) this.running = program;
  }
  packetOut(packet: Uint8Array): void {
    this.packetOuts.push(packet);
  }
  onPacketIn(listener: (packet: Uint8Array) => void): void {
    this.#listener = listener;
  }
  onDigest(listener: (sample: DigestSample) => void): void {
    this.#digestListener = listener;
  }
  hasPort(port: number): boolean {
    return port < 16;
  }

  /** Let a packet put something into a digest. */
  digest(sample: DigestSample): void {
    this.#digestListener(sample);
  }

  /** Let a packet leave by the CPU port. */
  packetIn(packet: Uint8Array): void {
    this.#listener(packet);
  }
}
