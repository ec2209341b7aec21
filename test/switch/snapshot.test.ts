import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { insert, P4RuntimeClient, p4infoFromText } from "../../src/p4runtime/index.ts";
import { SnapshotError, Switch, SwitchRunner } from "../../src/switch/index.ts";
import {
  decodeSnapshot,
  EmbeddedSwitchTarget,
  encodeSnapshot,
  ioOf,
  P4RuntimeServer,
  type P4RuntimeServerOptions,
  type StateSnapshot,
} from "../../src/switch/p4runtime/index.ts";
import { CPU } from "../features/aggregationrequests.ts";
import { probes, programOf, type Subset, switchOf, traffic, traffic6 } from "../features/trafficprograms.ts";

const everything: Subset = {
  ...{ priority: true, drop: true, ecmp: true, aggregation: true },
  ...{ ipv6: true, telemetry: true, probe: true, spray: "gradient" },
};
const files = generate(programOf(everything).ir);
const json = Buffer.from(files.get("traffic.json") ?? "");
const p4info = p4infoFromText(Buffer.from(files.get("p4info.txtpb") ?? "").toString());
const PACKETS = fc.sample(fc.oneof(traffic, traffic6, probes), { numRuns: 600, seed: 5 });

/** What comes out of a switch for some packets, and what it has counted in the end. */
function behaviour(sw: Switch, from: number): readonly string[] {
  const out = PACKETS.slice(from).flatMap(({ port, data }, i) =>
    sw
      .inject(port, data, (from + i) * 10)
      .map((f) => `${i} ${f.port} ${Buffer.from(f.data).toString("hex")}`),
  );
  const counted = [...sw.counters].map(([name, counter]) =>
    Array.from(
      { length: counter.size },
      (_, cell) => `${name} ${cell} ${JSON.stringify(counter.read(cell), text)}`,
    ),
  );
  return [...out, ...counted.flat()];
}

const text = (_: string, value: unknown): unknown => (typeof value === "bigint" ? String(value) : value);

describe("a snapshot of a switch", () => {
  test("goes on as the switch itself does: entries, groups, registers, counters, settings of queues", () => {
    const sw = switchOf(everything);
    sw.trafficManager.configureQueues(
      { port: 2, queue: 3 },
      { depth: { bytes: 9000 }, drop: { packets: 5 } },
    );
    sw.trafficManager.configurePort(undefined, { buffer: 100_000 });
    PACKETS.slice(0, 300).forEach(({ port, data }, i) => void sw.inject(port, data, i * 10));
    const snapshot = sw.snapshot();
    const other = Switch.restore(json, snapshot, sw.options, 3000);
    expect(other.snapshot()).toBe(snapshot);
    expect(other.trafficManager.queueSettings(2, 3)).toEqual(sw.trafficManager.queueSettings(2, 3));
    const wanted = behaviour(sw, 300);
    expect(behaviour(other, 300)).toEqual(wanted);
    expect(wanted.length).toBeGreaterThan(200);
  });

  test("is refused when it is none, damaged, or of another program", () => {
    const snapshot = switchOf({ ...everything, aggregation: false }).snapshot();
    for (const [wrong, reason] of [
      ["", "it is no JSON"],
      ["[]", "no snapshot of this version"],
      ['{"format":"gradplane-switch-1"}', "it is damaged"],
      [
        snapshot.replace('"selective_drop.threshold":', '"selective_drop.other":'),
        "the program has no table",
      ],
      [snapshot.replace('"$":"', '"$":"9999999999'), "does not fit"],
      [snapshot.replace('"$":"', '"$":"x'), "it is no JSON"],
    ] as const) {
      expect(() => Switch.restore(json, wrong)).toThrow(SnapshotError);
      expect(() => Switch.restore(json, wrong)).toThrow(reason);
    }
    expect(() => new Switch().snapshot()).toThrow("has no pipeline");
  });
});

async function serve(options: Partial<P4RuntimeServerOptions> = {}) {
  const core = new Switch(undefined, { cpuPort: CPU });
  const runner = new SwitchRunner(core, { clock: () => 0 });
  const target = new EmbeddedSwitchTarget(core, ioOf(runner));
  const server = await P4RuntimeServer.start({ target, address: "127.0.0.1:0", deviceId: 3n, ...options });
  onTestFinished(async () => {
    await server.close();
    await runner.close();
  });
  return { core, server };
}

