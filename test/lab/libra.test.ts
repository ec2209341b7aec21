import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ControllerAction, JobController } from "../../src/controller/failover.ts";
import type { Placement } from "../../src/controller/jobs.ts";
import { SlotReset } from "../../src/controller/slotreset.ts";
import type { Topology } from "../../src/controller/topology.ts";
import { baseState, jobEntries } from "../../src/controller/wantedstate.ts";
import { fp32, hotAggregation, int32, ipv4Forwarding, program } from "../../src/dsl/index.ts";
import type { LinkFaults } from "../../src/host/faults.ts";
import type { JobLayout } from "../../src/host/libra/layout.ts";
import { LibraServer } from "../../src/host/libra/server.ts";
import { LibraWorker } from "../../src/host/libra/worker.ts";
import { seededRandom } from "../../src/host/random.ts";
import { contentsOf } from "../../src/ir/index.ts";
import { Lab, type LabHost } from "../../src/lab/index.ts";
import { converterOf, type NumericMode, rowCodec } from "../../src/numeric/mode.ts";
import type { Switch } from "../../src/switch/index.ts";
import { Kind, ModeId } from "../../src/wire/aggregation.ts";
import { decodeAggregation } from "../../src/wire/aggregationpacket.ts";
import { headerCodec } from "../../src/wire/codec.ts";
import { packetIn, packetOut } from "../../src/wire/controllerport.ts";
import { parseFrame } from "../../src/wire/datagram.ts";
import { fill, insert, localSwitch } from "../features/localswitch.ts";

const LANES = 4;
const JOB = 5;
/** Three rows of hot keys; the last one is not full. */
const ROWS = [
  [10, 11, 12, 13],
  [20, 21, 22, 23],
  [30, 31],
];
const COLD = [1, 2, 3];
const CPU = 200;
const outCodec = headerCodec(packetOut);
const inCodec = headerCodec(packetIn);

interface Setting {
  readonly workers: number;
  readonly mode: NumericMode;
  readonly faults: LinkFaults;
  readonly seed: number;
  readonly firstRound: number;
  /** gradients[round][worker]: value by key. */
  readonly gradients: readonly (readonly ReadonlyMap<number, number>[])[];
  /** Milliseconds at which the job's switch loses power, one after the other. */
  readonly cuts: readonly number[];
  /** False: the parameter server adds. */
  readonly onSwitch: boolean;
}

interface Outcome {
  readonly updates: readonly string[];
  /** RESULT packets that reached the server, as `round/row` and the integers. */
  readonly results: readonly {
    readonly round: number;
    readonly row: number;
    readonly marked: boolean;
    readonly sums: readonly number[];
  }[];
  readonly errors: readonly string[];
  readonly finished: boolean;
}

function topologyOf(workers: number): Topology {
  const host = (name: string, i: number) => ({
    name,
    mac: `02:00:00:00:00:${(i + 1).toString(16).padStart(2, "0")}`,
    ipv4: `10.0.0.${i + 1}`,
    attachments: ["s1", "s2"].map((s) => ({ switch: s, port: i })),
  });
  return {
    switches: [1, 2].map((i) => ({
      name: `s${i}`,
      target: "127.0.0.1:1",
      deviceId: BigInt(i),
      mac: `02:00:00:00:01:0${i}`,
      ipv4: `10.0.1.${i}`,
    })),
    hosts: [...Array.from({ length: workers }, (_, i) => host(`w${i}`, i)), host("ps", workers)],
  };
}

const programs = new Map<string, ReturnType<typeof makeProgram>>();
const ready = new Map<string, Switch>();

function makeProgram(mode: NumericMode) {
  const feature = hotAggregation({
    workers: mode.workers,
    lanes: LANES,
    rows: 16,
    chunk: 4,
    mode: mode.name === "fp32" ? fp32({ slices: mode.slices }) : int32,
    result: "ps",
  });
  const { ir } = program("small", { ports: 40, cpuPort: CPU, features: [ipv4Forwarding(), feature] });
  return { ir, steered: feature };
}

