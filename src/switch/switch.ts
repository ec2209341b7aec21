import type { Bmv2JsonSource } from "./bmv2json/document.ts";
import { readProgram } from "./bmv2json/read-program.ts";
import {
  type CompiledFunctions,
  compileProgram,
  type DigestList,
  type Engine,
  type Faults,
} from "./engine/compile.ts";
import { cloneRequested, instanceType, PacketState } from "./engine/packet-state.ts";
import { type RandomSource, seededRandom } from "./engine/random.ts";
import {
  clearMetadata,
  copyField,
  fieldBits,
  getField,
  setField,
  type TargetFields,
} from "./engine/target-fields.ts";
import type { TraceEvent, Tracer } from "./engine/trace.ts";
import { type Replica, ReplicationEngine } from "./replication/replication-engine.ts";
import type { CounterArray, MeterArray, ParseValueSet, RegisterArray } from "./state/arrays.ts";
import type { ActionProfile } from "./tables/action-profile.ts";
import { SwitchRuntimeError } from "./tables/runtime-error.ts";
import type { Table } from "./tables/table.ts";
import { type Dequeued, TrafficManager } from "./trafficmanager/traffic-manager.ts";

/** v1model's drop port in simple_switch. */
export const defaultDropPort = 511;

export interface SwitchOptions {
  /** Packets for this port are handed out as `toCpu`, and `packetOut` comes in on it. */
  readonly cpuPort?: number;
  /** `mark_to_drop` sets egress_spec to this; 511 if absent. */
  readonly dropPort?: number;
  /** Strict-priority queues per port, 1 to 8; 8 if absent. A packet with a higher `priority` is dropped. */
  readonly priorityQueues?: number;
  /** Packets that a queue holds; 64 if absent, as in simple_switch. */
  readonly queueDepth?: number;
  /** Passes through ingress (resubmit, recirculate) after which a packet is dropped; 1000 if absent. */
  readonly maxPasses?: number;
  /** Ports that exist; packets for others are dropped with reason `noSuchPort`. All ports exist if absent. */
  readonly ports?: readonly number[];
  /** Source of random numbers; seeded with 1 if absent, so that runs repeat. */
  readonly random?: RandomSource;
  /** Takes the messages of log_msg. */
  readonly log?: (message: string) => void;
}

/** Why a packet, or a copy of one, ended inside the switch. */
export type DropReason =
  | "noPipeline"
  | "ingressDrop"
  | "egressDrop"
  | "emptyMulticastGroup"
  | "noCloneSession"
  | "noSuchPort"
  | "queueFull"
  | "priorityOutOfRange"
  | "tooManyPasses"
  | "emptyFrame"
  | "pipelineReplaced";

/** What goes into the switch. */
export type SwitchEvent =
  | { readonly kind: "packet"; readonly port: number; readonly data: Uint8Array }
  /** From the control plane: arrives on the CPU port, with the packet_out header in front. */
  | { readonly kind: "packetOut"; readonly data: Uint8Array };

/** A digest sample: the values of the list's fields, in order, as unsigned bits. */
export interface Digest {
  readonly list: string;
  readonly listId: number;
  readonly values: readonly bigint[];
}

/** What comes out of the switch. Frames are memory of their own: they may be kept and changed. */
export type SwitchAction =
  | { readonly kind: "transmit"; readonly port: number; readonly data: Uint8Array }
  /** For the control plane, with the packet_in header in front. */
  | { readonly kind: "toCpu"; readonly data: Uint8Array }
  | ({ readonly kind: "digest" } & Digest)
  | { readonly kind: "drop"; readonly reason: DropReason; readonly port: number };

/** Receives actions one by one; the way without an array per packet. */
export type SwitchSink = (action: SwitchAction) => void;

export interface PortCounters {
  readonly rxPackets: number;
  readonly rxBytes: number;
  readonly txPackets: number;
  readonly txBytes: number;
}

interface MutablePortCounters {
  rxPackets: number;
  rxBytes: number;
  txPackets: number;
  txBytes: number;
}

/** A program in the switch, with the places of the metadata that the switch itself uses. */
interface Loaded {
  readonly engine: Engine;
  readonly fields: TargetFields;
  readonly functions: CompiledFunctions;
}

/** One packet's way through the switch. */
export interface TracedPacket {
  readonly actions: readonly SwitchAction[];
  readonly events: readonly TraceEvent[];
}

