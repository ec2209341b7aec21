import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NO_OUTAGE, nextHops, type Outage, Paths } from "../../src/controller/paths.ts";
import { routeEntries } from "../../src/controller/routes.ts";
import { linkName, type Topology } from "../../src/controller/topology.ts";
import { leafSpine, ROOM } from "./fabric.ts";

const topology = leafSpine(4, 4, 2);
const out = (changes: Partial<Outage>): Outage => ({ ...NO_OUTAGE, ...changes });
const routes = (name: string, outage: Outage = NO_OUTAGE, room: typeof ROOM | undefined = ROOM) =>
  routeEntries(name, new Paths(topology), new Paths(topology, outage), room);

/** Where a packet to a host can get from a switch, taking any member of each group: all next switches, or "host". */
function nextFrom(
  t: Topology,
  name: string,
  ipv4: string,
  entries: ReturnType<typeof routes>,
): readonly string[] {
  const route = entries.find((e) => e.table === "forwarding.route" && e.match.dst_addr === `${ipv4}/32`);
  if (route === undefined) return [];
  const ports =
    route.action === "forwarding.to_group"
      ? entries
          .filter((e) => e.table === "ecmp.member" && e.match.group === route.params.group)
          .map((e) => e.params.port)
      : [route.params.port];
  return ports.map((port) => {
    const host = t.hosts.find((h) => h.attachments.some((a) => a.switch === name && a.port === port));
    if (host !== undefined) return host.ipv4 === ipv4 ? "host" : "wrong host";
    const link = t.links?.find(({ ends }) => ends.some((e) => e.switch === name && e.port === port));
    return link?.ends.find((e) => e.switch !== name)?.switch ?? "nowhere";
  });
}

describe("shortest paths", () => {
  test("lead over all spines, and over those that are left", () => {
    const hops = nextHops(topology, NO_OUTAGE, new Set(["leaf2"]));
    expect(hops.get("leaf1")?.map((h) => h.to)).toEqual(["spine1", "spine2", "spine3", "spine4"]);
    expect(hops.get("spine1")?.map((h) => h.to)).toEqual(["leaf2"]);
    const link = topology.links?.[5]?.ends ?? expect.fail();
    expect(linkName(link)).toBe("leaf2:3 - spine2:1");
    const less = nextHops(
      topology,
      out({ switches: new Set(["spine1"]), links: new Set([linkName(link)]) }),
      new Set(["leaf2"]),
    );
    expect(less.get("leaf1")?.map((h) => h.to)).toEqual(["spine3", "spine4"]);
  });

  test("avoid a drained switch while there is another way, and take it when there is none", () => {
    const drained = new Set(["spine1"]);
    const hops = nextHops(topology, out({ drained }), new Set(["leaf2"]));
    expect(hops.get("leaf1")?.map((h) => h.to)).toEqual(["spine2", "spine3", "spine4"]);
    const all = new Set(["spine2", "spine3", "spine4"]);
    expect(
      nextHops(topology, out({ drained, switches: all }), new Set(["leaf2"])).get("leaf1"),
    ).toMatchObject([{ to: "spine1" }]);
  });

  test("on any network and outage: every packet arrives in the fewest steps, or has no route at all", () => {
    const links = topology.links ?? [];
    fc.assert(
      fc.property(
        fc.subarray([...topology.switches.map((s) => s.name)], { maxLength: 5 }),
        fc.subarray([...links.map((l) => linkName(l.ends))]),
        fc.boolean(),
        (switches, cut, hasGroups) => {
          const outage = out({ switches: new Set(switches), links: new Set(cut) });
          const up = topology.switches.map((s) => s.name).filter((n) => !outage.switches.has(n));
          const tables = new Map(up.map((n) => [n, routes(n, outage, hasGroups ? ROOM : undefined)]));
          for (const host of topology.hosts) {
            const leaf = host.attachments[0]?.switch ?? "";
            // Breadth-first from the host's leaf, by hand.
            const distance = new Map<string, number>();
            if (up.includes(leaf)) distance.set(leaf, 0);
            for (const [from, d] of distance)
              for (const { ends } of links) {
                if (outage.links.has(linkName(ends))) continue;
                const other = ends.find((e) => e.switch !== from)?.switch ?? "";
                if (!ends.some((e) => e.switch === from) || !up.includes(other) || distance.has(other))
                  continue;
                distance.set(other, d + 1);
              }
            for (const name of up) {
              const next = nextFrom(topology, name, host.ipv4, tables.get(name) ?? []);
              const own = distance.get(name);
              if (own === undefined) expect(next).toEqual([]);
              else if (own === 0) expect(next).toEqual(["host"]);
              else {
                expect(next.length).toBeGreaterThan(0);
                for (const n of next) expect(distance.get(n)).toBe(own - 1);
              }
            }
          }
        },
      ),
      { numRuns: 40 },
    );
  });
});

describe("a repair", () => {
  test("changes members of groups, and no route", () => {
    const before = routes("leaf1").filter((e) => e.table === "forwarding.route");
    const after = routes("leaf1", out({ switches: new Set(["spine2"]) })).filter(
      (e) => e.table === "forwarding.route",
    );
    expect(after.filter((e) => String(e.match.dst_addr).startsWith("10.0."))).toEqual(
      before.filter((e) => String(e.match.dst_addr).startsWith("10.0.")),
    );
  });

  test("keeps weights", () => {
    const weighted = {
      ...topology,
      links: (topology.links ?? []).map((link, i) => (i === 0 ? { ...link, weight: 3 } : link)),
    };
    const whole = new Paths(weighted);
    const members = (left: Paths) =>
      routeEntries("leaf1", whole, left, ROOM)
        .filter((e) => e.table === "ecmp.member" && e.match.group === 1)
        .map((e) => e.params.port);
    expect(members(whole)).toEqual([2, 3, 4, 5, 2, 2]);
    expect(members(new Paths(weighted, out({ switches: new Set(["spine4"]) })))).toEqual([2, 3, 4, 2, 2]);
  });
});
