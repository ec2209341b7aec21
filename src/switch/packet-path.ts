import type { CompiledFunctions, Engine } from "./engine/engine.ts";
import { cloneRequested, instanceType, PacketState } from "./engine/packet-state.ts";
import {
  clearMetadata,
  copyField,
  fieldBits,
  getField,
  setField,
  type TargetFields,
} from "./engine/target-fields.ts";
import type { Tracer } from "./engine/trace.ts";
import type { Replica, ReplicationEngine } from "./replication/replication-engine.ts";
import type { SwitchCounters } from "./switch-counters.ts";
import type { DropReason, SwitchSink } from "./switch-events.ts";
import { type Importance, importanceOf, markCongestion } from "./trafficmanager/congestion.ts";
import type { Dequeued, TrafficManager } from "./trafficmanager/traffic-manager.ts";

/** What of a switch's options concerns packets. */
export interface PathSettings {
  readonly dropPort: number;
  readonly cpuPort: number | undefined;
  readonly maxPasses: number;
  /** Ports that exist; undefined if all do. */
  readonly ports: ReadonlySet<number> | undefined;
}

/** The way of packets through one program, as a switch drives it. */
export interface SwitchPath {
  readonly engine: Engine;
  trace(tracer: Tracer | undefined): void;
  /** Origin of the frame that the sink is told of. */
  readonly origin: number;
  receive(port: number, data: Uint8Array, now: number, sink: SwitchSink, origin: number): void;
  tick(now: number, sink: SwitchSink): void;
  importance(packet: PacketState, droppable: ReadonlySet<number> | undefined): Importance;
  /** When `tick` has something to do beside what waits in queues, in microseconds; undefined if never. */
  nextWakeup(): number | undefined;
}

/**
 * The way of packets through one program: ingress, the end-of-ingress decisions, queues, egress, the end-of-egress
 * decisions, in the order that simple_switch.md gives.
 */
export class PacketPath implements SwitchPath {
  readonly engine: Engine;
  private readonly settings: PathSettings;
  private readonly replication: ReplicationEngine;
  private readonly trafficManager: TrafficManager<PacketState>;
  private readonly counters: SwitchCounters;
  private readonly fields: TargetFields;
  private functions: CompiledFunctions;
  private readonly pool: PacketState[] = [];
  /** Origin of the frame that the sink is told of. */
  origin = 0;
  /** Resubmitted and recirculated packets. */
  private readonly again: PacketState[] = [];
  private readonly dequeued: Dequeued<PacketState>;
  private sink: SwitchSink = () => {};
  private tracer: Tracer | undefined = undefined;

  constructor(
    engine: Engine,
    settings: PathSettings,
    replication: ReplicationEngine,
    trafficManager: TrafficManager<PacketState>,
    counters: SwitchCounters,
  ) {
    this.engine = engine;
    this.settings = settings;
    this.replication = replication;
    this.trafficManager = trafficManager;
    this.counters = counters;
    this.fields = engine.target;
    this.functions = engine.functions;
    this.dequeued = { packet: new PacketState(engine.layout), port: 0, queue: 0, depth: 0 };
  }

  /** Switches between the plain and the traced variant of the program. */
  trace(tracer: Tracer | undefined): void {
    this.tracer = tracer;
    this.functions = tracer === undefined ? this.engine.functions : this.engine.traced(tracer);
  }

  /** Takes a packet in and does everything that follows at once. */
  receive(port: number, data: Uint8Array, now: number, sink: SwitchSink, origin: number): void {
    // A sink may send a frame round to this switch again: the outer call's sink must be in place afterwards.
    const outer = this.sink;
    this.sink = sink;
    const packet = this.take();
    packet.clearFields();
    packet.bytes = data;
    packet.length = data.length;
    packet.ownsBytes = false;
    packet.ingressPort = port;
    packet.origin = origin;
    packet.passes = 0;
    this.startPass(packet, instanceType.normal, now);
    this.functions.setIngressPort(packet, port);
    this.ingress(packet, now);
    this.run(now);
    this.sink = outer;
  }

  /** Sends what may leave the queues by `now`. */
  tick(now: number, sink: SwitchSink): void {
    const outer = this.sink;
    this.sink = sink;
    this.run(now);
    this.sink = outer;
  }

