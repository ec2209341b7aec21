import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { connect as connectTo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { type RunningSwitch, startSwitchProcess } from "../../src/cli/run/switchprocess.ts";
import { Fleet } from "../../src/controller/fleet.ts";
import { OwnJob } from "../../src/controller/ownjob.ts";
import { seededRandom } from "../../src/host/random.ts";
import { p4infoFromBinary } from "../../src/p4runtime/index.ts";
import { Kind } from "../../src/wire/aggregation.ts";
import { decodeAggregation } from "../../src/wire/aggregationpacket.ts";
import { parseFrame } from "../../src/wire/datagram.ts";
import { aggregation, CPU, frameTo, generated, hosts, LANES, message, SCALE, switchNode } from "./network.ts";

const WORKERS = 2;
const MODE = { name: "int32", workers: 32, fractionBits: SCALE } as const;
const SERVER = WORKERS;
const nodes = hosts(WORKERS).map((h) => ({
  ...h,
  attachments: h.attachments.filter((a) => a.switch === "s1"),
}));

/** A switch process under the controller, with one job on it; the test holds the hosts' ends of its cables. */
class Site {
  readonly process: RunningSwitch;
  readonly fleet: Fleet;
  readonly sockets: readonly Socket[];
  readonly #results: (readonly number[])[] = [];

  private constructor(process: RunningSwitch, fleet: Fleet, sockets: readonly Socket[]) {
    this.process = process;
    this.fleet = fleet;
    this.sockets = sockets;
    sockets[SERVER]?.on("message", (frame) => {
      const datagram = parseFrame(frame);
      if ("refused" in datagram) return;
      const found = decodeAggregation(datagram.payload);
      if (!("refused" in found) && found.header.kind === Kind.RESULT) this.#results.push([...found.lanes]);
    });
  }

  static async open(): Promise<Site> {
    const sockets = await Promise.all(
      nodes.map(async () => {
        const socket = createSocket({ type: "udp4", recvBufferSize: 1 << 22 }).bind(0, "127.0.0.1");
        onTestFinished(() => void socket.close());
        await once(socket, "listening");
        return socket;
      }),
    );
    const ports = new Map(sockets.map((s, port) => [port, s.address().port]));
    const process = await startSwitchProcess({ name: "s1", deviceId: 1n, cpuPort: CPU, ports });
    onTestFinished(() => process.stop());
    const fleet = await Fleet.start({
      topology: { hosts: nodes, switches: [switchNode(1, process.grpc)] },
      program: {
        p4info: p4infoFromBinary(generated("p4info.bin")),
        deviceConfig: generated("attacked.json"),
      },
      aggregation,
      everywhere: [],
      heartbeat: 1000,
      silence: 30_000,
    });
    onTestFinished(() => fleet.close());
    await fleet.ready();
    const [rows, lanes] = [4, LANES];
    const job = await OwnJob.start(fleet, {
      name: "attacked",
      server: "ps",
      spec: {
        workers: nodes.slice(0, WORKERS).map((n) => n.name),
        lanes,
        mode: MODE,
        rows: Array.from({ length: rows }, (_, r) => Array.from({ length: lanes }, (_, l) => r * lanes + l)),
        needsSwitch: true,
      },
      onLayout: () => {},
    });
    onTestFinished(() => job.close());
    await expect.poll(() => fleet.jobStates()[0]?.on, { timeout: 30_000 }).toBe("s1");
    return new Site(process, fleet, sockets);
  }

  /** Sends a datagram from a host's end of its cable. */
  send(port: number, datagram: Uint8Array): Promise<void> {
    const to = this.process.ports.get(port) ?? expect.fail(`no port ${port}`);
    // A datagram that the system refuses (too large, no room) is lost, as on a cable.
    return new Promise((resolve) => this.sockets[port]?.send(datagram, to, "127.0.0.1", () => resolve()));
  }

  /** One round of row 0, each worker sending until the sum is there. */
  async sum(round: number, values: readonly (readonly number[])[]): Promise<readonly number[] | undefined> {
    this.#results.length = 0;
    for (let tries = 0; tries < 200 && this.#results.length === 0; tries++) {
      for (const [member, row] of values.entries()) {
        const from = nodes[member] ?? expect.fail("no worker");
        await this.send(member, frameTo(switchNode(1), from, message({ member, round, values: row })));
      }
      await sleep(25);
    }
    expect(this.#results.length).toBeLessThanOrEqual(1);
    return this.#results[0];
  }

  /** Cells of a counter, by number. */
  async counted(name: string): Promise<readonly number[]> {
    const client = this.fleet.clientOf("s1") ?? expect.fail("the switch is lost");
    const cells = await client.readAll([client.entities.counter(name)]);
    return cells.map(({ entity }) =>
      entity?.case === "counterEntry" ? Number(entity.value.data?.packetCount ?? 0n) : 0,
    );
  }

  /** Resident memory of the switch in bytes; 0 where the system does not tell. */
  get memory(): number {
    const path = `/proc/${this.process.pid}/status`;
    if (!existsSync(path)) return 0;
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(path, "utf8"))?.[1] ?? 0) * 1024;
  }
}

