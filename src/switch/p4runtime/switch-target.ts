import type {
  ActionProfileSchema,
  CounterSchema,
  MeterSchema,
  RegisterSchema,
  Schema,
  TableSchema,
  ValueSetSchema,
} from "../../p4runtime/schema.ts";
import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { Engine } from "../engine/compile.ts";
import type { SwitchRunner } from "../ports/switch-runner.ts";
import type { Digest, Switch } from "../switch.ts";
import type { ActionProfile } from "../tables/action-profile.ts";
import type { Table } from "../tables/table.ts";
import { jsonOf } from "./device-config.ts";
import { checkProgram } from "./program-check.ts";
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
} from "./target.ts";

/** The world around a switch, as far as the control plane has to do with it. */
export interface SwitchIo {
  /** The switch's time in microseconds. */
  now(): number;
  /** Hand a packet-out to the switch: `switch.handle({ kind: "packetOut", data }, now)`, and see to what follows from it. */
  packetOut(data: Uint8Array): void;
  /** Call the listener with the data of every `toCpu` action of the switch. */
  onPacketIn(listener: (data: Uint8Array) => void): void;
  /** Call the listener with every `digest` action of the switch. */
  onDigest?(listener: (digest: Pick<Digest, "list" | "values">) => void): void;
}

/** The world of a switch that a runner drives. It takes the runner's listener. */
export function ioOf(runner: SwitchRunner): SwitchIo {
  let packetIn: (data: Uint8Array) => void = () => {};
  let digest: (sample: Pick<Digest, "list" | "values">) => void = () => {};
  runner.listen({ packetIn: (data) => packetIn(data), digest: (sample) => digest(sample) });
  return {
    now: () => runner.now(),
    packetOut: (data) => runner.packetOut(data),
    onPacketIn: (listener) => {
      packetIn = listener;
    },
    onDigest: (listener) => {
      digest = listener;
    },
  };
}

/** The embedded switch as a target of the P4Runtime server. */
export class EmbeddedSwitchTarget implements SwitchTarget {
  readonly #switch: Switch;
  readonly #io: SwitchIo;

  constructor(engine: Switch, io: SwitchIo) {
    this.#switch = engine;
    this.#io = io;
  }

