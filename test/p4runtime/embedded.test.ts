import { describe, expect, it } from "vitest";
import { generate } from "../../src/backends/index.ts";
import type { Topology } from "../../src/controller/topology.ts";
import { baseState, jobEntries } from "../../src/controller/wantedstate.ts";
import { fp32, hotAggregation, ipv4Forwarding, program } from "../../src/dsl/index.ts";
import { contentsOf } from "../../src/ir/index.ts";
import { p4infoFromBinary } from "../../src/p4info/index.ts";
import { Code } from "../../src/p4runtime/code.ts";
import { insert, modify, remove } from "../../src/p4runtime/entities.ts";
import { P4RuntimeServer } from "../../src/switch/p4runtime/server.ts";
import { EmbeddedSwitchTarget, ioOf } from "../../src/switch/p4runtime/switch-target.ts";
import { SwitchRunner } from "../../src/switch/ports/switch-runner.ts";
import { Switch } from "../../src/switch/switch.ts";
import { parseIpv4, parseMac } from "../../src/wire/address.ts";
import { AGGREGATION_PORT, Kind, ModeId } from "../../src/wire/aggregation.ts";
import { type AggregationMessage, aggregationFrame } from "../../src/wire/aggregationpacket.ts";
import { connect, stopAfterTest } from "./bench.ts";

const CPU = 100;
const feature = hotAggregation({ workers: 4, lanes: 1, rows: 8, chunk: 4, mode: fp32(), result: "ps" });
const { ir } = program("small", { ports: 8, cpuPort: CPU, features: [ipv4Forwarding(), feature] });
const files = generate(ir);

function file(name: string): Uint8Array {
  const content = files.get(name);
  if (content === undefined) throw new Error(`no ${name}`);
  return typeof content === "string" ? new TextEncoder().encode(content) : content;
}

const P4INFO = p4infoFromBinary(file("p4info.bin"));
const JSON_BYTES = file("small.json");

const OWN = { mac: "02:00:00:00:01:00", ipv4: "10.0.1.1" };
const topology: Topology = {
  switches: [{ name: "s1", target: "127.0.0.1:1", deviceId: 1n, ...OWN }],
  hosts: [0, 1, 2, 3, 5].map((port) => ({
    name: `h${port}`,
    mac: `02:00:00:00:00:0${port + 1}`,
    ipv4: `10.0.0.${port + 1}`,
    attachments: [{ switch: "s1", port }],
  })),
};

/** The embedded switch with its P4Runtime server; frames that leave by a port are kept. */
async function startSwitch() {
  const sw = new Switch(undefined, { cpuPort: CPU, ports: [0, 1, 2, 3, 4, 5, 6, 7, CPU] });
  const runner = new SwitchRunner(sw);
  stopAfterTest(() => runner.close());
  const sent: { readonly port: number; readonly data: Uint8Array }[] = [];
  const inlets = new Map<number, (frame: Uint8Array) => void>();
  for (let port = 0; port < 8; port++)
    runner.attach(port, {
      name: `port ${port}`,
      send: (data) => sent.push({ port, data }),
      onFrame: (inlet) => inlets.set(port, inlet),
      statistics: () => ({ received: 0, sent: 0, errors: {} }),
      close: () => Promise.resolve(),
    });
  const target = new EmbeddedSwitchTarget(sw, ioOf(runner));
  const server = await P4RuntimeServer.start({ target, address: "127.0.0.1:0" });
  stopAfterTest(() => server.close());
  const client = await connect(server.address);
  await client.arbitrate(1n);
  return { sw, sent, client, server, receive: (port: number, data: Uint8Array) => inlets.get(port)?.(data) };
}

async function startProgram() {
  const bench = await startSwitch();
  await bench.client.pushPipeline(P4INFO, JSON_BYTES);
  return bench;
}

function contribution(port: number, message: AggregationMessage): Uint8Array {
  return aggregationFrame(
    {
      srcMac: parseMac(`02:00:00:00:00:0${port + 1}`),
      dstMac: parseMac(OWN.mac),
      srcIp: parseIpv4(`10.0.0.${port + 1}`),
      dstIp: parseIpv4(OWN.ipv4),
      srcPort: 40_000,
      dstPort: AGGREGATION_PORT,
    },
    message,
  );
}

