import type { CompiledFunctions, Engine } from "../engine/engine.ts";
import type { FieldSlot } from "../engine/layout.ts";
import { PacketState } from "../engine/packet-state.ts";
import { fieldBits, setField } from "../engine/target-fields.ts";
import type { Tracer } from "../engine/trace.ts";
import type { PathSettings, SwitchPath } from "../packet-path.ts";
import type { ReplicationEngine } from "../replication/replication-engine.ts";
import type { SwitchCounters } from "../switch-counters.ts";
import type { DropReason, SwitchSink } from "../switch-events.ts";
import type { Importance } from "../trafficmanager/congestion.ts";
import type { Dequeued, TrafficManager } from "../trafficmanager/traffic-manager.ts";
import { isDevicePort, leadsBack, pipeOf } from "./architecture.ts";
import type { TnaEngine } from "./compile-tna.ts";
import type { Gress } from "./document.ts";
import type { Exclusions } from "./exclusions.ts";
import { GressSlots } from "./gress-slots.ts";
import type { PacketGenerator } from "./packet-generator.ts";

/** A cell of the traffic manager's memory, in which queues are measured. */
const CELL_BYTES = 80;
const RED = 3;
const NANOSECONDS = 1000;

/** One pipe: the same program in both gresses, with registers and meters of its own. */
export interface Pipe {
  readonly ingress: Engine;
  readonly egress: Engine;
}

interface PipeFunctions {
  readonly ingress: CompiledFunctions;
  readonly egress: CompiledFunctions;
}

/**
 * The way of packets through a Tofino: ingress parser, ingress, deparser, traffic manager, egress parser, egress, deparser. Between the
 * two gresses a packet is bytes: what egress is to know is in a header in front.
 */
export class TnaPath implements SwitchPath {
  readonly engine: TnaEngine;
  readonly pipes: readonly Pipe[];
  /** Packets that met a register twice in one pass, by register. */
  readonly registerTwice = new Map<string, number>();
  readonly #settings: PathSettings;
  readonly #replication: ReplicationEngine;
  readonly #exclusions: Exclusions;
  readonly #generator: PacketGenerator;
  readonly #trafficManager: TrafficManager<PacketState>;
  readonly #counters: SwitchCounters;
  readonly #in: GressSlots;
  readonly #out: GressSlots;
  readonly #bridgeBytes: number;
  readonly #takesParserErrors: boolean;
  readonly #emitsNothing: boolean;
  readonly #ingressPool: PacketState[] = [];
  readonly #egressPool: PacketState[] = [];
  /** Resubmitted, recirculated and generated packets. */
  readonly #again: PacketState[] = [];
  readonly #dequeued: Dequeued<PacketState>;
  #functions: readonly PipeFunctions[];
  origin = 0;
  #sink: SwitchSink = () => {};
  #tracer: Tracer | undefined;

  constructor(
    engine: TnaEngine,
    settings: PathSettings & { readonly pipes: number },
    surroundings: {
      readonly replication: ReplicationEngine;
      readonly exclusions: Exclusions;
      readonly generator: PacketGenerator;
      readonly trafficManager: TrafficManager<PacketState>;
      readonly counters: SwitchCounters;
    },
  ) {
    this.engine = engine;
    this.#settings = settings;
    this.#replication = surroundings.replication;
    this.#exclusions = surroundings.exclusions;
    this.#generator = surroundings.generator;
    this.#trafficManager = surroundings.trafficManager;
    this.#counters = surroundings.counters;
    // The first pipe is the one that the control plane reads.
    this.pipes = Array.from({ length: settings.pipes }, (_, i) =>
      i === 0
        ? { ingress: engine.ingress, egress: engine.egress }
        : { ingress: engine.ingress.anotherPipe(), egress: engine.egress.anotherPipe() },
    );
    this.#functions = this.pipes.map((p) => ({ ingress: p.ingress.functions, egress: p.egress.functions }));
    this.#in = new GressSlots(engine.ingress.layout);
    this.#out = new GressSlots(engine.egress.layout);
    const { document } = engine;
    const bridge =
      document.bridge === undefined ? undefined : engine.ingress.layout.headers.get(document.bridge);
    this.#bridgeBytes = bridge?.fixedBytes ?? 0;
    this.#takesParserErrors = readsParserError(document.ingress);
    this.#emitsNothing = document.egress.emits.length === 0 && document.egress.checksums.length === 0;
    this.#dequeued = { packet: new PacketState(engine.egress.layout), port: 0, queue: 0, depth: 0 };
  }

