/**
 * The generated program of priority, drop and spray on three switches: in the lab, on the embedded switch over UDP, and on simple_switch_grpc
 * with its queue rates set by Thrift. What holds on all three is claimed once. BMv2 paces each queue by itself, so there is no shared
 * port that weak classes lose to strong ones; what that changes is claimed of it, and of the embedded switch that imitates it.
 */
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { Bmv2SideChannel } from "../../src/controller/index.ts";
import { seededRandom } from "../../src/host/random.ts";
import { Lab } from "../../src/lab/index.ts";
import { SwitchRunner, UdpPort } from "../../src/switch/index.ts";
import { dscpOfLayer, Ecn } from "../../src/wire/trafficclass.ts";
import { SimpleSwitch } from "../backends/simpleswitch.ts";
import { findTools } from "../backends/tools.ts";
import {
  type Arrived,
  arrived,
  FAR,
  frame,
  MEMBERS,
  NEAR_PORT,
  plan,
  programOf,
  type Sent,
  type Subset,
  switchOf,
} from "./trafficprograms.ts";

const { bmv2 } = findTools({ bmv2: ["SIMPLE_SWITCH_GRPC", "simple_switch_grpc"] });
const subset: Subset = { priority: true, drop: true, ecmp: true, aggregation: false };
/** Packets per second of the slow port: a burst must have arrived before its second packet leaves. */
const RATE = 5;
const LAYERS = 6;
const front = { dscp: dscpOfLayer(plan, 0, LAYERS) };
const back = { dscp: dscpOfLayer(plan, LAYERS - 1, LAYERS) };
/** A class without a threshold. */
const middle = { dscp: dscpOfLayer(plan, 3, LAYERS) };
const control = { dscp: plan.control.dscp };
/** Longest queue that droppable packets of the front layers may meet (trafficprograms.ts). */
const KEEP_FRONT = 1;

interface Backend {
  readonly name: string;
  /** `port`: queues share its rate. `queue`: each has it. */
  readonly pacing: "port" | "queue";
  start(): Promise<void>;
  /** Sends a burst into port 0; answers what left, in its order, when nothing is left inside. */
  burst(packets: readonly Sent[]): Promise<readonly Arrived[]>;
  stop(): Promise<void>;
}

const ports = [NEAR_PORT, ...MEMBERS.map(({ port }) => port)];

function inLab(): Backend {
  const out: Arrived[] = [];
  const lab = new Lab(seededRandom(1), {
    onFrame: ({ wire, frame: data }) => {
      const port = /^s1:(\d+)>/.exec(wire)?.[1];
      if (port !== undefined) out.push(arrived(Number(port), data));
    },
  });
  return {
    name: "the lab",
    pacing: "port",
    start: async () => {
      lab.addSwitch("s1", switchOf(subset));
      for (const port of [0, ...ports]) {
        lab.addHost(`h${port}`, { handle: () => [], wakeAt: Number.POSITIVE_INFINITY }, () => {});
        const bits = port === NEAR_PORT ? { rate: RATE * 8 * frame({}).length } : {};
        lab.connect(`h${port}`, "s1", port, bits);
      }
    },
    burst: async (packets) => {
      out.length = 0;
      for (const packet of packets) lab.wire("h0>s1:0").send(frame(packet));
      lab.run(() => false, lab.now + 60_000);
      return [...out];
    },
    stop: async () => {},
  };
}

function overUdp(pacing: "port" | "queue"): Backend {
  const core = switchOf(subset, undefined, { pacing });
  const runner = new SwitchRunner(core);
  const sockets = new Map([0, ...ports].map((port) => [port, createSocket("udp4")]));
  const out: Arrived[] = [];
  let entrance = 0;
  let total = 0;
  return {
    name: `the embedded switch over UDP, a rate for each ${pacing}`,
    pacing,
    start: async () => {
      for (const [port, socket] of sockets) {
        socket.bind(0, "127.0.0.1");
        await once(socket, "listening");
        const udp = await UdpPort.open(`port ${port}`, { peer: { port: socket.address().port } });
        if (port === 0) entrance = udp.localPort;
        runner.attach(port, udp);
        socket.on("message", (data) => out.push(arrived(port, data)));
      }
      core.trafficManager.setRate(NEAR_PORT, { kind: "packetsPerSecond", rate: RATE });
    },
    burst: async (packets) => {
      out.length = 0;
      const before = core.port(0).rxPackets;
      for (const packet of packets) sockets.get(0)?.send(frame(packet), entrance, "127.0.0.1");
      const isThrough = (): boolean =>
        core.port(0).rxPackets === before + packets.length && core.trafficManager.isEmpty;
      await expect.poll(isThrough, { timeout: 60_000 }).toBe(true);
      // What has left is on its way through the loopback interface.
      const sent = ports.reduce((sum, port) => sum + core.port(port).txPackets, 0) - total;
      await expect.poll(() => out.length, { timeout: 10_000 }).toBe(sent);
      total += sent;
      return [...out];
    },
    stop: async () => {
      await runner.close();
      for (const socket of sockets.values()) socket.close();
    },
  };
}
function onBmv2(): Backend {
  let real: SimpleSwitch | undefined;
  return {
    name: "simple_switch_grpc",
    pacing: "queue",
    start: async () => {
      real = await SimpleSwitch.start(bmv2 ?? "");
      const files = generate(programOf(subset).ir);
      const text = (name: string): string => Buffer.from(files.get(name) ?? "").toString();
      await real.load(text("p4info.txtpb"), text("traffic.json"), switchOf(subset));
      const queues = await Bmv2SideChannel.open(real.thriftAddress);
      await queues.setPortRate(NEAR_PORT, { kind: "packetsPerSecond", rate: RATE });
      await queues.close();
    },
    burst: async (packets) =>
      ((await real?.burst(packets.map((packet) => ({ port: 0, data: frame(packet) })))) ?? []).map(
        ({ port, packet }) => arrived(port, packet),
      ),
    stop: async () => real?.stop(),
  };
}

