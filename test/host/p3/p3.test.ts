import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { LinkFaults } from "../../../src/host/faults.ts";
import type { P3Error } from "../../../src/host/p3/errors.ts";
import {
  cutModel,
  type Discipline,
  FixedWindow,
  LAYERS,
  meanDescent,
  P3,
  type P3Job,
  type P3Options,
  P3Server,
  type P3ServerAction,
  P3Worker,
  type P3WorkerAction,
  SLICES_ONLY,
} from "../../../src/host/p3/index.ts";
import { PriorityQueue } from "../../../src/host/priorityqueue.ts";
import { seededRandom } from "../../../src/host/random.ts";
import { Lab } from "../../../src/lab/index.ts";
import { parseFrame } from "../../../src/wire/datagram.ts";
import { decodeMessage } from "../../../src/wire/message.ts";
import { encodeSlice, SliceKind } from "../../../src/wire/slice.ts";
import { dscpOfLayer, trafficPlan } from "../../../src/wire/trafficclass.ts";

const endpoint = (i: number) => ({ mac: `02:00:00:00:00:${(16 + i).toString(16)}`, ip: `10.0.0.${i + 1}` });

function jobOf(workers: number, servers: number, layers: readonly number[], discipline: Discipline): P3Job {
  const all = Array.from({ length: workers + servers }, (_, i) => endpoint(i));
  return { job: 4, workers: all.slice(0, workers), servers: all.slice(workers), layers, discipline };
}

const RATE = 0.5;

function setUp(job: P3Job, faults: LinkFaults, seed: number, options: Partial<P3Options> = {}) {
  const lab = new Lab(seededRandom(seed));
  lab.addNetwork("net");
  const updates: { worker: number; action: Extract<P3WorkerAction, { type: "updated" }> }[] = [];
  const left: number[] = [];
  const errors: { at: string; error: P3Error }[] = [];
  const initial = job.layers.map((n, layer) => Float32Array.from({ length: n }, (_, i) => layer + i / 7));
  const quiet = { heartbeat: Number.POSITIVE_INFINITY, segment: 256, ...options };
  const workers = job.workers.map((_, w) => new P3Worker(job, w, quiet));
  const servers = job.servers.map((_, s) => new P3Server(job, s, initial, meanDescent(RATE), quiet));
  const onUpdate: ((worker: number, layer: number, iteration: number) => void)[] = [];
  const hosts = workers.map((machine, w) =>
    lab.addHost(
      `w${w}`,
      machine,
      (action: P3WorkerAction) => {
        if (action.type === "left") left.push(w);
        else if (action.type === "error") errors.push({ at: `w${w}`, error: action.error });
        else {
          updates.push({ worker: w, action });
          for (const notice of onUpdate) notice(w, action.layer, action.iteration);
        }
      },
      job.workers[w]?.ip,
    ),
  );
  const serverHosts = servers.map((machine, s) =>
    lab.addHost(
      `s${s}`,
      machine,
      (action: P3ServerAction) =>
        action.type === "error" && errors.push({ at: `s${s}`, error: action.error }),
      job.servers[s]?.ip,
    ),
  );
  for (const [i, name] of [...hosts.map((_, w) => `w${w}`), ...servers.map((_, s) => `s${s}`)].entries())
    lab.connect(name, "net", i, faults);
  return { lab, hosts, serverHosts, workers, servers, initial, updates, errors, left, onUpdate };
}

/** The gradient that a worker computes: different for all, and of very different size. */
function gradient(worker: number, layer: number, iteration: number, length: number): Float32Array {
  const random = seededRandom(worker * 7919 + layer * 104729 + iteration);
  return Float32Array.from({ length }, () => (random() - 0.5) * 2 ** Math.floor(random() * 20));
}

/** Parameters after some iterations, added up in the order of the workers, without slices and messages. */
function trained(initial: readonly Float32Array[], workers: readonly number[], iterations: number) {
  return initial.map((start, layer) => {
    const parameters = start.slice();
    for (let iteration = 1; iteration <= iterations; iteration++) {
      const [first, ...rest] = workers.map((w) => gradient(w, layer, iteration, start.length));
      const sum = rest.reduce((a, b) => a.map((v, i) => v + (b[i] ?? 0)), first ?? new Float32Array(0));
      for (let i = 0; i < parameters.length; i++)
        parameters[i] =
          (parameters[i] ?? 0) - Math.fround(RATE * Math.fround((sum[i] ?? 0) / workers.length));
    }
    return parameters;
  });
}

