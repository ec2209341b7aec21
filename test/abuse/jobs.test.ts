import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ControllerAction, JobController } from "../../src/controller/failover.ts";
import type { Placement } from "../../src/controller/jobs.ts";
import { SlotReset } from "../../src/controller/slotreset.ts";
import { baseState, jobEntries } from "../../src/controller/wantedstate.ts";
import type { LinkFaults } from "../../src/host/faults.ts";
import type { JobLayout } from "../../src/host/libra/layout.ts";
import { LibraServer } from "../../src/host/libra/server.ts";
import { LibraWorker } from "../../src/host/libra/worker.ts";
import { seededRandom } from "../../src/host/random.ts";
import { Lab, type LabHost } from "../../src/lab/index.ts";
import { AGGREGATOR_EVENTS } from "../../src/numeric/aggregator.ts";
import type { NumericMode } from "../../src/numeric/mode.ts";
import type { Switch } from "../../src/switch/index.ts";
import { ModeId } from "../../src/wire/aggregation.ts";
import { headerCodec } from "../../src/wire/codec.ts";
import { packetIn, packetOut } from "../../src/wire/controllerport.ts";
import { fill, insert, localSwitch } from "../features/localswitch.ts";
import { aggregation, CHUNK, ir, LANES, ROWS, SCALE, topologyOf } from "./network.ts";

const MODE: NumericMode = { name: "int32", workers: 32, fractionBits: SCALE };
const outCodec = headerCodec(packetOut);
const inCodec = headerCodec(packetIn);
type LayoutEvent = { readonly type: "layout"; readonly layout: JobLayout };

/** The lab with two switches and many hosts, steered by the controller's own decisions and packets. */
class Site {
  readonly lab: Lab;
  readonly topology;
  readonly jobs = new JobController({ rows: ROWS, chunk: CHUNK }, ["s1", "s2"]);
  readonly engines = new Map<string, Switch>();
  readonly random;
  /** Frames of all RESETs, to be replayed. */
  readonly resets: Uint8Array[] = [];
  /** Milliseconds that a packet-out takes at most, beyond the first copy. */
  lateResets = 0;
  readonly #faults: LinkFaults;
  readonly #running = new Map<number, RunningJob>();
  readonly #placed = new Map<number, Placement>();
  #reset: SlotReset | undefined;