const dropReasons = [
  "noPipeline",
  "ingressDrop",
  "egressDrop",
  "emptyMulticastGroup",
  "noCloneSession",
  "noSuchPort",
  "queueFull",
  "priorityOutOfRange",
  "tooManyPasses",
  "emptyFrame",
  "pipelineReplaced",
] as const satisfies readonly DropReason[];

/**
 * A switch that runs a BMv2 JSON program with the semantics of simple_switch (v1model).
 *
 * It is a pure state machine: packets and the time come in, actions come out. Time is in microseconds and must not run
 * backwards. Packets wait inside only at ports with a rate (`trafficManager.setRate`); then `nextWakeup` says when `tick`
 * is to be called. Nothing is thrown for anything that a packet contains.
 *
 * Control plane: `tables`, `profiles`, `counters`, `meters`, `registers`, `valueSets` by the names of the JSON (the
 * fully qualified names of P4Info), `replication` for multicast groups and clone sessions. All of them start anew with
 * each `setPipeline`; do not keep references across it.
 *
 * Semantics worth knowing (simple_switch.md):
 * - The parser never drops: on an error ingress runs with what was parsed and `parser_error` set.
 * - `egress_spec` starts at 0, so a packet for which nobody sets it leaves on port 0.
 * - After ingress: clone, digest, then the first of resubmit, multicast, drop, unicast. After egress: clone, then drop,
 *   recirculate or transmit.
 * - A clone or a resubmitted packet keeps ingress_port; all other metadata is zero but for its field list.
 * - A multicast copy to the ingress port is made like any other.
 */
export class Switch {
  readonly options: SwitchOptions;
  readonly dropPort: number;
  readonly cpuPort: number | undefined;
  /** Queues, rates and depths. They stay when the pipeline changes. */
  readonly trafficManager: TrafficManager<PacketState>;
  readonly replication = new ReplicationEngine();

  private loaded: Loaded | undefined = undefined;
  private readonly random: RandomSource;
  private readonly maxPasses: number;
  private readonly portNumbers: ReadonlySet<number> | undefined;
  private readonly dropCounts: Record<DropReason, number>;
  /** By port number; sparse for large numbers. */
  private readonly portCounts: (MutablePortCounters | undefined)[] = [];
  private pool: PacketState[] = [];
  /** Resubmitted and recirculated packets. */
  private readonly again: PacketState[] = [];
  private sink: SwitchSink = () => {};
  private tracer: Tracer | undefined = undefined;
  private dequeued: Dequeued<PacketState> | undefined = undefined;

  /** A switch without a program drops everything (`noPipeline`). `json` is loaded as by `setPipeline`. */
  constructor(json?: Bmv2JsonSource, options: SwitchOptions = {}) {
    this.options = options;
    this.dropPort = options.dropPort ?? defaultDropPort;
    this.cpuPort = options.cpuPort;
    this.maxPasses = options.maxPasses ?? 1000;
    this.random = options.random ?? seededRandom(1);
    this.portNumbers = options.ports === undefined ? undefined : new Set(options.ports);
    const queues = options.priorityQueues ?? 8;
    if (!Number.isInteger(queues) || queues < 1 || queues > 8) {
      throw new RangeError(`priorityQueues must be from 1 to 8, not ${queues}`);
    }
    this.trafficManager = new TrafficManager(
      { queues, depth: options.queueDepth ?? 64 },
      (packet) => packet.packetLength,
    );
    this.dropCounts = Object.fromEntries(dropReasons.map((reason) => [reason, 0])) as Record<
      DropReason,
      number
    >;
    if (json !== undefined) this.setPipeline(json);
  }

  // ---------------------------------------------------------------- pipeline

  /**
   * Compiles a program without loading it. Throws SwitchConfigError. The result can be given to `commitPipeline`, on
   * this switch and only once, since it carries the program's run-time state.
   */
  preparePipeline(json: Bmv2JsonSource): Engine {
    return compileProgram(readProgram(json), {
      dropPort: this.dropPort,
      random: this.random,
      log: this.options.log,
    });
  }