const some = (count: number, id: number, packet: Sent): readonly Sent[] =>
  Array.from({ length: count }, (_, i) => ({ ...packet, id: id + i }));

const ids = (packets: readonly { readonly id?: number }[]): readonly number[] =>
  packets.map(({ id = -1 }) => id);

/** What of a burst left by the slow port, as numbers in their order. */
const bySlowPort = (out: readonly Arrived[]): readonly Arrived[] =>
  out.filter(({ port }) => port === NEAR_PORT);

const backends: readonly Backend[] = [
  inLab(),
  overUdp("port"),
  overUdp("queue"),
  ...(bmv2 === undefined ? [] : [onBmv2()]),
];

describe.each(backends)("priority, drop and spray: $name", (on) => {
  beforeAll(() => on.start(), 60_000);
  afterAll(() => on.stop());

  test("front layers overtake back ones that were sent before them, and control overtakes both", async () => {
    const ect = { ecn: Ecn.ECT_0 };
    const sent = [
      ...some(6, 100, { ...back, ...ect }),
      ...some(6, 200, { ...front, ...ect }),
      ...some(6, 300, control),
    ];
    const left = ids(bySlowPort(await on.burst(sent)));
    expect([...left].sort()).toEqual([...ids(sent)].sort());
    const at = (id: number): number => left.indexOf(id);
    for (let i = 0; i < 5; i++) {
      expect(at(200 + i)).toBeLessThan(at(100 + i + 1));
      expect(at(300 + i)).toBeLessThan(at(200 + i + 1));
    }
    // Within a class nothing overtakes.
    for (const first of [100, 200, 300])
      expect(left.filter((id) => id - first >= 0 && id - first < 100)).toEqual(ids(some(6, first, {})));
    if (on.pacing === "port") {
      // The first of all had the port before the others were there.
      expect(left).toEqual([
        100,
        ...ids(some(6, 300, {})),
        ...ids(some(6, 200, {})),
        ...ids(some(5, 101, {})),
      ]);
    } else {
      // All queues send at once, each its next one; which of the three is first is up to the moment at which it joined.
      const turns = [0, 1, 2, 3, 4, 5].map((i) => left.slice(3 * i, 3 * i + 3).sort());
      expect(turns).toEqual([0, 1, 2, 3, 4, 5].map((i) => [100 + i, 200 + i, 300 + i]));
    }
  }, 60_000);

  test("in a long queue droppable packets go, and important ones stay and are marked", async () => {
    const pair = (i: number): readonly Sent[] => [
      { ...front, ecn: Ecn.NON_ECT, id: 400 + i },
      { ...front, ecn: Ecn.ECT_0, id: 500 + i },
    ];
    const sent = [0, 1, 2, 3, 4, 5].flatMap(pair);
    const left = bySlowPort(await on.burst(sent));
    const droppable = left.filter(({ id }) => id < 500);
    const important = left.filter(({ id }) => id >= 500);
    // The first may have left already, or not, when the next one looks how long the queue is.
    expect(ids(droppable)).toEqual(ids(some(droppable.length, 400, {})));
    expect([1, 2]).toContain(droppable.length);
    expect(ids(important)).toEqual(ids(some(6, 500, {})));
    expect(important.slice(KEEP_FRONT + 1).every(({ ecn }) => ecn === Ecn.CE)).toBe(true);
    expect(droppable.every(({ ecn }) => ecn === Ecn.NON_ECT)).toBe(true);
  }, 60_000);

  test("the queue of a packet's own class counts, not what waits in others", async () => {
    const sent = [...some(4, 600, middle), ...some(1, 700, front)];
    expect([...ids(bySlowPort(await on.burst(sent)))].sort()).toEqual(ids(sent));
  }, 60_000);

  test("control is never dropped nor marked, however long its queue", async () => {
    const sent = some(12, 800, { ...control, ecn: Ecn.NON_ECT });
    const left = bySlowPort(await on.burst(sent));
    expect(ids(left)).toEqual(ids(sent));
    expect(left.every(({ ecn }) => ecn === Ecn.NON_ECT)).toBe(true);
  }, 60_000);

  test("spray is even within one packet, whatever the classes", async () => {
    const sent = Array.from({ length: 31 }, (_, id): Sent => {
      const { dscp } = [front, back, middle, control][id % 4] ?? front;
      return { to: FAR, dscp, ecn: Ecn.ECT_0, id };
    });
    const left = await on.burst(sent);
    expect([...ids(left)].sort((a, b) => a - b)).toEqual(ids(sent));
    const counts = MEMBERS.map(({ port }) => left.filter((packet) => packet.port === port).length);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  }, 60_000);
});
