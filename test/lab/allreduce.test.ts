import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Placement } from "../../src/controller/jobs.ts";
import { SlotReset } from "../../src/controller/slotreset.ts";
import type { Topology } from "../../src/controller/topology.ts";
import { baseState, jobEntries, jobGroups } from "../../src/controller/wantedstate.ts";
import {
  bf16,
  block,
  fp16,
  fp32,
  hotAggregation,
  int32,
  ipv4Forwarding,
  type NumericMode as ProgramMode,
  program,
  telemetry,
} from "../../src/dsl/index.ts";
import type { LinkFaults } from "../../src/host/faults.ts";
import {
  type AllreduceEvent,
  type AllreduceLayout,
  AllreduceWorker,
} from "../../src/host/libra/allreduceworker.ts";
import { seededRandom } from "../../src/host/random.ts";
import { contentsOf } from "../../src/ir/index.ts";
import { Lab, type LabHost } from "../../src/lab/index.ts";
import { type NumericMode, rowCodec } from "../../src/numeric/mode.ts";
import type { Switch } from "../../src/switch/index.ts";
import { ModeId } from "../../src/wire/aggregation.ts";
import { headerCodec } from "../../src/wire/codec.ts";
import { packetIn, packetOut } from "../../src/wire/controllerport.ts";
import { fill, insert, localSwitch } from "../features/localswitch.ts";

const LANES = 4;
const ROWS = 4;
const WORKERS = 3;
const CPU = 200;
const outCodec = headerCodec(packetOut);
const inCodec = headerCodec(packetIn);

const MODES: readonly (readonly [ProgramMode, NumericMode])[] = [
  [int32, { name: "int32", workers: 4, fractionBits: 20 }],
  [block, { name: "block", workers: 4, exponent: 128 }],
  [fp32({ slices: [5, 6, 6, 6] }), { name: "fp32", workers: 4, base: 100, slices: [5, 6, 6, 6] }],
  [fp16(), { name: "fp16", workers: 4, fractionBits: 0, slices: fp16().slices }],
  [bf16(), { name: "bf16", workers: 4, base: 100, slices: bf16().slices }],
];

const topology: Topology = {
  switches: [1, 2].map((i) => ({
    name: `s${i}`,
    target: "127.0.0.1:1",
    deviceId: BigInt(i),
    mac: `02:00:00:00:01:0${i}`,
    ipv4: `10.0.1.${i}`,
  })),
  hosts: Array.from({ length: WORKERS }, (_, i) => ({
    name: `w${i}`,
    mac: `02:00:00:00:00:0${i + 1}`,
    ipv4: `10.0.0.${i + 1}`,
    attachments: ["s1", "s2"].map((s) => ({ switch: s, port: i })),
  })),
};

/** Made once for each mode: lookup tables take long to fill. */
const fabrics = new Map<string, ReturnType<typeof makeFabric>>();

function makeFabric(mode: ProgramMode) {
  const feature = hotAggregation({ workers: 4, lanes: LANES, rows: 16, chunk: 4, mode, result: "allreduce" });
  const { ir } = program("small", {
    ports: 8,
    cpuPort: CPU,
    features: [ipv4Forwarding(), feature, telemetry()],
  });
  const engines = new Map(
    topology.switches.map(({ name }): readonly [string, Switch] => {
      const engine = localSwitch(ir);
      for (const entry of contentsOf(ir)) insert(engine, ir, entry);
      fill(engine, ir, baseState(topology, name));
      return [name, engine];
    }),
  );
  return { ir, feature, engines };
}

