import fc from "fast-check";
import type { Placement } from "../../src/controller/jobs.ts";
import type { Topology } from "../../src/controller/topology.ts";
import { baseState, jobEntries, jobGroups } from "../../src/controller/wantedstate.ts";
import { hotAggregation, ipv4Forwarding, type NumericMode, program } from "../../src/dsl/index.ts";
import { contentsOf } from "../../src/ir/index.ts";
import {
  AGGREGATOR_EVENTS,
  admissionsOf,
  GoldenAggregator,
  type ResultTo,
  resetMessage,
  resetRounds,
} from "../../src/numeric/aggregator.ts";
import { exponentWord } from "../../src/numeric/block.ts";
import { FLOATS } from "../../src/numeric/floatcode.ts";
import { LookupConverter, lookupFormat } from "../../src/numeric/lookup.ts";
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

/** What the tests vary of a program. */
export interface Variant {
  readonly mode: NumericMode;
  readonly result: ResultTo;
}

/** RESETs of all slots of both jobs, as the controller sends them before it admits the jobs. */
export function resets({ mode }: Variant): readonly AggregationMessage[] {
  return placements.flatMap((p) =>
    Array.from({ length: p.rows }, (_, row) => p.slotBase + row).flatMap((slot) =>
      resetRounds(p.firstRound).map((round) =>
        resetMessage({ ...p, lanes: LANES, mode: ModeId[mode.name] }, slot, round),
      ),
    ),
  );
}

/** A switch with both jobs admitted; with JSON of another compiler for the same program, if given. */
export function setUp(variant: Variant, json?: Uint8Array) {
  const feature = hotAggregation({ workers: 4, lanes: LANES, rows: ROWS, chunk: CHUNK, ...variant });
  const { ir } = program("small", { ports: 8, cpuPort: CPU, features: [ipv4Forwarding(), feature] });
  const sw = localSwitch(ir, json);
  fill(sw, ir, baseState(topology, "s1"));
  for (const entry of contentsOf(ir)) insert(sw, ir, entry);
  for (const message of resets(variant)) sw.inject(CPU, frameFrom(CPU, message));
  for (const p of placements) {
    for (const g of jobGroups(topology, feature, p)) sw.replication.insertGroup(g.id, g.replicas);
    for (const entry of jobEntries(topology, feature, p)) insert(sw, ir, entry);
  }
  const events = () => AGGREGATOR_EVENTS.map((_, i) => sw.counter("answer.events").read(i).packets);
  const before = events();
  const fresh = [...sw.registers.values()].map((r) => r.cells.slice());
  return {
    sw,
    ir,
    feature,
    /** How often each event happened since the jobs were admitted. */
    events: () => events().map((n, i) => n - (before[i] ?? 0n)),
    /** Puts all registers back to what they were when the jobs were admitted. */
    restart: () =>
      [...sw.registers.values()].forEach((r, i) => {
        (fresh[i] ?? []).forEach((value: number | bigint, cell: number) => {
          r.write(cell, BigInt(value));
        });
      }),
  };
}

