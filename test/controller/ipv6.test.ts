import { describe, expect, test } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { IntentBook } from "../../src/controller/intent.ts";
import { NO_OUTAGE } from "../../src/controller/paths.ts";
import type { Topology } from "../../src/controller/topology.ts";
import { ecmp, ipv4Forwarding, ipv6Forwarding, program } from "../../src/dsl/index.ts";
import { nameEntity, p4infoFromBinary, Schema } from "../../src/p4runtime/index.ts";
import { leafSpine, ROOM } from "./fabric.ts";

function schemaOf(...features: Parameters<typeof program>[1]["features"]): Schema {
  const info = generate(program("dual", { ports: 16, features }).ir).get("p4info.bin");
  if (!(info instanceof Uint8Array)) throw new Error("the program was not generated");
  return new Schema(p4infoFromBinary(info));
}

/** 2001:db8::1 */
const SIX = "0x20010db8000000000000000000000001";

const plan = leafSpine(2, 2, 1);
const topology: Topology = {
  ...plan,
  switches: plan.switches.map((s, i) => ({ ...s, ipv6: `2001:db8:f::${i + 1}` })),
  // The other host has none.
  hosts: plan.hosts.map((h, i) => (i === 0 ? { ...h, ipv6: "2001:db8::1" } : h)),
};

function routes(name: string, schema: Schema, lost: readonly string[] = []) {
  const outage = { ...NO_OUTAGE, switches: new Set(lost) };
  const { entities } = new IntentBook({ topology, outage, room: ROOM }).intentOf(name, schema);
  return entities.map((entity) => {
    const { name: table, match, action, params } = nameEntity(schema, entity);
    return { table, match, action, params };
  });
}

const to = (entries: ReturnType<typeof routes>, address: string) =>
  entries.find(({ match }) => String(Object.values(match ?? {})[0] ?? "").startsWith(`${address}/`));

describe("routes of a program with both versions of IP", () => {
  const schema = schemaOf(ipv4Forwarding(), ipv6Forwarding(), ecmp({ ...ROOM, spray: "all" }));

  test("lead to the same next hops, by the same groups", () => {
    const spread = routes("leaf2", schema);
    const [four, six] = [to(spread, "10.0.0.1"), to(spread, SIX)];
    expect(four).toMatchObject({ table: "forwarding.route", action: "forwarding.to_group" });
    expect(six).toMatchObject({ table: "forwarding6.route", action: "forwarding6.to_group" });
    expect(six?.params).toEqual(four?.params);
    expect(to(spread, "0x20010db8000f00000000000000000002")).toMatchObject({
      action: "forwarding6.to_local",
    });
    expect(to(routes("leaf1", schema), SIX)).toMatchObject({
      action: "forwarding6.to_port",
      params: { port: "0", dst_mac: topology.hosts[0]?.mac },
    });
    const left = routes("leaf2", schema, ["spine1"]);
    expect(to(left, SIX)).toEqual(six);
    expect(left.filter(({ table }) => table === "ecmp.member").length).toBeLessThan(
      spread.filter(({ table }) => table === "ecmp.member").length,
    );
  });

  test("are there for nodes that have an address of that version, and only for those", () => {
    const six = routes("spine1", schema).filter(({ table }) => table === "forwarding6.route");
    expect(six).toHaveLength(topology.switches.length + 1);
  });

  test("of IPv6 alone need no tables of IPv4", () => {
    const only = routes("leaf2", schemaOf(ipv6Forwarding(), ecmp({ ...ROOM, spray: "all" })));
    expect(new Set(only.map(({ table }) => table))).toEqual(
      new Set(["forwarding6.route", "ecmp.member", "ecmp.group"]),
    );
  });
});
