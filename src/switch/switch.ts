import type { Bmv2JsonSource } from "./bmv2json/document.ts";
import { readProgram } from "./bmv2json/read-program.ts";
import { compileProgram } from "./engine/compile.ts";
import type { DigestList, Engine, Faults } from "./engine/engine.ts";
import type { PacketState } from "./engine/packet-state.ts";
import { type RandomSource, seededRandom } from "./engine/random.ts";
import type { TraceEvent, Tracer } from "./engine/trace.ts";
import { PacketPath, type PathSettings, type SwitchPath } from "./packet-path.ts";
import { ReplicationEngine } from "./replication/replication-engine.ts";
import { applySnapshot, type SwitchSnapshot, takeSnapshot } from "./snapshot.ts";
import type { CounterArray, MeterArray, ParseValueSet, RegisterArray } from "./state/arrays.ts";
import { SwitchCounters } from "./switch-counters.ts";
import {
  type DropReason,
  defaultDropPort,
  type PortCounters,
  type SwitchAction,
  type SwitchEvent,
  type SwitchOptions,
  type SwitchSink,
  type TracedPacket,
} from "./switch-events.ts";
import type { ActionProfile } from "./tables/action-profile.ts";
import { SwitchRuntimeError } from "./tables/runtime-error.ts";
import type { Table } from "./tables/table.ts";
import { compileTna, isTnaEngine } from "./tna/compile-tna.ts";
import { Tofino } from "./tna/tofino.ts";
import { TrafficManager } from "./trafficmanager/traffic-manager.ts";

/** The largest port number of v1model, which has 9 bits for them. */
const MAX_PORT = 511;

export type { Digest, SwitchAction } from "./switch-events.ts";

/**
 * A switch that runs a BMv2 JSON program with the semantics of simple_switch (v1model), or with the option `personality: "tna"` a lowered
 * Tofino program with the rules of that chip (docs/tofino.md).
 *
 * It is a pure state machine: packets and the time come in, actions come out. Time is in microseconds and must not run
 * backwards. Packets wait inside only at ports with a rate (`trafficManager.setRate`); then `nextWakeup` says when `tick`
 * is to be called. Nothing is thrown for anything that a packet contains.
 *
 * Control plane: `tables`, `profiles`, `counters`, `meters`, `registers`, `valueSets` by the names of the JSON (the
 * fully qualified names of P4Info), `replication` for multicast groups and clone sessions. All of them start anew with
 * each `setPipeline`; do not keep references across it.
 *
 * Semantics worth knowing of v1model (simple_switch.md):
 * - The parser never drops: on an error ingress runs with what was parsed and `parser_error` set.
 * - `egress_spec` starts at 0, so a packet for which nobody sets it leaves on port 0.
 * - After ingress: clone, digest, then the first of resubmit, multicast, drop, unicast. After egress: clone, then drop,
 *   recirculate or transmit.
 * - All metadata of a clone, a resubmitted or a recirculated packet is zero but for its field list, ingress_port too; the parser of an
 *   ingress clone still sees the port of the original.
 * - A multicast copy to the ingress port is made like any other.
 */
export class Switch {
  readonly options: SwitchOptions;
  readonly dropPort: number;
  readonly cpuPort: number | undefined;
  /** Queues, rates and depths. They stay when the pipeline changes. */
  readonly trafficManager: TrafficManager<PacketState>;
  readonly replication = new ReplicationEngine();

  /** What a Tofino has around its program; undefined for another personality. */
  readonly tofino: Tofino | undefined;

  private path: SwitchPath | undefined = undefined;
  private readonly counts = new SwitchCounters();
  private readonly settings: PathSettings;
  private readonly random: RandomSource;
  private tracer: Tracer | undefined = undefined;
  private readonly portsDown = new Set<number>();