  /** What the traffic manager may do to a packet, by the frame as it would leave now. The switch's own copies are let alone, as in the drop feature. */
  importance(packet: PacketState, droppable: ReadonlySet<number> | undefined): Importance {
    const type = getField(packet, this.fields.instanceType);
    if (type === instanceType.ingressClone || type === instanceType.egressClone) return "exempt";
    return importanceOf(this.functions.assemble(packet), droppable);
  }

  nextWakeup(): number | undefined {
    return undefined;
  }

  private take(): PacketState {
    return this.pool.pop() ?? new PacketState(this.engine.layout);
  }

  private give(packet: PacketState): void {
    packet.ownsBytes = false;
    this.pool.push(packet);
  }

  private dropped(reason: DropReason, port: number): void {
    this.counters.drops[reason]++;
    this.tracer?.({ kind: "drop", reason });
    this.sink({ kind: "drop", reason, port });
  }

  /** Sets what every packet has at the start of ingress; the frame and the fields to keep are in place. */
  private startPass(packet: PacketState, type: number, now: number): void {
    packet.clearRequests();
    packet.packetLength = packet.length;
    packet.ingressLength = packet.length;
    packet.now = now;
    packet.passes++;
    this.functions.beginPass(packet, type, Math.floor(now));
  }

  /** Everything that can happen now: packets that start again, then packets that leave the queues. */
  private run(now: number): void {
    const { dequeued } = this;
    for (;;) {
      const packet = this.again.shift();
      if (packet !== undefined) {
        this.ingress(packet, now);
        continue;
      }
      if (!this.trafficManager.dequeue(now, dequeued)) return;
      this.egress(dequeued, now);
    }
  }

