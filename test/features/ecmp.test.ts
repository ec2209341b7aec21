import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ECMP_EVENTS,
  type EcmpOptions,
  ecmp,
  FORWARDING_EVENTS,
  groupEntries,
  ipv4Forwarding,
  nextTurn,
  program,
  withoutMember,
} from "../../src/dsl/index.ts";
import { crc32 } from "../../src/switch/engine/hash-algorithms.ts";
import type { Switch } from "../../src/switch/index.ts";
import { parseMac } from "../../src/wire/address.ts";
import {
  burst,
  counts,
  FAR,
  frame,
  GROUP,
  MEMBERS,
  NEAR,
  NEAR_PORT,
  plan,
  ROOM,
  switchOf,
} from "./trafficprograms.ts";

const alone = { priority: false, drop: false, ecmp: true, aggregation: false };
const far = (count: number) => Array.from({ length: count }, (_, id) => ({ to: FAR, id }));
const portsOf = (sw: Switch, count: number) => burst(sw, far(count)).map((a) => a.port);
const events = (sw: Switch) => counts(sw, "ecmp.events", ECMP_EVENTS);

/** Applies one update of `withoutMember`, by name as over P4Runtime. */
function update(sw: Switch, { update: kind, entry }: ReturnType<typeof withoutMember>[number]): void {
  const table = sw.table(entry.table);
  const given: Readonly<Record<string, number>> = entry.match;
  const match = table.description.key.map((k) => ({
    kind: "exact" as const,
    value: BigInt(given[k.name] ?? 0),
  }));
  const parameters = Object.values(entry.params).map((v) => BigInt(typeof v === "string" ? parseMac(v) : v));
  if (kind === "modify") table.modify(match, { kind: "action", action: entry.action, parameters });
  else table.delete(match);
}