  prepare(schema: Schema, deviceConfig: Uint8Array): EmbeddedProgram {
    let engine: Engine;
    try {
      engine = this.#switch.preparePipeline(jsonOf(deviceConfig));
    } catch (error) {
      if (error instanceof SwitchConfigError)
        throw new TargetError(
          "bad-program",
          `the device config is no program that this switch runs: ${error.message}`,
        );
      throw error;
    }
    checkProgram(schema, engine);
    return new EmbeddedProgram(engine, () => this.#io.now());
  }

  activate(program: TargetProgram): void {
    if (!(program instanceof EmbeddedProgram))
      throw new TargetError("bad-program", "the program is another switch's");
    this.#switch.commitPipeline(program.engine);
    program.bindReplication(this.#switch);
  }

  packetOut(packet: Uint8Array): void {
    if (this.#switch.cpuPort === undefined)
      throw new TargetError(
        "unsupported",
        "the switch has no CPU port, so it takes no packets from controllers",
      );
    this.#io.packetOut(packet);
  }

  onPacketIn(listener: (packet: Uint8Array) => void): void {
    this.#io.onPacketIn(listener);
  }

  onDigest(listener: (sample: DigestSample) => void): void {
    this.#io.onDigest?.(({ list, values }) => listener({ digest: list, values }));
  }

  hasPort(port: number): boolean {
    return this.#switch.options.ports?.includes(port) ?? true;
  }
}

/** A program of the embedded switch. Multicast groups and clone sessions belong to the switch, so they wait until the program runs. */
export class EmbeddedProgram implements TargetProgram {
  readonly engine: Engine;
  readonly #now: () => number;
  readonly #groups = new Map<number, readonly Replica[]>();
  readonly #sessions = new Map<number, CloneSession>();
  #switch: Switch | undefined;

  constructor(engine: Engine, now: () => number) {
    this.engine = engine;
    this.#now = now;
  }

  now(): number {
    return this.#now();
  }

  table(schema: TableSchema): Table {
    return found(this.engine.tables, schema.name);
  }

  readCounter(schema: CounterSchema, index: number): CounterValue {
    return found(this.engine.counters, schema.name).read(index);
  }

  writeCounter(schema: CounterSchema, index: number, value: CounterValue): void {
    found(this.engine.counters, schema.name).write(index, value);
  }

  writeMeter(schema: MeterSchema, index: number, rates: MeterRates | undefined): void {
    found(this.engine.meters, schema.name).write(index, rates, this.#now());
  }

  readRegister(schema: RegisterSchema, index: number): bigint {
    return found(this.engine.registers, schema.name).read(index);
  }

  writeRegister(schema: RegisterSchema, index: number, value: bigint): void {
    found(this.engine.registers, schema.name).write(index, value);
  }

  setValueSet(schema: ValueSetSchema, members: readonly bigint[]): void {
    found(this.engine.valueSets, schema.name).set(members);
  }

  setMember(schema: ActionProfileSchema, memberId: number, action: TargetAction | undefined): void {
    const profile = found(this.engine.profiles, schema.name);
    if (action === undefined) profile.deleteMember(memberId);
    else {
      const call = { action: action.name, parameters: action.args };
      if (hasMember(profile, memberId)) profile.modifyMember(memberId, call);
      else profile.insertMember(memberId, call);
    }
  }

  setGroup(schema: ActionProfileSchema, groupId: number, members: readonly GroupMember[] | undefined): void {
    const profile = found(this.engine.profiles, schema.name);
    if (members === undefined) {
      profile.deleteGroup(groupId);
      return;
    }
    const choices = members.map(({ memberId, weight, watchPort }) =>
      watchPort === undefined ? { member: memberId, weight } : { member: memberId, weight, watchPort },
    );
    if (profile.groups.some((group) => group.id === groupId)) profile.modifyGroup(groupId, choices);
    else profile.insertGroup(groupId, choices);
  }

  setMulticastGroup(groupId: number, replicas: readonly Replica[] | undefined): void {
    if (this.#switch !== undefined) applyGroup(this.#switch, groupId, replicas);
    if (replicas === undefined) this.#groups.delete(groupId);
    else this.#groups.set(groupId, replicas);
  }

  setCloneSession(sessionId: number, session: CloneSession | undefined): void {
    if (this.#switch !== undefined) applySession(this.#switch, sessionId, session);
    if (session === undefined) this.#sessions.delete(sessionId);
    else this.#sessions.set(sessionId, session);
  }

  /** The program runs on this switch from now on. */
  bindReplication(engine: Switch): void {
    this.#switch = engine;
    for (const [id, replicas] of this.#groups) applyGroup(engine, id, replicas);
    for (const [id, session] of this.#sessions) applySession(engine, id, session);
  }
}

/** The P4Info was checked against the program, so what it names is there. */
function found<T>(objects: ReadonlyMap<string, T>, name: string): T {
  const object = objects.get(name);
  if (object === undefined) throw new TargetError("unsupported", `the program has no ${name}`);
  return object;
}

function hasMember(profile: ActionProfile, memberId: number): boolean {
  return profile.members.some((member) => member.id === memberId);
}

function applyGroup({ replication }: Switch, id: number, replicas: readonly Replica[] | undefined): void {
  if (replicas === undefined) replication.deleteGroup(id);
  else if (replication.group(id) === undefined) replication.insertGroup(id, replicas);
  else replication.modifyGroup(id, replicas);
}

function applySession({ replication }: Switch, id: number, session: CloneSession | undefined): void {
  if (session === undefined) {
    replication.deleteSession(id);
    return;
  }
  const { replicas, packetLengthBytes, classOfService } = session;
  if (replication.session(id) === undefined)
    replication.insertSession(id, replicas, packetLengthBytes, classOfService);
  else replication.modifySession(id, replicas, packetLengthBytes, classOfService);
}
