import { randomInt } from "node:crypto";
import { setMaxListeners } from "node:events";
import {
  type BackoffOptions,
  type Clock,
  cookieOf,
  machineClock,
  type P4RuntimeClient,
  P4RuntimeWriteError,
  SteadyClient,
  type SteadyState,
  type Transport,
} from "../p4runtime/index.ts";
import { differenceOfIntents } from "./diff.ts";
import { FleetJobs, type JobNotice, type JobState } from "./fleetjobs.ts";
import { type Intent, IntentBasis, IntentBook, type Intentions, PROBE_TABLE } from "./intent.ts";
import type { DeskTimes } from "./jobservice/desk.ts";
import { LinkProbes, type ProbesOutcome } from "./linkprobes.ts";
import type { LinkWatchOptions } from "./linkwatch.ts";
import { NO_OUTAGE, type Outage, outageKey } from "./paths.ts";
import { planOf } from "./plan.ts";
import { applyPlan, readDifference, reconcile } from "./reconcile.ts";
import { checkGroups } from "./routes.ts";
import { type ControllerState, EMPTY_STATE, type StateStore } from "./statefile.ts";
import type { LoadableProgram } from "./switchsession.ts";
import { checkTopology, linkName, type SwitchNode, switchNamed } from "./topology.ts";
import { Turns } from "./turns.ts";

export interface FleetOptions extends Omit<Intentions, "outage" | "placements"> {
  readonly program: LoadableProgram;
  /** Where it is kept which switches are drained. */
  readonly state?: StateStore;
  /** Delete what somebody else writes. */
  readonly undoDrift?: boolean;
  /** Milliseconds between two looks at each switch: 30,000. What is not as it should be is repaired. */
  readonly inspect?: number;
  /** Milliseconds between two signs of life: 500; and without an answer after which a switch is lost: 5000. */
  readonly heartbeat?: number;
  readonly silence?: number;
  /** Times of link probes, for programs with `probe`; `off` sends none. */
  readonly probes?: LinkWatchOptions | "off";
  readonly backoff?: BackoffOptions;
  /** Times of the job service, for programs with `hotAggregation`. */
  readonly jobTimes?: Partial<DeskTimes>;
  /** Higher wins; the clock's milliseconds when absent, so that a controller that starts again takes over. */
  readonly electionId?: bigint;
  readonly onNotice?: (notice: FleetNotice) => void;
  readonly clock?: Clock;
  /** How a switch is reached; by gRPC unless given. */
  readonly transport?: (node: SwitchNode) => Transport;
  /** Numbers from 0 to 1, for the jitter of waits. */
  readonly random?: () => number;
}

/** What happened, for logs. */
export type FleetNotice =
  | {
      readonly kind: "switch";
      readonly name: string;
      readonly state: SwitchState["kind"];
      readonly reason?: string;
    }
  | { readonly kind: "written"; readonly name: string; readonly updates: number; readonly pushed: boolean }
  | { readonly kind: "drift"; readonly name: string; readonly entities: number; readonly undone: boolean }
  | { readonly kind: "failed"; readonly name: string; readonly reason: string }
  | { readonly kind: "drained" | "restored"; readonly name: string }
  /** `from` is the end whose probes are lost. */
  | { readonly kind: "link"; readonly link: string; readonly state: "down"; readonly from: string }
  | { readonly kind: "link"; readonly link: string; readonly state: "up" }
  | { readonly kind: "miswired"; readonly link: string; readonly from: string; readonly at: string }
  | JobNotice;

/** Where a switch stands. */
export type SwitchState =
  | { readonly kind: "connecting" }
  | { readonly kind: "ready"; readonly entries: number }
  /** Another controller with a higher election id has it. */
  | { readonly kind: "deposed" }
  | { readonly kind: "lost"; readonly reason: string };