function programFor(mode: NumericMode) {
  const made = programs.get(mode.name) ?? makeProgram(mode);
  programs.set(mode.name, made);
  return made;
}

/** A switch with its lookup tables, otherwise as new. They take long to fill, so they stay from run to run. */
function engineFor(mode: NumericMode, name: string): Switch {
  const { ir } = programFor(mode);
  const key = `${mode.name} ${name}`;
  let engine = ready.get(key);
  if (engine === undefined) {
    engine = localSwitch(ir);
    for (const entry of contentsOf(ir)) insert(engine, ir, entry);
    ready.set(key, engine);
  }
  for (const table of ["forwarding.route", "admission.member"]) {
    for (const entry of [...engine.table(table).entries()]) engine.table(table).delete(entry.match);
  }
  engine.replication.clear();
  for (const register of engine.registers.values()) register.reset();
  return engine;
}

/** One job from the first to the last round, in the lab. */
function run(s: Setting): Outcome {
  const topology = topologyOf(s.workers);
  const { ir, steered } = programFor(s.mode);
  const lab = new Lab(seededRandom(s.seed));
  const engines = new Map<string, Switch>();
  let reset: SlotReset | undefined;
  for (const { name } of topology.switches) {
    const engine = engineFor(s.mode, name);
    fill(engine, ir, baseState(topology, name));
    engines.set(name, engine);
    lab.addSwitch(name, engine, (data) => reset?.echo(data.subarray(inCodec.bytes)));
  }
  const ps = topology.hosts[s.workers];
  if (ps === undefined) throw new Error("no server");
  const layoutOf = (p: Placement): JobLayout => {
    const on = topology.switches.find((n) => n.name === p.on);
    const server = { mac: ps.mac, ip: ps.ipv4 };
    return {
      job: JOB,
      generation: p.generation,
      workers: topology.hosts.slice(0, s.workers).map((h, member) => ({ member, mac: h.mac, ip: h.ipv4 })),
      slotBase: p.slotBase,
      lanes: LANES,
      rows: ROWS,
      mode: s.mode,
      aggregator: on === undefined ? server : { mac: on.mac, ip: on.ipv4 },
      server,
      firstRound: p.firstRound,
    };
  };

  const updates: string[] = [];
  const results: Outcome["results"][number][] = [];
  const errors: string[] = [];
  const hosts: LabHost<{ type: "layout"; layout: JobLayout }>[] = [];
  const jobs = new JobController({ rows: 16, chunk: 4 }, s.onSwitch ? ["s1", "s2"] : []);
  let placement: Placement | undefined;
  let finished = 0;

  const announce = (p: Placement): void => {
    placement = p;
    if (hosts.length === 0) return;
    for (const host of hosts) {
      // A host sends by a switch that has power; without a job on one, by the last.
      host.use(p.on ?? "s2");
      host.dispatch({ type: "layout", layout: layoutOf(p) });
    }
  };
  const install = (p: Placement): void => {
    const on = topology.switches.find((n) => n.name === p.on);
    const engine = engines.get(p.on ?? "");
    if (on === undefined || engine === undefined) throw new Error("nowhere");
    reset = new SlotReset(p, on, { lanes: LANES, mode: ModeId[s.mode.name] });
    while (!reset.isDone) {
      for (const frame of reset.poll(lab.now)) {
        const data = new Uint8Array(outCodec.bytes + frame.length);
        outCodec.encode({ egress_port: 0, submit: 1, padding: 0 }, data, 0);
        data.set(frame, outCodec.bytes);
        lab.packetOut(on.name, data);
      }
    }
    for (const entry of jobEntries(topology, steered, p)) insert(engine, ir, entry);
    carryOut(jobs.handle({ kind: "installed", job: JOB, generation: p.generation }));
  };
  const carryOut = (actions: readonly ControllerAction[]): void => {
    for (const action of actions) {
      if (action.kind === "install") install(action.placement);
      if (action.kind === "announce") announce(action.placement);
    }
  };
  if (s.onSwitch) for (const name of ["s1", "s2"]) jobs.handle({ kind: "switchReady", name });
  const workers = topology.hosts.slice(0, s.workers).map((h) => h.name);
  carryOut(
    jobs.start({
      job: JOB,
      workers,
      server: "ps",
      rows: ROWS.length,
      scale: rowCodec(s.mode).scale,
      firstRound: s.firstRound,
    }),
  );
  if (placement === undefined) throw new Error("the job was not placed");
  const first = layoutOf(placement);

  const server = new LibraServer(first, {
    update: (round, keys, sums) => {
      const pairs = [...keys].map((key, i) => [key, sums[i] ?? 0] as const).sort(([a], [b]) => a - b);
      updates.push(`${round}: ${pairs.map(([key, sum]) => `${key}=${sum}`).join(" ")}`);
    },
    read: (keys) => new Float32Array(keys.length),
  });
  const watched = {
    get wakeAt() {
      return server.wakeAt;
    },
    handle: (event: Parameters<typeof server.handle>[0], now: number) => {
      if (event.type === "frame") noteResult(event.frame, results);
      const before = server.openRound;
      const actions = server.handle(event, now);
      if (server.openRound !== before) jobs.handle({ kind: "roundOpen", job: JOB, round: server.openRound });
      return actions;
    },
  };
  hosts.push(
    lab.addHost("ps", watched, (action) => {
      if (action.type === "error") errors.push(action.error.message);
    }),
  );
  topology.hosts.slice(0, s.workers).forEach((h, member) => {
    const worker = new LibraWorker(first, member);
    let done = 0;
    const push = (round: number): void => {
      const gradient = s.gradients[round]?.[member];
      if (gradient === undefined) return;
      host.dispatch({
        type: "push",
        keys: Uint32Array.from(gradient.keys()),
        values: Float32Array.from(gradient.values()),
      });
    };
    const host = lab.addHost(h.name, worker, (action) => {
      if (action.type === "error") errors.push(action.error.message);
      if (action.type !== "finished") return;
      done++;
      if (done === s.gradients.length) finished++;
      // Outside the machine's own call.
      else lab.at(lab.now, () => push(done));
    });
    hosts.push(host);
    lab.at(0, () => push(0));
  });
  for (const h of topology.hosts) {
    for (const { switch: on, port } of h.attachments)
      lab.connect(h.name, on, port, { delay: 0.1, ...s.faults });
  }
  for (const cut of s.cuts) {
    lab.at(cut, () => {
      const on = placement?.on;
      // The last switch stays: the hosts reach one another through it.
      if (on === undefined || on === "s2") return;
      lab.removeSwitch(on);
      lab.at(lab.now + 40, () => carryOut(jobs.handle({ kind: "switchLost", name: on })));
    });
  }
  const ok = lab.run(() => finished === s.workers, 120_000);
  return { updates, results, errors, finished: ok };

  function noteResult(frame: Uint8Array, into: Outcome["results"][number][]): void {
    const datagram = parseFrame(frame);
    if ("refused" in datagram) return;
    const message = decodeAggregation(datagram.payload);
    if ("refused" in message || message.header.kind !== Kind.RESULT) return;
    const row = message.header.slot - (placement?.slotBase ?? 0);
    into.push({
      round: message.header.round,
      row,
      marked: (message.header.flags & 1) === 1,
      sums: [...message.lanes],
    });
  }
}