  /**
   * Runs a prepared program from now on. All run-time state starts anew, multicast groups and clone sessions included;
   * packets in the queues are dropped (`pipelineReplaced`). Port settings and counters stay.
   */
  commitPipeline(engine: Engine): void {
    this.trafficManager.clear(() => {
      this.dropCounts.pipelineReplaced++;
    });
    this.again.length = 0;
    this.replication.clear();
    this.pool = [];
    this.dequeued = { packet: new PacketState(engine.layout), port: 0, queue: 0, depth: 0 };
    this.loaded = { engine, fields: engine.target, functions: engine.functions };
    if (this.tracer !== undefined) this.trace(this.tracer);
  }

  /** Loads a program, or throws SwitchConfigError and goes on with the one before. */
  setPipeline(json: Bmv2JsonSource): void {
    this.commitPipeline(this.preparePipeline(json));
  }

  get hasPipeline(): boolean {
    return this.loaded !== undefined;
  }

  /** The compiled program; FAILED_PRECONDITION if there is none. */
  get engine(): Engine {
    if (this.loaded === undefined)
      throw new SwitchRuntimeError("FAILED_PRECONDITION", "switch", "has no pipeline");
    return this.loaded.engine;
  }

  // ---------------------------------------------------------------- control plane

  /** Tables by name, the ones that the compiler made for itself included. */
  get tables(): ReadonlyMap<string, Table> {
    return this.engine.tables;
  }

  private static named<T>(kind: string, map: ReadonlyMap<string, T>, name: string): T {
    const found = map.get(name);
    if (found === undefined) throw new SwitchRuntimeError("NOT_FOUND", name, `there is no such ${kind}`);
    return found;
  }

  /** The table of this name; NOT_FOUND if there is none. */
  table(name: string): Table {
    return Switch.named("table", this.tables, name);
  }

  get profiles(): ReadonlyMap<string, ActionProfile> {
    return this.engine.profiles;
  }

  profile(name: string): ActionProfile {
    return Switch.named("action profile", this.profiles, name);
  }

  get counters(): ReadonlyMap<string, CounterArray> {
    return this.engine.counters;
  }

  counter(name: string): CounterArray {
    return Switch.named("counter", this.counters, name);
  }

  get meters(): ReadonlyMap<string, MeterArray> {
    return this.engine.meters;
  }

  meter(name: string): MeterArray {
    return Switch.named("meter", this.meters, name);
  }

  get registers(): ReadonlyMap<string, RegisterArray> {
    return this.engine.registers;
  }

  register(name: string): RegisterArray {
    return Switch.named("register", this.registers, name);
  }

  get valueSets(): ReadonlyMap<string, ParseValueSet> {
    return this.engine.valueSets;
  }

  /** Digests that the program declares, by list id. */
  get digests(): ReadonlyMap<number, DigestList> {
    return this.engine.digests;
  }

  /** Tells all action selectors whether a port is up, for groups that watch ports. */
  setPortUp(port: number, isUp: boolean): void {
    for (const profile of this.profiles.values()) profile.setPortUp(port, isUp);
  }

  // ---------------------------------------------------------------- counters

  /** Packets that ended inside the switch, by reason, since it was made. */
  get drops(): Readonly<Record<DropReason, number>> {
    return this.dropCounts;
  }

  /** Mistakes of the program that did not stop a packet: array indices out of range, failed assertions. */
  get faults(): Readonly<Faults> {
    return this.engine.faults;
  }

  /** What a port received and sent. */
  port(number: number): PortCounters {
    return this.portCounts[number] ?? { rxPackets: 0, rxBytes: 0, txPackets: 0, txBytes: 0 };
  }

  /** Ports that have received or sent anything, in numeric order. */
  usedPorts(): readonly number[] {
    return this.portCounts.flatMap((counters, port) => (counters === undefined ? [] : [port]));
  }

  private countersOf(port: number): MutablePortCounters {
    let counters = this.portCounts[port];
    if (counters === undefined) {
      counters = { rxPackets: 0, rxBytes: 0, txPackets: 0, txBytes: 0 };
      this.portCounts[port] = counters;
    }
    return counters;
  }

  // ---------------------------------------------------------------- tracing

  /** Reports what each packet goes through, or with undefined stops. While it is off it costs nothing. */
  trace(tracer: Tracer | undefined): void {
    this.tracer = tracer;
    if (this.loaded === undefined) return;
    const { engine, fields } = this.loaded;
    this.loaded = {
      engine,
      fields,
      functions: tracer === undefined ? engine.functions : engine.traced(tracer),
    };
  }

