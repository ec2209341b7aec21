import fc from "fast-check";
import type { Placement } from "../../src/controller/jobs.ts";
import type { Topology } from "../../src/controller/topology.ts";
import { baseState, jobEntries, lookupEntries } from "../../src/controller/wantedstate.ts";
import {
  hotAggregation,
  ipv4Forwarding,
  lookupTable,
  type NumericMode,
  program,
} from "../../src/dsl/index.ts";
import { AGGREGATOR_EVENTS, admissionsOf, GoldenAggregator } from "../../src/numeric/aggregator.ts";
import { Fp32Converter, float32Code, fp32Format } from "../../src/numeric/fp32.ts";
import { parseIpv4, parseMac } from "../../src/wire/address.ts";
import { AGGREGATION_PORT, COLLECTOR, Kind, ModeId } from "../../src/wire/aggregation.ts";
import { type AggregationMessage, aggregationFrame, carriesLanes } from "../../src/wire/aggregationpacket.ts";
import { headerCodec } from "../../src/wire/codec.ts";
import { packetOut } from "../../src/wire/controllerport.ts";
import { fill, insert, localSwitch } from "./localswitch.ts";

export const LANES = 3;
export const ROWS = 8;
export const CHUNK = 4;
export const CPU = 100;
export const SERVER_PORT = 5;
export const SWITCH = { mac: "02:00:00:00:01:00", ipv4: "10.0.1.1" };

export const topology: Topology = {
  switches: [{ name: "s1", target: "127.0.0.1:1", deviceId: 1n, ...SWITCH }],
  hosts: [
    ...[0, 1, 2, 3].map((i) => ({
      name: `w${i}`,
      mac: `02:00:00:00:00:0${i + 1}`,
      ipv4: `10.0.0.${i + 1}`,
      attachments: [{ switch: "s1", port: i }],
    })),
    {
      name: "ps",
      mac: "02:00:00:00:00:99",
      ipv4: "10.0.0.99",
      attachments: [{ switch: "s1", port: SERVER_PORT }],
    },
  ],
};

/** Two jobs, side by side: three workers on slots 0..3, two on slots 4..7. */
export const placements: readonly Placement[] = [
  {
    job: 1,
    generation: 7,
    scale: 100,
    workers: ["w0", "w1", "w2"],
    server: "ps",
    on: "s1",
    slotBase: 0,
    rows: 4,
    firstRound: 1,
  },
  {
    job: 2,
    generation: 9,
    scale: 100,
    workers: ["w1", "w3"],
    server: "ps",
    on: "s1",
    slotBase: 4,
    rows: 4,
    firstRound: 1,
  },
];

/** A switch with both jobs admitted; with JSON of another compiler for the same program, if given. */
export function setUp(mode: NumericMode, json?: Uint8Array) {
  const feature = hotAggregation({ workers: 4, lanes: LANES, rows: ROWS, chunk: CHUNK, mode, result: "ps" });
  const { ir } = program("small", { ports: 8, cpuPort: CPU, features: [ipv4Forwarding(), feature] });
  const steered = { options: feature.options, lookupTable };
  const sw = localSwitch(ir, json);
  fill(sw, ir, baseState(topology, "s1"));
  for (const entry of lookupEntries(steered)) insert(sw, ir, entry);
  for (const p of placements) for (const entry of jobEntries(topology, steered, p)) insert(sw, ir, entry);
  return {
    sw,
    ir,
    steered,
    events: () => AGGREGATOR_EVENTS.map((_, i) => sw.counter("answer.events").read(i).packets),
  };
}

export function goldenModel(mode: NumericMode): GoldenAggregator {
  const format = fp32Format(4, mode.name === "fp32" ? mode.slices : undefined);
  const golden = new GoldenAggregator({
    lanes: LANES,
    slots: ROWS,
    chunk: CHUNK,
    mode: ModeId[mode.name],
    ...(mode.name === "fp32" ? { fp32: new Fp32Converter(format) } : {}),
  });
  for (const p of placements) {
    const job = {
      job: p.job,
      generation: p.generation,
      workers: p.workers.map((_, i) => i),
      slotBase: p.slotBase,
      rows: p.rows,
      scale: p.scale,
    };
    for (const a of admissionsOf(job, CHUNK)) golden.admit(a);
  }
  return golden;
}