/** Reduces tensors by a job on s1; at `cut` that switch loses power, and s2 takes the job. */
function run(
  [programMode, mode]: (typeof MODES)[number],
  inputs: readonly (readonly Float32Array[])[],
  seed: number,
  faults: LinkFaults,
  cut = Number.POSITIVE_INFINITY,
): {
  readonly sums: readonly (readonly Float32Array[])[];
  readonly errors: readonly string[];
  readonly isDone: boolean;
} {
  const fabric = fabrics.get(mode.name) ?? makeFabric(programMode);
  fabrics.set(mode.name, fabric);
  const { ir, feature, engines } = fabric;
  const lab = new Lab(seededRandom(seed));
  let reset: SlotReset | undefined;
  for (const [name, engine] of engines) {
    for (const table of ["admission.member", "copies.worker"])
      for (const entry of [...engine.table(table).entries()]) engine.table(table).delete(entry.match);
    for (const register of engine.registers.values()) register.reset();
    engine.replication.clear();
    lab.addSwitch(name, engine, (data) => reset?.echo(data.subarray(inCodec.bytes)));
  }
  const place = (on: string, generation: number): AllreduceLayout => {
    const node = topology.switches.find((s) => s.name === on) ?? expect.fail();
    const engine = engines.get(on) ?? expect.fail();
    const p: Placement = {
      job: 3,
      generation,
      scale: rowCodec(mode).scale,
      workers: topology.hosts.map((h) => h.name),
      server: "",
      on,
      slotBase: 4,
      rows: ROWS,
      firstRound: 1,
    };
    reset = new SlotReset(p, node, { lanes: LANES, mode: ModeId[mode.name] });
    while (!reset.isDone)
      for (const frame of reset.poll(lab.now)) {
        const data = new Uint8Array(outCodec.bytes + frame.length);
        outCodec.encode({ egress_port: 0, submit: 1, padding: 0 }, data, 0);
        data.set(frame, outCodec.bytes);
        lab.packetOut(on, data);
      }
    for (const g of jobGroups(topology, feature, p)) engine.replication.insertGroup(g.id, g.replicas);
    for (const entry of jobEntries(topology, feature, p)) insert(engine, ir, entry);
    return {
      job: p.job,
      generation,
      workers: topology.hosts.map(({ mac, ipv4 }, member) => ({ member, mac, ip: ipv4 })),
      slotBase: p.slotBase,
      lanes: LANES,
      rows: ROWS,
      mode,
      aggregator: { mac: node.mac, ip: node.ipv4 },
      firstRound: p.firstRound,
    };
  };
  const layout = place("s1", 1);
  const sums: Float32Array[][] = topology.hosts.map(() => []);
  const errors: string[] = [];
  const hosts = topology.hosts.map(({ name, ipv4 }, member): LabHost<AllreduceEvent> => {
    const machine = new AllreduceWorker(layout, member);
    return lab.addHost(
      name,
      machine,
      (action) => {
        if (action.type === "error") errors.push(action.error.code);
        else sums[member]?.push(action.sums);
      },
      ipv4,
    );
  });
  for (const { name, attachments } of topology.hosts)
    for (const { switch: on, port } of attachments) lab.connect(name, on, port, { delay: 0.5, ...faults });
  for (const host of hosts) host.use("s1");
  for (const values of inputs)
    for (const [member, host] of hosts.entries())
      host.dispatch({ type: "reduce", values: values[member] ?? new Float32Array() });
  if (Number.isFinite(cut)) {
    lab.at(cut, () => lab.removeSwitch("s1"));
    // Workers hear of it one after the other.
    lab.at(cut + 50, () => {
      const next = place("s2", 2);
      hosts.forEach((host, i) => {
        lab.at(cut + 50 + 15 * i, () => {
          host.use("s2");
          host.dispatch({ type: "layout", layout: next });
        });
      });
    });
  }
  const isDone = lab.run(() => sums.every((s) => s.length === inputs.length), 60_000);
  return { sums, errors, isDone };
}

const bits = (values: Float32Array): string => Buffer.from(values.buffer).toString("hex");
const someInputs = (seed: number): readonly (readonly Float32Array[])[] => {
  const random = seededRandom(seed);
  const lengths = Array.from({ length: 3 }, () => 1 + Math.floor(random() * 50));
  return lengths.map((length) =>
    Array.from({ length: WORKERS }, () => Float32Array.from({ length }, () => (random() - 0.5) * 2)),
  );
};

describe.each(MODES.map((modes) => ({ name: modes[1].name, modes })))(
  "allreduce through the generated switch, in the lab, mode $name",
  ({ modes }) => {
    test("under any faults each worker gets the same bits, those of a network without any", () => {
      fc.assert(
        fc.property(fc.nat(), (seed) => {
          const inputs = someInputs(seed);
          const quiet = run(modes, inputs, seed, {});
          const bad = run(modes, inputs, seed, { loss: 0.1, duplicate: 0.1, reorder: 0.3 });
          expect([quiet.isDone, bad.isDone, ...quiet.errors, ...bad.errors]).toEqual([true, true]);
          const wanted = (quiet.sums[0] ?? []).map(bits);
          for (const sums of [...quiet.sums, ...bad.sums]) expect(sums.map(bits)).toEqual(wanted);
        }),
        { numRuns: 8 },
      );
    });

    test.skipIf(modes[1].name === "block")(
      "a switch that loses power in the middle of a tensor changes no bit",
      () => {
        fc.assert(
          fc.property(fc.nat(), fc.integer({ min: 1, max: 40 }), (seed, cut) => {
            const inputs = someInputs(seed);
            const quiet = run(modes, inputs, seed, {});
            const moved = run(modes, inputs, seed, { loss: 0.05, reorder: 0.2 }, cut);
            expect([moved.isDone, ...moved.errors]).toEqual([true]);
            const wanted = (quiet.sums[0] ?? []).map(bits);
            for (const sums of moved.sums) expect(sums.map(bits)).toEqual(wanted);
          }),
          { numRuns: 8 },
        );
      },
    );
  },
);
