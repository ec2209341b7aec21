import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Placement } from "../../src/controller/jobs.ts";
import { baseState, jobEntries } from "../../src/controller/wantedstate.ts";
import { FORWARDING_EVENTS } from "../../src/dsl/features/forwarding.ts";
import { seededRandom } from "../../src/host/random.ts";
import { AGGREGATOR_EVENTS, type AggregatorEvent } from "../../src/numeric/aggregator.ts";
import type { Switch, SwitchAction } from "../../src/switch/index.ts";
import { COLLECTOR, Flag, Kind } from "../../src/wire/aggregation.ts";
import { decodeAggregation } from "../../src/wire/aggregationpacket.ts";
import { ipv4HeaderChecksum, PAYLOAD_AT, parseFrame } from "../../src/wire/datagram.ts";
import { fill, insert, localSwitch } from "../features/localswitch.ts";
import { aggregation, CHUNK, CPU, frameTo, ir, message, PORTS, ROWS, SCALE, topologyOf } from "./network.ts";

const WORKERS = 3;
const SERVER_PORT = WORKERS;
const topology = topologyOf(WORKERS);
const [s1] = topology.switches;
const [w0, w1, w2, ps] = topology.hosts;
if (s1 === undefined || w0 === undefined || w1 === undefined || w2 === undefined || ps === undefined)
  throw new Error("the topology is too small");
const workers = [w0, w1, w2];

const placement: Placement = {
  job: 1,
  generation: 1,
  workers: ["w0", "w1", "w2"],
  server: "ps",
  on: "s1",
  slotBase: 16,
  rows: 20,
  scale: SCALE,
  firstRound: 1,
};
const SLOT = placement.slotBase;

/** A switch with one job on it, and everything that it counts. */
class Victim {
  readonly engine: Switch = localSwitch(ir);
  sent = 0;
  dropped = 0;

  constructor() {
    fill(this.engine, ir, baseState(topology, "s1"));
    for (const entry of jobEntries(topology, aggregation, placement)) insert(this.engine, ir, entry);
  }

  /** What leaves. The packets that went in are accounted for by `balance`. */
  send(port: number, frame: Uint8Array): readonly SwitchAction[] {
    this.sent++;
    const actions = this.engine.handle({ kind: "packet", port, data: frame }, this.sent);
    this.dropped += actions.filter((a) => a.kind === "drop").length;
    return actions;
  }

  cells(counter: string, names: readonly string[]): Readonly<Record<string, number>> {
    const array = this.engine.counter(counter);
    return Object.fromEntries(names.map((name, i) => [name, Number(array.read(i).packets)]));
  }

  get forwarding(): Readonly<Record<string, number>> {
    return this.cells("forwarding.events", FORWARDING_EVENTS);
  }

  get answers(): Readonly<Record<string, number>> {
    return this.cells("answer.events", AGGREGATOR_EVENTS);
  }

  /** Sends one frame; says which forwarding event, and which aggregation event if any, it raised. */
  fate(port: number, frame: Uint8Array): string {
    const before = [this.forwarding, this.answers];
    this.send(port, frame);
    return [this.forwarding, this.answers]
      .flatMap((now, i) => Object.keys(now).filter((name) => now[name] !== before[i]?.[name]))
      .join(" ");
  }

  /** One whole round of row 0; gives the RESULTs that reach the server. */
  sum(round: number): readonly (readonly number[])[] {
    return workers.flatMap((w, member) =>
      this.send(member, frameTo(s1 ?? fail(), w, message({ member, slot: SLOT, round }))).flatMap((a) => {
        if (a.kind !== "transmit" || a.port !== SERVER_PORT) return [];
        const result = resultIn(a.data);
        return result === undefined ? [] : [result];
      }),
    );
  }
}

function fail(): never {
  throw new Error("no switch");
}

function resultIn(frame: Uint8Array): readonly number[] | undefined {
  const datagram = parseFrame(frame);
  if ("refused" in datagram) return undefined;
  const result = decodeAggregation(datagram.payload);
  return "refused" in result || result.header.kind !== Kind.RESULT ? undefined : [...result.lanes];
}