interface Steered {
  readonly node: SwitchNode;
  readonly steady: SteadyClient;
  state: SwitchState;
  /** What is on the switch, as far as this controller knows; undefined when it has to look. */
  mirror: Intent | undefined;
  /** It has answered, and is being made what it should be. */
  isPreparing: boolean;
  /** Why it could not be had when that was tried last. */
  failure: { readonly reason: string; readonly whilePreparing: boolean } | undefined;
  isWorking: boolean;
  /** What is wanted has changed since the work began. */
  isStale: boolean;
  /** Who waits until the switch is as wanted. */
  waiters: { readonly resolve: () => void; readonly reject: (error: Error) => void }[];
  updates: number;
  failures: number;
  drift: number;
}

/** Switches that cannot be steered. */
export class SwitchesError extends Error {
  override readonly name = "SwitchesError";

  constructor(reasons: readonly string[]) {
    super(reasons.join("\n"));
  }
}

function reasonOf({ node, state, failure }: Steered): string {
  const reason =
    state.kind === "deposed"
      ? "another controller with a higher election id is primary"
      : (failure?.reason ?? "it has not answered in time");
  return `${node.name} (${node.target}): ${reason}`;
}

/** Milliseconds between two looks at whether a switch has come. */
const LOOK = 20;
/** Switches that are made ready at the same time. */
const PREPARED_AT_ONCE = 16;
/** Switches that are repaired at the same time. */
const REPAIRED_AT_ONCE = 16;
/** Milliseconds between two plans for links that went down or came up: those that fail together are not found at once. */
const GATHERED = 100;
/** Milliseconds in which a switch that has just been connected says which program it has. */
const ANSWER = 2000;

