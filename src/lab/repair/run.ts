import { Fleet, type FleetNotice } from "../../controller/fleet.ts";
import { JOB_HOST_TIMES } from "../../controller/jobservice/jobhost.ts";
import { StateMemory } from "../../controller/statefile.ts";
import type { JobLayout } from "../../host/libra/layout.ts";
import { LibraServer } from "../../host/libra/server.ts";
import { LibraWorker } from "../../host/libra/worker.ts";
import { type Random, seededRandom } from "../../host/random.ts";
import { decodeProbe } from "../../wire/probe.ts";
import { type LabTransport, labClock } from "../controlline.ts";
import { Lab, type LabHost } from "../lab.ts";
import type { Fault, RepairCase } from "./faults.ts";
import { LabMember } from "./members.ts";
import { CABLE, Fabric, type FabricProgram, fabricTopology } from "./network.ts";

/** Milliseconds without the leader after which the next one leads, as by default with etcd. */
export const LEASE = 3000;
/** Milliseconds that a worker computes between two rounds. */
const COMPUTE = 10;
/** Rounds before the fault, and after the time of watching. */
const ROUNDS = 50;
const WORKERS = ["w0", "w1", "w2", "w3", "w4", "w5", "w6"];
const SERVER = "ps";
const JOB = "training";
const COLD = 16;

/** What came of one run. Times are milliseconds after the fault; undefined: it did not happen. */
export interface RepairOutcome {
  /** The controller knew. */
  readonly detected: number | undefined;
  /** The last entry that had to be written was written, and hosts had been told of the last move. */
  readonly repaired: number | undefined;
  /** The job's hosts were told of its first other layout. */
  readonly moved: number | undefined;
  /** A frame went a way that does not lead anywhere any more, for the last time. */
  readonly lastAstray: number | undefined;
  /** Frames that were lost by the faults; their senders sent them again. */
  readonly lost: number;
  /** The job was given another layout: the first round that was finished after that, less the last before. */
  readonly movedWithin: number | undefined;
  /** Longest time between two finished rounds before the fault, and from then on. */
  readonly pauseBefore: number;
  readonly pause: number;
  readonly rounds: number;
  /** What is not as it should be: a sum that is not exact, a round that is missing. */
  readonly wrong: readonly string[];
  readonly notices: readonly TimedNotice[];
}

/** What the controller said, and when. */
export interface TimedNotice {
  readonly at: number;
  readonly notice: FleetNotice;
}

/** Runs one case under gradient load. The same seed gives the same run. */
export async function runRepair(
  { faults, watch }: RepairCase,
  program: FabricProgram,
  seed: number,
): Promise<RepairOutcome> {
  return new RepairRun(program, seed).run(faults, watch);
}

class RepairRun {
  readonly #lab: Lab;
  readonly #random: Random;
  readonly #program: FabricProgram;
  readonly #fabric: Fabric;
  readonly #store = new StateMemory();
  readonly #notices: TimedNotice[] = [];
  readonly #members = new Map<string, LabMember>();
  readonly #hosts = new Map<string, LabHost<{ readonly type: "layout"; readonly layout: JobLayout }>>();
  readonly #finished: { readonly round: number; readonly at: number }[] = [];
  readonly #sums = new Map<number, ReadonlyMap<number, number>>();
  readonly #wrong: string[] = [];
  readonly #astray = new Set<string>();
  readonly #crashed = new Set<string>();
  readonly #keys: Uint32Array;
  #server: LibraServer | undefined;
  #fleet: Fleet | undefined;
  #transports: { readonly node: string; readonly transport: LabTransport }[] = [];
  #controllers = 0n;
  #lastRound = Number.POSITIVE_INFINITY;
  #lastAstray: number | undefined;
  #lost = 0;