describe("ecmp", () => {
  test("spray is even within one packet over any number of packets, and takes members in turn", () => {
    const sw = switchOf(alone);
    const seen = new Map<number, number>();
    for (let i = 0; i < 100; i++) {
      for (const port of portsOf(sw, 1)) seen.set(port, (seen.get(port) ?? 0) + 1);
      const loads = MEMBERS.map((m) => seen.get(m.port) ?? 0);
      expect(Math.max(...loads) - Math.min(...loads)).toBeLessThanOrEqual(1);
    }
    expect(portsOf(switchOf(alone), 6)).toEqual([6, 7, 5, 6, 7, 5]);
    expect(events(sw)).toEqual({ sprayed: 100, by_flow: 0, drop_no_group: 0, drop_no_member: 0 });
  });

  test("the next hop's address goes on the frame, and time to live falls by one", () => {
    const [first] = burst(switchOf(alone), far(1));
    expect(first).toMatchObject({ port: 6, ttl: 63, dstMac: parseMac(MEMBERS[1]?.mac ?? "") });
  });

  test("routes to a port are as before, and take no turn", () => {
    const sw = switchOf(alone);
    const ports = burst(sw, [{ to: FAR }, { to: NEAR }, { to: NEAR }, { to: FAR }]).map((a) => a.port);
    expect(ports).toEqual([6, NEAR_PORT, NEAR_PORT, 7]);
  });

  test("a packet at the end of its time to live is dropped and counted by forwarding, and takes no turn", () => {
    const sw = switchOf(alone);
    expect(burst(sw, [{ to: FAR, ttl: 1 }, { to: FAR, ttl: 0 }, { to: FAR }]).map((a) => a.port)).toEqual([
      6,
    ]);
    expect(counts(sw, "forwarding.events", FORWARDING_EVENTS)).toMatchObject({ drop_ttl: 2, forwarded: 1 });
    expect(events(sw)).toMatchObject({ sprayed: 1 });
  });

  test("losing any member moves its traffic in the first update, and no packet is lost in between", () => {
    for (const lost of [0, 1, 2]) {
      for (const before of [0, 1, 2, 3]) {
        const sw = switchOf(alone);
        portsOf(sw, before);
        const gone = MEMBERS[lost]?.port;
        for (const step of withoutMember(GROUP, MEMBERS, lost)) {
          update(sw, step);
          const ports = portsOf(sw, 7);
          expect(ports).toHaveLength(7);
          expect(ports).not.toContain(gone);
        }
        const loads = MEMBERS.filter((m) => m.port !== gone).map(
          (m) => portsOf(sw, 8).filter((port) => port === m.port).length,
        );
        expect(loads).toEqual([4, 4]);
        expect(events(sw)).toMatchObject({ drop_no_group: 0, drop_no_member: 0 });
      }
    }
  });

  test("without its last member a group drops, with a reason", () => {
    const sw = switchOf(alone);
    let left = [...MEMBERS];
    while (left.length > 0) {
      for (const step of withoutMember(GROUP, left, left.length - 1)) update(sw, step);
      left = left.slice(0, -1);
    }
    expect(portsOf(sw, 3)).toEqual([]);
    expect(events(sw)).toMatchObject({ drop_no_group: 3 });
    expect(() => withoutMember(GROUP, MEMBERS, 3)).toThrow("group 2 has no member 3; it has 3");
  });

  test("a member that the control plane forgot drops, with a reason", () => {
    const sw = switchOf(alone);
    sw.table("ecmp.member").delete([
      { kind: "exact", value: BigInt(GROUP) },
      { kind: "exact", value: 0n },
    ]);
    expect(portsOf(sw, 6)).toEqual([6, 7, 6, 7]);
    expect(events(sw)).toMatchObject({ sprayed: 4, drop_no_member: 2 });
  });

  test("whatever the turn was, the next one is in the group", () => {
    fc.assert(
      fc.property(fc.nat(255), fc.nat(255), (before, last) => {
        const next = nextTurn(before, last);
        expect(next).toBeLessThanOrEqual(last);
        expect(next).toBe(before < last ? before + 1 : 0);
      }),
    );
    const sw = switchOf(alone);
    for (const turn of [2n, 3n, 255n]) {
      sw.register("ecmp.turn").write(GROUP, turn);
      expect(portsOf(sw, 1)).toEqual([MEMBERS[0]?.port]);
    }
  });

  test("groups are filled members first", () => {
    expect(groupEntries(GROUP, MEMBERS).map((e) => e.table)).toEqual([
      "ecmp.member",
      "ecmp.member",
      "ecmp.member",
      "ecmp.group",
    ]);
    expect(groupEntries(GROUP, [])).toEqual([]);
  });

  test("options out of range are refused", () => {
    const wrong = { groups: 1, members: 1, spray: "some" } as unknown as EcmpOptions;
    expect(() => ecmp(wrong)).toThrow(/GP1701.*spray is "some"; it may be "all", "gradient" or "none"/);
    expect(() => ecmp({ groups: 0, members: 1, spray: "all" })).toThrow("groups is 0; it may be 1 to 65536");
    expect(() => ecmp({ groups: 1, members: 257, spray: "all" })).toThrow("members is 257");
    const only = ecmp({ groups: 1, members: 1, spray: "all" });
    expect(() => program("lonely", { ports: 4, features: [only] })).toThrow(/GP1702.*ipv4Forwarding/);
    expect(() => program("fine", { ports: 4, features: [only, ipv4Forwarding()] })).not.toThrow();
  });
});