  trace(tracer: Tracer | undefined): void {
    this.#tracer = tracer;
    const of = (engine: Engine): CompiledFunctions =>
      tracer === undefined ? engine.functions : engine.traced(tracer);
    this.#functions = this.pipes.map((p) => ({ ingress: of(p.ingress), egress: of(p.egress) }));
  }

  /** Only what ingress has coloured red is dropped by thresholds. */
  importance(packet: PacketState): Importance {
    return packet.colour === RED ? "droppable" : "exempt";
  }

  receive(port: number, data: Uint8Array, now: number, sink: SwitchSink, origin: number): void {
    // A sink may send a frame round to this switch again: the outer call's sink must be in place afterwards.
    const outer = this.#sink;
    this.#sink = sink;
    if (isDevicePort(port, this.pipes.length)) {
      const packet = this.#arrive(port, data, now);
      packet.origin = origin;
      this.#ingress(packet, now);
      this.#run(now);
    } else this.#dropped("noSuchPort", port);
    this.#sink = outer;
  }

  tick(now: number, sink: SwitchSink): void {
    const outer = this.#sink;
    this.#sink = sink;
    for (let due = this.#generator.next(now); due !== undefined; due = this.#generator.next(now))
      if (isDevicePort(due.port, this.pipes.length)) this.#again.push(this.#arrive(due.port, due.data, now));
    this.#run(now);
    this.#sink = outer;
  }

  nextWakeup(): number | undefined {
    return this.#generator.nextWakeup();
  }

  // ---------------------------------------------------------------- ingress

  #arrive(port: number, data: Uint8Array, now: number): PacketState {
    const packet = this.#ingressPool.pop() ?? new PacketState(this.engine.ingress.layout);
    packet.bytes = data;
    packet.length = data.length;
    packet.offset = 0;
    packet.ownsBytes = false;
    packet.ingressPort = port;
    packet.origin = 0;
    packet.passes = 0;
    this.#startPass(packet, now);
    return packet;
  }