/** The integer sum of one contribution per worker, from the definition of the mode; undefined when one has the mark. */
function exactSums(s: Setting, roundIndex: number, row: number): readonly number[] | undefined {
  const codec = rowCodec(s.mode);
  const converter = converterOf(s.mode);
  const sums = new Int32Array(LANES);
  const out = new Int32Array(LANES);
  for (const gradient of s.gradients[roundIndex] ?? []) {
    const values = Float32Array.from(
      { length: LANES },
      (_, lane) => gradient.get(ROWS[row]?.[lane] ?? -1) ?? 0,
    );
    if (codec.encode(values, out)) return undefined;
    for (const [lane, word] of out.entries()) {
      const integer = converter === undefined ? word : converter.convert(word, codec.scale);
      if (integer === undefined) return undefined;
      sums[lane] = (sums[lane] ?? 0) + integer;
    }
  }
  return [...sums];
}

const INT32: NumericMode = { name: "int32", workers: 32, fractionBits: 16 };
const FP32: NumericMode = { name: "fp32", workers: 32, base: 100, slices: [5, 6, 6, 6] };
const gradientValue = fc.oneof(
  { arbitrary: fc.float({ min: -8, max: 8, noNaN: true }), weight: 12 },
  { arbitrary: fc.constantFrom(0, -0, 1e-40, 3e38, Number.NaN, Number.POSITIVE_INFINITY, 1e6), weight: 1 },
);

