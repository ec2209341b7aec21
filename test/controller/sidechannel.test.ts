import { type AddressInfo, createServer } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { Bmv2SideChannel, EmbeddedSideChannel, type SideChannel } from "../../src/controller/index.ts";
import { ThriftConnection } from "../../src/controller/sidechannel/thrift.ts";
import { AdminServer, AdminService, Switch, SwitchRunner } from "../../src/switch/index.ts";
import { SimpleSwitch } from "../backends/simpleswitch.ts";
import { findTools } from "../backends/tools.ts";
import { programOf, switchOf } from "../features/trafficprograms.ts";

const { bmv2 } = findTools({ bmv2: ["SIMPLE_SWITCH_GRPC", "simple_switch_grpc"] });
const aggregating = { priority: true, drop: false, ecmp: true, aggregation: true };

async function embedded(core: Switch): Promise<SideChannel> {
  const runner = new SwitchRunner(core);
  const server = await AdminServer.start(new AdminService({ runner }), "127.0.0.1:0");
  const channel = new EmbeddedSideChannel(server.address);
  onTestFinished(async () => {
    await channel.close();
    await server.close();
    await runner.close();
  });
  return channel;
}

/** Reads and writes the first register of a program on both kinds of switches. */
async function registersWork(channel: SideChannel, core: Switch): Promise<void> {
  const [register] = [...core.registers.values()].filter(({ width }) => width === 32);
  if (register === undefined) expect.fail("no register");
  await channel.writeRegister(register.name, 2, 0xdead_beefn);
  expect(await channel.readRegister(register.name, 1, 3)).toEqual([0n, 0xdead_beefn, 0n]);
  await expect(channel.readRegister(register.name, register.size, 1)).rejects.toMatchObject({
    code: "refused",
  });
  await expect(channel.writeRegister("nothing", 0, 1n)).rejects.toMatchObject({
    code: "refused",
    address: channel.address,
  });
}

describe("the side channel of the embedded switch", () => {
  test("sets rates and depths of ports and queues", async () => {
    const core = new Switch();
    const channel = await embedded(core);
    await channel.setPortRate(undefined, { kind: "bitsPerSecond", rate: 1e9 });
    await channel.setPortRate(2, { kind: "unlimited" });
    await channel.setQueueRate(2, 5, { kind: "packetsPerSecond", rate: 2500 });
    await channel.setQueueDepth({}, 100);
    await channel.setQueueDepth({ queue: 7 }, 200);
    await channel.setQueueDepth({ port: 2, queue: 5 }, 10);
    const { trafficManager } = core;
    expect([1, 2].map((port) => trafficManager.portSettings(port).rate)).toEqual([
      { kind: "bitsPerSecond", rate: 1e9 },
      { kind: "unlimited" },
    ]);
    expect(trafficManager.queueSettings(2, 5)).toMatchObject({
      rate: { kind: "packetsPerSecond", rate: 2500 },
      depth: { packets: 10 },
    });
    expect([0, 7].map((queue) => trafficManager.queueSettings(3, queue)?.depth)).toEqual([
      { packets: 100 },
      { packets: 200 },
    ]);
    await expect(channel.setQueueRate(2, 8, { kind: "unlimited" })).rejects.toThrow('there is no "8"');
  });

  test("reads and writes registers", async () => {
    const core = switchOf(aggregating);
    await registersWork(await embedded(core), core);
  });

  test("says who does not answer, and who is no switch", async () => {
    await expect(new EmbeddedSideChannel("127.0.0.1:1").setQueueDepth({}, 1)).rejects.toMatchObject({
      code: "unreachable",
      message: expect.stringContaining("127.0.0.1:1: "),
    });
    const other = createServer((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi"));
    onTestFinished(() => void other.close());
    await expect(new EmbeddedSideChannel(await addressOf(other)).setQueueDepth({}, 1)).rejects.toMatchObject({
      code: "unreachable",
    });
  });

  test("refuses what web pages send", async () => {
    const runner = new SwitchRunner(new Switch());
    const server = await AdminServer.start(new AdminService({ runner }), "127.0.0.1:0");
    onTestFinished(() => server.close());
    const answer = await fetch(`http://${server.address}/watermarks/reset`, {
      method: "POST",
      headers: { origin: "http://example.org" },
    });
    expect(answer.status).toBe(403);
  });
});

async function addressOf(server: ReturnType<typeof createServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  // An address, since it listens on TCP.
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe("calls in Thrift", () => {
  test.each([
    ["HTTP/1.1 400 Bad Request\r\n\r\n", "the answer is no Thrift"],
    ["", "the connection was closed"],
  ])("that are answered by %j fail at once", async (answer, reason) => {
    const server = createServer((socket) => socket.end(answer));
    onTestFinished(() => void server.close());
    const address = await addressOf(server);
    const channel = await Bmv2SideChannel.open(address);
    await expect(channel.setPortRate(1, { kind: "unlimited" })).rejects.toThrow(reason);
    await expect(channel.setPortRate(1, { kind: "unlimited" })).rejects.toMatchObject({
      code: "unreachable",
    });
    await channel.close();
  });

  test("find answers however they are cut", async () => {
    // A reply of i64 -5, the one exception of a register, and a plain exception of Thrift.
    const replies = [
      "80010002 00000003 613a62 00000001 0a 0000 fffffffffffffffb 00",
      "80010002 00000003 613a62 00000002 0c 0001 08 0001 00000002 00 00",
      "80010003 00000003 613a62 00000003 0b 0001 00000004 6e6f7065 08 0002 00000001 00",
    ].map((hex) => Buffer.from(hex.replaceAll(" ", ""), "hex"));
    const server = createServer((socket) => {
      socket.once("data", async () => {
        for (const byte of Buffer.concat(replies)) {
          socket.write(Buffer.of(byte));
          await new Promise(setImmediate);
        }
      });
    });
    onTestFinished(() => void server.close());
    const [host = "", port = ""] = (await addressOf(server)).split(":");
    const connection = await ThriftConnection.open(host, Number(port));
    const answers = await Promise.allSettled([1, 2, 3].map(() => connection.call("a", "b")));
    expect(answers).toMatchObject([
      { value: -5n },
      { reason: { kind: "exception", message: 'it failed with {"1":2}' } },
      { reason: { kind: "exception", message: "nope" } },
    ]);
    connection.close();
  });
});

describe.skipIf(bmv2 === undefined)("the side channel of simple_switch_grpc", () => {
  test("sets queues, and reads and writes registers that its P4Runtime has not", async () => {
    const core = switchOf(aggregating);
    const files = generate(programOf(aggregating).ir);
    const text = (name: string): string => Buffer.from(files.get(name) ?? "").toString();
    const real = await SimpleSwitch.start(bmv2 ?? "", { cpuPort: 510 });
    onTestFinished(() => real.stop());
    await real.load(text("p4info.txtpb"), text("traffic.json"), core);
    const channel = await Bmv2SideChannel.open(real.thriftAddress);
    onTestFinished(() => channel.close());
    await channel.setPortRate(undefined, { kind: "unlimited" });
    await channel.setPortRate(1, { kind: "packetsPerSecond", rate: 1000 });
    await channel.setQueueRate(1, 7, { kind: "packetsPerSecond", rate: 2000 });
    await channel.setQueueDepth({ port: 1 }, 100);
    await channel.setQueueDepth({ port: 1, queue: 7 }, 10);
    await expect(channel.setPortRate(1, { kind: "bitsPerSecond", rate: 1 })).rejects.toMatchObject({
      code: "unsupported",
    });
    await registersWork(channel, core);
  }, 60_000);
});