  /** A switch without a program drops everything (`noPipeline`). `json` is loaded as by `setPipeline`. */
  constructor(json?: Bmv2JsonSource, options: SwitchOptions = {}) {
    this.options = options;
    this.dropPort = options.dropPort ?? defaultDropPort;
    this.cpuPort = options.cpuPort;
    this.random = options.random ?? seededRandom(1);
    this.settings = {
      dropPort: this.dropPort,
      cpuPort: this.cpuPort,
      maxPasses: options.maxPasses ?? 1000,
      ports: options.ports === undefined ? undefined : new Set(options.ports),
    };
    this.tofino = options.personality === "tna" ? new Tofino(options.pipes ?? 2) : undefined;
    const queues = options.priorityQueues ?? 8;
    if (!Number.isInteger(queues) || queues < 1 || queues > 8) {
      throw new RangeError(`priorityQueues must be from 1 to 8, not ${queues}`);
    }
    const droppable = options.droppableDscp === undefined ? undefined : new Set(options.droppableDscp);
    this.trafficManager = new TrafficManager<PacketState>(
      { queues, depth: options.queueDepth ?? 64, pacing: options.pacing ?? "port" },
      (packet) => packet.packetLength,
      {
        importance: (packet) => this.path?.importance(packet, droppable) ?? "exempt",
        mark: (packet) => {
          packet.isCongested = true;
        },
      },
    );
    if (json !== undefined) this.setPipeline(json);
  }

  // ---------------------------------------------------------------- pipeline

  /**
   * Compiles a program without loading it. Throws SwitchConfigError. The result can be given to `commitPipeline`, on
   * this switch and only once, since it carries the program's run-time state.
   */
  preparePipeline(json: Bmv2JsonSource): Engine {
    const options = { dropPort: this.dropPort, random: this.random, log: this.options.log };
    return this.tofino === undefined ? compileProgram(readProgram(json), options) : compileTna(json, options);
  }

  /**
   * Runs a prepared program from now on. All run-time state starts anew, multicast groups and clone sessions included;
   * packets in the queues are dropped (`pipelineReplaced`). Port settings and counters stay.
   */
  commitPipeline(engine: Engine): void {
    this.trafficManager.clear(() => {
      this.counts.drops.pipelineReplaced++;
    });
    this.replication.clear();
    for (const profile of engine.profiles.values())
      for (const port of this.portsDown) profile.setPortUp(port, false);
    this.path = this.pathOf(engine);
    this.path.trace(this.tracer);
  }

  private pathOf(engine: Engine): SwitchPath {
    const { settings, replication, trafficManager, counts } = this;
    if (this.tofino !== undefined && isTnaEngine(engine))
      return this.tofino.path(engine, settings, { replication, trafficManager, counters: counts });
    return new PacketPath(engine, settings, replication, trafficManager, counts);
  }

  /** Loads a program, or throws SwitchConfigError and goes on with the one before. */
  setPipeline(json: Bmv2JsonSource): void {
    this.commitPipeline(this.preparePipeline(json));
  }

  get hasPipeline(): boolean {
    return this.path !== undefined;
  }

  /** The compiled program; FAILED_PRECONDITION if there is none. */
  get engine(): Engine {
    if (this.path === undefined)
      throw new SwitchRuntimeError("FAILED_PRECONDITION", "switch", "has no pipeline");
    return this.path.engine;
  }

  // ---------------------------------------------------------------- control plane

  /** Tables by name, the ones that the compiler made for itself included. */
  get tables(): ReadonlyMap<string, Table> {
    return this.engine.tables;
  }