function unplug(lab: Lab, host: string, port: number): void {
  for (const wire of [`${host}>net:${port}`, `net:${port}>${host}`]) lab.wire(wire).cut();
}

const bits = (values: Float32Array | undefined) =>
  values === undefined ? undefined : [...new Uint32Array(values.slice().buffer)];

/** Trains: every worker gives a layer's next gradient when it has the layer's last update, back to front at first. */
function train(made: ReturnType<typeof setUp>, iterations: number, limit = 1e6): boolean {
  const { lab, hosts, initial, updates, onUpdate } = made;
  const give = (worker: number, layer: number, iteration: number): void =>
    hosts[worker]?.dispatch({
      ...{ type: "gradient", layer },
      values: gradient(worker, layer, iteration, initial[layer]?.length ?? 0),
    });
  onUpdate.push((worker, layer, iteration) => {
    if (iteration < iterations) lab.at(lab.now + 1, () => give(worker, layer, iteration + 1));
  });
  for (const worker of hosts.keys())
    for (let layer = initial.length - 1; layer >= 0; layer--)
      lab.at(initial.length - layer, () => give(worker, layer, 1));
  const wanted = hosts.length * initial.length * iterations;
  return lab.run(() => updates.length === wanted, limit);
}

const small = (discipline: Discipline): Discipline => ({
  ...discipline,
  limit: discipline.cut === "slices" ? 50 : 100,
});

describe("training by P3, by slices in turn and by layers", () => {
  test.each([
    ["P3", small(P3)],
    ["slices only", small(SLICES_ONLY)],
    ["layers", small(LAYERS)],
  ])("gives the same bits as adding up in the order of the workers, on any network: %s", (_, discipline) => {
    fc.assert(
      fc.property(
        fc.record({
          workers: fc.integer({ min: 1, max: 4 }),
          servers: fc.integer({ min: 1, max: 3 }),
          layers: fc.array(fc.oneof(fc.constantFrom(0, 1, 50, 51), fc.nat(350)), {
            minLength: 1,
            maxLength: 5,
          }),
          loss: fc.double({ min: 0, max: 0.3, noNaN: true }),
          duplicate: fc.double({ min: 0, max: 0.3, noNaN: true }),
          reorder: fc.double({ min: 0, max: 0.3, noNaN: true }),
          seed: fc.integer(),
          switchPriority: fc.boolean(),
        }),
        ({ workers, servers, layers, loss, duplicate, reorder, seed, switchPriority }) => {
          const job = jobOf(workers, servers, layers, discipline);
          const faults = { loss, duplicate, reorder, delay: 1 };
          const made = setUp(job, faults, seed, { switchPriority, retries: 40 });
          expect(train(made, 2)).toBe(true);
          expect(made.errors).toEqual([]);
          const numbers = Array.from({ length: workers }, (_, w) => w);
          const expected = trained(made.initial, numbers, 2);
          for (const { action } of made.updates.filter(({ action }) => action.iteration === 2))
            expect(bits(action.values)).toEqual(bits(expected[action.layer]));
        },
      ),
      { numRuns: 15 },
    );
  });

  test("workers may leave when all is done, and nobody is missed", () => {
    const made = setUp(jobOf(3, 2, [70, 20], small(P3)), { loss: 0.2, delay: 1 }, 5, {
      heartbeat: 50,
      silence: 500,
    });
    expect(train(made, 2)).toBe(true);
    for (const host of made.hosts) host.dispatch({ type: "leave" });
    made.lab.run(() => false, made.lab.now + 10_000);
    expect([made.left.sort(), made.errors]).toEqual([[0, 1, 2], []]);
  });
});

