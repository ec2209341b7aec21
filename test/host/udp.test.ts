import { createSocket } from "node:dgram";
import { afterEach, describe, expect, it } from "vitest";
import { resolveEndpoint } from "../../src/host/endpoint.ts";
import type { LinkFaults } from "../../src/host/faults.ts";
import { AggregatorNode, formatFor } from "../../src/host/libra/aggregatornode.ts";
import { LibraError } from "../../src/host/libra/errors.ts";
import { isServerOnly, type JobLayout, parseLayout } from "../../src/host/libra/layout.ts";
import type { LibraOptions } from "../../src/host/libra/options.ts";
import { LibraServer, type ServerAction, type ServerEvent } from "../../src/host/libra/server.ts";
import { LibraWorker, type WorkerAction, type WorkerEvent } from "../../src/host/libra/worker.ts";
import { KVServer, sgd } from "../../src/host/ps/kvserver.ts";
import { KVWorker } from "../../src/host/ps/kvworker.ts";
import { seededRandom } from "../../src/host/random.ts";
import { UdpHost } from "../../src/host/udp.ts";
import { SERVER, testLayout } from "./libracluster.ts";
import { UdpFabric } from "./udpfabric.ts";

const open: { close(): unknown }[] = [];

afterEach(async () => {
  for (const thing of open.splice(0).reverse()) await thing.close();
});

/** A job over UDP sockets on this machine. */
async function startJob(layout: JobLayout, faults?: LinkFaults, options: Partial<LibraOptions> = {}) {
  const node = new AggregatorNode(resolveEndpoint(layout.aggregator), formatFor(layout));
  node.place(layout);
  const fabric = new UdpFabric(isServerOnly(layout) ? undefined : node);
  open.push(fabric);
  const store = new KVServer(sgd(0.5));
  const errors: unknown[] = [];
  const link = (seed: number) =>
    faults === undefined ? {} : { faults: { ...faults, random: seededRandom(seed) } };
  const onError = (error: unknown) => errors.push(error);

  const server = new LibraServer(layout, store, options);
  const serverHost = await UdpHost.open<ServerEvent, ServerAction>(server, {
    remote: await fabric.openPort(SERVER.ip),
    onAction: (action) => action.type === "error" && errors.push(action.error),
    onError,
    ...link(99),
  });
  fabric.attach(SERVER.ip, serverHost.local);
  open.push(serverHost);

  const workers: { kv: KVWorker; machine: LibraWorker; host: UdpHost<WorkerEvent, WorkerAction> }[] = [];
  for (const { member, ip } of layout.workers) {
    const machine = new LibraWorker(layout, member, options);
    const driver = { dispatch: (event: WorkerEvent) => host.dispatch(event) };
    const kv = new KVWorker(driver);
    const host: UdpHost<WorkerEvent, WorkerAction> = await UdpHost.open<WorkerEvent, WorkerAction>(machine, {
      remote: await fabric.openPort(ip),
      onAction: (action) => kv.notice(action),
      onError,
      ...link(member),
    });
    fabric.attach(ip, host.local);
    open.push(host);
    workers.push({ kv, machine, host });
  }
  return { fabric, store, server, serverHost, workers, errors };
}

/** Three steps of a worker: push, wait, pull, wait. */
async function train(kv: KVWorker, member: number): Promise<number[]> {
  let values: Float32Array = new Float32Array(3);
  for (let step = 1; step <= 3; step++) {
    await kv.wait(kv.push(Uint32Array.of(100, 301, 5), Float32Array.of(member + 1, -step, 0.5)));
    values = await kv.wait(kv.pull(Uint32Array.of(100, 301, 5)));
  }
  await kv.leave();
  return [...values];
}