export function goldenModel({ mode, result }: Variant): GoldenAggregator {
  const converter =
    mode.name === "int32" || mode.name === "block"
      ? undefined
      : new LookupConverter(lookupFormat(mode.name, 4, mode.slices));
  const golden = new GoldenAggregator({
    lanes: LANES,
    slots: ROWS,
    chunk: CHUNK,
    mode: ModeId[mode.name],
    result,
    converter,
  });
  for (const message of resets({ mode, result })) golden.handle(message, true);
  golden.counters.reset = 0;
  for (const p of placements) {
    const job = {
      job: p.job,
      generation: p.generation,
      workers: p.workers.map((_, i) => i),
      slotBase: p.slotBase,
      rows: p.rows,
      scale: p.scale,
      result,
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
const number = fc.oneof(
  fc.double({ min: -4, max: 4, noNaN: true }),
  fc.double({ min: -1e-6, max: 1e-6, noNaN: true }),
  fc.constantFrom(
    0,
    -0,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    3.4e38,
    1.2e-38,
    1e-45,
    65504,
    6e-8,
  ),
);

/** One value of a contribution: any word or code, mostly one of a plausible number. */
function anyValue({ name }: NumericMode): fc.Arbitrary<number> {
  if (name === "int32") return word;
  if (name === "block")
    return fc.oneof(word, fc.integer({ min: -(2 ** 29), max: 2 ** 29 }), fc.constantFrom(0, 1, -1));
  const { bits, encode } = FLOATS[name];
  return fc
    .oneof(
      fc.integer({ min: 0, max: 2 ** bits - 1 }),
      number.map((x) => encode(x)),
    )
    .map((code) => (bits === 32 ? code | 0 : code));
}

export interface Request {
  readonly port: number;
  readonly message: AggregationMessage;
}

/** One request of few slots and rounds; see `requests`. */
export function request(variant: Variant): fc.Arbitrary<Request> {
  return fc
    .tuple(fc.integer({ min: 0, max: 4 }), requestIn(variant))
    .map(([position, inRound]) => inRound(position));
}

/** Requests that come in one round after another. */
const PER_ROUND = 30;

/**
 * Mostly sound requests, so that duplicates, stale ones and completed rows are frequent; some nonsense. Rounds follow each other, with
 * some early and late packets.
 */
export function requests(variant: Variant, length: number): fc.Arbitrary<readonly Request[]> {
  return fc
    .array(requestIn(variant), { minLength: length, maxLength: length, size: "max" })
    .map((list) => list.map((inRound, i) => inRound(Math.floor(i / PER_ROUND))));
}

/** A request whose round is counted from the one that is current. */
function requestIn({ mode, result }: Variant): fc.Arbitrary<(current: number) => Request> {
  const often = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>, weight = 60) =>
    fc.oneof({ arbitrary: usual, weight }, { arbitrary: odd, weight: 1 });
  return fc
    .record({
      port: often(fc.nat(4), fc.constant(CPU)),
      kind: often(
        fc.constantFrom(Kind.CONTRIBUTION, Kind.CONTRIBUTION, Kind.CONTRIBUTION, Kind.NULL, Kind.COLLECT),
        fc.constantFrom(Kind.RESET, Kind.RESET, Kind.RESET, Kind.ACK, Kind.RESULT, Kind.PENDING),
        20,
      ),
      isSpoofed: often(fc.constant(false), fc.constant(true)),
      version: often(fc.constant(1), fc.nat(15)),
      flags: often(fc.constant(0), fc.nat(255)),
      jobIndex: often(fc.nat(1), fc.constant(2)),
      wrongGeneration: often(fc.constant(false), fc.constant(true)),
      member: often(fc.nat(2), fc.nat(255)),
      isServer: often(fc.constant(result === "ps"), fc.boolean()),
      row: often(fc.nat(1), fc.nat(65_535)),
      lanes: often(fc.constant(LANES), fc.nat(255)),
      mode: often(fc.constant<number>(ModeId[mode.name]), fc.nat(255)),
      scale: often(fc.constant(100), fc.nat(255)),
      offset: often(fc.constantFrom(0, 0, 0, 0, 1, 1, -1, -2), fc.integer({ min: 0, max: 2 ** 32 - 1 })),
      values: fc.array(anyValue(mode), { minLength: LANES, maxLength: LANES }),
      exponent: often(fc.integer({ min: 90, max: 101 }), fc.nat(255)),
      expected: often(fc.integer({ min: 95, max: 101 }), fc.nat(255)),
      words: often(fc.constant(undefined), fc.record({ current: word, next: word })),
    })
    .map((r) => (current) => {
      const port = r.kind === Kind.RESET && !r.isSpoofed ? CPU : r.port;
      const round = (1 + current + r.offset) >>> 0;
      const job = placements[r.jobIndex];
      const header = {
        version: r.version,
        kind: r.kind,
        flags: r.flags,
        job: job?.job ?? 3,
        generation: (job?.generation ?? 0) + (r.wrongGeneration ? 1 : 0),
        member: r.kind === Kind.COLLECT && r.isServer ? COLLECTOR : r.member,
        scale: r.scale,
        slot: ((job?.slotBase ?? 0) + r.row) & 0xffff,
        lanes: r.lanes,
        mode: r.mode,
        round,
      };
      const lanes = carriesLanes(r.kind) ? Int32Array.from(r.values) : new Int32Array(0);
      if (mode.name !== "block") return { port, message: { header, lanes } };
      const exponents = {
        current: (r.words?.current ?? exponentWord(round, r.exponent)) >>> 0,
        next: (r.words?.next ?? exponentWord((round + 2) >>> 0, r.expected)) >>> 0,
      };
      return { port, message: { header, exponents, lanes } };
    });
}