describe("ecmp by flow", () => {
  const byFlow = { ...alone, spray: "none" } as const;
  const flows = Array.from({ length: 400 }, (_, i) => 1000 + i);
  /** The port that each flow takes. */
  const ways = (sw: Switch, of = flows) =>
    new Map(of.map((flow) => [flow, burst(sw, [{ to: FAR, flow }])[0]?.port]));
  const share = (taken: ReadonlyMap<number, number | undefined>, port: number) =>
    [...taken.values()].filter((p) => p === port).length / taken.size;

  test("a flow keeps to one next hop, and flows spread over all", () => {
    const sw = switchOf(byFlow);
    const first = ways(sw);
    expect(ways(sw)).toEqual(first);
    for (const { port } of MEMBERS) expect(share(first, port)).toBeCloseTo(1 / 3, 1);
    expect(events(sw)).toMatchObject({ by_flow: 800, sprayed: 0, drop_no_group: 0, drop_no_member: 0 });
  });

  test("the hash is CRC-32 of addresses, protocol and ports, as on the wire", () => {
    const sw = switchOf(byFlow);
    for (const [flow, port] of ways(sw)) {
      const data = frame({ to: FAR, flow });
      const tuple = [...data.subarray(26, 34), data[23] ?? 0, ...data.subarray(34, 38)];
      expect(port).toBe(MEMBERS[crc32(Uint8Array.from(tuple), 13) % 3]?.port);
    }
  });

  test("weights say how many flows a next hop takes", () => {
    const weighted = switchOf(byFlow);
    const [a, b] = [MEMBERS[0], MEMBERS[1]];
    if (a === undefined || b === undefined) throw new Error("no members");
    weighted.profile("ecmp.next_hops").modifyGroup(GROUP + 1, [
      { member: GROUP * ROOM.members + 1, weight: 3 },
      { member: GROUP * ROOM.members + 2, weight: 1 },
    ]);
    const taken = ways(weighted);
    expect(share(taken, a.port)).toBeCloseTo(0.75, 1);
    expect(share(taken, b.port)).toBeCloseTo(0.25, 1);
  });

  test("flows of a next hop whose port is down move at once, and come back", () => {
    const sw = switchOf(byFlow);
    const before = ways(sw);
    const gone = MEMBERS[1]?.port ?? 0;
    sw.setPortUp(gone, false);
    const without = ways(sw);
    expect([...without.values()].sort()).not.toContain(gone);
    expect([...without.values()].every((port) => port !== undefined)).toBe(true);
    sw.setPortUp(gone, true);
    expect(ways(sw)).toEqual(before);
  });

  test("a group that lost all its members drops, with a reason, and so does one that is not there", () => {
    const sw = switchOf(byFlow);
    for (const { port } of MEMBERS) sw.setPortUp(port, false);
    expect(portsOf(sw, 2)).toEqual([]);
    sw.table("ecmp.flow").delete([{ kind: "exact", value: BigInt(GROUP) }]);
    expect(portsOf(sw, 3)).toEqual([]);
    expect(events(sw)).toEqual({ sprayed: 0, by_flow: 0, drop_no_member: 2, drop_no_group: 3 });
  });

  /** A frame as another protocol's or as a fragment; the sums of its IPv4 header are right. */
  const changed = (flow: number, change: (data: Uint8Array) => void): Uint8Array => {
    const data = frame({ to: FAR, flow });
    change(data);
    data.fill(0, 24, 26);
    let sum = 0;
    for (let i = 14; i < 34; i += 2) sum += ((data[i] ?? 0) << 8) | (data[i + 1] ?? 0);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
    new DataView(data.buffer).setUint16(24, ~sum & 0xffff);
    return data;
  };
  const waysOf = (sw: Switch, frames: readonly Uint8Array[]) =>
    frames.map((data) => sw.inject(0, data)[0]?.port);

  test("flows of TCP spread too", () => {
    const sw = switchOf(byFlow);
    const frames = flows.map((flow) => changed(flow, (data) => data.set([6], 23)));
    expect(new Set(waysOf(sw, frames))).toEqual(new Set(MEMBERS.map((m) => m.port)));
  });

  test("other protocols keep to one way for two hosts, whatever follows the IPv4 header", () => {
    const sw = switchOf(byFlow);
    const frames = flows.map((flow) => changed(flow, (data) => data.set([47], 23)));
    expect(new Set(waysOf(sw, frames)).size).toBe(1);
  });

  test("all fragments of a packet take one way, though only the first has ports", () => {
    const sw = switchOf(byFlow);
    for (const flow of flows) {
      const first = changed(flow, (data) => data.set([0x20, 0], 20));
      const later = changed(flow, (data) => data.set([0, 3], 20));
      const [a, b] = waysOf(sw, [first, later]);
      expect(a).toBeDefined();
      expect(a).toBe(b);
    }
  });
});

describe("ecmp that sprays gradients", () => {
  const mixed = { ...alone, spray: "gradient" } as const;
  const gradient = plan.gradients[0]?.dscp ?? 0;
  const at = (sw: Switch, dscp: number, count: number) =>
    burst(
      sw,
      Array.from({ length: count }, () => ({ to: FAR, dscp })),
    ).map((a) => a.port);

  test("one flow of gradients takes the members in turn; best effort and control keep to one", () => {
    const sw = switchOf(mixed);
    expect(at(sw, gradient, 6)).toEqual([6, 7, 5, 6, 7, 5]);
    expect(new Set(at(sw, 0, 6)).size).toBe(1);
    expect(new Set(at(sw, plan.control.dscp, 6)).size).toBe(1);
    expect(events(sw)).toEqual({ sprayed: 6, by_flow: 12, drop_no_group: 0, drop_no_member: 0 });
  });

  test("a group without turns takes gradients by flow", () => {
    const sw = switchOf(mixed);
    sw.table("ecmp.group").delete([{ kind: "exact", value: BigInt(GROUP) }]);
    expect(new Set(at(sw, gradient, 6)).size).toBe(1);
    expect(events(sw)).toMatchObject({ sprayed: 0, by_flow: 6 });
  });
});