describe("workers and server over UDP sockets", () => {
  it.each([
    ["a good link", undefined, {}],
    ["bad links", { loss: 0.1, duplicate: 0.1, reorder: 0.3, holdBack: 5 }, {}],
    [
      "bad links and no switch",
      { loss: 0.1, duplicate: 0.1, reorder: 0.3, holdBack: 5 },
      { aggregator: SERVER },
    ],
  ])("train together: %s", async (_, faults, place) => {
    const layout = testLayout({ members: [0, 1, 2], ...place });
    const { workers, errors, store } = await startJob(layout, faults);
    const seen = await Promise.all(workers.map(({ kv }, member) => train(kv, member)));
    // value -= 0.5 * sum / 3 for each of three steps
    const down = (gradients: number[]) =>
      gradients.reduce((value, sum) => Math.fround(value - (0.5 * sum) / 3), 0);
    const expected = [down([6, 6, 6]), down([-3, -6, -9]), down([1.5, 1.5, 1.5])];
    expect(seen).toEqual([expected, expected, expected]);
    expect([...store.values.keys()].sort((a, b) => a - b)).toEqual([5, 100, 301]);
    expect(errors).toEqual([]);
  });

  it("do not mind garbage on their ports", async () => {
    const layout = testLayout({ members: [0, 1] });
    const { workers, serverHost, server, errors } = await startJob(layout);
    const noise = createSocket("udp4");
    open.push(noise);
    const targets = [serverHost.local, ...workers.map(({ host }) => host.local)];
    const random = seededRandom(1);
    for (const { port, address } of targets)
      for (let i = 0; i < 50; i++) {
        const bytes = Uint8Array.from({ length: Math.floor(random() * 200) }, () => random() * 256);
        await new Promise((resolve) => noise.send(bytes, port, address, resolve));
      }
    await Promise.all(workers.map(({ kv }, member) => train(kv, member)));
    expect(errors).toEqual([]);
    const dropped = Object.entries(server.counters.snapshot());
    expect(dropped.some(([name]) => name === "frame_too_short" || name === "not_ipv4")).toBe(true);
  });

  it("tell the application which worker is missing, and go on without it", async () => {
    const layout = testLayout({ members: [0, 1] });
    const options = { silence: 400, heartbeat: 40 };
    const { workers, serverHost, server } = await startJob(layout, undefined, options);
    const [first, second] = workers;
    if (first === undefined || second === undefined) throw new Error("no workers");
    await second.host.close();
    const push = first.kv.push(Uint32Array.of(5), Float32Array.of(4));
    await expect(first.kv.wait(push)).rejects.toMatchObject({ code: "worker_lost", details: { worker: 1 } });
    await expect(first.kv.wait(push)).rejects.toBeInstanceOf(LibraError);
    const rest = {
      ...testLayout({ members: [0], generation: 2 }),
      aggregator: SERVER,
      firstRound: server.openRound,
    };
    serverHost.dispatch({ type: "layout", layout: rest });
    first.kv.move(rest);
    await first.kv.wait(push);
    expect(await first.kv.wait(first.kv.pull(Uint32Array.of(5)))).toEqual(Float32Array.of(-2));
  });

  it("close without anything left behind, and may be closed twice", async () => {
    const { workers, serverHost } = await startJob(testLayout({ members: [0] }));
    const { port } = serverHost.local;
    for (const { host } of workers) await Promise.all([host.close(), host.close()]);
    await serverHost.close();
    const again = createSocket("udp4");
    open.push(again);
    await new Promise<void>((resolve) => {
      again.bind(port, "127.0.0.1", resolve);
    });
  });

  it("report a port that can't be had", async () => {
    const { serverHost } = await startJob(testLayout({ members: [0] }));
    const machine = new LibraWorker(testLayout(), 0);
    const options = {
      remote: serverHost.local,
      local: { port: serverHost.local.port },
      onAction: () => {},
      onError: () => {},
    };
    await expect(UdpHost.open<WorkerEvent, WorkerAction>(machine, options)).rejects.toMatchObject({
      code: "EADDRINUSE",
    });
  });
});

describe("the application's calls", () => {
  it("are refused at once when they are wrong", async () => {
    const { workers, store } = await startJob(testLayout({ members: [0] }));
    const kv = workers[0]?.kv;
    expect(() => kv?.push(Uint32Array.of(1, 2), Float32Array.of(1))).toThrow(/2 keys with 1 values/);
    expect(store.read(Uint32Array.of(3))).toEqual(Float32Array.of(0));
    expect(() => new LibraWorker(testLayout(), 9)).toThrow(/no worker 9/);
  });

  it("give what was waited for late", async () => {
    const { workers } = await startJob(testLayout({ members: [0] }));
    const kv = workers[0]?.kv;
    if (kv === undefined) throw new Error("no worker");
    const pushes = [1, 2, 3, 4].map((value) => kv.push(Uint32Array.of(100), Float32Array.of(value)));
    for (const push of pushes.reverse()) await kv.wait(push);
    const pull = kv.pull(Uint32Array.of(100));
    await kv.wait(kv.pull(Uint32Array.of(100)));
    expect(await kv.wait(pull)).toEqual(Float32Array.of(-5));
    await kv.leave();
    await kv.leave();
  });

  it("take a layout that travelled as JSON", () => {
    const layout = testLayout();
    expect(parseLayout(JSON.stringify(layout))).toEqual(layout);
    for (const text of ["", "null", "{}", "[1]", '{"job":1}', JSON.stringify({ ...layout, rows: [["x"]] })])
      expect(() => parseLayout(text)).toThrow(LibraError);
  });
});