  #startPass(packet: PacketState, now: number): void {
    packet.clearFields();
    packet.clearRequests();
    packet.packetLength = packet.length;
    packet.ingressLength = packet.length;
    packet.now = now;
    packet.passes++;
    const slots = this.#in;
    packet.u[slots.ingressPort] = packet.ingressPort;
    setField(packet, slots.macTimestamp, Math.floor(now * NANOSECONDS));
    setField(packet, slots.timestamp, Math.floor(now * NANOSECONDS));
  }

  #run(now: number): void {
    for (;;) {
      const packet = this.#again.shift();
      if (packet !== undefined) {
        this.#ingress(packet, now);
        continue;
      }
      if (!this.#trafficManager.dequeue(now, this.#dequeued)) return;
      this.#egress(this.#dequeued, now);
    }
  }

  #give(packet: PacketState, pool: PacketState[]): void {
    packet.ownsBytes = false;
    pool.push(packet);
  }

  #dropped(reason: DropReason, port: number): void {
    this.#counters.drops[reason]++;
    this.#tracer?.({ kind: "drop", reason });
    this.#sink({ kind: "drop", reason, port });
  }

  #isWhole(packet: PacketState, slots: GressSlots, port: number): boolean {
    const rule = packet.u[slots.brokenRule] ?? 0;
    if (rule === 0) return true;
    const register = this.engine.watched[rule - 1] ?? "";
    this.registerTwice.set(register, (this.registerTwice.get(register) ?? 0) + 1);
    this.#dropped("registerTwice", port);
    return false;
  }

  #ingress(packet: PacketState, now: number): void {
    const port = packet.ingressPort;
    if (packet.passes > this.#settings.maxPasses) {
      this.#dropped("tooManyPasses", port);
      this.#give(packet, this.#ingressPool);
      return;
    }
    this.#tracer?.({ kind: "ingress", port, length: packet.length, instanceType: 0 });
    const functions = this.#functions[pipeOf(port)]?.ingress;
    if (functions === undefined) return;
    functions.parse(packet);
    if (packet.parserError !== 0 && !this.#takesParserErrors) {
      this.#dropped("parserError", port);
      this.#give(packet, this.#ingressPool);
      return;
    }
    functions.ingress(packet);
    packet.exit = 0;
    if (this.#isWhole(packet, this.#in, port)) this.#leaveIngress(packet, functions, now);
    else this.#give(packet, this.#ingressPool);
  }

  /** What the deparser is asked for, then where the traffic manager sends the packet. */
  #leaveIngress(packet: PacketState, functions: CompiledFunctions, now: number): void {
    const slots = this.#in;
    const { u } = packet;
    const drop = u[slots.dropControl] ?? 0;
    const mirror = u[slots.mirrorType] ?? 0;
    const digest = u[slots.digestType] ?? 0;
    if (mirror !== 0) this.#mirror("ingress", mirror, packet, packet.bytes.subarray(0, packet.length), now);
    if (digest !== 0) this.#digest(packet, digest);
    const resubmit = u[slots.resubmitType] ?? 0;
    // Of the packet itself: mirrored copies are enqueued already.
    packet.colour = u[slots.colour] ?? 0;
    packet.bypassesEgress = u[slots.bypassEgress] === 1;
    const isForCpu = u[slots.copyToCpu] === 1 && (drop & 2) === 0;
    if ((drop & 1) !== 0) {
      if (isForCpu) this.#copyToCpu(packet, functions.deparse(packet), now, true);
      this.#dropped("ingressDrop", packet.ingressPort);
    } else if (resubmit !== 0 && u[slots.resubmitFlag] === 0) {
      this.#resubmit(packet, resubmit, now);
      return;
    } else {
      const groupA = u[slots.groupA] ?? 0;
      const groupB = slots.groupB < 0 ? 0 : (u[slots.groupB] ?? 0);
      const isUnicast = u[slots.unicastValid] === 1;
      if (!isUnicast && groupA === 0 && groupB === 0 && !isForCpu)
        this.#dropped("noDestination", packet.ingressPort);
      else {
        const frame = functions.deparse(packet);
        const isAlone = groupA === 0 && groupB === 0 && !isForCpu;
        if (isUnicast)
          this.#enqueue(u[slots.unicastPort] ?? 0, u[slots.queue] ?? 0, 0, packet, frame, now, isAlone);
        if (groupA !== 0) this.#multicast(groupA, packet, frame, now);
        if (groupB !== 0) this.#multicast(groupB, packet, frame, now);
        if (isForCpu) this.#copyToCpu(packet, frame, now, !isUnicast && groupA === 0 && groupB === 0);
      }
    }
    this.#give(packet, this.#ingressPool);
  }

  /** One more copy, to the port that the traffic manager has for the CPU; `drop_ctl` has a bit of its own for it. */
  #copyToCpu(packet: PacketState, frame: Uint8Array, now: number, isAlone: boolean): void {
    const slots = this.#in;
    const queue = slots.cpuQueue < 0 ? 0 : (packet.u[slots.cpuQueue] ?? 0);
    this.#enqueue(this.#settings.cpuPort ?? -1, queue, 0, packet, frame, now, isAlone);
  }

  #multicast(group: number, packet: PacketState, frame: Uint8Array, now: number): void {
    const slots = this.#in;
    const replicas = this.#replication.group(group)?.replicas;
    if (replicas === undefined || replicas.length === 0) {
      this.#dropped("emptyMulticastGroup", packet.ingressPort);
      return;
    }
    const of = (slot: number): number => (slot < 0 ? 0 : (packet.u[slot] ?? 0));
    const ids = { level1: of(slots.exclusion1), level2: of(slots.exclusion2), rid: of(slots.rid) };
    const queue = packet.u[slots.queue] ?? 0;
    for (const replica of replicas)
      if (!this.#exclusions.excludes(group, replica, ids))
        this.#enqueue(replica.port, queue, replica.instance, packet, frame, now, false);
  }

  /** Puts a copy of a packet into a queue, as the bytes with which it will come to egress; `isAlone`: no other copy has them. */
  #enqueue(
    port: number,
    queue: number,
    rid: number,
    from: PacketState,
    frame: Uint8Array,
    now: number,
    isAlone: boolean,
  ): void {
    const { ports, cpuPort } = this.#settings;
    const isThere =
      isDevicePort(port, this.pipes.length) &&
      (ports === undefined || ports.has(port) || port === cpuPort || leadsBack(port));
    if (!isThere) {
      this.#dropped("noSuchPort", port);
      return;
    }
    const slots = this.#out;
    const manager = this.#trafficManager;
    const packet = this.#egressPool.pop() ?? new PacketState(this.engine.egress.layout);
    packet.clearFields();
    packet.clearRequests();
    packet.bytes = frame;
    packet.length = frame.length;
    packet.offset = 0;
    packet.ownsBytes = isAlone;
    packet.ingressPort = from.ingressPort;
    packet.origin = from.origin;
    packet.passes = from.passes;
    packet.packetLength = Math.max(0, frame.length - this.#bridgeBytes);
    packet.ingressLength = frame.length;
    packet.enqueuedAt = now;
    packet.colour = from.colour;
    packet.bypassesEgress = from.bypassesEgress;
    setField(packet, slots.egressRid, rid);
    setField(packet, slots.enqueueDepth, Math.ceil(manager.depthBytes(port, queue) / CELL_BYTES));
    setField(packet, slots.enqueueTimestamp, Math.floor(now * NANOSECONDS));
    const refused = manager.enqueue(port, queue, packet, now);
    if (refused === undefined) return;
    this.#dropped(refused, port);
    this.#give(packet, this.#egressPool);
  }

  #digest(packet: PacketState, number: number): void {
    const list = this.engine.digests.get(number);
    if (list === undefined) return;
    const values = list.fields.map((slot: FieldSlot) => fieldBits(packet, slot));
    this.#sink({ kind: "digest", list: list.name, listId: list.id, values });
  }

  /** Tofino resubmits a packet once: as it came, with a few bytes in front. */
  #resubmit(packet: PacketState, type: number, now: number): void {
    const added = this.engine.resubmits.get(type);
    const whole = packet.bytes.subarray(0, packet.length);
    const bytes = added === undefined ? whole : added.inFrontOf(packet, whole, Number.POSITIVE_INFINITY);
    packet.bytes = bytes;
    packet.length = bytes.length;
    packet.ownsBytes = added !== undefined || packet.ownsBytes;
    const came = whole.length;
    this.#startPass(packet, now);
    packet.packetLength = came;
    packet.ingressLength = came;
    packet.u[this.#in.resubmitFlag] = 1;
    this.#again.push(packet);
  }

  /** A copy for each port of the mirror session, with a header of its own in front. */
  #mirror(gress: Gress, type: number, packet: PacketState, bytes: Uint8Array, now: number): void {
    const added = this.engine.mirrors[gress].get(type);
    const session = added === undefined ? undefined : this.#replication.session(added.sessionOf(packet));
    if (added === undefined || session === undefined || session.replicas.length === 0) {
      this.#dropped("noCloneSession", packet.ingressPort);
      return;
    }
    const limit = session.packetLength === 0 ? Number.POSITIVE_INFINITY : added.bytes + session.packetLength;
    const frame = added.inFrontOf(packet, bytes, limit);
    const { replicas, classOfService } = session;
    for (const { port, instance } of replicas)
      this.#enqueue(port, classOfService, instance, packet, frame, now, replicas.length === 1);
  }

  // ---------------------------------------------------------------- egress

  #egress(from: Dequeued<PacketState>, now: number): void {
    const { packet, port } = from;
    const slots = this.#out;
    const functions = this.#functions[pipeOf(port)]?.egress;
    if (functions === undefined) return;
    packet.egressPort = port;
    if (packet.bypassesEgress) {
      const { bytes, length, ownsBytes } = packet;
      this.#leave(packet, ownsBytes ? bytes.subarray(0, length) : bytes.slice(0, length), port, now);
      this.#give(packet, this.#egressPool);
      return;
    }
    packet.queue = from.queue;
    packet.now = now;
    packet.u[slots.egressPort] = port;
    setField(packet, slots.egressQueue, from.queue);
    setField(packet, slots.packetLength, packet.length);
    setField(packet, slots.timestamp, Math.floor(now * NANOSECONDS));
    setField(packet, slots.dequeueTimeDelta, Math.floor((now - packet.enqueuedAt) * NANOSECONDS));
    setField(
      packet,
      slots.dequeueDepth,
      Math.ceil(this.#trafficManager.depthBytes(port, from.queue) / CELL_BYTES),
    );
    this.#tracer?.({ kind: "egress", port, instanceType: 0 });
    functions.parse(packet);
    functions.egress(packet);
    packet.exit = 0;
    if (this.#isWhole(packet, slots, port)) this.#leaveEgress(packet, functions, port, now);
    else this.#give(packet, this.#egressPool);
  }

  #leaveEgress(packet: PacketState, functions: CompiledFunctions, port: number, now: number): void {
    const slots = this.#out;
    const drop = packet.u[slots.dropControl] ?? 0;
    const mirror = (drop & 4) !== 0 ? 0 : (packet.u[slots.mirrorType] ?? 0);
    const isDropped = (drop & 1) !== 0;
    if (!isDropped || mirror !== 0) {
      // An egress that emits no headers leaves the bytes behind what it has parsed as they are.
      const isAsItCame = this.#emitsNothing && packet.ownsBytes;
      const frame = isAsItCame
        ? packet.bytes.subarray(packet.offset, packet.length)
        : functions.deparse(packet);
      if (mirror !== 0) this.#mirrorEgress(packet, mirror, frame, now);
      if (!isDropped) this.#leave(packet, frame, port, now);
    }
    if (isDropped) this.#dropped("egressDrop", port);
    this.#give(packet, this.#egressPool);
  }

  #leave(packet: PacketState, frame: Uint8Array, port: number, now: number): void {
    if (leadsBack(port)) this.#recirculate(packet, frame, port, now);
    else {
      this.origin = packet.origin;
      this.#transmit(port, frame);
    }
  }

  #mirrorEgress(packet: PacketState, type: number, frame: Uint8Array, now: number): void {
    packet.passes++;
    if (packet.passes > this.#settings.maxPasses) this.#dropped("tooManyPasses", packet.egressPort);
    else this.#mirror("egress", type, packet, frame, now);
  }

  #recirculate(packet: PacketState, frame: Uint8Array, port: number, now: number): void {
    const again = this.#ingressPool.pop() ?? new PacketState(this.engine.ingress.layout);
    again.bytes = frame;
    again.length = frame.length;
    again.offset = 0;
    again.ownsBytes = true;
    again.ingressPort = port;
    again.origin = packet.origin;
    again.passes = packet.passes;
    this.#startPass(again, now);
    this.#again.push(again);
  }

  #transmit(port: number, frame: Uint8Array): void {
    if (frame.length === 0) {
      this.#dropped("emptyFrame", port);
      return;
    }
    this.#counters.sent(port, frame.length);
    this.#tracer?.({ kind: "transmit", port, length: frame.length });
    this.#sink(
      port === this.#settings.cpuPort
        ? { kind: "toCpu", data: frame }
        : { kind: "transmit", port, data: frame },
    );
  }
}

/** A Tofino drops what its parser stumbles over, unless the program looks at the error. */
function readsParserError(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(readsParserError);
  if (typeof node !== "object" || node === null) return false;
  if ("field" in node && node.field === "ig_prsr_md.parser_err") return true;
  return Object.values(node).some(readsParserError);
}