  // ---------------------------------------------------------------- packets

  /**
   * Takes an event at time `now` (microseconds) and returns what follows at once. With a `sink` the actions go there
   * and the result is empty.
   */
  handle(event: SwitchEvent, now: number, sink?: SwitchSink): readonly SwitchAction[] {
    if (event.kind === "packetOut" && this.cpuPort === undefined) {
      throw new SwitchRuntimeError(
        "FAILED_PRECONDITION",
        "switch",
        "a packet-out needs a switch with a CPU port",
      );
    }
    const port = event.kind === "packetOut" ? (this.cpuPort ?? 0) : event.port;
    if (sink !== undefined) {
      this.receive(port, event.data, now, sink);
      return [];
    }
    const actions: SwitchAction[] = [];
    this.receive(port, event.data, now, (action) => actions.push(action));
    return actions;
  }

  /** `handle` for a packet, without an event object: the fast way in. `data` is not kept. */
  receive(port: number, data: Uint8Array, now: number, sink: SwitchSink): void {
    this.sink = sink;
    const counters = this.countersOf(port);
    counters.rxPackets++;
    counters.rxBytes += data.length;
    const { loaded } = this;
    if (loaded === undefined) {
      this.dropped("noPipeline", port);
      return;
    }
    const packet = this.take(loaded);
    packet.clearFields();
    packet.bytes = data;
    packet.length = data.length;
    packet.ownsBytes = false;
    packet.ingressPort = port;
    packet.passes = 0;
    this.startPass(loaded, packet, instanceType.normal, now);
    loaded.functions.setIngressPort(packet, packet.ingressPort);
    this.ingress(loaded, packet, now);
    this.run(loaded, now);
  }

  /** Sends what may leave by `now`; to be called at the time that `nextWakeup` gave, or later. */
  tick(now: number, sink?: SwitchSink): readonly SwitchAction[] {
    const actions: SwitchAction[] = [];
    this.sink = sink ?? ((action) => actions.push(action));
    if (this.loaded !== undefined) this.run(this.loaded, now);
    return actions;
  }

  /** When `tick` has something to do, in microseconds; undefined if never. */
  nextWakeup(): number | undefined {
    return this.trafficManager.nextWakeup();
  }

  /**
   * Sends one packet through and returns the frames that leave at once, the CPU port's under its number. For tests of
   * P4 programs.
   */
  inject(
    port: number,
    data: Uint8Array,
    now = 0,
  ): readonly { readonly port: number; readonly data: Uint8Array }[] {
    const frames: { readonly port: number; readonly data: Uint8Array }[] = [];
    this.receive(port, data, now, (action) => {
      if (action.kind === "transmit") frames.push({ port: action.port, data: action.data });
      if (action.kind === "toCpu") frames.push({ port: this.cpuPort ?? 0, data: action.data });
    });
    return frames;
  }

  /** Sends one packet through and tells every step. */
  explain(port: number, data: Uint8Array, now = 0): TracedPacket {
    const events: TraceEvent[] = [];
    const before = this.tracer;
    this.trace((event) => events.push(event));
    try {
      return { actions: this.handle({ kind: "packet", port, data }, now), events };
    } finally {
      this.trace(before);
    }
  }

  // ---------------------------------------------------------------- inside

  private take(loaded: Loaded): PacketState {
    return this.pool.pop() ?? new PacketState(loaded.engine.layout);
  }

  private give(packet: PacketState): void {
    packet.ownsBytes = false;
    this.pool.push(packet);
  }

  private dropped(reason: DropReason, port: number): void {
    this.dropCounts[reason]++;
    this.tracer?.({ kind: "drop", reason });
    this.sink({ kind: "drop", reason, port });
  }

  /** Sets what every packet has at the start of ingress; the frame and the fields to keep are in place. */
  private startPass(loaded: Loaded, packet: PacketState, type: number, now: number): void {
    packet.clearRequests();
    packet.packetLength = packet.length;
    packet.ingressLength = packet.length;
    packet.now = now;
    packet.passes++;
    loaded.functions.beginPass(packet, type, Math.floor(now));
  }