  private ingress(packet: PacketState, now: number): void {
    const { fields, functions } = this;
    const { ingressPort } = packet;
    if (packet.passes > this.settings.maxPasses) {
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

    if (packet.clone !== 0) this.cloneIngress(packet, now);
    if (packet.digest !== 0) this.emitDigest(packet);
    if (packet.resubmit !== 0) {
      this.resubmit(packet, now);
      return;
    }
    const group = fields.multicastGroup === undefined ? 0 : (packet.u[fields.multicastGroup.index] ?? 0);
    if (group !== 0) {
      packet.u[fields.instanceType.index] = instanceType.replication;
      const replicas = this.replication.group(group)?.replicas;
      if (replicas === undefined || replicas.length === 0) this.dropped("emptyMulticastGroup", ingressPort);
      else this.replicate(packet, replicas, now);
      this.give(packet);
      return;
    }
    if (egressSpec === this.settings.dropPort) {
      this.dropped("ingressDrop", ingressPort);
      this.give(packet);
      return;
    }
    packet.u[fields.instanceType.index] = instanceType.normal;
    this.enqueue(egressSpec, packet, now);
  }

  /** Puts a packet into its queue; the packet belongs to the queue afterwards, or to the pool if it was dropped. */
  private enqueue(port: number, packet: PacketState, now: number): void {
    const { fields } = this;
    if (
      this.settings.ports !== undefined &&
      !this.settings.ports.has(port) &&
      port !== this.settings.cpuPort
    ) {
      this.dropped("noSuchPort", port);
      this.give(packet);
      return;
    }
    const queue = fields.priority === undefined ? 0 : (packet.u[fields.priority.index] ?? 0);
    this.functions.beginQueue(packet, this.trafficManager.depth(port, queue), Math.floor(now));
    packet.enqueuedAt = now;
    if (this.trafficManager.isLimited(port)) packet.detach();
    const refused = this.trafficManager.enqueue(port, queue, packet, now);
    if (refused !== undefined) {
      this.dropped(refused, port);
      this.give(packet);
    }
  }

  private replicate(packet: PacketState, replicas: readonly Replica[], now: number): void {
    for (const { port, instance } of replicas) {
      const copy = this.take();
      copy.copyFieldsFrom(packet);
      copy.copyFrameFrom(packet);
      copy.clearRequests();
      copy.truncateTo = packet.truncateTo;
      setField(copy, this.fields.egressRid, instance);
      this.enqueue(port, copy, now);
    }
  }

  private keepFields(to: PacketState, from: PacketState, list: number): void {
    for (const slot of this.engine.fieldLists.get(list) ?? []) copyField(to, from, slot);
  }

  /** Ingress to egress clone: the frame as it arrived, parsed again. */
  private cloneIngress(packet: PacketState, now: number): void {
    const { engine, fields, functions } = this;
    const session = this.replication.session(packet.clone & ~cloneRequested);
    if (session === undefined || session.replicas.length === 0) {
      this.dropped("noCloneSession", packet.ingressPort);
      return;
    }
    const copy = this.take();
    copy.clearFields();
    copy.copyFrameFrom(packet);
    copy.clearRequests();
    copy.packetLength = copy.length;
    this.functions.setIngressPort(copy, packet.ingressPort);
    functions.parse(copy);
    const { parserError } = copy;
    // The parser may look at ingress_port, but simple_switch keeps no more of it than of other metadata.
    clearMetadata(copy, engine.layout);
    copy.parserError = parserError;
    this.keepFields(copy, packet, packet.cloneFieldList);
    setField(copy, fields.instanceType, instanceType.ingressClone);
    if (session.classOfService > 0) setField(copy, fields.priority, session.classOfService);
    if (session.packetLength > 0) copy.truncateTo = session.packetLength;
    this.replicate(copy, session.replicas, now);
    this.give(copy);
  }

  private emitDigest(packet: PacketState): void {
    const list = this.engine.digests.get(packet.digest);
    if (list === undefined) return;
    this.sink({
      kind: "digest",
      list: list.name,
      listId: list.id,
      values: list.fields.map((slot) => fieldBits(packet, slot)),
    });
  }

  private resubmit(packet: PacketState, now: number): void {
    const copy = this.take();
    copy.clearFields();
    copy.copyFrameFrom(packet);
    this.keepFields(copy, packet, packet.resubmit);
    this.startPass(copy, instanceType.resubmitted, now);
    this.give(packet);
    this.again.push(copy);
  }

  private egress(from: Dequeued<PacketState>, now: number): void {
    const { fields, functions } = this;
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

    if (packet.clone !== 0) this.cloneEgress(packet, now);
    if (packet.u[fields.egressSpec.index] === this.settings.dropPort) {
      this.dropped("egressDrop", port);
      this.give(packet);
      return;
    }
    const frame = functions.deparse(packet);
    if (packet.isCongested) markCongestion(frame);
    if (packet.recirculate !== 0) {
      this.recirculate(packet, frame, now);
      return;
    }
    this.origin = packet.origin;
    this.transmit(port, frame);
    this.give(packet);
  }

  /** Egress to egress clone: the headers as egress left them; it skips the deparser and starts egress again. */
  private cloneEgress(packet: PacketState, now: number): void {
    const { engine, fields } = this;
    const session = this.replication.session(packet.clone & ~cloneRequested);
    if (session === undefined || session.replicas.length === 0) {
      this.dropped("noCloneSession", packet.egressPort);
      return;
    }
    const copy = this.take();
    copy.copyFieldsFrom(packet);
    copy.copyFrameFrom(packet);
    copy.clearRequests();
    clearMetadata(copy, engine.layout);
    this.keepFields(copy, packet, packet.cloneFieldList);
    setField(copy, fields.instanceType, instanceType.egressClone);
    if (session.classOfService > 0) setField(copy, fields.priority, session.classOfService);
    copy.passes++;
    if (session.packetLength > 0) copy.truncateTo = session.packetLength;
    if (copy.passes > this.settings.maxPasses) this.dropped("tooManyPasses", packet.egressPort);
    else this.replicate(copy, session.replicas, now);
    this.give(copy);
  }

  private recirculate(packet: PacketState, frame: Uint8Array, now: number): void {
    const copy = this.take();
    copy.clearFields();
    copy.copyFrameFrom(packet);
    copy.bytes = frame;
    copy.length = frame.length;
    copy.offset = 0;
    copy.ownsBytes = true;
    this.keepFields(copy, packet, packet.recirculate);
    this.startPass(copy, instanceType.recirculated, now);
    this.give(packet);
    this.again.push(copy);
  }

  private transmit(port: number, frame: Uint8Array): void {
    if (frame.length === 0) {
      this.dropped("emptyFrame", port);
      return;
    }
    this.counters.sent(port, frame.length);
    this.tracer?.({ kind: "transmit", port, length: frame.length });
    this.sink(
      port === this.settings.cpuPort
        ? { kind: "toCpu", data: frame }
        : { kind: "transmit", port, data: frame },
    );
  }
}
