import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import { InProcessPort, Switch, SwitchRunner, UdpPort } from "../../src/switch/index.ts";
import { assign, bytes, extract, field, hex, op, program, sm, text } from "./fixtures/builder.ts";

/** Sends each frame to the port that its first byte names. */
const byFirstByte = program({
  types: { h_t: [["port", 8]] },
  headers: { h: "h_t" },
  parser: { start: { ops: [extract("h")] } },
  ingressBody: [assign(sm("egress_spec"), op("&", field("h.port"), hex(0xff)))],
});

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const item of open.splice(0)) await item.close();
});

async function host(): Promise<{ readonly socket: Socket; readonly port: number }> {
  const socket = createSocket("udp4");
  open.push({ close: () => socket.close() });
  socket.bind(0, "127.0.0.1");
  await once(socket, "listening");
  return { socket, port: socket.address().port };
}

async function received(socket: Socket): Promise<string | undefined> {
  const [message] = await once(socket, "message");
  return text(message);
}

describe("UDP ports", () => {
  it("carry one frame per datagram, to a fixed peer or to the last sender", async () => {
    const runner = new SwitchRunner(new Switch(byFirstByte));
    open.push(runner);
    const a = await host();
    const b = await host();
    const one = await UdpPort.open("s1-eth1");
    const two = await UdpPort.open("s1-eth2", { peer: { port: b.port } });
    runner.attach(1, one);
    runner.attach(2, two);
    const atB = received(b.socket);
    a.socket.send(bytes("02aabb"), one.localPort, "127.0.0.1");
    expect(await atB).toBe("02aabb");
    const atA = received(a.socket);
    b.socket.send(bytes("01cc"), two.localPort, "127.0.0.1");
    expect(await atA).toBe("01cc");
    expect(one.statistics()).toMatchObject({ received: 1, errors: {} });
  });

  it("count what can't be sent and never throw", async () => {
    const port = await UdpPort.open("p");
    port.send(bytes("aa"));
    expect(port.statistics().errors).toEqual({ NO_PEER: 1 });
    await port.close();
    await port.close();
    port.send(bytes("aa"));
    const { errors } = port.statistics();
    expect(Object.values(errors).reduce((sum, count) => sum + count, 0)).toBe(2);
  });

  it("reject an address that is taken", async () => {
    const a = await host();
    await expect(UdpPort.open("p", { port: a.port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  });
});

describe("in-process ports", () => {
  it("link a host to the switch, and paced queues are served by the runner's timer", async () => {
    const runner = new SwitchRunner(new Switch(byFirstByte));
    open.push(runner);
    runner.core.trafficManager.setRate(2, { kind: "packetsPerSecond", rate: 1000 });
    const [host1, port1] = InProcessPort.link("h1", "s1-eth1");
    const [host2, port2] = InProcessPort.link("h2", "s1-eth2");
    runner.attach(1, port1);
    runner.attach(2, port2);
    const frames: (string | undefined)[] = [];
    const all = new Promise<void>((resolve) => {
      host2.onFrame((frame) => {
        frames.push(text(frame));
        if (frames.length === 3) resolve();
      });
    });
    for (const frame of ["0201", "0202", "0203", "0900"]) host1.send(bytes(frame));
    await all;
    expect(frames).toEqual(["0201", "0202", "0203"]);
    expect(runner.unconnectedFrames).toBe(1);
    await runner.close();
    host1.send(bytes("02"));
    expect(host1.statistics().errors).toEqual({ NO_PEER: 1 });
  });
});