const sound = (changes: Parameters<typeof message>[0] = {}): Uint8Array =>
  frameTo(s1, w0, message({ slot: SLOT, ...changes }));

/** A sound contribution with bytes of its frame changed; the IPv4 checksum is made right again unless it is the point. */
function changed(edit: (frame: Uint8Array) => void, keepChecksum = false): Uint8Array {
  const frame = sound();
  edit(frame);
  if (keepChecksum) return frame;
  frame[24] = 0;
  frame[25] = 0;
  const checksum = ipv4HeaderChecksum(frame, 14);
  frame[24] = checksum >> 8;
  frame[25] = checksum & 255;
  return frame;
}

const set =
  (at: number, ...bytes: readonly number[]) =>
  (frame: Uint8Array): void => {
    frame.set(bytes, at);
  };

describe("each kind of bad packet is dropped for a named reason", () => {
  const victim = new Victim();

  test.each<readonly [string, string, Uint8Array]>([
    ["an empty datagram", "drop_truncated", new Uint8Array(0)],
    ["half an Ethernet header", "drop_truncated", sound().subarray(0, 7)],
    ["an ARP frame", "drop_not_ipv4", changed(set(12, 0x08, 0x06), true)],
    ["an IPv6 frame", "drop_not_ipv4", changed(set(12, 0x86, 0xdd), true)],
    ["a VLAN tag", "drop_not_ipv4", changed(set(12, 0x81, 0x00), true)],
    ["IP version 6 under IPv4's type", "drop_not_ipv4", changed(set(14, 0x65))],
    ["a header length of 4 words", "drop_not_ipv4", changed(set(14, 0x44))],
    ["IPv4 options", "drop_not_ipv4", changed(set(14, 0x46))],
    ["a wrong header checksum", "drop_checksum", changed(set(24, 0x12, 0x34), true)],
    ["a foreign address", "drop_no_route", changed(set(30, 192, 168, 0, 1))],
  ])("%s: %s", (_, reason, frame) => {
    expect(victim.fate(0, frame)).toBe(reason);
  });

  test.each<readonly [string, AggregatorEvent, Uint8Array]>([
    ["version 0", "malformed", changed(set(PAYLOAD_AT, 0x01))],
    ["version 15", "malformed", changed(set(PAYLOAD_AT, 0xf1))],
    ["kind 0", "malformed", changed(set(PAYLOAD_AT, 0x10))],
    ["kind ACK", "malformed", sound({ kind: Kind.ACK })],
    ["kind RESULT", "malformed", sound({ kind: Kind.RESULT })],
    ["kind PENDING", "malformed", sound({ kind: Kind.PENDING })],
    ["kind 15", "malformed", changed(set(PAYLOAD_AT, 0x1f))],
    ["mode fp32", "malformed", sound({ mode: 3 })],
    ["mode 0", "malformed", sound({ mode: 0 })],
    ["no lanes, and says so", "malformed", sound({ lanes: 0, values: [] })],
    ["a lane too few", "malformed", sound({ lanes: 3, values: [1, 2, 3] })],
    ["a lane too many", "malformed", sound({ lanes: 5, values: [1, 2, 3, 4, 5] })],
    ["a lane more than its header says", "malformed", sound({ values: [1, 2, 3, 4, 5] })],
    ["NULL with lanes", "malformed", sound({ kind: Kind.NULL, values: [1, 2, 3, 4] })],
    ["a total length of 0", "malformed", changed(set(16, 0, 0))],
    ["a huge total length", "malformed", changed(set(16, 0xff, 0xff))],
    ["another job", "refused_unknown", sound({ job: 2 })],
    ["job 65535", "refused_unknown", sound({ job: 65_535 })],
    ["a member that is none", "refused_unknown", sound({ member: 3 })],
    ["member 254", "refused_unknown", sound({ member: 254 })],
    ["the server as a worker", "refused_unknown", sound({ member: COLLECTOR })],
    ["a worker that collects", "refused_unknown", sound({ kind: Kind.COLLECT })],
    ["a row below the job's", "refused_unknown", sound({ slot: SLOT - 1 })],
    ["a row above the job's", "refused_unknown", sound({ slot: SLOT + 2 * CHUNK })],
    ["a row beyond the grid", "refused_unknown", sound({ slot: ROWS })],
    ["a row beyond the grid that has the same low bits", "refused_unknown", sound({ slot: SLOT + ROWS })],
    ["row 65535", "refused_unknown", sound({ slot: 65_535 })],
    ["the generation before", "refused_generation", sound({ generation: 0 })],
    ["generation 65535", "refused_generation", sound({ generation: 65_535 })],
    ["another unit", "refused_scale", sound({ scale: SCALE + 1 })],
    ["RESET from a host", "malformed", sound({ kind: Kind.RESET })],
  ])("%s: %s", (_, event, frame) => {
    const before = victim.engine.registers;
    const bits = snapshot(victim.engine);
    expect(victim.fate(0, frame)).toBe(`local ${event}`);
    expect(snapshot(victim.engine), "nothing is written").toEqual(bits);
    expect(victim.engine.registers).toBe(before);
  });

  test("time to live 0 and 1 end a packet that is to be forwarded, not one for the switch itself", () => {
    for (const ttl of [0, 1]) {
      const toServer = changed((f) => {
        f[22] = ttl;
        f.set([10, 0, 0, WORKERS + 1], 30);
      });
      expect(victim.fate(0, toServer)).toBe("drop_ttl");
    }
    const fresh = new Victim();
    expect(fresh.fate(0, changed(set(22, 1)))).toBe("local contribution");
  });

  test("packets for the switch that are no aggregation are counted as local, and dropped", () => {
    for (const edit of [set(36, 0, 53), set(23, 6), set(20, 0x00, 0x01)])
      expect(victim.fate(0, changed(edit))).toBe("local");
  });

  test("a valid contribution cut at any byte is dropped as truncated", () => {
    const whole = sound();
    const fresh = new Victim();
    for (let length = 0; length < whole.length; length++)
      expect(fresh.fate(0, whole.subarray(0, length)), `${length} bytes`).toBe("drop_truncated");
    expect(fresh.fate(0, whole)).toBe("local contribution");
  });

  test("padding after a packet is no part of it, however long", () => {
    for (const length of [60, 9000, 65_507]) {
      const fresh = new Victim();
      const frame = new Uint8Array(Math.max(length, sound().length)).fill(0xee);
      frame.set(sound());
      expect(fresh.fate(0, frame)).toBe("local contribution");
      const cut = new Uint8Array(length).fill(0xee);
      cut.set(sound({ kind: Kind.NULL, member: 1 }));
      expect(fresh.fate(1, cut)).toBe("local null");
    }
  });
});

