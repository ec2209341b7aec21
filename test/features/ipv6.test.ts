import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ECMP_EVENTS,
  ecmp,
  FORWARDING_EVENTS,
  FORWARDING6_EVENTS,
  ipv6Forwarding,
  program,
} from "../../src/dsl/index.ts";
import type { Switch } from "../../src/switch/index.ts";
import { parseMac } from "../../src/wire/address.ts";
import { parseIpv6 } from "./localswitch.ts";
import {
  counts,
  FAR6,
  frame,
  frame6,
  MEMBERS,
  NEAR_PORT,
  NEAR6,
  NEAR6_MAC,
  plan,
  type Sent6,
  type Subset,
  SWITCH6,
  switchOf,
  traffic6,
} from "./trafficprograms.ts";

const plain: Subset = { priority: false, drop: false, ecmp: false, aggregation: false, ipv6: true };
const grown = (sw: Switch) => counts(sw, "forwarding6.events", FORWARDING6_EVENTS);

/** What forwarding has to do, from the packet alone. */
function golden({ to = NEAR6, from = "2001:db8::1", ttl = 64, version = 6 }: Sent6, length: number): string {
  const isScoped = (text: string): boolean => parseIpv6(text) >> 118n === 0x3fan;
  if (length < 54) return "elsewhere";
  if (version !== 6) return "drop_not_ipv6";
  if (isScoped(to) || isScoped(from) || parseIpv6(to) >> 120n === 0xffn) return "drop_scope";
  if (to === SWITCH6) return "local";
  if (to !== NEAR6) return "drop_no_route";
  return ttl <= 1 ? "drop_hop_limit" : "forwarded";
}

describe("IPv6 forwarding", () => {
  test("sends to the next hop with its MAC address and one hop less, and changes nothing else", () => {
    const sw = switchOf(plain);
    const sent = frame6({ ttl: 9, dscp: 10, ecn: 1, id: 77 });
    const [out, ...more] = sw.inject(0, sent);
    expect(more).toEqual([]);
    expect(out?.port).toBe(NEAR_PORT);
    const wanted = sent.slice();
    wanted.copyWithin(6, 0, 6);
    new DataView(wanted.buffer).setUint32(0, Math.floor(parseMac(NEAR6_MAC) / 0x10000));
    new DataView(wanted.buffer).setUint16(4, parseMac(NEAR6_MAC) & 0xffff);
    wanted[21] = 8;
    expect(Buffer.from(out?.data ?? [])).toEqual(Buffer.from(wanted));
  });

  test("does with any packet what the golden model says, and counts it", () => {
    const sw = switchOf(plain);
    const seen = new Set<string>();
    fc.assert(
      fc.property(
        fc.record({
          to: fc.constantFrom(NEAR6, NEAR6, FAR6, SWITCH6, "2001:db8::7", "ff02::1", "fe80::1"),
          from: fc.constantFrom("2001:db8::1", "2001:db8::1", "fe80::2"),
          ttl: fc.constantFrom(64, 64, 255, 2, 1, 0),
          version: fc.constantFrom(6, 6, 6, 4),
          nextHeader: fc.constantFrom(17, 6, 0, 44),
          length: fc.constantFrom(66, 66, 66, 53),
        }),
        ({ length, ...sent }) => {
          const before = grown(sw);
          const out = sw.inject(0, frame6(sent).slice(0, length));
          const wanted = golden(sent, length);
          const after = grown(sw);
          const events = FORWARDING6_EVENTS.filter((e) => after[e] !== before[e]);
          expect(events).toEqual(wanted === "elsewhere" ? [] : [wanted]);
          expect(out.map((f) => f.port)).toEqual(wanted === "forwarded" ? [NEAR_PORT] : []);
          seen.add(wanted);
        },
      ),
      { numRuns: 300 },
    );
    expect(seen.size).toBe(7);
  });

  test("matches prefixes bit by bit over all 128, the longest first", () => {
    const sw = switchOf(plain);
    const table = sw.table("forwarding6.route");
    const prefixes = [0, 1, 33, 63, 64, 65, 96, 127, 128];
    const address = parseIpv6("2400:1234:5678:9abc:def0:1357:9bdf::2468");
    prefixes.forEach((prefixLength, i) => {
      const kept = (address >> BigInt(128 - prefixLength)) << BigInt(128 - prefixLength);
      table.insert([{ kind: "lpm", value: kept, prefixLength }], {
        kind: "action",
        action: "forwarding6.to_port",
        parameters: [BigInt(i % 8), 1n],
      });
    });
    const text = (bits: bigint): string =>
      `${(bits.toString(16).padStart(32, "0").match(/..../g) ?? []).slice(0, 7).join(":")}::${(bits & 0xffffn).toString(16)}`;
    prefixes.forEach((prefixLength, i) => {
      // Differs in the first bit behind the prefix: so this is the longest that fits.
      const to = prefixLength === 128 ? address : address ^ (1n << BigInt(127 - prefixLength));
      if (to >> 120n === 0xffn) return;
      const [out] = sw.inject(0, frame6({ to: text(to) }));
      expect(out?.port, `prefix of ${prefixLength} bits`).toBe(i % 8);
    });
  });

  test("stands beside IPv4, and each counts its own", () => {
    const sw = switchOf(plain);
    sw.inject(0, frame6({}));
    sw.inject(0, frame({}));
    sw.inject(
      0,
      Uint8Array.from({ length: 60 }, () => 7),
    );
    expect(grown(sw)).toMatchObject({ forwarded: 1, drop_not_ipv6: 0 });
    expect(counts(sw, "forwarding.events", FORWARDING_EVENTS)).toMatchObject({
      forwarded: 1,
      drop_not_ipv4: 1,
    });
  });

  test("can be a program's only forwarding, with spray; then what is not IPv6 is dropped by it", () => {
    const p = program("six", {
      ports: 8,
      features: [ipv6Forwarding(), ecmp({ groups: 4, members: 4, spray: "all" })],
    });
    expect(p.warnings).toEqual([]);
  });
});