  /** Everything that can happen now: packets that start again, then packets that leave the queues. */
  private run(loaded: Loaded, now: number): void {
    const { dequeued } = this;
    if (dequeued === undefined) return;
    for (;;) {
      const packet = this.again.shift();
      if (packet !== undefined) {
        this.ingress(loaded, packet, now);
        continue;
      }
      if (!this.trafficManager.dequeue(now, dequeued)) return;
      this.egress(loaded, dequeued, now);
    }
  }

  private ingress(loaded: Loaded, packet: PacketState, now: number): void {
    const { fields, functions } = loaded;
    const { ingressPort } = packet;
    if (packet.passes > this.maxPasses) {
      this.dropped("tooManyPasses", ingressPort);
      this.give(packet);
      return;
    }
    if (this.tracer !== undefined) {
      this.tracer({
        kind: "ingress",
        port: ingressPort,
        length: packet.length,
        instanceType: getField(packet, fields.instanceType),
      });
    }
    functions.parse(packet);
    functions.ingress(packet);
    packet.exit = 0;
    const egressSpec = packet.u[fields.egressSpec.index] ?? 0;

    if (packet.clone !== 0) this.cloneIngress(loaded, packet, now);
    if (packet.digest !== 0) this.emitDigest(loaded, packet);
    if (packet.resubmit !== 0) {
      this.resubmit(loaded, packet, now);
      return;
    }
    const group = fields.multicastGroup === undefined ? 0 : (packet.u[fields.multicastGroup.index] ?? 0);
    if (group !== 0) {
      packet.u[fields.instanceType.index] = instanceType.replication;
      const replicas = this.replication.group(group)?.replicas;
      if (replicas === undefined || replicas.length === 0) this.dropped("emptyMulticastGroup", ingressPort);
      else this.replicate(loaded, packet, replicas, now);
      this.give(packet);
      return;
    }
    if (egressSpec === this.dropPort) {
      this.dropped("ingressDrop", ingressPort);
      this.give(packet);
      return;
    }
    packet.u[fields.instanceType.index] = instanceType.normal;
    this.enqueue(loaded, egressSpec, packet, now);
  }

  /** Puts a packet into its queue; the packet belongs to the queue afterwards, or to the pool if it was dropped. */
  private enqueue(loaded: Loaded, port: number, packet: PacketState, now: number): void {
    const { fields } = loaded;
    if (this.portNumbers !== undefined && !this.portNumbers.has(port) && port !== this.cpuPort) {
      this.dropped("noSuchPort", port);
      this.give(packet);
      return;
    }
    const queue = fields.priority === undefined ? 0 : (packet.u[fields.priority.index] ?? 0);
    loaded.functions.beginQueue(packet, this.trafficManager.depth(port, queue), Math.floor(now));
    packet.enqueuedAt = now;
    if (this.trafficManager.isLimited(port)) packet.detach();
    const refused = this.trafficManager.enqueue(port, queue, packet, now);
    if (refused !== undefined) {
      this.dropped(refused, port);
      this.give(packet);
    }
  }

  private replicate(loaded: Loaded, packet: PacketState, replicas: readonly Replica[], now: number): void {
    for (const { port, instance } of replicas) {
      const copy = this.take(loaded);
      copy.copyFieldsFrom(packet);
      copy.copyFrameFrom(packet);
      copy.clearRequests();
      copy.truncateTo = packet.truncateTo;
      setField(copy, loaded.fields.egressRid, instance);
      this.enqueue(loaded, port, copy, now);
    }
  }

  private keepFields(loaded: Loaded, to: PacketState, from: PacketState, list: number): void {
    for (const slot of loaded.engine.fieldLists.get(list) ?? []) copyField(to, from, slot);
  }

  /** Ingress to egress clone: the frame as it arrived, parsed again. */
  private cloneIngress(loaded: Loaded, packet: PacketState, now: number): void {
    const { engine, fields, functions } = loaded;
    const session = this.replication.session(packet.clone & ~cloneRequested);
    if (session === undefined || session.replicas.length === 0) {
      this.dropped("noCloneSession", packet.ingressPort);
      return;
    }
    const copy = this.take(loaded);
    copy.clearFields();
    copy.copyFrameFrom(packet);
    copy.clearRequests();
    copy.packetLength = copy.length;
    loaded.functions.setIngressPort(copy, packet.ingressPort);
    functions.parse(copy);
    const { parserError } = copy;
    clearMetadata(copy, engine.layout);
    copy.parserError = parserError;
    loaded.functions.setIngressPort(copy, packet.ingressPort);
    this.keepFields(loaded, copy, packet, packet.cloneFieldList);
    setField(copy, fields.instanceType, instanceType.ingressClone);
    if (session.packetLength > 0) copy.truncateTo = session.packetLength;
    this.replicate(loaded, copy, session.replicas, now);
    this.give(copy);
  }