function snapshot(engine: Switch): readonly (readonly bigint[])[] {
  return [...engine.registers.values()].map((r) => Array.from({ length: r.size }, (_, i) => r.read(i)));
}

/** Frames that are more or less like contributions. */
const almost: fc.Arbitrary<Uint8Array> = fc.oneof(
  fc.uint8Array({ maxLength: 120 }),
  fc
    .record({
      kind: fc.integer({ min: 0, max: 15 }),
      job: fc.constantFrom(0, 1, 2, 65_535),
      generation: fc.constantFrom(0, 1, 2, 65_535),
      member: fc.constantFrom(0, 1, 2, 3, 255),
      scale: fc.constantFrom(SCALE, 0),
      slot: fc.constantFrom(SLOT, SLOT + 1, 0, ROWS, 65_535),
      round: fc.constantFrom(1, 2, 3, 0, 0xffff_ffff),
      flags: fc.constantFrom(0, Flag.MARK, 255),
      values: fc.array(fc.integer(), { maxLength: 6 }),
    })
    .map((fields) => sound(fields)),
  fc
    .tuple(fc.array(fc.tuple(fc.nat(73), fc.nat(255)), { maxLength: 4 }), fc.boolean(), fc.nat(80))
    .map(([edits, keep, length]) =>
      changed((f) => {
        for (const [at, byte] of edits) f[at] = byte;
      }, keep).subarray(0, length),
    ),
);

