import type {
  ActionProfileSchema,
  CounterSchema,
  MeterSchema,
  RegisterSchema,
  Schema,
  TableSchema,
  ValueSetSchema,
} from "../../p4runtime/schema.ts";
import type { MeterConfig } from "../state/meter.ts";
import type { Table } from "../tables/table.ts";

/**
 * What the P4Runtime server needs of a switch. It is narrow on purpose: the server checks every value against the P4Info, counts sizes and
 * remembers what clients wrote; the target only carries it out. Objects are told apart by the names in
 * their schemas. Every method is synchronous: between two of them packets may run, during one none.
 */
export interface SwitchTarget {
  /**
   * Compile a program, in its initial state, without touching what runs.
   *
   * @param deviceConfig the BMv2 JSON.
   * @throws TargetError with a reason when the program cannot be run, or does not fit the P4Info.
   */
  prepare(schema: Schema, deviceConfig: Uint8Array): TargetProgram;

  /** Run a prepared program from the next packet on. */
  activate(program: TargetProgram): void;

  /** Let a packet enter on the CPU port; the packet_out header is in front already. */
  packetOut(packet: Uint8Array): void;

  /**
   * Take packets that leave by the CPU port, the packet_in header still in front. The bytes belong to the listener.
   */
  onPacketIn(listener: (packet: Uint8Array) => void): void;

  /** Take digest samples; a target without digests has no such method. */
  onDigest?(listener: (sample: DigestSample) => void): void;

  /** Whether packets can be copied to this port and sent to it. */
  hasPort(port: number): boolean;
}

/** A program of a target, with its tables and arrays. */
export interface TargetProgram {
  /** The switch's time in microseconds. */
  now(): number;

  /** A table, with the program's own entries and default action in place. The server reads and writes its entries itself. */
  table(schema: TableSchema): Table;

  readCounter(counter: CounterSchema, index: number): CounterValue;
  writeCounter(counter: CounterSchema, index: number, value: CounterValue): void;
  /** `undefined` lets every packet be green. */
  writeMeter(meter: MeterSchema, index: number, config: MeterRates | undefined): void;
  readRegister(register: RegisterSchema, index: number): bigint;
  writeRegister(register: RegisterSchema, index: number, value: bigint): void;

  /** Members of a parse value set: the fields of each one after the other. */
  setValueSet(set: ValueSetSchema, members: readonly bigint[]): void;

  /** `undefined` removes; the server never removes what is still in use. Ids may pass 2^32: those are the server's own (one-shots). */
  setMember(profile: ActionProfileSchema, memberId: number, action: TargetAction | undefined): void;
  setGroup(profile: ActionProfileSchema, groupId: number, members: readonly GroupMember[] | undefined): void;

  setMulticastGroup(groupId: number, replicas: readonly Replica[] | undefined): void;
  setCloneSession(sessionId: number, session: CloneSession | undefined): void;
}

export interface TargetAction {
  /** Full name as in the P4Info. */
  readonly name: string;
  /** One value per parameter, in the order of the P4Info. */
  readonly args: readonly bigint[];
}

/** Both wrap at 2^64. */
export interface CounterValue {
  readonly packets: bigint;
  readonly bytes: bigint;
}

/** Rates per second and bursts, in the meter's unit. */
export type MeterRates = MeterConfig;

export interface GroupMember {
  readonly memberId: number;
  readonly weight: number;
  /** The member is passed over while this port is down. */
  readonly watchPort: number | undefined;
}

export interface Replica {
  readonly port: number;
  readonly instance: number;
}

export interface CloneSession {
  readonly replicas: readonly Replica[];
  readonly classOfService: number;
  /** Copies are cut to this many bytes; 0 leaves them whole. */
  readonly packetLengthBytes: number;
}

/** What one packet put into a digest. */
export interface DigestSample {
  /** Name as in the P4Info. */
  readonly digest: string;
  /** The members of the digest, in order, as unsigned bits. */
  readonly values: readonly bigint[];
}

export type TargetErrorCode =
  /** The program cannot be run. */
  | "bad-program"
  /** The target has no such feature. */
  | "unsupported"
  /** The target's room is exhausted. */
  | "full";

/** A target cannot do what it was asked. */
export class TargetError extends Error {
  override readonly name = "TargetError";
  readonly code: TargetErrorCode;

  constructor(code: TargetErrorCode, text: string) {
    super(text);
    this.code = code;
  }
}