  private static named<T>(kind: string, map: ReadonlyMap<string, T>, name: string): T {
    const found = map.get(name);
    if (found === undefined) {
      const names = [...map.keys()];
      const known =
        names.length === 0 ? "none" : `${names.slice(0, 12).join(", ")}${names.length > 12 ? ", ..." : ""}`;
      throw new SwitchRuntimeError("NOT_FOUND", name, `there is no such ${kind}; there is ${known}`);
    }
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

  /** Tells all action selectors whether a port is up, for groups that watch ports; those of programs to come as well. */
  setPortUp(port: number, isUp: boolean): void {
    if (isUp) this.portsDown.delete(port);
    else this.portsDown.add(port);
    for (const profile of this.path?.engine.profiles.values() ?? []) profile.setPortUp(port, isUp);
  }

  // ---------------------------------------------------------------- snapshots

  /**
   * All run-time state as a text: entries, members, groups, counters, meters, registers, value sets, multicast groups, clone sessions,
   * settings of queues; of a Tofino the registers of all its pipes, exclusion ids and the packet generator. Packets that wait are not in it.
   *
   * @throws SwitchRuntimeError FAILED_PRECONDITION without a program
   */
  snapshot(): SwitchSnapshot {
    return takeSnapshot(this);
  }

  /**
   * A switch with a program and the state that a snapshot of it has. Idle times and meters begin anew at `now`, in microseconds.
   *
   * @throws SwitchConfigError for the program, SnapshotError for the snapshot
   */
  static restore(
    json: Bmv2JsonSource,
    snapshot: SwitchSnapshot,
    options: SwitchOptions = {},
    now = 0,
  ): Switch {
    const sw = new Switch(json, options);
    applySnapshot(sw, snapshot, now);
    return sw;
  }

  // ---------------------------------------------------------------- counters

  /** Packets that ended inside the switch, by reason, since it was made. */
  get drops(): Readonly<Record<DropReason, number>> {
    return this.counts.drops;
  }

  /** Mistakes of the program that did not stop a packet: array indices out of range, failed assertions. */
  get faults(): Readonly<Faults> {
    return this.engine.faults;
  }

  /** What a port received and sent. */
  port(number: number): PortCounters {
    return this.counts.port(number);
  }

  /** Ports that have received or sent anything, in numeric order. */
  usedPorts(): readonly number[] {
    return this.counts.usedPorts();
  }

  // ---------------------------------------------------------------- tracing

  /** Reports what each packet goes through, or with undefined stops. While it is off it costs nothing. */
  trace(tracer: Tracer | undefined): void {
    this.tracer = tracer;
    this.path?.trace(tracer);
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

  /**
   * `handle` for a packet, without an event object: the fast way in. `data` is not kept. `origin` is a name for the packet: while a sink is
   * told of a frame, `origin` of the switch is that of the packet which the frame comes from.
   */
  receive(port: number, data: Uint8Array, now: number, sink: SwitchSink, origin = 0): void {
    this.counts.received(port, data.length);
    if (this.path !== undefined) {
      this.path.receive(port, data, now, sink, origin);
      return;
    }
    this.counts.drops.noPipeline++;
    sink({ kind: "drop", reason: "noPipeline", port });
  }

  /** The origin of the frame that leaves; only while a sink is told of it. */
  get origin(): number {
    return this.path?.origin ?? 0;
  }

  /** Sends what may leave by `now`; to be called at the time that `nextWakeup` gave, or later. */
  tick(now: number, sink?: SwitchSink): readonly SwitchAction[] {
    const actions: SwitchAction[] = [];
    this.path?.tick(now, sink ?? ((action) => actions.push(action)));
    return actions;
  }

  /** When `tick` has something to do, in microseconds; undefined if never. */
  nextWakeup(): number | undefined {
    const [queued, own] = [this.trafficManager.nextWakeup(), this.path?.nextWakeup()];
    return own === undefined || (queued !== undefined && queued < own) ? queued : own;
  }

  /**
   * Sends one packet through and returns the frames that leave at once, the CPU port's under its number. For tests of
   * P4 programs.
   *
   * @throws SwitchRuntimeError INVALID_ARGUMENT for what is no port
   */
  inject(
    port: number,
    data: Uint8Array,
    now = 0,
  ): readonly { readonly port: number; readonly data: Uint8Array }[] {
    if (!Number.isInteger(port) || port < 0 || port > MAX_PORT)
      throw new SwitchRuntimeError(
        "INVALID_ARGUMENT",
        `port ${port}`,
        `ports are whole numbers from 0 to ${MAX_PORT}`,
      );
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
}