  constructor(hosts: number, seed: number, faults: LinkFaults) {
    this.#faults = faults;
    this.random = seededRandom(seed);
    this.lab = new Lab(this.random);
    this.topology = topologyOf(hosts - 1);
    for (const { name } of this.topology.switches) {
      const engine = localSwitch(ir);
      fill(engine, ir, baseState(this.topology, name));
      this.engines.set(name, engine);
      this.lab.addSwitch(name, engine, (data) => this.#reset?.echo(data.subarray(inCodec.bytes)));
      this.jobs.handle({ kind: "switchReady", name });
    }
  }

  /** Plugs a host into the switches that have power. */
  plug(name: string): void {
    for (const { switch: on, port } of this.topology.hosts.find((h) => h.name === name)?.attachments ?? [])
      if (this.engines.has(on)) this.lab.connect(name, on, port, { delay: 0.1, ...this.#faults });
  }

  start(job: RunningJob, firstRound: number): void {
    this.#running.set(job.number, job);
    const { number, workers, server, rows } = job;
    const request = { job: number, workers, server, rows: rows.length, scale: SCALE, firstRound };
    this.#carryOut(this.jobs.start(request));
  }

  stop(number: number): void {
    this.#running.delete(number);
    this.#carryOut(this.jobs.stop(number));
  }

  roundOpen(job: number, round: number): void {
    this.jobs.handle({ kind: "roundOpen", job, round });
  }

  /** Power cut. */
  cut(name: string): void {
    this.lab.removeSwitch(name);
    this.engines.delete(name);
    this.lab.at(this.lab.now + 5, () => this.#carryOut(this.jobs.handle({ kind: "switchLost", name })));
  }

  layoutOf(job: RunningJob, p: Placement): JobLayout {
    const endpoint = (name: string) => {
      const node = [...this.topology.hosts, ...this.topology.switches].find((n) => n.name === name);
      return node === undefined ? expect.fail(`no ${name}`) : { mac: node.mac, ip: node.ipv4 };
    };
    return {
      job: p.job,
      generation: p.generation,
      workers: p.workers.map((name, member) => ({ member, ...endpoint(name) })),
      slotBase: p.slotBase,
      lanes: LANES,
      rows: job.rows,
      mode: MODE,
      aggregator: endpoint(p.on ?? p.server),
      server: endpoint(p.server),
      firstRound: p.firstRound,
    };
  }

  /** Puts a RESET into a switch as the controller does. */
  submit(name: string, frame: Uint8Array): void {
    const data = new Uint8Array(outCodec.bytes + frame.length);
    outCodec.encode({ egress_port: 0, submit: 1, padding: 0 }, data, 0);
    data.set(frame, outCodec.bytes);
    this.lab.packetOut(name, data);
  }

  events(name: string): Readonly<Record<string, number>> {
    const counter = this.engines.get(name)?.counter("answer.events") ?? expect.fail(`no ${name}`);
    return Object.fromEntries(AGGREGATOR_EVENTS.map((event, i) => [event, Number(counter.read(i).packets)]));
  }

  #carryOut(actions: readonly ControllerAction[]): void {
    for (const { kind, placement } of actions) {
      if (kind === "remove") this.#remove(placement.job);
      if (kind === "announce") this.#running.get(placement.job)?.move(placement);
      if (kind === "install") this.#install(placement);
    }
  }

  #remove(job: number): void {
    const old = this.#placed.get(job);
    this.#placed.delete(job);
    const engine = this.engines.get(old?.on ?? "");
    if (old === undefined || engine === undefined) return;
    const chunks = new Set(jobEntries(this.topology, aggregation, old).map((e) => e.match.chunk));
    const table = engine.table("admission.member");
    for (const entry of [...table.entries()]) {
      const [number, , chunk] = entry.match.map((m) => (m?.kind === "exact" ? Number(m.value) : -1));
      if (number === job && chunks.has(chunk)) table.delete(entry.match);
    }
  }

  #install(p: Placement): void {
    const on = this.topology.switches.find((n) => n.name === p.on) ?? expect.fail("nowhere");
    const engine = this.engines.get(on.name) ?? expect.fail("nowhere");
    this.#remove(p.job);
    this.#reset = new SlotReset(p, on, { lanes: LANES, mode: ModeId.int32 });
    while (!this.#reset.isDone) {
      for (const frame of this.#reset.poll(this.lab.now)) {
        this.resets.push(frame);
        this.submit(on.name, frame);
        // The same packet again and again, much later: what a queue between controller and switch does.
        for (let copy = 0; copy < 3 && this.lateResets > 0; copy++)
          this.lab.at(this.lab.now + this.random() * this.lateResets, () => this.submit(on.name, frame));
      }
    }
    for (const entry of jobEntries(this.topology, aggregation, p)) insert(engine, ir, entry);
    this.#placed.set(p.job, p);
    this.#carryOut(this.jobs.handle({ kind: "installed", job: p.job, generation: p.generation }));
  }
}

type Gradient = ReadonlyMap<number, number>;

/** A job's hosts, which push one gradient after the other. */
class RunningJob {
  readonly updates: string[] = [];
  readonly errors: string[] = [];
  finished = 0;
  readonly number: number;
  readonly workers: readonly string[];
  readonly server: string;
  readonly rows: readonly (readonly number[])[];
  readonly #hosts: LabHost<LayoutEvent>[] = [];
  readonly #site: Site;
  readonly #gradients: readonly (readonly Gradient[])[];

  /** @param hosts numbers of the workers, then of the server, in the topology */
  constructor(
    site: Site,
    number: number,
    hosts: readonly number[],
    rows: readonly (readonly number[])[],
    gradients: readonly (readonly Gradient[])[],
  ) {
    this.number = number;
    const names = hosts.map((i) => site.topology.hosts[i]?.name ?? "");
    this.workers = names.slice(0, -1);
    this.server = names.at(-1) ?? "";
    this.rows = rows;
    this.#site = site;
    this.#gradients = gradients;
  }

  get isDone(): boolean {
    return this.finished === this.workers.length;
  }