describe("order", () => {
  test("a front layer that is ready later overtakes at the next border of slices", () => {
    const made = setUp(jobOf(1, 1, [100, 1000, 1000], { ...P3, limit: 100 }), { delay: 1 }, 1, {
      control: () => new FixedWindow(4),
    });
    const sent: number[] = [];
    const [worker] = made.workers;
    if (worker !== undefined) worker.outbox.onSend = (_, layer) => sent.push(layer);
    const zeros = (n: number) => new Float32Array(n);
    made.hosts[0]?.dispatch({ type: "gradient", layer: 2, values: zeros(1000) });
    made.lab.at(0.5, () => made.hosts[0]?.dispatch({ type: "gradient", layer: 1, values: zeros(1000) }));
    made.lab.at(0.6, () => made.hosts[0]?.dispatch({ type: "gradient", layer: 0, values: zeros(100) }));
    made.lab.run(() => made.updates.length === 3, 1000);
    // What fits into the window of 4 packets is on its way, and one slice waits for it.
    const first = sent.indexOf(0);
    expect(sent.slice(0, first).every((layer) => layer === 2)).toBe(true);
    expect(sent.slice(first)).toEqual([0, ...Array(10).fill(1), ...Array(10 - first).fill(2)]);
    expect(first).toBeLessThan(10);
  });

  test("fifo keeps to the order of coming", () => {
    const made = setUp(jobOf(1, 1, [100, 1000], { ...SLICES_ONLY, limit: 100 }), { delay: 1 }, 1);
    const sent: number[] = [];
    const [worker] = made.workers;
    if (worker !== undefined) worker.outbox.onSend = (_, layer) => sent.push(layer);
    made.hosts[0]?.dispatch({ type: "gradient", layer: 1, values: new Float32Array(1000) });
    made.hosts[0]?.dispatch({ type: "gradient", layer: 0, values: new Float32Array(100) });
    made.lab.run(() => made.updates.length === 2, 1000);
    expect(sent).toEqual([...Array(10).fill(1), 0]);
  });

  test("the queue's order is strict: by priority, then by coming", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat(4))), (steps) => {
        const queue = new PriorityQueue<readonly [number, number]>();
        const model: (readonly [number, number])[] = [];
        for (const [i, priority] of steps.entries()) {
          if (priority === null) {
            model.sort(([a, x], [b, y]) => a - b || x - y);
            expect(queue.first).toEqual(model[0]);
            expect(queue.take()).toEqual(model.shift());
          } else {
            queue.add(priority, [priority, i]);
            model.push([priority, i]);
          }
          expect(queue.size).toBe(model.length);
        }
      }),
    );
  });

  test("packets carry the class of their layer when the switches have queues for it, else none", () => {
    const plan = trafficPlan();
    for (const switchPriority of [true, false]) {
      const [worker] = setUp(jobOf(1, 1, [10, 10, 10], P3), {}, 1, { switchPriority }).workers;
      const dscps = [2, 1, 0].flatMap((layer) =>
        (worker?.handle({ type: "gradient", layer, values: new Float32Array(10) }, 0) ?? []).flatMap((a) => {
          const open = a.type === "send" ? parseFrame(a.frame) : undefined;
          // Signs of life are of no layer.
          return open === undefined || "refused" in open || open.payload.length <= 40 ? [] : [open.dscp];
        }),
      );
      const expected = [2, 1, 0].map((layer) => (switchPriority ? dscpOfLayer(plan, layer, 3) : 0));
      expect(dscps).toEqual(expected);
    }
  });
});

describe("cutting a model", () => {
  const models = fc.array(fc.nat(400_000), { maxLength: 20 });

  test("covers every parameter once, in slices of at most the limit that are as equal as can be", () => {
    fc.assert(
      fc.property(
        models,
        fc.integer({ min: 1, max: 8 }),
        fc.integer({ min: 1000, max: 60_000 }),
        (layers, servers, limit) => {
          const slices = cutModel(layers, servers, { cut: "slices", limit });
          for (const [layer, size] of layers.entries()) {
            const own = slices.filter((s) => s.layer === layer);
            expect(own.reduce((at, s) => (s.offset === at ? at + s.count : Number.NaN), 0)).toBe(size);
            const counts = own.map((s) => s.count);
            expect(Math.max(...counts)).toBeLessThanOrEqual(limit);
            expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
          }
          expect(slices.map((s) => s.server)).toEqual(slices.map((_, i) => i % servers));
        },
      ),
    );
  });

  test("by layers keeps those up to the limit whole and splits the others over all servers", () => {
    const slices = cutModel([1_000_000, 1_000_001, 5], 4, LAYERS);
    expect(slices.map((s) => s.count)).toEqual([1_000_000, 250_000, 250_000, 250_000, 250_001, 5]);
    expect(slices.slice(1, 5).map((s) => s.server)).toEqual([0, 1, 2, 3]);
  });
});