describe("a switch process", { timeout: 180_000 }, () => {
  test("goes on summing exactly under garbage on all its UDP ports, in steady memory", async () => {
    const site = await Site.open();
    const random = seededRandom(5);
    const any = (n: number): number => Math.floor(random() * n);
    const sound = frameTo(switchNode(1), nodes[0] ?? expect.fail(), message({ values: [99, 99, 99, 99] }));
    const garbage = [
      ...Array.from({ length: 200 }, () => Uint8Array.from({ length: any(300) }, () => any(256))),
      // All but the whole, which would be a contribution.
      ...Array.from({ length: sound.length }, (_, length) => sound.subarray(0, length)),
      new Uint8Array(9000).fill(0x45),
      new Uint8Array(65_507).fill(0xff),
      new Uint8Array(0),
    ];
    const [total, burst] = [200_000, 100];
    let memory = 0;
    let round = 1;
    for (let sent = 0; sent < total; sent += burst) {
      const sends = Array.from({ length: burst }, () =>
        site.send(any(nodes.length), garbage[any(garbage.length)] ?? sound.subarray(1)),
      );
      await Promise.all(sends);
      if (sent % 20_000 !== 0) continue;
      const values = [
        [round, -1, 2 ** 30, 7],
        [round, 1, 2 ** 29, any(2) - 8],
      ];
      const wanted = values[0]?.map((v, i) => v + (values[1]?.[i] ?? 0));
      expect(await site.sum(round, values)).toEqual(wanted);
      round++;
      if (sent === 60_000) memory = site.memory;
    }
    expect(site.memory - memory).toBeLessThan(80e6);
    // What the system did not lose on the way has a reason: truncated, no IPv4, or a bad checksum.
    const events = await site.counted("forwarding.events");
    const dropped = events.slice(2).reduce((a, b) => a + b, 0);
    expect(dropped).toBeGreaterThan(10_000);
    expect(site.fleet.clientOf("s1")).toBeDefined();
  });

  test("goes on under garbage on its P4Runtime port, and under connections that say nothing", async () => {
    const site = await Site.open();
    const port = Number(site.process.grpc.split(":")[1]);
    const open = async (say: Uint8Array | string) => {
      const socket = connectTo(port, "127.0.0.1");
      onTestFinished(() => void socket.destroy());
      socket.on("error", () => {});
      await once(socket, "connect");
      socket.write(say);
    };
    const random = seededRandom(6);
    const noise = (n: number) => Uint8Array.from({ length: n }, () => Math.floor(random() * 256));
    const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for (let i = 0; i < 30; i++) {
      await open(noise(1 + i * 40));
      await open("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      await open(preface.slice(0, i));
      await open(Buffer.concat([Buffer.from(preface), noise(200)]));
      await open("");
    }
    await sleep(200);
    expect(
      await site.sum(1, [
        [1, 2, 3, 4],
        [10, 20, 30, 40],
      ]),
    ).toEqual([11, 22, 33, 44]);
    expect((await site.counted("answer.events")).reduce((a, b) => a + b, 0)).toBeGreaterThan(0);
  });
});