describe("packets are conserved", () => {
  test("every packet raises exactly one forwarding event, or comes from the controller; every frame out and every drop has its cause", () => {
    const victim = new Victim();
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(0, 1, 2, SERVER_PORT, 7, CPU), almost), { maxLength: 40 }),
        (packets) => {
          const { engine } = victim;
          const before = books(victim);
          let direct = 0;
          for (const [port, frame] of packets) {
            const counted = total(victim.forwarding);
            const actions = victim.send(port, frame);
            const events = total(victim.forwarding) - counted;
            // The controller's packets with submit = 0 leave without forwarding.
            if (events === 0) direct++;
            expect(events === 1 || (events === 0 && port === CPU)).toBe(true);
            // One packet in: at most a RESULT and an acknowledgement out, and never nothing at all.
            expect(actions.length).toBeGreaterThanOrEqual(1);
            expect(actions.length).toBeLessThanOrEqual(2);
          }
          const now = books(victim);
          expect(now.forwarding - before.forwarding + direct).toBe(packets.length);
          expect(now.answers - before.answers).toBeLessThanOrEqual(now.local - before.local);
          // A completed row leaves twice: RESULT and acknowledgement.
          const out = now.transmitted + now.drops - before.transmitted - before.drops;
          expect(out).toBe(packets.length + now.complete - before.complete);
          expect(total(engine.faults)).toBe(0);
        },
      ),
      { numRuns: 300 },
    );
  });
});

function books({ forwarding, answers, engine }: Victim) {
  return {
    forwarding: total(forwarding),
    local: forwarding.local ?? 0,
    answers: total(answers),
    complete: answers.complete ?? 0,
    transmitted: [...Array(PORTS).keys(), CPU].reduce((n, p) => n + engine.port(p).txPackets, 0),
    drops: total(engine.drops),
  };
}

function total(of: object): number {
  return Object.values(of).reduce<number>((sum, n) => sum + Number(n), 0);
}

describe("garbage in the middle of a round", () => {
  test("200,000 packets of it change no sum and take no memory", () => {
    const victim = new Victim();
    const random = seededRandom(7);
    const jumbo = new Uint8Array(65_507).map((_, i) => i * 7);
    const garbage = Array.from({ length: 500 }, (_, i) => bad(random, i));
    const rounds = 20;
    let heap = 0;
    for (let round = 1; round <= rounds; round++) {
      const results: (readonly number[])[] = [];
      workers.forEach((w, member) => {
        for (let i = 0; i < 200_000 / rounds / WORKERS; i++)
          victim.send(i % (PORTS - 1), garbage[Math.floor(random() * garbage.length)] ?? jumbo);
        victim.send(member, jumbo);
        const frame = frameTo(
          s1,
          w,
          message({ member, slot: SLOT, round, values: [round, -1, member, 1e6] }),
        );
        for (const action of victim.send(member, frame)) {
          const result = action.kind === "transmit" && action.port === SERVER_PORT && resultIn(action.data);
          if (result) results.push(result);
        }
      });
      expect(results).toEqual([[3 * round, -3, 3, 3e6]]);
      if (round === 5) heap = settledHeap();
    }
    expect(settledHeap() - heap).toBeLessThan(8e6);
    expect(victim.engine.trafficManager.isEmpty).toBe(true);
  }, 120_000);

  /** Anything but a sound packet of the job. */
  function bad(random: () => number, i: number): Uint8Array {
    const any = (n: number): number => Math.floor(random() * n);
    switch (i % 5) {
      case 0:
        return Uint8Array.from({ length: any(1500) }, () => any(256));
      case 1:
        return sound({ values: [9, 9, 9, 9], member: any(3), round: any(30) }).subarray(0, any(74));
      case 2:
        return sound({ values: [9, 9, 9, 9], generation: 2 + any(9), member: any(3), round: any(30) });
      case 3:
        return sound({ values: [9, 9, 9, 9], job: 2 + any(9), member: any(3), round: any(30) });
      default:
        return sound({ values: [9, 9, 9, 9], kind: 8 + any(8), member: any(3), round: any(30) });
    }
  }

  function settledHeap(): number {
    // Without a collection the figure would tell when the last one happened to be.
    setFlagsFromString("--expose-gc");
    runInNewContext("gc")();
    return process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  }
});