  private emitDigest(loaded: Loaded, packet: PacketState): void {
    const list = loaded.engine.digests.get(packet.digest);
    if (list === undefined) return;
    this.sink({
      kind: "digest",
      list: list.name,
      listId: list.id,
      values: list.fields.map((slot) => fieldBits(packet, slot)),
    });
  }

  private resubmit(loaded: Loaded, packet: PacketState, now: number): void {
    const copy = this.take(loaded);
    copy.clearFields();
    copy.copyFrameFrom(packet);
    this.keepFields(loaded, copy, packet, packet.resubmit);
    loaded.functions.setIngressPort(copy, packet.ingressPort);
    this.startPass(loaded, copy, instanceType.resubmitted, now);
    this.give(packet);
    this.again.push(copy);
  }

  private egress(loaded: Loaded, from: Dequeued<PacketState>, now: number): void {
    const { fields, functions } = loaded;
    const { packet, port } = from;
    packet.egressPort = port;
    packet.queue = from.queue;
    packet.now = now;
    functions.beginEgress(
      packet,
      port,
      from.queue,
      from.depth,
      Math.floor(now - packet.enqueuedAt),
      Math.floor(now),
    );
    packet.clone = 0;
    if (this.tracer !== undefined) {
      this.tracer({ kind: "egress", port, instanceType: getField(packet, fields.instanceType) });
    }
    functions.egress(packet);
    packet.exit = 0;

    if (packet.clone !== 0) this.cloneEgress(loaded, packet, now);
    if (packet.u[fields.egressSpec.index] === this.dropPort) {
      this.dropped("egressDrop", port);
      this.give(packet);
      return;
    }
    const frame = functions.deparse(packet);
    if (packet.recirculate !== 0) {
      this.recirculate(loaded, packet, frame, now);
      return;
    }
    this.transmit(port, frame);
    this.give(packet);
  }

  /** Egress to egress clone: the headers as egress left them; it skips the deparser and starts egress again. */
  private cloneEgress(loaded: Loaded, packet: PacketState, now: number): void {
    const { engine, fields } = loaded;
    const session = this.replication.session(packet.clone & ~cloneRequested);
    if (session === undefined || session.replicas.length === 0) {
      this.dropped("noCloneSession", packet.egressPort);
      return;
    }
    const copy = this.take(loaded);
    copy.copyFieldsFrom(packet);
    copy.copyFrameFrom(packet);
    copy.clearRequests();
    clearMetadata(copy, engine.layout);
    loaded.functions.setIngressPort(copy, packet.ingressPort);
    this.keepFields(loaded, copy, packet, packet.cloneFieldList);
    setField(copy, fields.instanceType, instanceType.egressClone);
    copy.passes++;
    if (session.packetLength > 0) copy.truncateTo = session.packetLength;
    if (copy.passes > this.maxPasses) this.dropped("tooManyPasses", packet.egressPort);
    else this.replicate(loaded, copy, session.replicas, now);
    this.give(copy);
  }

  private recirculate(loaded: Loaded, packet: PacketState, frame: Uint8Array, now: number): void {
    const copy = this.take(loaded);
    copy.clearFields();
    copy.copyFrameFrom(packet);
    copy.bytes = frame;
    copy.length = frame.length;
    copy.offset = 0;
    copy.ownsBytes = true;
    this.keepFields(loaded, copy, packet, packet.recirculate);
    this.startPass(loaded, copy, instanceType.recirculated, now);
    this.give(packet);
    this.again.push(copy);
  }

  private transmit(port: number, frame: Uint8Array): void {
    if (frame.length === 0) {
      this.dropped("emptyFrame", port);
      return;
    }
    const counters = this.countersOf(port);
    counters.txPackets++;
    counters.txBytes += frame.length;
    this.tracer?.({ kind: "transmit", port, length: frame.length });
    this.sink(
      port === this.cpuPort ? { kind: "toCpu", data: frame } : { kind: "transmit", port, data: frame },
    );
  }
}
