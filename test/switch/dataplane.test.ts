import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { DataplaneServer, type Switch, SwitchRunner } from "../../src/switch/index.ts";
import { DataplaneClient } from "../backends/dataplaneclient.ts";
import { SimpleSwitch } from "../backends/simpleswitch.ts";
import { findTools } from "../backends/tools.ts";
import {
  FAR,
  frame,
  insertFlowGroup,
  MEMBERS,
  NEAR_PORT,
  programOf,
  switchOf,
  traffic,
} from "../features/trafficprograms.ts";

const { bmv2 } = findTools({ bmv2: ["SIMPLE_SWITCH_GRPC", "simple_switch_grpc"] });
const subset = { priority: true, drop: false, ecmp: true, aggregation: false };

async function serve(core: Switch): Promise<DataplaneClient> {
  const runner = new SwitchRunner(core);
  const server = await DataplaneServer.start({ runner, deviceId: 7n, address: "127.0.0.1:0" });
  const client = new DataplaneClient(server.address, 7n);
  onTestFinished(async () => {
    client.close();
    await server.close();
    await runner.close();
  });
  return client;
}

const to = (port: number, data: Uint8Array) => ({ port, data });
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

describe("ports by gRPC, as simple_switch_grpc has them", () => {
  test("carry each packet and say which one it comes from", async () => {
    const packets = fc.sample(traffic, { numRuns: 300, seed: 3 }).filter(({ data }) => data.length > 0);
    const other = switchOf(subset);
    const wanted = packets.map(({ port, data }) =>
      other
        .inject(port, data)
        .map((f) => `${f.port}:${hex(f.data)}`)
        .sort(),
    );
    expect(await (await serve(switchOf(subset))).send(packets)).toEqual(wanted);
    expect(wanted.filter((out) => out.length > 0).length).toBeGreaterThan(50);
  });

  test("keep the origin of packets that wait, and end when the last has left", async () => {
    const core = switchOf(subset);
    core.trafficManager.setRate(NEAR_PORT, { kind: "packetsPerSecond", rate: 500 });
    const client = await serve(core);
    const out = await client.burst([0, 1, 2, 3, 4].map((id) => to(0, frame({ id }))));
    expect(out.map(({ id, port, deviceId }) => [id, port, deviceId])).toEqual(
      [1n, 2n, 3n, 4n, 5n].map((id) => [id, NEAR_PORT, 7n]),
    );
  });

  test("pass over packets for other devices and empty ones, and refuse ports that cannot be", async () => {
    const client = await serve(switchOf(subset));
    expect(await client.burst([to(0, new Uint8Array(0)), to(0, frame({}))])).toHaveLength(1);
    const stream = client.stream();
    const got: bigint[] = [];
    const end = new Promise<{ code: number }>((resolve) => stream.on("error", resolve));
    stream.on("data", ({ id }) => got.push(id));
    stream.write({ id: 5n, deviceId: 8n, port: 0, packet: frame({}) });
    stream.write({ id: 6n, deviceId: 7n, port: 512, packet: frame({}) });
    expect(await end).toMatchObject({ code: 3, details: "there is no port 512; they are 0 to 511" });
    expect(got).toEqual([]);
  });

  test("have one client at a time", async () => {
    const client = await serve(switchOf(subset));
    const first = client.stream();
    first.write({ id: 1n, deviceId: 7n, port: 0, packet: frame({}) });
    await new Promise((resolve) => first.once("data", resolve));
    await expect(client.burst([])).rejects.toMatchObject({ code: 8 });
    first.end();
    await new Promise((resolve) => first.once("end", resolve));
    expect(await client.burst([to(0, frame({}))])).toHaveLength(1);
  });

  test("go down and up, which groups that watch them notice", async () => {
    const core = switchOf({ ...subset, spray: "none" });
    const watched = MEMBERS.map((member) => ({ ...member, watchPort: member.port }));
    insertFlowGroup(core, 3, MEMBERS);
    const profile = [...core.profiles.values()].find(({ groups }) => groups.length > 0);
    const group = profile?.groups[0];
    if (profile === undefined || group === undefined) expect.fail("no group");
    const members = group.members.map((member, i) => ({ ...member, watchPort: watched[i]?.port ?? 0 }));
    profile.modifyGroup(group.id, members);
    const client = await serve(core);
    const packets = Array.from({ length: 40 }, (_, id) => to(0, frame({ to: FAR, id, flow: 1000 + id })));
    const used = async () => new Set((await client.burst(packets)).map(({ port }) => port));
    expect([...(await used())].sort()).toEqual([5, 6, 7]);
    const status = (port: number, operStatus: number, deviceId = 7n) =>
      client.setPortStatus({ deviceId, port, operStatus });
    await status(6, 1);
    expect([...(await used())].sort()).toEqual([5, 7]);
    await status(6, 2);
    expect([...(await used())].sort()).toEqual([5, 6, 7]);
    await expect(status(6, 0)).rejects.toMatchObject({ code: 3 });
    await expect(status(6, 1, 1n)).rejects.toMatchObject({ code: 3 });
  });
});

describe.skipIf(bmv2 === undefined)("simple_switch_grpc", () => {
  test("answers the second client and a wrong status with the same codes", async () => {
    const real = await SimpleSwitch.start(bmv2 ?? "");
    onTestFinished(() => real.stop());
    const files = generate(programOf(subset).ir);
    const text = (name: string): string => Buffer.from(files.get(name) ?? "").toString();
    // It answers "not ready" until it has a program.
    await real.load(text("p4info.txtpb"), text("traffic.json"), switchOf(subset));
    const client = new DataplaneClient(real.dataplaneAddress, 1n);
    onTestFinished(() => client.close());
    const first = client.stream();
    first.write({ id: 1n, deviceId: 2n, port: 0, packet: frame({}) });
    await expect
      .poll(
        () =>
          client.burst([]).then(
            () => "taken",
            ({ code }) => code,
          ),
        { timeout: 20_000 },
      )
      .toBe(8);
    const wrong = { deviceId: 1n, port: 6, operStatus: 0 };
    await expect(client.setPortStatus(wrong)).rejects.toMatchObject({ code: 3 });
    await expect(client.setPortStatus({ ...wrong, deviceId: 3n })).rejects.toMatchObject({ code: 3 });
    first.end();
    first.resume();
    await new Promise((resolve) => first.once("end", resolve));
  }, 60_000);
});