describe("IPv6 beside the other features", () => {
  const all: Subset = { priority: true, drop: true, ecmp: true, aggregation: true, ipv6: true };

  test("its traffic class chooses the queue as IPv4's DSCP does", () => {
    const sw = switchOf({ ...plain, priority: true });
    for (const g of plan.gradients) sw.inject(0, frame6({ dscp: g.dscp }));
    sw.inject(0, frame6({ dscp: plan.control.dscp }));
    const packets = plan.gradients.map((g) => sw.counter("priority_queue.packets").read(g.class).packets);
    expect(packets).toEqual(plan.gradients.map(() => 1n));
    expect(sw.counter("priority_queue.packets").read(plan.control.class).packets).toBe(1n);
  });

  test("in a long queue what is Non-ECT is dropped, and the rest marked CE", () => {
    const sw = switchOf({ ...plain, drop: true });
    sw.trafficManager.setRate(NEAR_PORT, { kind: "packetsPerSecond", rate: 100 });
    const out: Uint8Array[] = [];
    const sink: Parameters<Switch["handle"]>[2] = (action) => {
      if (action.kind === "transmit") out.push(action.data.slice());
    };
    for (let id = 0; id < 20; id++)
      sw.handle({ kind: "packet", port: 0, data: frame6({ id, ecn: id % 2 === 0 ? 0 : 2 }) }, 0, sink);
    for (let at = sw.nextWakeup(); at !== undefined; at = sw.nextWakeup()) sw.tick(at, sink);
    const ecnOf = (data: Uint8Array): number => ((data[15] ?? 0) >> 4) & 3;
    const marked = out.filter((data) => ecnOf(data) === 3).length;
    expect(marked).toBeGreaterThan(5);
    expect(out.filter((data) => ecnOf(data) === 0).length).toBeLessThan(5);
    expect(out.length).toBeLessThan(20);
  });

  test("spray takes its packets round robin, over the same groups", () => {
    const sw = switchOf({ ...all, spray: "all" });
    const ports = Array.from({ length: 9 }, (_, id) => sw.inject(0, frame6({ to: FAR6, id }))[0]?.port);
    expect(ports).toEqual(
      MEMBERS.flatMap(() => MEMBERS.map((m) => m.port)).map((_, i, list) => list[(i + 1) % 3]),
    );
    expect(counts(sw, "ecmp.events", ECMP_EVENTS)).toMatchObject({ sprayed: 9 });
  });

  test("by flow each flow keeps its path, and flows share the paths", () => {
    const sw = switchOf({ ...all, spray: "none" });
    const portOf = (sent: Sent6): number | undefined => sw.inject(0, frame6({ to: FAR6, ...sent }))[0]?.port;
    const used = new Set<number | undefined>();
    for (let flow = 1000; flow < 1040; flow++) {
      const port = portOf({ flow });
      for (let id = 0; id < 3; id++) expect(portOf({ flow, id })).toBe(port);
      used.add(port);
    }
    expect([...used].sort()).toEqual(MEMBERS.map((m) => m.port));
    const hosts = new Set(Array.from({ length: 40 }, (_, i) => portOf({ from: `2001:db8::${i + 1}` })));
    expect(hosts.size).toBe(MEMBERS.length);
  });

  test("whatever comes, no array index is out of range, and each packet has one event", () => {
    const sw = switchOf(all);
    const packets = fc.sample(traffic6, { numRuns: 500, seed: 3 });
    for (const { port, data } of packets) sw.inject(port, data);
    const sum = (events: Readonly<Record<string, number>>): number =>
      Object.values(events).reduce((a, b) => a + b, 0);
    expect(sum(grown(sw)) + sum(counts(sw, "forwarding.events", FORWARDING_EVENTS))).toBe(packets.length);
    expect(Object.values(sw.faults).every((n) => n === 0)).toBe(true);
  });
});