  constructor(program: FabricProgram, seed: number) {
    this.#random = seededRandom(seed);
    this.#program = program;
    this.#lab = new Lab(this.#random, {
      onFrame: ({ at, wire, frame }) => {
        if (!this.#astray.has(wire) || !("refused" in decodeProbe(frame))) return;
        this.#lastAstray = at;
        this.#lost++;
      },
    });
    this.#fabric = new Fabric(this.#lab, fabricTopology(4, 4, [...WORKERS, SERVER]), program);
    const { lanes, rows } = program.aggregation.options;
    const hot = Array.from({ length: lanes * Math.min(rows, 8) }, (_, i) => 1000 + i);
    this.#keys = Uint32Array.from([...Array(COLD).keys(), ...hot]);
  }

  async run(faults: readonly Fault[], watch: number): Promise<RepairOutcome> {
    const lab = this.#lab;
    await this.#control();
    for (const [i, host] of [SERVER, ...WORKERS].entries()) lab.at(100 + i, () => this.#join(host));
    const done = () => this.#finished.length >= ROUNDS;
    if (!(await lab.runAsync(done, 20_000))) throw new Error("the job did not begin");
    // At any time between two probes, heartbeats and rounds.
    await lab.runAsync(() => false, lab.now + 500 * this.#random());
    const at = lab.now;
    const open = this.#server?.openRound ?? 0;
    for (const fault of faults) this.#happen(fault);
    await lab.runAsync(() => false, at + watch);
    this.#lastRound = (this.#server?.openRound ?? 0) + ROUNDS;
    const survivors = WORKERS.filter((name) => !this.#crashed.has(name)).length;
    const isDone = () => (this.#finished.at(-1)?.round ?? 0) >= this.#lastRound;
    if (!(await lab.runAsync(isDone, lab.now + 30_000)))
      this.#wrong.push(`round ${this.#server?.openRound} of ${this.#lastRound} was not finished`);
    await this.#fleet?.close();
    this.#check(open, survivors);
    return this.#outcome(at);
  }

  async #control(): Promise<void> {
    const { loadable, aggregation, room } = this.#program;
    const lab = this.#lab;
    this.#controllers++;
    const mine = this.#controllers;
    this.#transports = [];
    this.#fleet = await Fleet.start({
      topology: this.#fabric.topology,
      program: loadable,
      aggregation,
      room,
      state: this.#store,
      electionId: mine,
      clock: labClock(lab),
      random: this.#random,
      transport: ({ name, target }) => {
        const transport = this.#fabric.line(name).connect(target);
        this.#transports.push({ node: name, transport });
        return transport;
      },
      onNotice: (notice) => {
        if (mine === this.#controllers) this.#notices.push({ at: lab.now, notice });
      },
    });
  }

  #happen(fault: Fault): void {
    const lab = this.#lab;
    switch (fault.kind) {
      case "link":
        for (const wire of this.#fabric.cut(...fault.ends)) this.#astray.add(wire);
        return;
      case "switch":
        for (const name of lab.wires.keys()) if (name.includes(`>${fault.name}:`)) this.#astray.add(name);
        this.#fabric.crash(fault.name, fault.how);
        return;
      case "worker": {
        const port = this.#fabric.topology.hosts.find((h) => h.name === fault.host)?.attachments[0];
        const place = `${port?.switch}:${port?.port}`;
        for (const wire of [`${fault.host}>${place}`, `${place}>${fault.host}`]) lab.wire(wire).cut();
        this.#crashed.add(fault.host);
        this.#members.get(fault.host)?.crash();
        return;
      }
      case "controller": {
        const fleet = this.#fleet;
        this.#fleet = undefined;
        this.#controllers++;
        for (const { node, transport } of this.#transports) this.#fabric.line(node).sever(transport);
        void fleet?.close();
        lab.at(lab.now + LEASE, () => {
          lab.tell();
          void this.#control();
        });
      }
    }
  }

  #join(host: string): void {
    const number = WORKERS.indexOf(host);
    const { lanes, workers } = this.#program.aggregation.options;
    const mode = { name: "int32" as const, workers, fractionBits: 16 };
    const hot = [...this.#keys].slice(COLD);
    const rows = Array.from({ length: hot.length / lanes }, (_, i) => hot.slice(i * lanes, (i + 1) * lanes));
    this.#members.set(
      host,
      new LabMember({
        clock: labClock(this.#lab),
        jobs: () => this.#fleet?.jobs,
        id: { job: JOB, host, incarnation: 1n },
        ...(number < 0 ? { spec: { workers: WORKERS, lanes, mode, rows, needsSwitch: true } } : {}),
        openRound: () => this.#server?.openRound ?? 0,
        onLayout: (layout) => {
          const known = this.#hosts.get(host);
          if (known !== undefined) known.dispatch({ type: "layout", layout });
          else if (number < 0) this.#hosts.set(host, this.#serve(layout));
          else this.#hosts.set(host, this.#work(host, number, layout));
        },
      }),
    );
  }

  #plug(host: string): void {
    for (const h of this.#fabric.topology.hosts)
      if (h.name === host)
        for (const { switch: on, port } of h.attachments) this.#lab.connect(host, on, port, { delay: CABLE });
  }

  #serve(layout: JobLayout): LabHost<{ readonly type: "layout"; readonly layout: JobLayout }> {
    const server = new LibraServer(
      layout,
      {
        update: (round, keys, sums) => {
          if (this.#sums.has(round)) this.#wrong.push(`round ${round} was given twice`);
          this.#sums.set(round, new Map([...keys].map((key, i) => [key, sums[i] ?? Number.NaN])));
          this.#finished.push({ round, at: this.#lab.now });
        },
        read: (keys) => new Float32Array(keys.length),
      },
      JOB_HOST_TIMES,
    );
    this.#server = server;
    const host = this.#lab.addHost(SERVER, server, () => {});
    this.#plug(SERVER);
    return host;
  }

  #work(
    name: string,
    member: number,
    layout: JobLayout,
  ): LabHost<{ readonly type: "layout"; readonly layout: JobLayout }> {
    let round = layout.firstRound;
    const push = (): void => {
      if (round > this.#lastRound || this.#crashed.has(name)) return;
      const values = Float32Array.from(this.#keys, (key) => gradient(member, round, key));
      host.dispatch({ type: "push", keys: this.#keys, values });
    };
    const host = this.#lab.addHost(name, new LibraWorker(layout, member, JOB_HOST_TIMES), (action) => {
      if (action.type !== "finished") return;
      round = action.round + 1;
      this.#lab.at(this.#lab.now + COMPUTE, push);
    });
    this.#plug(name);
    this.#lab.at(this.#lab.now, push);
    return host;
  }

  /** Every sum of every round is that of one gradient of each worker; of one that has ended, up to a round that is not after its end. */
  #check(openAtFault: number, survivors: number): void {
    const all = WORKERS.map((_, i) => i);
    const left = all.filter((i) => !this.#crashed.has(WORKERS[i] ?? ""));
    for (let round = 1; round <= this.#lastRound; round++) {
      const sums = this.#sums.get(round);
      if (sums === undefined) {
        this.#wrong.push(`round ${round} is missing`);
        continue;
      }
      const sumOf = (members: readonly number[], key: number): number =>
        members.reduce((sum, member) => sum + gradient(member, round, key), 0);
      for (const key of this.#keys) {
        // Hot keys whose sum is 0 are left out: there is nothing to update.
        const sum = sums.get(key) ?? 0;
        // It may have sent its part of the rounds that were open.
        const mayHaveIt = round <= openAtFault + 1;
        const isExact = (mayHaveIt && sum === sumOf(all, key)) || sum === sumOf(left, key);
        const isRight =
          isExact && (survivors === all.length || round >= openAtFault || sum === sumOf(all, key));
        if (!isRight) this.#wrong.push(`round ${round}, key ${key}: ${sum}`);
      }
    }
  }

  #roundsOver(at: number): number {
    const before = this.#finished.findLast((f) => f.at <= at)?.round ?? 0;
    const after = this.#finished.find((f) => f.at > at)?.round ?? Number.POSITIVE_INFINITY;
    return after - before;
  }

  #outcome(at: number): RepairOutcome {
    const after = this.#notices.filter((n) => n.at >= at);
    const isNews = ({ notice: { kind } }: TimedNotice): boolean =>
      kind === "link" || kind === "switch" || kind === "member";
    const isRepair = ({ notice: { kind } }: TimedNotice): boolean => kind === "written" || kind === "placed";
    const since = (n: { readonly at: number } | undefined): number | undefined =>
      n === undefined ? undefined : n.at - at;
    const placed = after.filter(({ notice }) => notice.kind === "placed");
    const last = placed.at(-1)?.at;
    const pauses = (from: number, to: number): number => {
      const times = this.#finished.filter((f) => f.at >= from && f.at <= to).map((f) => f.at);
      return times.reduce((most, t, i) => Math.max(most, t - (times[i - 1] ?? t)), 0);
    };
    const lastBefore = this.#finished.findLast((f) => f.at < at)?.at ?? at;
    return {
      detected: since(after.find(isNews)),
      repaired: since(after.findLast(isRepair)),
      lastAstray: this.#lastAstray === undefined ? undefined : this.#lastAstray - at,
      lost: this.#lost,
      moved: since(placed[0]),
      movedWithin: last === undefined ? undefined : this.#roundsOver(last),
      pauseBefore: pauses(this.#finished[1]?.at ?? 0, lastBefore),
      pause: pauses(lastBefore, Number.POSITIVE_INFINITY),
      rounds: this.#lastRound,
      wrong: this.#wrong,
      notices: after,
    };
  }
}

/** A multiple of 1/1024 below 1: sums of them are exact in whatever order. */
function gradient(member: number, round: number, key: number): number {
  let h = Math.imul(member + 1, 0x9e3779b1) ^ Math.imul(round, 0x85ebca6b) ^ Math.imul(key + 7, 0xc2b2ae35);
  h ^= h >>> 15;
  h = Math.imul(h, 0x2c1b3c6d);
  h ^= h >>> 13;
  return ((h & 2047) - 1024) / 1024;
}