describe("a job that goes wrong", () => {
  const job = jobOf(3, 2, [120, 30], small(P3));

  test("all hear which worker is lost, and the job can go on without it", () => {
    const made = setUp(job, { loss: 0.1, delay: 1 }, 3, { heartbeat: 50, silence: 400 });
    made.lab.at(0.5, () => unplug(made.lab, "w1", 1));
    expect(train(made, 1, 5000)).toBe(false);
    const lost = made.errors.filter(({ at }) => at !== "w1");
    expect(new Set(lost.map(({ error }) => `${error.code} ${error.peer.worker}`))).toEqual(
      new Set(["worker_lost 1"]),
    );
    expect([...new Set(lost.map(({ at }) => at))].sort()).toEqual(["s0", "s1", "w0", "w2"]);
    for (const server of made.serverHosts) server.dispatch({ type: "exclude", worker: 1 });
    made.lab.run(() => made.updates.filter(({ worker }) => worker !== 1).length === 4, 20_000);
    const expected = trained(made.initial, [0, 2], 1);
    for (const { worker, action } of made.updates)
      if (worker !== 1) expect(bits(action.values)).toEqual(bits(expected[action.layer]));
  });

  test("workers hear which server is lost, within bounded time", () => {
    const made = setUp(job, { delay: 1 }, 3, { heartbeat: 50, silence: 400 });
    unplug(made.lab, "s1", 4);
    expect(train(made, 1, 3000)).toBe(false);
    const found = made.errors.map(({ at, error }) => [at, error.code, error.peer.server]);
    expect(found).toEqual([0, 1, 2].map((w) => [`w${w}`, "server_lost", 1]));
  });

  test("a worker that lies about sizes or iterations is named and changes nothing", () => {
    const lies = [
      encodeSlice(SliceKind.PUSH, { slice: 0, iteration: 1, worker: 0 }, new Float32Array(7)),
      encodeSlice(SliceKind.PUSH, { slice: 0, iteration: 9, worker: 0 }, new Float32Array(40)),
    ];
    for (const lie of lies) {
      const made = setUp(job, { delay: 1 }, 3);
      made.workers[0]?.hub.send(3, 0, lie, { dscp: 0 });
      expect(train(made, 1, 3000)).toBe(true);
      const named = made.errors
        .filter(({ at }) => at === "s0")
        .map(({ error }) => [error.code, error.peer.worker]);
      expect(named).toEqual([["peer_disagrees", 0]]);
      const [layer] = trained(made.initial, [0, 1, 2], 1);
      expect(bits(made.servers[0]?.parametersOf(0))).toEqual(bits(layer?.slice(0, 40)));
    }
  });

  test("garbage in whole messages is counted and does no harm", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 10 }),
        fc.integer(),
        (noise, seed) => {
          const made = setUp(job, { delay: 1 }, seed);
          for (const body of noise) {
            const kind = (body[0] ?? 0) & 15;
            // Sound messages of its own kind would be lies, or a farewell: see above.
            if ((body[0] ?? 0) >> 4 === 1 && [1, 5, 6].includes(kind)) continue;
            made.workers[0]?.hub.send(3, 0, body, { dscp: 0 });
            made.servers[0]?.hub.send(0, 0, body, { dscp: 0 });
          }
          expect(train(made, 2)).toBe(true);
          const expected = trained(made.initial, [0, 1, 2], 2);
          for (const { action } of made.updates)
            if (action.iteration === 2) expect(bits(action.values)).toEqual(bits(expected[action.layer]));
        },
      ),
      { numRuns: 15 },
    );
  });

  test("wrong calls are refused with the reason", () => {
    const [worker] = setUp(job, {}, 1).workers;
    const give = (layer: number, n: number) => () =>
      worker?.handle({ type: "gradient", layer, values: new Float32Array(n) }, 0);
    expect(give(2, 1)).toThrow("the model has no layer 2");
    expect(give(1, 31)).toThrow("layer 1 has 30 parameters, its gradient 31");
    give(1, 30)();
    expect(give(1, 30)).toThrow("has not been updated");
    expect(() => new P3Worker({ ...job, servers: [] }, 0)).toThrow("0 servers");
    expect(() => new P3Worker({ ...job, workers: [{ mac: "x", ip: "10.0.0.1" }] }, 0)).toThrow(
      "no MAC address",
    );
    expect(() => new P3Worker(job, 9)).toThrow("no host 9");
    expect(decodeMessage(new Uint8Array(0))).toEqual({ refused: "part_too_short" });
  });
});