  /** The first placement makes the hosts, further ones move them. */
  move(p: Placement): void {
    const layout = this.#site.layoutOf(this, p);
    if (this.#hosts.length === 0) this.#open(layout);
    for (const host of this.#hosts) {
      host.use(p.on ?? "s2");
      host.dispatch({ type: "layout", layout });
    }
  }

  #open(layout: JobLayout): void {
    const { lab } = this.#site;
    const note = (error: Error): void => void this.errors.push(error.message);
    const machine = new LibraServer(layout, {
      update: (round, keys, sums) => {
        const pairs = [...keys].map((key, i) => `${key}=${sums[i]}`).sort();
        this.updates.push(`${round}: ${pairs.join(" ")}`);
        this.#site.roundOpen(this.number, (round + 1) >>> 0);
      },
      read: (keys) => new Float32Array(keys.length),
    });
    this.#hosts.push(
      lab.addHost(this.server, machine, (action) => action.type === "error" && note(action.error)),
    );
    this.#site.plug(this.server);
    this.workers.forEach((name, member) => {
      const worker = new LibraWorker(layout, member);
      let done = 0;
      const push = (): void => {
        const gradient = this.#gradients[done]?.[member] ?? new Map();
        host.dispatch({
          type: "push",
          keys: Uint32Array.from(gradient.keys()),
          values: Float32Array.from(gradient.values()),
        });
      };
      const host = lab.addHost(name, worker, (action) => {
        if (action.type === "error") note(action.error);
        if (action.type !== "finished") return;
        done++;
        if (done === this.#gradients.length) this.finished++;
        else lab.at(lab.now, push);
      });
      this.#hosts.push(host);
      this.#site.plug(name);
      lab.at(lab.now, push);
    });
  }
}

const GRID = [
  [10, 11, 12, 13],
  [20, 21, 22, 23],
  [30, 31],
];

/** gradients[round][worker], in whole numbers so that float32 sums are exact. */
function someGradients(seed: number, rounds: number, workers: number): readonly (readonly Gradient[])[] {
  const random = seededRandom(seed);
  const keys = [...GRID.flat(), 1, 2];
  const one = (): Gradient =>
    new Map(keys.filter(() => random() < 0.7).map((key) => [key, Math.floor(random() * 200) - 100]));
  return Array.from({ length: rounds }, () => Array.from({ length: workers }, one));
}

/** What the server has to be told, from the definition. */
function sums(gradients: readonly (readonly Gradient[])[], firstRound: number): readonly string[] {
  return gradients.map((round, i) => {
    const total = new Map<number, number>();
    for (const gradient of round)
      for (const [key, value] of gradient) total.set(key, (total.get(key) ?? 0) + value);
    // Hot keys whose sum is 0 are left out; cold ones are told.
    const pairs = [...total].filter(([key, sum]) => sum !== 0 || key < 10).map(([k, v]) => `${k}=${v}`);
    return `${(firstRound + i) >>> 0}: ${pairs.sort().join(" ")}`;
  });
}

const FAULTS: LinkFaults = { loss: 0.1, duplicate: 0.2, reorder: 0.3 };
const LIMIT = 120_000;

describe("late copies of RESET", () => {
  test("do not touch a slot that runs: all sums are right, whenever the copies come", () => {
    let refused = 0;
    fc.assert(
      fc.property(
        fc.integer(),
        fc.integer({ min: 1, max: 100 }),
        fc.option(fc.integer({ min: 0, max: 60 })),
        (seed, late, cutAt) => {
          const site = new Site(4, seed, FAULTS);
          site.lateResets = late;
          const gradients = someGradients(seed, 3, 3);
          const job = new RunningJob(site, 1, [0, 1, 2, 3], GRID, gradients);
          site.start(job, 1);
          if (cutAt !== null) site.lab.at(cutAt, () => site.cut("s1"));
          expect(
            site.lab.run(() => job.isDone, LIMIT),
            job.errors.join(),
          ).toBe(true);
          expect(job.updates).toEqual(sums(gradients, 1));
          // What is still on its way: the sums are done, but nothing may break.
          site.lab.run(() => false, site.lab.now + 2 * late);
          if (site.engines.has("s1")) refused += site.events("s1").refused_reset ?? 0;
        },
      ),
      // The first ones let copies meet a running job for sure.
      {
        numRuns: 25,
        examples: [
          [1, 20, null],
          [2, 60, null],
        ],
      },
    );
    expect(refused).toBeGreaterThan(0);
  }, 120_000);
});

describe("jobs on one switch", () => {
  test("with the same keys do not see one another, in any weather, and both move", () => {
    for (const [seed, cutAt] of [[1], [2], [3, 1], [4, 20], [5, 40]]) {
      const site = new Site(7, seed ?? 0, FAULTS);
      const a = someGradients(10 + (seed ?? 0), 4, 3);
      const b = someGradients(20 + (seed ?? 0), 4, 2);
      const first = new RunningJob(site, 1, [0, 1, 2, 3], GRID, a);
      const second = new RunningJob(site, 2, [4, 5, 6], GRID, b);
      site.start(first, 1);
      site.start(second, 1);
      expect(site.jobs.placementOf(1)).toMatchObject({ on: "s1", slotBase: 0 });
      expect(site.jobs.placementOf(2)).toMatchObject({ on: "s1", slotBase: CHUNK });
      if (cutAt !== undefined) site.lab.at(cutAt, () => site.cut("s1"));
      expect(site.lab.run(() => first.isDone && second.isDone, LIMIT)).toBe(true);
      expect(first.updates).toEqual(sums(a, 1));
      expect(second.updates).toEqual(sums(b, 1));
    }
  }, 120_000);

  test("a job that starts again under its old number gets nothing from the old one's hosts, which send on", () => {
    for (const seed of [1, 2, 3, 4]) {
      const site = new Site(6, seed, FAULTS);
      const old = new RunningJob(site, 1, [0, 1, 2], GRID, someGradients(30, 50, 2));
      site.start(old, 1);
      site.lab.run(() => old.updates.length === 3, LIMIT);
      // Nobody tells the hosts.
      site.stop(1);
      const gradients = someGradients(31, 4, 2);
      const again = new RunningJob(site, 1, [3, 4, 5], GRID, gradients);
      site.start(again, 1);
      expect(site.jobs.placementOf(1)).toMatchObject({ on: "s1", slotBase: 0, generation: 2 });
      expect(
        site.lab.run(() => again.isDone, LIMIT),
        again.errors.join(),
      ).toBe(true);
      expect(again.updates).toEqual(sums(gradients, 1));
      expect(site.events("s1").refused_generation).toBeGreaterThan(0);
    }
  }, 120_000);

  test("32 workers, whose bits fill the mask, on links that lose, double and reorder, and over a power cut", () => {
    const site = new Site(33, 5, { loss: 0.05, duplicate: 0.1, reorder: 0.2 });
    const gradients = someGradients(40, 2, 32);
    const job = new RunningJob(
      site,
      65_535,
      Array.from({ length: 33 }, (_, i) => i),
      GRID,
      gradients,
    );
    site.start(job, 1);
    site.lab.at(10, () => site.cut("s1"));
    expect(
      site.lab.run(() => job.isDone, LIMIT),
      job.errors.join(),
    ).toBe(true);
    expect(job.updates).toEqual(sums(gradients, 1));
    expect(site.events("s2").complete).toBeGreaterThan(0);
  }, 120_000);
});

describe("numbers that wrap", () => {
  test.each([0xffff_fffe, 0xffff_ffff, 0, 0x7fff_fffe])("round %i and those after it", (firstRound) => {
    const site = new Site(4, firstRound, FAULTS);
    const gradients = someGradients(50, 5, 3);
    const job = new RunningJob(site, 1, [0, 1, 2, 3], GRID, gradients);
    site.start(job, firstRound);
    site.lab.at(15, () => site.cut("s1"));
    expect(
      site.lab.run(() => job.isDone, LIMIT),
      job.errors.join(),
    ).toBe(true);
    expect(job.updates).toEqual(sums(gradients, firstRound));
  });

  test("generation 65535, and 0 after it", () => {
    const site = new Site(4, 6, FAULTS);
    const request = { job: 1, workers: ["w0"], server: "ps", rows: 1, scale: SCALE, firstRound: 1 };
    for (let i = 0; i < 65_534; i++) {
      site.jobs.start(request);
      site.jobs.stop(1);
    }
    const gradients = someGradients(60, 5, 3);
    const job = new RunningJob(site, 1, [0, 1, 2, 3], GRID, gradients);
    site.start(job, 1);
    expect(site.jobs.placementOf(1)?.generation).toBe(65_535);
    site.lab.at(15, () => site.cut("s1"));
    expect(
      site.lab.run(() => job.isDone, LIMIT),
      job.errors.join(),
    ).toBe(true);
    expect(site.jobs.placementOf(1)).toMatchObject({ on: "s2", generation: 0 });
    expect(job.updates).toEqual(sums(gradients, 1));
  });
});