function gradientsFor(workers: number, rounds: number): fc.Arbitrary<Setting["gradients"]> {
  const keys = [...ROWS.flat(), ...COLD];
  const one = fc
    .array(fc.tuple(fc.constantFrom(...keys), gradientValue), { maxLength: 12 })
    .map((pairs) => new Map(pairs));
  return fc.array(fc.array(one, { minLength: workers, maxLength: workers }), {
    minLength: rounds,
    maxLength: rounds,
  });
}

describe("Libra through the generated switch, in the lab", () => {
  for (const mode of [INT32, FP32]) {
    test(`mode ${mode.name}: under any faults every RESULT is the exact sum and the updates are those of a clean run without a switch`, () => {
      fc.assert(
        fc.property(
          fc.record({
            seed: fc.integer(),
            workers: fc.integer({ min: 1, max: 4 }),
            loss: fc.double({ min: 0, max: 0.3, noNaN: true }),
            duplicate: fc.double({ min: 0, max: 0.3, noNaN: true }),
            reorder: fc.double({ min: 0, max: 0.5, noNaN: true }),
            firstRound: fc.constantFrom(1, 2 ** 31 - 1, 2 ** 32 - 2),
            cuts: fc.array(fc.integer({ min: 0, max: 120 }), { maxLength: 1 }),
          }),
          fc.integer({ min: 1, max: 4 }).chain((rounds) => gradientsFor(4, rounds)),
          ({ seed, workers, loss, duplicate, reorder, firstRound, cuts }, all) => {
            const gradients = all.map((round) => round.slice(0, workers));
            const bad: Setting = {
              workers,
              mode,
              seed,
              firstRound,
              gradients,
              cuts,
              onSwitch: true,
              faults: { loss, duplicate, reorder },
            };
            const clean: Setting = { ...bad, faults: {}, cuts: [], onSwitch: false };
            const outcome = run(bad);
            expect(outcome.finished, outcome.errors.join("\n")).toBe(true);
            for (const { round, row, marked, sums } of outcome.results) {
              const exact = exactSums(bad, (round - firstRound) >>> 0, row);
              expect(marked).toBe(exact === undefined);
              if (exact !== undefined) expect(sums).toEqual(exact);
            }
            expect(outcome.updates).toEqual(run(clean).updates);
          },
        ),
        { numRuns: mode.name === "fp32" ? 15 : 60 },
      );
    }, 120_000);
  }

  test.each([1, 2, 31, 32])("%i workers", (workers) => {
    const gradients = [1, 2].map((round) =>
      Array.from(
        { length: workers },
        (_, w) =>
          new Map([
            [10, round + w],
            [31, -0.5],
            [2, w],
          ]),
      ),
    );
    const setting: Setting = {
      workers,
      mode: INT32,
      seed: 1,
      firstRound: 1,
      gradients,
      cuts: [],
      onSwitch: true,
      faults: { loss: 0.05 },
    };
    const outcome = run(setting);
    expect(outcome.errors).toEqual([]);
    expect(outcome.finished).toBe(true);
    expect(outcome.updates).toEqual(run({ ...setting, faults: {}, onSwitch: false }).updates);
  });

  test("the same seed gives the same run", () => {
    const gradients = [[new Map([[10, 1]]), new Map([[20, 2]])]];
    const setting: Setting = {
      workers: 2,
      mode: INT32,
      seed: 9,
      firstRound: 1,
      gradients,
      cuts: [],
      onSwitch: true,
      faults: { loss: 0.3, reorder: 0.3 },
    };
    expect(run(setting)).toEqual(run(setting));
  });
});