/**
 * Keeps many switches as they should be. What should be is computed anew whenever something changes (a switch is lost or comes back, one is
 * drained), and each switch is written only what is different: so every repair can be broken off at any point and is finished by the next
 * look, by this controller or another.
 */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #switches = new Map<string, Steered>();
  readonly #stop = new AbortController();
  readonly #loops = new Set<Promise<void>>();
  readonly #electionId: bigint;
  readonly #clock: Clock;
  #jobs: FleetJobs | undefined;
  readonly #probes: LinkProbes | undefined;
  readonly #listening = new WeakSet<P4RuntimeClient>();
  /** Links whose probes arrive at another port than the topology says, told once. */
  readonly #miswired = new Set<string>();
  #state: ControllerState;
  readonly #basis: IntentBasis;
  /** Were all made ready at once, each would wait for all the others, and be taken for silent. */
  readonly #turns = new Turns(PREPARED_AT_ONCE);
  /** Repairs of many switches, too: what arrives meanwhile is read between them. */
  readonly #repairs = new Turns(REPAIRED_AT_ONCE);
  #isGathering = false;
  #gatheredAt = Number.NEGATIVE_INFINITY;
  #book: IntentBook;
  /** What was out when all switches were repaired last. */
  #planned = outageKey(NO_OUTAGE);

  private constructor(options: FleetOptions, state: ControllerState) {
    this.#options = options;
    this.#state = state;
    this.#clock = options.clock ?? machineClock;
    this.#electionId = options.electionId ?? BigInt(Date.now());
    // A few loops for each switch wait for its end: as many as there are switches, and no leak.
    setMaxListeners(0, this.#stop.signal);
    const { probes, program, topology } = options;
    const hasProbes = program.p4info.tables.some((table) => table.preamble?.name === PROBE_TABLE);
    if (hasProbes && probes !== "off")
      this.#probes = new LinkProbes(topology, randomInt(2 ** 32), this.#clock.now(), probes);
    this.#basis = new IntentBasis(topology);
    this.#book = this.#newBook();
  }

  /** Begins to steer; switches that cannot be reached are tried again until it is closed. @throws TopologyError, StateError */
  static async start(options: FleetOptions): Promise<Fleet> {
    checkTopology(options.topology);
    const fleet = new Fleet(options, (await options.state?.load()) ?? EMPTY_STATE);
    checkGroups(options.topology, options.room, fleet.#basis.paths.whole);
    fleet.#startJobs();
    fleet.#book = fleet.#newBook();
    for (const node of options.topology.switches) fleet.#add(node);
    fleet.#inBackground(() => fleet.#inspect());
    fleet.#inBackground(() => fleet.#probeLinks());
    return fleet;
  }

  /** Links that are down, by `linkName`; none where nobody probes them. */
  get linksDown(): readonly string[] {
    return [...(this.#probes?.down ?? [])];
  }

  /** Each link; up or not is not known where nobody probes it, or a switch at its ends cannot be asked. */
  linkStates(): readonly { readonly name: string; readonly isUp: boolean | undefined }[] {
    const isReady = (name: string): boolean => this.#switches.get(name)?.state.kind === "ready";
    const down = this.#probes?.down ?? new Set<string>();
    return (this.#options.topology.links ?? []).map(({ ends }) => {
      const name = linkName(ends);
      const isKnown = this.#probes !== undefined && ends.every((end) => isReady(end.switch));
      return { name, isUp: down.has(name) ? false : isKnown ? true : undefined };
    });
  }

  /** Each job; none where the program does not aggregate. */
  jobStates(): readonly JobState[] {
    return this.#jobs?.status() ?? [];
  }

  /** Slots of a switch; undefined where the program does not aggregate. */
  get slots(): number | undefined {
    return this.#options.aggregation?.options.rows;
  }

  /** The jobs that run on the switches; undefined when their program does not aggregate. */
  get jobs(): FleetJobs | undefined {
    return this.#jobs;
  }

  get drained(): readonly string[] {
    return this.#state.drained;
  }

  /** Each switch, with figures since the start. */
  status(): readonly {
    readonly name: string;
    readonly target: string;
    readonly state: SwitchState;
    readonly isDrained: boolean;
    readonly connects: number;
    readonly updates: number;
    readonly failures: number;
    readonly drift: number;
  }[] {
    return [...this.#switches.values()].map(({ node, steady, state, updates, failures, drift }) => ({
      name: node.name,
      target: node.target,
      state,
      isDrained: this.#state.drained.includes(node.name),
      connects: steady.connects,
      updates,
      failures,
      drift,
    }));
  }

  /**
   * Resolves with nothing as soon as one switch can be steered, or belongs to another controller. When after some milliseconds none can, and
   * none is being made ready for the first time, resolves with the reason for each: most likely all of them have the same, such as a wrong
   * certificate, a wrong address, or a program that they refuse.
   */
  async firstLook(timeout: number): Promise<ReadonlyMap<string, string> | undefined> {
    const until = this.#clock.now() + timeout;
    for (;;) {
      const all = [...this.#switches.values()];
      const isReached = all.some(({ state }) => state.kind === "ready" || state.kind === "deposed");
      if (isReached || all.length === 0 || this.#stop.signal.aborted) return undefined;
      const mayCome = all.some((s) => s.isPreparing && s.failure?.whilePreparing !== true);
      if (this.#clock.now() >= until && !mayCome)
        return new Map(
          all.map(({ node, failure }) => [
            node.name,
            failure?.reason ?? `${node.target} has not answered for ${timeout} ms`,
          ]),
        );
      await this.#clock.sleep(LOOK, this.#stop.signal);
    }
  }

  /** Resolves when all switches can be steered. @throws SwitchesError with the reason of each that cannot, after some milliseconds */
  async ready(timeout = 60_000): Promise<void> {
    const until = this.#clock.now() + timeout;
    for (;;) {
      const missing = [...this.#switches.values()].filter(({ state }) => state.kind !== "ready");
      if (missing.length === 0) return;
      const hasEnded = this.#stop.signal.aborted || missing.some(({ state }) => state.kind === "deposed");
      if (hasEnded || this.#clock.now() >= until) throw new SwitchesError(missing.map(reasonOf));
      await this.#clock.sleep(LOOK, this.#stop.signal);
    }
  }

  /** The client of a switch that is ready. What is written by it, and wanted by nobody, is drift. */
  clientOf(name: string): P4RuntimeClient | undefined {
    const steered = this.#switches.get(name);
    return steered?.state.kind === "ready" ? steered.steady.client : undefined;
  }

  /** Keeps traffic off a switch where there is another way, until it is restored. @throws TopologyError, StateError */
  async drain(name: string): Promise<void> {
    switchNamed(this.#options.topology, name);
    if (this.#state.drained.includes(name)) return;
    await this.#change({ ...this.#state, drained: [...this.#state.drained, name] });
    this.#notice({ kind: "drained", name });
  }

  async restore(name: string): Promise<void> {
    switchNamed(this.#options.topology, name);
    if (!this.#state.drained.includes(name)) return;
    await this.#change({ ...this.#state, drained: this.#state.drained.filter((other) => other !== name) });
    this.#notice({ kind: "restored", name });
  }

  /** Leaves the switches as they are. */
  async close(): Promise<void> {
    this.#stop.abort();
    for (const steered of this.#switches.values()) this.#answer(steered, new Error("the controller ends"));
    await this.#jobs?.close();
    await Promise.all([...this.#switches.values()].map(({ steady }) => steady.close()));
    await Promise.all(this.#loops);
  }

  async #change(state: ControllerState): Promise<void> {
    await this.#options.state?.save({ ...state, ...this.#jobs?.desk.state });
    this.#state = state;
    this.#jobs?.pathsChanged(new Set(state.drained));
    this.#replan();
  }

  async #save(): Promise<void> {
    await this.#options.state?.save({ ...this.#state, ...this.#jobs?.desk.state });
  }

  #startJobs(): void {
    const { topology, aggregation, jobTimes } = this.#options;
    if (aggregation === undefined) return;
    this.#jobs = new FleetJobs({
      topology,
      aggregation,
      state: this.#state,
      ...(jobTimes === undefined ? {} : { times: jobTimes }),
      reaches: (name, placement) => this.#book.reaches(name, placement),
      onNotice: (notice) => this.#notice(notice),
      switches: {
        clientOf: (name) => {
          const steered = this.#switches.get(name);
          const client = steered?.steady.client;
          return steered?.state.kind === "ready" && client?.isPrimary === true ? client : undefined;
        },
        settle: (name) => this.#settle(name),
        save: () => this.#save(),
        clock: this.#clock,
      },
    });
  }

  /** Resolves when a switch is what it should be from now on. */
  #settle(name: string): Promise<void> {
    this.#book = this.#newBook();
    return new Promise((resolve, reject) => {
      const steered = this.#switches.get(name);
      if (steered?.state.kind !== "ready" || this.#stop.signal.aborted) {
        reject(new Error(`${name} is not connected`));
        return;
      }
      steered.waiters.push({ resolve, reject });
      this.#repair(name);
    });
  }

  #answer(steered: Steered, error?: Error): void {
    for (const { resolve, reject } of steered.waiters.splice(0)) {
      if (error === undefined) resolve();
      else reject(error);
    }
  }

  #add(node: SwitchNode): void {
    const { backoff, transport, random } = this.#options;
    const steady = SteadyClient.open({
      address: node.target,
      deviceId: node.deviceId,
      clock: this.#clock,
      patience: ANSWER,
      ...(transport === undefined ? {} : { transport: () => transport(node) }),
      ...(random === undefined ? {} : { random }),
      ...(node.tls === undefined ? {} : { tls: node.tls }),
      ...(backoff === undefined ? {} : { backoff }),
      electionId: () => this.#electionId,
      prepare: (client, signal) => this.#turns.take(() => this.#prepare(node, client, signal)),
      onState: (state) => this.#connected(node, state),
    });
    this.#switches.set(node.name, {
      node,
      steady,
      state: { kind: "connecting" },
      mirror: undefined,
      isPreparing: false,
      failure: undefined,
      isWorking: false,
      isStale: false,
      waiters: [],
      updates: 0,
      failures: 0,
      drift: 0,
    });
    this.#inBackground(() => this.#watch(node.name));
  }

  /** On a new connection: the right program, and what should be there. */
  async #prepare(node: SwitchNode, client: P4RuntimeClient, signal: AbortSignal): Promise<void> {
    const { p4info, deviceConfig } = this.#options.program;
    if (!client.isPrimary && !(await this.#inherits(client, signal))) return;
    const cookie = await client.getCookie({ signal, timeout: ANSWER });
    const steered = this.#switches.get(node.name);
    if (steered !== undefined) steered.isPreparing = true;
    const isLoaded = cookie === cookieOf(p4info, deviceConfig);
    if (!isLoaded) {
      // Its registers are empty: a job that this or another controller had there has to move.
      this.#jobs?.switched(node.name, false);
      await client.pushPipeline(p4info, deviceConfig, { signal });
    }
    // One description for all switches, by which they share entries.
    await client.useProgram(p4info);
    await this.#reconcile(node.name, client, signal, !isLoaded);
  }

  /**
   * A switch that nobody has any more may remember higher election ids than the clock gives, of controllers with etcd. One of those keeps to
   * its own: a later leader must be above it.
   */
  async #inherits(client: P4RuntimeClient, signal: AbortSignal): Promise<boolean> {
    const { hasPrimary = true, highestElectionId } = client.arbitration ?? {};
    if (this.#options.electionId !== undefined || hasPrimary || highestElectionId === undefined) return false;
    return (await client.arbitrate(highestElectionId + 1n, { signal })).isPrimary;
  }

  #connected(node: SwitchNode, state: SteadyState): void {
    const steered = this.#switches.get(node.name);
    if (steered === undefined || this.#stop.signal.aborted) return;
    switch (state.kind) {
      case "ready":
        steered.failure = undefined;
        steered.isPreparing = false;
        this.#become(
          steered,
          state.isPrimary
            ? { kind: "ready", entries: steered.mirror?.entities.length ?? 0 }
            : { kind: "deposed" },
        );
        if (steered.steady.client !== undefined) this.#listen(node.name, steered.steady.client);
        return;
      case "waiting":
        steered.mirror = undefined;
        steered.failure = { reason: state.reason.message, whilePreparing: steered.isPreparing };
        steered.isPreparing = false;
        this.#become(steered, { kind: "lost", reason: state.reason.message });
        return;
      default:
    }
  }

  /** A switch that comes or goes changes what the others should have. */
  #become(steered: Steered, state: SwitchState): void {
    const before = steered.state.kind;
    steered.state = state;
    if (before === state.kind) return;
    const reason = state.kind === "lost" ? { reason: state.reason } : {};
    const { name } = steered.node;
    this.#notice({ kind: "switch", name, state: state.kind, ...reason });
    this.#probed(this.#probes?.switched(name, state.kind === "ready", this.#clock.now()));
    if (state.kind !== "ready") this.#answer(steered, new Error(`${name} is ${state.kind}`));
    this.#replan();
    // What is wanted may have changed while it was made ready.
    if (state.kind === "ready") this.#repair(name);
    if (state.kind === "ready") this.#jobs?.switched(name, true);
    // One that another controller has is its business, and so are the jobs there.
    else if (state.kind === "lost") this.#jobs?.switched(name, false);
    this.#jobs?.pathsChanged(new Set(this.#state.drained));
  }

  /** @param except a switch that is there after all: it is just being made ready */
  #outage(except?: string): Outage {
    const lost = [...this.#switches.values()]
      .filter(({ node, state }) => state.kind === "lost" && node.name !== except)
      .map(({ node }) => node.name);
    return {
      switches: new Set(lost),
      links: this.#probes?.down ?? new Set(),
      drained: new Set(this.#state.drained),
    };
  }

  #newBook(outage: Outage = this.#outage()): IntentBook {
    const placements = this.#jobs?.written ?? this.#state.placements;
    return new IntentBook({ ...this.#options, outage, placements }, this.#basis);
  }

  /** Repairs all switches, if what is out is not what it was. */
  #replan(): void {
    const outage = this.#outage();
    const key = outageKey(outage);
    if (key === this.#planned) return;
    this.#planned = key;
    this.#book = this.#newBook(outage);
    for (const { node, state } of this.#switches.values())
      if (state.kind === "ready") this.#repair(node.name);
  }

  /** Writes what has changed, one repair of a switch at a time. */
  #repair(name: string): void {
    const steered = this.#switches.get(name);
    if (steered === undefined) return;
    steered.isStale = true;
    if (steered.isWorking) return;
    steered.isWorking = true;
    this.#inBackground(async () => {
      try {
        while (steered.isStale && !this.#stop.signal.aborted) {
          steered.isStale = false;
          const { client } = steered.steady;
          if (client?.isPrimary !== true) {
            this.#answer(steered, new Error(`${name} is not connected`));
            return;
          }
          const work = async (): Promise<void> => {
            // Between two of them the loop reads what has arrived.
            await this.#clock.sleep(0, this.#stop.signal);
            steered.isStale = false;
            if (!this.#stop.signal.aborted) await this.#reconcile(name, client, this.#stop.signal, false);
          };
          // Where a job waits to be moved, it goes first.
          await (steered.waiters.length > 0 ? work() : this.#repairs.take(work));
        }
        this.#answer(steered);
      } catch (error) {
        // The next look tries again; a connection that broke has its own way back.
        steered.failures++;
        steered.mirror = undefined;
        const reason = error instanceof Error ? error.message : String(error);
        this.#notice({ kind: "failed", name, reason });
        this.#answer(steered, new Error(reason));
      } finally {
        steered.isWorking = false;
      }
    });
  }

  async #reconcile(
    name: string,
    client: P4RuntimeClient,
    signal: AbortSignal,
    pushed: boolean,
  ): Promise<void> {
    const steered = this.#switches.get(name);
    if (steered === undefined) return;
    const { schema, server } = client;
    const book = steered.state.kind === "lost" ? this.#newBook(this.#outage(name)) : this.#book;
    const intent = book.intentOf(name, schema, client.apiVersion);
    if (steered.mirror !== undefined) {
      // What this controller wrote is still there unless somebody else was at work, which the write would show.
      const difference = differenceOfIntents(intent, steered.mirror, schema, server.comparison);
      const plan = planOf(difference, schema, { tableRank: intent.tableRank });
      try {
        await applyPlan(client, plan, { signal });
        this.#written(steered, intent, plan.updates, pushed);
        return;
      } catch (error) {
        if (!(error instanceof P4RuntimeWriteError) || error.updates === undefined) throw error;
        steered.mirror = undefined;
      }
    }
    const { undoDrift = false } = this.#options;
    const { plan, difference } = await reconcile(client, intent, { signal, undoDrift });
    if (difference.foreign.length > 0 && difference.foreign.length !== steered.drift)
      this.#notice({ kind: "drift", name, entities: difference.foreign.length, undone: undoDrift });
    steered.drift = undoDrift ? 0 : difference.foreign.length;
    this.#written(steered, intent, plan.updates, pushed);
  }

  #written(steered: Steered, intent: Intent, updates: number, pushed: boolean): void {
    const { entities } = intent;
    steered.mirror = intent;
    steered.updates += updates;
    if (steered.state.kind === "ready") steered.state = { kind: "ready", entries: entities.length };
    if (updates > 0 || pushed) this.#notice({ kind: "written", name: steered.node.name, updates, pushed });
  }

  /** Looks at each switch from time to time: others may have written, and failed repairs are tried again. */
  async #inspect(): Promise<void> {
    const { signal } = this.#stop;
    for (;;) {
      await this.#clock.sleep(this.#options.inspect ?? 30_000, signal);
      if (signal.aborted) return;
      for (const steered of this.#switches.values()) {
        const { client } = steered.steady;
        if (client?.isPrimary !== true || steered.isWorking) continue;
        try {
          const intent = this.#book.intentOf(steered.node.name, client.schema, client.apiVersion);
          const difference = await readDifference(client, intent, signal);
          const mayUndo = this.#options.undoDrift === true && difference.foreign.length > 0;
          const { missing, changed, stale, foreign } = difference;
          if (
            missing.length + changed.length + stale.length > 0 ||
            mayUndo ||
            foreign.length !== steered.drift
          ) {
            steered.mirror = undefined;
            this.#repair(steered.node.name);
          }
        } catch {
          // The signs of life tell when a switch does not answer.
        }
      }
    }
  }

  /** Sends the probes of links when they are due. */
  async #probeLinks(): Promise<void> {
    const probes = this.#probes;
    const { signal } = this.#stop;
    if (probes === undefined || !Number.isFinite(probes.wakeAt)) return;
    while (!signal.aborted) {
      await this.#clock.sleep(Math.max(0, probes.wakeAt - this.#clock.now()), signal);
      if (!signal.aborted) this.#probed(probes.tick(this.#clock.now()));
    }
  }

  /** Takes what a switch brings up, as long as the connection lasts. */
  #listen(name: string, client: P4RuntimeClient): void {
    const probes = this.#probes;
    const jobs = this.#jobs;
    if ((probes === undefined && jobs === undefined) || this.#listening.has(client)) return;
    this.#listening.add(client);
    this.#inBackground(async () => {
      try {
        for await (const { payload, metadata } of client.packets({ signal: this.#stop.signal })) {
          const port = Number(metadata.ingress_port ?? -1n);
          if (jobs?.packetIn(name, payload) === true) continue;
          this.#probed(probes?.packetIn(name, port, payload, this.#clock.now()));
        }
      } catch {
        // The steady client connects again, and then there is another one to listen to.
      }
    });
  }

  #probed(outcome: ProbesOutcome | undefined): void {
    if (outcome === undefined) return;
    for (const { switch: name, port, frame } of outcome.send) {
      const client = this.#switches.get(name)?.steady.client;
      try {
        if (client?.isPrimary === true)
          client.sendPacket(frame, { egress_port: port, submit: 0, padding: 0 });
      } catch {
        // A stream that has just broken: the probe is lost, and that is what it is for.
      }
    }
    let hasChanged = false;
    for (const news of outcome.news) {
      if (news.kind === "miswired") {
        const [from, at] = [news.from, news.at].map((end) => `${end.switch}:${end.port}`);
        if (this.#miswired.has(`${from} ${at}`)) continue;
        this.#miswired.add(`${from} ${at}`);
        this.#notice({ kind: "miswired", link: news.link, from: from ?? "", at: at ?? "" });
        continue;
      }
      hasChanged = true;
      const { link } = news;
      if (news.kind === "up") this.#notice({ kind: "link", link, state: "up" });
      else this.#notice({ kind: "link", link, state: "down", from: `${news.from.switch}:${news.from.port}` });
    }
    if (hasChanged) this.#gather();
  }

  /** Plans anew for links that went down or came up: at once for the first, and then for all that followed within some time. */
  #gather(): void {
    if (this.#isGathering) return;
    const replan = (): void => {
      this.#gatheredAt = this.#clock.now();
      this.#replan();
      this.#jobs?.pathsChanged(new Set(this.#state.drained));
    };
    const wait = this.#gatheredAt + GATHERED - this.#clock.now();
    if (!(wait > 0)) {
      replan();
      return;
    }
    this.#isGathering = true;
    this.#inBackground(async () => {
      await this.#clock.sleep(wait, this.#stop.signal);
      this.#isGathering = false;
      if (!this.#stop.signal.aborted) replan();
    });
  }

  /** Asks a switch for signs of life: a stream that is open proves nothing of one that hangs. */
  async #watch(name: string): Promise<void> {
    const { heartbeat = 500, silence = 5000 } = this.#options;
    const { signal } = this.#stop;
    for (;;) {
      await this.#clock.sleep(heartbeat, signal);
      if (signal.aborted) return;
      const client = this.#switches.get(name)?.steady.client;
      if (client === undefined) continue;
      // Closing the client ends its stream, and the steady client begins anew.
      const askedAt = this.#clock.now();
      await client
        .getCookie({ timeout: silence, signal })
        .then(() => this.#probes?.answered(name, askedAt, this.#clock.now()))
        .catch(() => client.abandon("it gives no sign of life"));
    }
  }

  #inBackground(work: () => Promise<void>): void {
    const running = work().finally(() => this.#loops.delete(running));
    this.#loops.add(running);
  }

  #notice(notice: FleetNotice): void {
    if (!this.#stop.signal.aborted) this.#options.onNotice?.(notice);
  }
}
