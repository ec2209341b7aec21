import { describe, expect, onTestFinished, test } from "vitest";
import { Fleet, type FleetNotice, type FleetOptions } from "../../src/controller/fleet.ts";
import { StateMemory } from "../../src/controller/statefile.ts";
import type { Topology } from "../../src/controller/topology.ts";
import { EntityBuilder, insert, P4RuntimeClient } from "../../src/p4runtime/index.ts";
import { type SteeredSwitch, startSwitch } from "../abuse/switches.ts";
import { aggregation, leafSpine, loadable, ROOM } from "./fabric.ts";

const LEAVES = 2;
const SPINES = 2;

async function fabric(): Promise<{
  readonly topology: Topology;
  readonly switches: Map<string, SteeredSwitch>;
}> {
  const plan = leafSpine(LEAVES, SPINES, 1);
  const switches = new Map<string, SteeredSwitch>();
  for (const { name, deviceId } of plan.switches) switches.set(name, await startSwitch(Number(deviceId)));
  const topology = leafSpine(LEAVES, SPINES, 1, (name) => switches.get(name)?.server.address ?? "");
  return { topology, switches };
}

async function steer(
  topology: Topology,
  notices: FleetNotice[] = [],
  changes: Partial<FleetOptions> = {},
): Promise<Fleet> {
  const fleet = await Fleet.start({
    topology,
    program: loadable(),
    aggregation,
    room: ROOM,
    backoff: { first: 20, most: 100 },
    onNotice: (notice) => notices.push(notice),
    ...changes,
  });
  onTestFinished(() => fleet.close());
  return fleet;
}

const WAIT = { timeout: 60_000, interval: 50 };
const allReady = (fleet: Fleet) =>
  expect
    .poll(() => fleet.status().map((s) => s.state.kind), WAIT)
    .toEqual(Array(LEAVES + SPINES).fill("ready"));
/** Members of a leaf's groups. */
const members = (s: SteeredSwitch | undefined): number =>
  s?.engine.hasPipeline === true ? [...s.engine.table("ecmp.member").entries()].length : -1;
const written = (notices: readonly FleetNotice[]): number =>
  notices.reduce((sum, n) => sum + (n.kind === "written" ? n.updates : 0), 0);

describe("a fleet", { timeout: 200_000 }, () => {
  test("is made ready; a spine that dies is routed around, and taken into use when it comes back", async () => {
    const { topology, switches } = await fabric();
    const fleet = await steer(topology);
    await allReady(fleet);
    const leaf = switches.get("leaf1");
    // One group, to the other leaf, over both spines.
    await expect.poll(() => members(leaf), WAIT).toBe(2);
    const spine = switches.get("spine1") ?? expect.fail();
    const { address } = spine.server;
    spine.kill();
    await expect.poll(() => members(leaf), WAIT).toBe(1);
    expect(fleet.status().find((s) => s.name === "spine1")?.state.kind).toBe("lost");
    const again = await startSwitch(2001, address);
    await expect.poll(() => members(leaf), WAIT).toBe(2);
    await allReady(fleet);
    expect([...again.engine.table("forwarding.route").entries()].length).toBeGreaterThan(0);
  });

  test("that is as it should be is written nothing by a controller that starts again, and its tables are never emptied", async () => {
    const { topology, switches } = await fabric();
    const first = await steer(topology);
    await allReady(first);
    await first.close();
    const before = [...switches.values()].map((s) => s.server.counters.updatesWritten);
    const notices: FleetNotice[] = [];
    const second = await steer(topology, notices);
    await allReady(second);
    expect(notices.filter((n) => n.kind === "written")).toEqual([]);
    expect([...switches.values()].map((s) => s.server.counters.updatesWritten)).toEqual(before);
  });

  test("is finished by the next controller, wherever the one before was broken off", async () => {
    const { topology, switches } = await fabric();
    for (const wait of [1, 20, 60, 150, 300]) {
      const broken = await steer(topology);
      await new Promise((resolve) => setTimeout(resolve, wait));
      await broken.close();
    }
    const fleet = await steer(topology);
    await allReady(fleet);
    await expect.poll(() => members(switches.get("leaf2")), WAIT).toBe(2);
    await fleet.close();
    const notices: FleetNotice[] = [];
    await allReady(await steer(topology, notices));
    expect(written(notices)).toBe(0);
  });

  test("drains a switch, remembers it, and restores it", async () => {
    const { topology, switches } = await fabric();
    const state = new StateMemory();
    const fleet = await steer(topology, [], { state });
    await allReady(fleet);
    await fleet.drain("spine2");
    await expect.poll(() => members(switches.get("leaf1")), WAIT).toBe(1);
    await fleet.close();
    const next = await steer(topology, [], { state });
    await allReady(next);
    expect(next.drained).toEqual(["spine2"]);
    expect(members(switches.get("leaf1"))).toBe(1);
    await next.restore("spine2");
    await expect.poll(() => members(switches.get("leaf1")), WAIT).toBe(2);
    await expect(next.drain("spine9")).rejects.toThrow(/no switch spine9/);
  });

  test("shows drift, and undoes it when asked", async () => {
    const { topology, switches } = await fabric();
    const drift = async (): Promise<void> => {
      const client = await P4RuntimeClient.connect({
        address: switches.get("leaf1")?.server.address ?? "",
        deviceId: 1001n,
      });
      await client.arbitrate(BigInt(Date.now()));
      const entities = new EntityBuilder(await client.useProgram());
      await client.write([insert(entities.tableEntry("route", { dst_addr: "99.0.0.0/8" }, "to_local"))]);
      await client.close();
    };
    const first = await steer(topology);
    await allReady(first);
    await first.close();
    await drift();
    const notices: FleetNotice[] = [];
    const looking = await steer(topology, notices);
    await allReady(looking);
    expect(notices).toContainEqual({ kind: "drift", name: "leaf1", entities: 1, undone: false });
    await looking.close();
    const undoing = await steer(topology, notices, { undoDrift: true });
    await allReady(undoing);
    expect(notices).toContainEqual({ kind: "drift", name: "leaf1", entities: 1, undone: true });
    const routes = [...(switches.get("leaf1")?.engine.table("forwarding.route").entries() ?? [])];
    // Its own address, three other switches and two hosts.
    expect(routes.length).toBe(6);
  });

  test("leaves a switch to a controller that came later", async () => {
    const { topology } = await fabric();
    const first = await steer(topology);
    await allReady(first);
    await new Promise((resolve) => setTimeout(resolve, 5));
    const second = await steer(topology);
    await allReady(second);
    expect(first.status().map((s) => s.state.kind)).toEqual(Array(LEAVES + SPINES).fill("deposed"));
  });

  test("takes a switch that nobody has any more, whatever election ids it remembers; one with an id of its own does not", async () => {
    const { topology, switches } = await fabric();
    const high = 1n << 64n;
    for (const { server } of switches.values()) {
      const client = await P4RuntimeClient.connect({ address: server.address, deviceId: server.deviceId });
      expect((await client.arbitrate(high + 7n)).isPrimary).toBe(true);
      await client.close();
    }
    const fenced = await steer(topology, [], { electionId: high + 6n });
    await expect
      .poll(() => fenced.status().map((s) => s.state.kind), WAIT)
      .toEqual(Array(LEAVES + SPINES).fill("deposed"));
    await fenced.close();
    const single = await steer(topology);
    await allReady(single);
  });
});
