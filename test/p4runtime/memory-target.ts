import type { ActionProfileSchema, Schema, TableSchema } from "../../src/p4runtime/schema.ts";
import {
  type CloneSession,
  type CounterValue,
  type DigestSample,
  type GroupMember,
  type MeterRates,
  type Replica,
  type SwitchTarget,
  type TargetAction,
  TargetError,
  type TargetProgram,
} from "../../src/switch/p4runtime/target.ts";
import { ActionProfile, type ActionResolver } from "../../src/switch/tables/action-profile.ts";
import { newActionData } from "../../src/switch/tables/entry-store.ts";
import { SwitchRuntimeError } from "../../src/switch/tables/runtime-error.ts";
import { Table } from "../../src/switch/tables/table.ts";
import type { TableEntry } from "../../src/switch/tables/table-entry.ts";

/** Bits of a value; a string has no width in P4Info, and gets room for 64 bytes. */
function widthOf({ bitwidth }: { readonly bitwidth: number }): number {
  return bitwidth === 0 ? 512 : bitwidth;
}

/** The actions that a table of the P4Info may use, numbered as there. */
function resolverFor(schema: TableSchema): ActionResolver {
  const actions = [...schema.actions.values()].map((ref) => ref.action);
  const isWide = (params: readonly { readonly bitwidth: number }[]) =>
    params.some((param) => widthOf(param) > 52);
  return {
    parameters: Math.max(0, ...actions.map((action) => action.params.all.length)),
    hasWideParameters: actions.some((action) => isWide(action.params.all)),
    parametersOf: (index) => actions[index]?.params.all.length ?? 0,
    find: (name) => {
      const actionIndex = actions.findIndex((action) => action.name === name);
      const params = actions[actionIndex]?.params.all;
      return params === undefined ? undefined : { actionIndex, parameterWidths: params.map(widthOf) };
    },
    nameOf: (index) => actions[index]?.name ?? "",
    resolve: (call) => {
      const actionIndex = actions.findIndex((action) => action.name === call.action);
      if (actionIndex < 0) throw new SwitchRuntimeError("INVALID_ARGUMENT", schema.name, "no such action");
      const params = actions[actionIndex]?.params.all ?? [];
      const data = newActionData(params.length, isWide(params));
      call.parameters.forEach((value, i) => {
        data[i] = widthOf(params[i] ?? { bitwidth: 0 }) <= 52 ? Number(value) : value;
      });
      return { actionIndex, data };
    },
  };
}

/** A table of the switch as the P4Info alone describes it. */
function tableOf(schema: TableSchema, profile: ActionProfile | undefined): Table {
  let word = 0;
  const key = schema.fields.all.map((own) => {
    const { name, kind } = own;
    const width = widthOf(own);
    const words = Math.ceil(width / 32);
    const field = { name, kind: kind.toLowerCase() as Lowercase<typeof kind>, width, word, words };
    word += words;
    return field;
  });
  const matchType = schema.needsPriority
    ? "ternary"
    : key.some((field) => field.kind === "lpm")
      ? "lpm"
      : "exact";
  return new Table(
    {
      name: schema.name,
      id: schema.id,
      pipeline: "ingress",
      key,
      matchType,
      capacity: Number.POSITIVE_INFINITY,
      isConst: schema.isConst,
      hasCounters: schema.directCounter !== undefined,
      meterUnit: schema.directMeter === undefined ? undefined : "bytes",
      supportsTimeout: schema.supportsIdleTimeout,
      profile,
      hasConstDefault: schema.constDefaultAction,
      actions: [...schema.actions.values()].map((ref) => ref.action.name),
    },
    resolverFor(schema),
  );
}

export class MemoryProgram implements TargetProgram {
  readonly name: string;
  readonly counters = new Map<string, CounterValue>();
  readonly meters = new Map<string, MeterRates>();
  readonly registers = new Map<string, bigint>();
  readonly members = new Map<number, TargetAction>();
  readonly groups = new Map<number, readonly GroupMember[]>();
  readonly multicastGroups = new Map<number, readonly Replica[]>();
  readonly valueSets = new Map<string, readonly bigint[]>();
  readonly cloneSessions = new Map<number, CloneSession>();
  readonly #tables = new Map<string, Table>();
  readonly #profiles = new Map<string, ActionProfile>();
  time = 0;

  constructor(name: string) {
    this.name = name;
  }

  now(): number {
    return this.time;
  }

  table(schema: TableSchema): Table {
    let table = this.#tables.get(schema.name);
    if (table === undefined) {
      table = tableOf(
        schema,
        schema.implementation === undefined ? undefined : this.#profile(schema.implementation, schema),
      );
      this.#tables.set(schema.name, table);
      if (schema.name === "ingress.ipv4_lpm")
        table.setInitialDefault({ kind: "action", action: "NoAction", parameters: [] });
      if (schema.name === "ingress.fixed")
        for (const value of [3n, 5n])
          table.insertInitial(
            [{ kind: "exact", value }],
            { kind: "action", action: "ingress.drop", parameters: [] },
            {},
          );
    }
    return table;
  }

  #profile(schema: ActionProfileSchema, table?: TableSchema): ActionProfile {
    let profile = this.#profiles.get(schema.name);
    if (profile === undefined) {
      if (table === undefined) throw new TargetError("unsupported", `${schema.name} implements no table`);
      profile = new ActionProfile(
        schema.name,
        schema.id,
        Number.POSITIVE_INFINITY,
        schema.withSelector,
        resolverFor(table),
      );
      this.#profiles.set(schema.name, profile);
    }
    return profile;
  }

  /** The entries of a table, by its full name. */
  entries(table: string): readonly TableEntry[] {
    return [...(this.#tables.get(table)?.entries() ?? [])];
  }

  defaultAction(table: string): string | undefined {
    const action = this.#tables.get(table)?.defaultEntry?.action;
    return action?.kind === "action" ? action.action : undefined;
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
  setMember(schema: ActionProfileSchema, memberId: number, action: TargetAction | undefined): void {
    const profile = this.#profile(schema);
    if (action === undefined) {
      profile.deleteMember(memberId);
      this.members.delete(memberId);
      return;
    }
    const call = { action: action.name, parameters: action.args };
    if (this.members.has(memberId)) profile.modifyMember(memberId, call);
    else profile.insertMember(memberId, call);
    this.members.set(memberId, action);
  }
  setGroup(schema: ActionProfileSchema, groupId: number, members: readonly GroupMember[] | undefined): void {
    const profile = this.#profile(schema);
    if (members === undefined) {
      profile.deleteGroup(groupId);
      this.groups.delete(groupId);
      return;
    }
    const choices = members.map(({ memberId, weight }) => ({ member: memberId, weight }));
    if (this.groups.has(groupId)) profile.modifyGroup(groupId, choices);
    else profile.insertGroup(groupId, choices);
    this.groups.set(groupId, members);
  }
  setValueSet(set: { readonly name: string }, members: readonly bigint[]): void {
    this.valueSets.set(set.name, members);
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