async function connect(server: P4RuntimeServer): Promise<P4RuntimeClient> {
  const client = await P4RuntimeClient.connect({ address: server.address, deviceId: 3n });
  onTestFinished(() => client.close());
  return client;
}

describe("a snapshot of a device", () => {
  const program = { p4info, deviceConfig: json };

  /** A device that a client has written to, and to which packets have come. */
  async function used() {
    const { core, server } = await serve();
    const client = await connect(server);
    await client.arbitrate(1n);
    await client.pushPipeline(p4info, json);
    const { entities } = client;
    const via = (port: number) => ({ port, dst_mac: "02:00:00:00:00:07" });
    await client.write([
      insert(
        entities.tableEntry("forwarding.route", { dst_addr: "10.0.0.0/24" }, "forwarding.to_port", via(2)),
      ),
      insert(
        entities.tableEntry("forwarding.route", { dst_addr: "10.0.9.0/24" }, "forwarding.to_port", via(3)),
      ),
      insert(
        entities.multicastGroup(5, [
          { port: 1, instance: 1 },
          { port: 2, instance: 1 },
        ]),
      ),
      insert(entities.cloneSession(9, [{ port: 4, instance: 0 }])),
    ]);
    for (const { port, data } of PACKETS.slice(0, 200)) core.inject(port, data);
    return { core, server, client };
  }

  test("comes back with its program, what clients wrote and what it counted, cookie included", async () => {
    const { core, server, client } = await used();
    const bytes = encodeSnapshot(server.snapshot({ all: { buffer: "none" } }));
    const snapshot = decodeSnapshot(bytes);
    expect(snapshot.ports).toEqual({ all: { buffer: "none" } });
    const other = await serve({ snapshot, program });
    const again = await connect(other.server);
    await again.useProgram();
    expect(await again.getCookie()).toEqual(await client.getCookie());
    const all = (of: P4RuntimeClient) => of.readAll([of.entities.allEntries("forwarding.route")]);
    expect(await all(again)).toEqual(await all(client));
    expect(await all(again)).toHaveLength(2);
    expect(other.core.snapshot()).toBe(core.snapshot());
    expect(behaviour(other.core, 200)).toEqual(behaviour(core, 200));
    // A controller may go on: it is asked for an election again, and finds its entries.
    await again.arbitrate(1n);
    const entry = again.entities.tableEntry(
      "forwarding.route",
      { dst_addr: "10.0.0.0/24" },
      "forwarding.to_port",
      { port: 2, dst_mac: "02:00:00:00:00:07" },
    );
    await expect(again.write([insert(entry)])).rejects.toThrow(/exists already/);
  });

  test("without a program is a device without one", async () => {
    const { server } = await serve();
    const snapshot = decodeSnapshot(encodeSnapshot(server.snapshot({})));
    expect(snapshot).toMatchObject({ deviceId: 3n, config: undefined, updates: [] });
    expect((await serve({ snapshot })).core.hasPipeline).toBe(false);
  });

  test("is refused for another device or program, and when something of it does not fit", async () => {
    const snapshot = (await used()).server.snapshot({});
    const [update] = snapshot.updates;
    if (update === undefined) expect.fail("nothing was written");
    const refused = async (given: StateSnapshot, options: Partial<P4RuntimeServerOptions> = {}) =>
      serve({ snapshot: given, ...options }).then(
        () => "taken",
        (error: Error) => `${error.name}: ${error.message}`,
      );
    expect(await refused(snapshot, { deviceId: 4n })).toBe(
      "StateSnapshotError: it is of device 3; this is device 4",
    );
    const another = { p4info, deviceConfig: Buffer.from(`${json} `) };
    expect(await refused(snapshot, { program: another })).toContain("it is of another program");
    expect(await refused({ ...snapshot, updates: [update, update] })).toMatch(
      /StateSnapshotError: the snapshot cannot be kept: .* exists already/,
    );
  });

  test("is found out when it is cut off, damaged, or something else", async () => {
    const bytes = encodeSnapshot((await used()).server.snapshot({}));
    expect(() => decodeSnapshot(Buffer.from("hello, I am a file"))).toThrow("it is no snapshot of a switch");
    for (let cut = 0; cut < bytes.length; cut += Math.ceil(bytes.length / 40))
      expect(() => decodeSnapshot(bytes.subarray(0, cut))).toThrow(/it is (cut off|no snapshot)/);
    const damaged = Buffer.from(bytes);
    damaged.fill(0xff, 12, 40);
    expect(() => decodeSnapshot(damaged)).toThrow("it is damaged");
  });
});