describe("the embedded switch over P4Runtime", () => {
  it("is filled by name with everything a job needs, in thousands of entries", async () => {
    const { client, sw } = await startProgram();
    const { entities } = client;
    const base = baseState(topology, "s1");
    const job = {
      job: 1,
      generation: 7,
      workers: ["h0", "h1"],
      server: "h5",
      on: "s1",
      slotBase: 0,
      rows: 4,
      firstRound: 1,
      scale: 127,
    };
    const wanted = [...base.entries, ...contentsOf(ir), ...jobEntries(topology, feature, job)];
    expect(wanted.length).toBeGreaterThan(1000);
    await client.write([
      ...wanted.map((entry) =>
        insert(entities.tableEntry(entry.table, entry.match, entry.action, entry.params)),
      ),
      ...base.cloneSessions.map(({ id, port }) => insert(entities.cloneSession(id, [{ port }]))),
    ]);
    const read = await client.readAll([entities.allEntries()]);
    const own = client.schema.tables.all.filter((table) => table.isConst);
    const constant = own.reduce((sum, table) => sum + sw.table(table.name).size, 0);
    expect(read).toHaveLength(wanted.length + constant);
    expect(sw.replication.allSessions()).toHaveLength(base.cloneSessions.length);
  });

  it("forwards, counts, and shows its counters", async () => {
    const { client, receive, sent } = await startProgram();
    const { entities } = client;
    const route = (port: number) =>
      entities.tableEntry("forwarding.route", { dst_addr: "10.0.0.0/24" }, "to_port", {
        port,
        dst_mac: OWN.mac,
      });
    await client.write([insert(route(3))]);
    const frame = contribution(0, message());
    // To another host, so that it is forwarded.
    frame.set([10, 0, 0, 9], 30);
    fixChecksum(frame);
    receive(0, frame);
    expect(sent.map(({ port }) => port)).toEqual([3]);
    await client.write([modify(route(4))]);
    receive(0, frame);
    expect(sent.map(({ port }) => port)).toEqual([3, 4]);
    const counter = async (index: number) => {
      const [entity] = await client.readAll([entities.counter("forwarding.events", index)]);
      return entity?.entity?.case === "counterEntry" ? entity.entity.value.data?.packetCount : undefined;
    };
    expect(await counter(0)).toBe(2n);
    await client.write([modify(entities.counter("forwarding.events", 0, { packetCount: (1n << 63n) - 1n }))]);
    receive(0, frame);
    expect(await counter(0)).toBe(-(1n << 63n));
    await client.write([remove(route(4))]);
    receive(0, frame);
    expect(sent).toHaveLength(3);
    expect(await counter(6)).toBe(1n);
  });

  it("has registers that can be read and written", async () => {
    const { client, sw } = await startProgram();
    const { entities } = client;
    const [register] = client.schema.registers.all;
    expect(register).toBeDefined();
    if (register === undefined) return;
    const max = (1n << BigInt(register.bitwidth ?? 0)) - 1n;
    await client.write([modify(entities.register(register.name, 1, max))]);
    expect(sw.register(register.name).read(1)).toBe(max);
    const all = await client.readAll([entities.register(register.name)]);
    expect(all).toHaveLength(register.size);
    await client.write([modify(entities.register(register.name, undefined, 0))]);
    expect(sw.register(register.name).read(1)).toBe(0n);
  });

  it("takes packets from the controller and gives it packets, with their metadata (pitfall 23)", async () => {
    const { client, receive, sent } = await startProgram();
    const { entities } = client;
    const payload = contribution(0, message());
    client.sendPacket(payload, { egress_port: 6, submit: 0 });
    client.sendPacket(payload, { egress_port: 0, submit: 1 });
    await client.getCookie();
    await expect.poll(() => sent.length).toBe(1);
    expect(sent[0]).toEqual({ port: 6, data: payload });
    await client.write([
      insert(
        entities.tableEntry("forwarding.route", { dst_addr: "0.0.0.0/0" }, "to_port", {
          port: CPU,
          dst_mac: 1,
        }),
      ),
    ]);
    const frame = contribution(2, message());
    frame.set([10, 0, 0, 9], 30);
    fixChecksum(frame);
    receive(2, frame);
    for await (const packet of client.packets()) {
      expect(packet.metadata).toMatchObject({ ingress_port: 2n });
      expect(packet.payload).toHaveLength(frame.length);
      break;
    }
  });

  it("starts from nothing with a new pipeline, multicast groups and clone sessions too (pitfall 25)", async () => {
    const { client, sw } = await startProgram();
    const { entities } = client;
    const fill = () => [
      insert(entities.tableEntry("forwarding.route", { dst_addr: "10.0.0.0/8" }, "to_local")),
      insert(entities.multicastGroup(1, [{ port: 1 }, { port: 2, instance: 5 }])),
      insert(entities.cloneSession(7, [{ port: 3 }], { packetLengthBytes: 64 })),
      modify(entities.counter("forwarding.events", 0, { packetCount: 5n, byteCount: 500n })),
    ];
    await client.write(fill());
    expect(sw.replication.group(1)?.replicas).toHaveLength(2);
    expect(sw.replication.session(7)?.packetLength).toBe(64);
    await client.pushPipeline(P4INFO, JSON_BYTES);
    expect(sw.replication.group(1)).toBeUndefined();
    expect(sw.replication.session(7)).toBeUndefined();
    expect(
      await client.readAll([
        entities.allEntries("forwarding.route"),
        entities.multicastGroup(0),
        entities.cloneSession(0),
      ]),
    ).toEqual([]);
    expect(sw.counter("forwarding.events").read(0).packets).toBe(0n);
    await client.write(fill());
  });

  it("keeps entries, groups, sessions and counters when it is reconciled (pitfall 28)", async () => {
    const { client, sw, receive, sent } = await startProgram();
    const { entities } = client;
    await client.write([
      ...[1, 2, 3, 4].map((host) =>
        insert(
          entities.tableEntry("forwarding.route", { dst_addr: `10.0.0.${host}` }, "to_port", {
            port: host,
            dst_mac: 1,
          }),
        ),
      ),
      insert(entities.multicastGroup(1, [{ port: 1 }])),
      insert(entities.cloneSession(7, [{ port: 3 }])),
      modify(entities.counter("forwarding.events", 2, { packetCount: 5n })),
    ]);
    await client.pushPipeline(P4INFO, JSON_BYTES, { action: "RECONCILE_AND_COMMIT" });
    expect(await client.readAll([entities.allEntries("forwarding.route")])).toHaveLength(4);
    expect(sw.replication.group(1)?.replicas).toEqual([{ port: 1, instance: 0 }]);
    expect(sw.replication.session(7)).toBeDefined();
    expect(sw.counter("forwarding.events").read(2).packets).toBe(5n);
    const frame = contribution(0, message());
    frame.set([10, 0, 0, 2], 30);
    fixChecksum(frame);
    receive(0, frame);
    expect(sent.map(({ port }) => port)).toEqual([2]);
  });

  it("refuses a P4Info that does not belong to the JSON, and names the difference (pitfall 24)", async () => {
    const { client } = await startSwitch();
    const [first, ...rest] = P4INFO.tables;
    expect(first).toBeDefined();
    if (first === undefined) return;
    const renamed = {
      ...P4INFO,
      tables: [{ ...first, preamble: { ...first.preamble, name: "forwarding.elsewhere" } }, ...rest],
    };
    await expect(client.pushPipeline(renamed, JSON_BYTES)).rejects.toMatchObject({
      code: Code.INVALID_ARGUMENT,
      message: expect.stringContaining("no table forwarding.elsewhere"),
    });
    await expect(client.pushPipeline(P4INFO, new TextEncoder().encode("{"))).rejects.toMatchObject({
      code: Code.INVALID_ARGUMENT,
    });
    await expect(client.pushPipeline(P4INFO, new TextEncoder().encode("{}"))).rejects.toMatchObject({
      code: Code.INVALID_ARGUMENT,
    });
    expect(await client.getPipeline()).toBeUndefined();
  });

  it("sums what two workers send, by entries that came over P4Runtime", async () => {
    const { client, receive, sent } = await startProgram();
    const { entities } = client;
    const base = baseState(topology, "s1");
    const job = {
      job: 1,
      generation: 7,
      workers: ["h0", "h1"],
      server: "h5",
      on: "s1",
      slotBase: 0,
      rows: 4,
      firstRound: 1,
      scale: 127,
    };
    const wanted = [...base.entries, ...contentsOf(ir), ...jobEntries(topology, feature, job)];
    await client.write([
      ...wanted.map((entry) =>
        insert(entities.tableEntry(entry.table, entry.match, entry.action, entry.params)),
      ),
      ...base.cloneSessions.map(({ id, port }) => insert(entities.cloneSession(id, [{ port }]))),
    ]);
    for (const worker of [0, 1]) receive(worker, contribution(worker, message(worker)));
    // Both are acknowledged, and the sum goes to the server on port 5.
    expect(sent.map(({ port }) => port).sort()).toEqual([0, 1, 5]);
  });
});

/** A contribution of 1.0, as a raw float32 code. */
function message(member = 0): AggregationMessage {
  return {
    header: {
      version: 1,
      kind: Kind.CONTRIBUTION,
      flags: 0,
      job: 1,
      generation: 7,
      member,
      scale: 127,
      slot: 0,
      lanes: 1,
      mode: ModeId.fp32,
      round: 1,
    },
    lanes: Int32Array.of(0x3f800000),
  };
}

function fixChecksum(frame: Uint8Array): void {
  frame.set([0, 0], 24);
  let sum = 0;
  for (let at = 14; at < 34; at += 2) sum += ((frame[at] ?? 0) << 8) | (frame[at + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  frame.set([(~sum >> 8) & 0xff, ~sum & 0xff], 24);
}
