import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ECMP_EVENTS,
  ecmp,
  FORWARDING_EVENTS,
  groupEntries,
  ipv4Forwarding,
  nextTurn,
  program,
  withoutMember,
} from "../../src/dsl/index.ts";
import type { Switch } from "../../src/switch/index.ts";
import { parseMac } from "../../src/wire/address.ts";
import { burst, counts, FAR, GROUP, MEMBERS, NEAR, NEAR_PORT, switchOf } from "./trafficprograms.ts";

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
    expect(events(sw)).toEqual({ sprayed: 100, drop_no_group: 0, drop_no_member: 0 });
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

  test("what is not there yet is refused with its reason", () => {
    for (const spray of ["gradient", "none"] as const)
      expect(() => ecmp({ groups: 1, members: 1, spray })).toThrow(/GP1701.*need a hash of their flow/);
    expect(() => ecmp({ groups: 0, members: 1, spray: "all" })).toThrow("groups is 0; it may be 1 to 65536");
    expect(() => ecmp({ groups: 1, members: 257, spray: "all" })).toThrow("members is 257");
    const only = ecmp({ groups: 1, members: 1, spray: "all" });
    expect(() => program("lonely", { ports: 4, features: [only] })).toThrow(/GP1702.*ipv4Forwarding/);
    expect(() => program("fine", { ports: 4, features: [only, ipv4Forwarding()] })).not.toThrow();
  });
});