const outCodec = headerCodec(packetOut);

/** A frame from the host on `port` to the switch's own address; from the controller with its header in front. */
export function frameFrom(port: number, message: AggregationMessage): Uint8Array {
  const host = topology.hosts[Math.min(port, 4)];
  const frame = aggregationFrame(
    {
      srcMac: parseMac(host?.mac ?? ""),
      dstMac: parseMac(SWITCH.mac),
      srcIp: parseIpv4(host?.ipv4 ?? ""),
      dstIp: parseIpv4(SWITCH.ipv4),
      srcPort: 40_000 + port,
      dstPort: AGGREGATION_PORT,
    },
    message,
  );
  if (port !== CPU) return frame;
  const whole = new Uint8Array(outCodec.bytes + frame.length);
  outCodec.encode({ egress_port: 0, submit: 1, padding: 0 }, whole, 0);
  whole.set(frame, outCodec.bytes);
  return whole;
}

const word = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
const someCode = fc.oneof(
  word,
  fc.double({ min: -4, max: 4, noNaN: true }).map((x) => float32Code(x) | 0),
  fc.constantFrom(0, 1, 0x8000_0000 | 0, 0x7f80_0000, 0xff80_0000 | 0, 0x7fc0_0000, 0x7f7f_ffff, 0x0080_0000),
);

/** Mostly sound requests of few slots and rounds, so that duplicates, stale ones and completions are frequent; some nonsense. */
export function request(mode: NumericMode): fc.Arbitrary<{ port: number; message: AggregationMessage }> {
  const often = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>) =>
    fc.oneof({ arbitrary: usual, weight: 20 }, { arbitrary: odd, weight: 1 });
  return fc
    .record({
      port: often(fc.nat(4), fc.constant(CPU)),
      kind: often(
        fc.constantFrom(Kind.CONTRIBUTION, Kind.CONTRIBUTION, Kind.CONTRIBUTION, Kind.NULL, Kind.COLLECT),
        fc.constantFrom(Kind.RESET, Kind.ACK, Kind.RESULT, Kind.PENDING),
      ),
      version: often(fc.constant(1), fc.nat(15)),
      flags: often(fc.constant(0), fc.nat(255)),
      jobIndex: often(fc.nat(1), fc.constant(2)),
      wrongGeneration: often(fc.constant(false), fc.constant(true)),
      member: often(fc.nat(3), fc.nat(255)),
      slot: often(fc.constantFrom(0, 1, 4, 5), fc.nat(65_535)),
      lanes: often(fc.constant(LANES), fc.nat(255)),
      mode: often(fc.constant<number>(ModeId[mode.name]), fc.nat(255)),
      scale: often(fc.constant(100), fc.nat(255)),
      round: often(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 0, max: 2 ** 32 - 1 })),
      values: fc.array(mode.name === "fp32" ? someCode : word, { minLength: LANES, maxLength: LANES }),
    })
    .map((r) => {
      const job = placements[r.jobIndex];
      const header = {
        version: r.version,
        kind: r.kind,
        flags: r.flags,
        job: job?.job ?? 3,
        generation: (job?.generation ?? 0) + (r.wrongGeneration ? 1 : 0),
        member: r.kind === Kind.COLLECT ? COLLECTOR : r.member,
        scale: r.scale,
        slot: r.slot,
        lanes: r.lanes,
        mode: r.mode,
        round: r.round,
      };
      const lanes = carriesLanes(r.kind) ? Int32Array.from(r.values) : new Int32Array(0);
      return { port: r.port, message: { header, lanes } };
    });
}
