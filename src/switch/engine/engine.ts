import type { Bmv2Program } from "../bmv2json/program.ts";
import type { CounterArray, MeterArray, ParseValueSet, RegisterArray } from "../state/arrays.ts";
import type { ActionProfile } from "../tables/action-profile.ts";
import type { Table } from "../tables/table.ts";
import type { FieldSlot, PhvLayout } from "./layout.ts";
import type { PacketState } from "./packet-state.ts";
import type { RandomSource } from "./random.ts";
import type { TargetFields } from "./target-fields.ts";
import type { Tracer } from "./trace.ts";

/** Things that went wrong in the program, not in the switch; a packet goes on after each. */
export interface Faults {
  registerIndex: number;
  counterIndex: number;
  meterIndex: number;
  assertion: number;
  endlessAction: number;
}

export function noFaults(): Faults {
  return { registerIndex: 0, counterIndex: 0, meterIndex: 0, assertion: 0, endlessAction: 0 };
}

/** The functions that a program is compiled to. */
export interface CompiledFunctions {
  readonly parse: (packet: PacketState) => void;
  readonly ingress: (packet: PacketState) => void;
  readonly egress: (packet: PacketState) => void;
  readonly deparse: (packet: PacketState) => Uint8Array;
  /** The frame as it would leave now, checksums aside; the packet stays as it is. */
  readonly assemble: (packet: PacketState) => Uint8Array;
  readonly setIngressPort: (packet: PacketState, port: number) => void;
  /** Sets the metadata that every pass through ingress starts with; time in whole microseconds. */
  readonly beginPass: (packet: PacketState, type: number, time: number) => void;
  readonly beginQueue: (packet: PacketState, depth: number, time: number) => void;
  readonly beginEgress: (
    packet: PacketState,
    port: number,
    queue: number,
    depth: number,
    waited: number,
    time: number,
  ) => void;
}

export interface EngineOptions {
  /** Where faults are counted; a place of the engine's own if absent. */
  readonly faults?: Faults;
  readonly dropPort: number;
  readonly random: RandomSource;
  readonly log: ((message: string) => void) | undefined;
}

/** A digest as the program declares it. */
export interface DigestList {
  readonly id: number;
  readonly name: string;
  readonly fields: readonly FieldSlot[];
}

/** A compiled program with its run-time state, all of it at initial values. */
export interface Engine {
  readonly program: Bmv2Program;
  readonly layout: PhvLayout;
  /** Where the metadata lives that the switch itself reads and writes. */
  readonly target: TargetFields;
  readonly functions: CompiledFunctions;
  /** The traced variant, which shares the run-time state and reports to the last tracer given. */
  traced(tracer: Tracer): CompiledFunctions;
  /** The same program and tables with registers and meters of its own, as each pipe of a chip has them. */
  anotherPipe(): Engine;
  readonly tables: ReadonlyMap<string, Table>;
  readonly profiles: ReadonlyMap<string, ActionProfile>;
  readonly counters: ReadonlyMap<string, CounterArray>;
  readonly meters: ReadonlyMap<string, MeterArray>;
  readonly registers: ReadonlyMap<string, RegisterArray>;
  readonly valueSets: ReadonlyMap<string, ParseValueSet>;
  readonly digests: ReadonlyMap<number, DigestList>;
  /** Fields that clones, resubmitted and recirculated packets keep, by list id. */
  readonly fieldLists: ReadonlyMap<number, readonly FieldSlot[]>;
  readonly faults: Faults;
  /** JavaScript that the program was compiled to; for debugging. */
  readonly source: string;
}
