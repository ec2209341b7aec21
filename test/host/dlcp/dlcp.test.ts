import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DlcpError } from "../../../src/host/dlcp/errors.ts";
import type { DlcpAction } from "../../../src/host/dlcp/events.ts";
import { DlcpHost } from "../../../src/host/dlcp/host.ts";
import type { DlcpJob, DlcpOptions, TensorSpec } from "../../../src/host/dlcp/job.ts";
import { enough } from "../../../src/host/dlcp/job.ts";
import { seededRandom } from "../../../src/host/random.ts";
import { Lab } from "../../../src/lab/index.ts";
import type { LinkOptions } from "../../../src/lab/link.ts";
import { newFrame, PAYLOAD_AT, parseFrame, writeUdpChecksum } from "../../../src/wire/datagram.ts";
import {
  decodeTensorPacket,
  TENSOR_PORT,
  type TensorHeader,
  TensorKind,
  tensorCodec,
} from "../../../src/wire/tensor.ts";
import { dscpOfLayer, Ecn, trafficPlan } from "../../../src/wire/trafficclass.ts";

const endpoint = (host: number) => ({ mac: `02:00:00:00:00:0${host}`, ip: `10.0.0.${host + 1}` });

const tensorOf = (elements: number, more: Partial<TensorSpec> = {}): TensorSpec => ({
  ...{ elements, layer: 0, bound: 0.1, missing: "zero", senders: [0, 1], receivers: [0, 1] },
  ...more,
});

const jobOf = (tensors: readonly TensorSpec[], hosts = 2): DlcpJob => ({
  ...{ job: 9, layers: 12, tensors, segment: 10 },
  hosts: Array.from({ length: hosts }, (_, i) => endpoint(i)),
});

const quick: Partial<DlcpOptions> = {
  ...{ lineRate: 1e8, patience: 1, probeTimeout: 10, maxProbeTimeout: 80, silence: 2000, retries: 30 },
};

type Received = Extract<DlcpAction, { type: "received" }>;

function setUp(
  job: DlcpJob,
  faults: LinkOptions,
  seed: number,
  options: Partial<DlcpOptions> = {},
  jobs: readonly DlcpJob[] = job.hosts.map(() => job),
) {
  const lab = new Lab(seededRandom(seed));
  lab.addNetwork("net");
  const received: (Received & { at: number })[] = [];
  const sent: Extract<DlcpAction, { type: "sent" }>[] = [];
  const errors: { at: number; error: DlcpError }[] = [];
  const machines = jobs.map((own, self) => new DlcpHost(own, self, { ...quick, ...options }));
  const hosts = machines.map((machine, at) => {
    const host = lab.addHost(
      `h${at}`,
      machine,
      (action: DlcpAction) => {
        if (action.type === "received") received.push({ ...action, at });
        else if (action.type === "sent") sent.push(action);
        else errors.push({ at, error: action.error });
      },
      endpoint(at).ip,
    );
    // One cable alone damages: what two do may cancel out in a checksum of 16 bits.
    lab.connect(`h${at}`, "net", at, at === 0 ? faults : { ...faults, corrupt: 0 });
    return host;
  });
  return { lab, hosts, machines, received, sent, errors };
}

const gradient = (length: number, seed: number): Float32Array => {
  const random = seededRandom(seed);
  return Float32Array.from({ length }, () => (random() - 0.5) * 2 ** Math.floor(random() * 10));
};

/** A received tensor is right: what is not listed as lost is the sender's, bit for bit, and the rest is what was said. */
function expectRight({ values, lost }: Received, sent: Float32Array, fill: (i: number) => number): void {
  const expected = sent.slice();
  for (const { offset, count } of lost) for (let i = offset; i < offset + count; i++) expected[i] = fill(i);
  expect(values).toEqual(expected);
}

const lostOf = ({ lost }: Received): number => lost.reduce((sum, { count }) => sum + count, 0);

describe("a transfer of a tensor", () => {
  test("ends when the bound is met and never earlier, with every value the sender's or the one that was agreed on, on any network", () => {
    fc.assert(
      fc.property(
        fc.record({
          sizes: fc.array(fc.oneof(fc.constantFrom(1, 10, 11, 100), fc.integer({ min: 1, max: 900 })), {
            ...{ minLength: 1, maxLength: 5 },
          }),
          bound: fc.constantFrom(0, 0.01, 0.1, 0.5),
          missing: fc.constantFrom("zero" as const, "last" as const),
          loss: fc.double({ min: 0, max: 0.3, noNaN: true }),
          duplicate: fc.double({ min: 0, max: 0.3, noNaN: true }),
          reorder: fc.double({ min: 0, max: 0.3, noNaN: true }),
          corrupt: fc.double({ min: 0, max: 0.1, noNaN: true }),
          iterations: fc.integer({ min: 1, max: 3 }),
          seed: fc.integer(),
        }),
        ({ sizes, bound, missing, loss, duplicate, reorder, corrupt, iterations, seed }) => {
          const job = jobOf(sizes.map((n, layer) => tensorOf(n, { layer, bound, missing })));
          const faults = { loss, duplicate, reorder, corrupt, delay: 0.5 };
          // Two cables each way: at 30 % loss and 10 % damage five of six questions have no answer.
          const made = setUp(job, { ...faults, damaged: "delivered" }, seed, { retries: 200 });
          const inputs = new Map<string, Float32Array>();
          for (let iteration = 1; iteration <= iterations; iteration++) {
            for (const from of [0, 1])
              for (const [tensor, n] of sizes.entries()) {
                const values = gradient(n, seed + from * 1000 + tensor * 10 + iteration);
                inputs.set(`${from} ${tensor} ${iteration}`, values);
                made.hosts[from]?.dispatch({ type: "send", to: 1 - from, tensor, values });
              }
            const wanted = 2 * sizes.length * iteration;
            const done = () => made.received.length >= wanted && made.sent.length >= wanted;
            expect(made.lab.run(done, made.lab.now + 60_000)).toBe(true);
          }
          expect(made.errors).toEqual([]);
          expect(made.received.length).toBe(2 * sizes.length * iterations);
          const before = new Map<string, Float32Array>();
          for (const r of made.received) {
            const key = `${r.from} ${r.tensor}`;
            const last = before.get(key);
            expectRight(r, inputs.get(`${key} ${r.iteration}`) ?? new Float32Array(0), (i) =>
              missing === "last" ? (last?.[i] ?? 0) : 0,
            );
            expect(lostOf(r)).toBeLessThanOrEqual(r.values.length * bound);
            before.set(key, r.values);
          }
        },
      ),
      { numRuns: 20 },
    );
  });

  test("without a bound brings every value, at 30 % loss each way", () => {
    const job = jobOf([tensorOf(3000, { bound: 0 })]);
    const { lab, hosts, received, sent } = setUp(job, { loss: 0.3, delay: 0.1 }, 4);
    const values = gradient(3000, 1);
    hosts[0]?.dispatch({ type: "send", to: 1, tensor: 0, values });
    expect(lab.run(() => sent.length === 1, 10_000)).toBe(true);
    expect(received[0]?.values).toEqual(values);
    expect(received[0]?.lost).toEqual([]);
  });

  test("with a bound above the loss ends without a second round", () => {
    const job = jobOf([tensorOf(30_000, { bound: 0.1 })]);
    const { lab, hosts, machines, received, sent } = setUp(job, { loss: 0.02, delay: 0.1 }, 4);
    hosts[0]?.dispatch({ type: "send", to: 1, tensor: 0, values: gradient(30_000, 1) });
    expect(lab.run(() => sent.length === 1, 10_000)).toBe(true);
    expect(sent[0]?.rounds).toBe(0);
    expect(machines[0]?.counters.get("segments_again")).toBe(0);
    expect(received[0] === undefined ? 0 : lostOf(received[0])).toBeGreaterThan(0);
  });

  test("stops the sender in the middle when enough is there", () => {
    const job = jobOf([tensorOf(100_000, { bound: 0.5 })]);
    const { lab, hosts, machines, sent } = setUp(job, { delay: 0.1 }, 4);
    hosts[0]?.dispatch({ type: "send", to: 1, tensor: 0, values: gradient(100_000, 1) });
    expect(lab.run(() => sent.length === 1, 10_000)).toBe(true);
    lab.run(() => false, lab.now + 100);
    const segments = machines[0]?.counters.get("segments") ?? 0;
    expect(segments).toBeGreaterThanOrEqual(5000);
    expect(segments).toBeLessThan(5200);
  });

  test("leaves out other values in each iteration", () => {
    const { lab, hosts, received } = setUp(jobOf([tensorOf(10_000, { bound: 0.1 })]), { delay: 0.1 }, 4);
    const missed = new Float32Array(10_000);
    for (let iteration = 1; iteration <= 10; iteration++) {
      hosts[0]?.dispatch({ type: "send", to: 1, tensor: 0, values: gradient(10_000, 1) });
      lab.run(() => received.length === iteration, 10_000);
      for (const { offset, count } of received.at(-1)?.lost ?? [])
        for (let i = offset; i < offset + count; i++) missed[i] = (missed[i] ?? 0) + 1;
    }
    expect(missed.reduce((a, b) => a + b, 0)).toBeGreaterThan(0);
    expect(Math.max(...missed)).toBeLessThanOrEqual(3);
  });

  test("needs no order: packets held back for long are no loss, and are not sent again", () => {
    const job = jobOf([tensorOf(5000, { bound: 0 })]);
    const faults = { reorder: 0.5, holdBack: 3, delay: 0.1 };
    const { lab, hosts, machines, received, sent } = setUp(job, faults, 4, { patience: 4 });
    const values = gradient(5000, 1);
    hosts[0]?.dispatch({ type: "send", to: 1, tensor: 0, values });
    expect(lab.run(() => sent.length === 1, 10_000)).toBe(true);
    expect(received[0]?.values).toEqual(values);
    expect(machines[0]?.counters.get("segments_again")).toBe(0);
  });

  test("front layers go first when several are ready", () => {
    const job = jobOf([11, 6, 0].map((layer) => tensorOf(500, { layer, bound: 0 })));
    const { lab, hosts, received } = setUp(job, { delay: 0.1 }, 1);
    for (const tensor of [0, 1, 2])
      hosts[0]?.dispatch({ type: "send", to: 1, tensor, values: gradient(500, tensor) });
    expect(lab.run(() => received.length === 3, 1000)).toBe(true);
    expect(received.map((r) => r.tensor)).toEqual([2, 1, 0]);
  });

  test("the next iteration waits for the one that is under way", () => {
    const { lab, hosts, received } = setUp(jobOf([tensorOf(300)]), { delay: 1 }, 1);
    const send = (seed: number) => () =>
      hosts[0]?.dispatch({ type: "send", to: 1, tensor: 0, values: gradient(300, seed) });
    send(1)();
    send(2)();
    expect(send(3)).toThrow("two iterations of tensor 0");
    expect(lab.run(() => received.length === 2, 1000)).toBe(true);
    expect(received.map((r) => r.iteration)).toEqual([1, 2]);
  });

  test("the same seed gives the same run", () => {
    const run = () => {
      const { lab, hosts, received } = setUp(jobOf([tensorOf(3000)]), { loss: 0.2, reorder: 0.2 }, 7);
      hosts[0]?.dispatch({ type: "send", to: 1, tensor: 0, values: gradient(3000, 1) });
      lab.run(() => received.length === 1, 1000);
      return [lab.now, lab.hops, received];
    };
    expect(run()).toEqual(run());
  });
});

describe("marks", () => {
  const plan = trafficPlan();

  function framesOf(layer: number, values: Float32Array, options: Partial<DlcpOptions>) {
    const host = new DlcpHost(jobOf([tensorOf(values.length, { layer })]), 0, { lineRate: 1e15, ...options });
    const first = host.handle({ type: "send", to: 1, tensor: 0, values }, 0);
    return [...first, ...host.handle({ type: "tick" }, 1)].flatMap((action) => {
      const datagram = action.type === "send" ? parseFrame(action.frame) : undefined;
      const packet =
        datagram === undefined || "refused" in datagram ? undefined : decodeTensorPacket(datagram.payload);
      if (datagram === undefined || "refused" in datagram || packet === undefined || "refused" in packet)
        return [];
      return [{ dscp: datagram.dscp, ecn: datagram.ecn, header: packet.header }];
    });
  }

  test("packets have their layer's class, and probes the class of control, which is never dropped", () => {
    for (const layer of [0, 5, 11]) {
      const frames = framesOf(layer, gradient(50, 1), {});
      const data = frames.filter((f) => f.header.kind === TensorKind.DATA);
      expect(new Set(data.map((f) => f.dscp))).toEqual(new Set([dscpOfLayer(plan, layer, 12)]));
      const probes = frames.filter((f) => f.header.kind === TensorKind.PROBE);
      expect(probes.map((f) => [f.dscp, f.ecn])).toEqual([[plan.control.dscp, Ecn.ECT_0]]);
    }
  });

  test("packets of small gradients are droppable and those of large ones are not", () => {
    const isSmall = (offset: number): boolean => Math.floor(offset / 10) % 5 < 3;
    const values = Float32Array.from({ length: 1000 }, (_, i) => (isSmall(i) ? 1e-6 * i : -5 - i));
    for (const importance of ["medianOfValues", "medianOfMeans"] as const) {
      const marks = { priority: true, importance };
      const data = framesOf(0, values, { marks }).filter((f) => f.header.kind === TensorKind.DATA);
      const droppable = data.filter((f) => f.ecn === Ecn.NON_ECT);
      expect(data.length).toBe(100);
      expect(droppable.length).toBeGreaterThan(30);
      expect(droppable.filter((f) => !isSmall(f.header.offset))).toEqual([]);
    }
  });

  test("half of the packets are droppable by the median of means, however the values are spread", () => {
    const values = gradient(20_000, 3);
    const marks = { priority: true, importance: "medianOfMeans" as const };
    const data = framesOf(0, values, { marks }).filter((f) => f.header.kind === TensorKind.DATA);
    const share = data.filter((f) => f.ecn === Ecn.NON_ECT).length / data.length;
    expect(Math.abs(share - 0.5)).toBeLessThan(0.1);
  });
});

describe("a transfer that goes wrong", () => {
  const job = jobOf([tensorOf(2000), tensorOf(40)]);
  const unplug = (lab: Lab, host: number) => {
    for (const wire of [`h${host}>net:${host}`, `net:${host}>h${host}`]) lab.wire(wire).cut();
  };

  test("a receiver that vanishes is named within bounded time, and the sender falls silent", () => {
    const made = setUp(job, { delay: 0.1 }, 1, { silence: 500 });
    unplug(made.lab, 1);
    made.hosts[0]?.dispatch({ type: "send", to: 1, tensor: 0, values: gradient(2000, 1) });
    made.lab.run(() => made.errors.length > 0, 5000);
    expect(made.errors.map(({ error }) => [error.code, error.peer])).toEqual([["peer_lost", 1]]);
    const { frames } = made.lab.wire("h0>net:0").counters;
    made.lab.run(() => false, made.lab.now + 5000);
    expect(made.lab.wire("h0>net:0").counters.frames).toBe(frames);
    expect(() =>
      made.hosts[0]?.dispatch({ type: "send", to: 1, tensor: 1, values: new Float32Array(40) }),
    ).toThrow("host 1 is lost");
  });

  test("a sender that vanishes in the middle is named, and no tensor is delivered", () => {
    const made = setUp(job, { delay: 0.1, rate: 1e7 }, 1, { silence: 500, lineRate: 1e7 });
    made.hosts[0]?.dispatch({ type: "send", to: 1, tensor: 0, values: gradient(2000, 1) });
    made.lab.at(1, () => unplug(made.lab, 0));
    made.lab.run(() => made.errors.some(({ at }) => at === 1), 5000);
    const found = made.errors.filter(({ at }) => at === 1).map(({ error }) => [error.code, error.peer]);
    expect(found).toEqual([["peer_lost", 0]]);
    expect(made.received).toEqual([]);
  });

  test("a sender that is awaited and never speaks is named; one that is only late is waited for", () => {
    const made = setUp(job, { delay: 0.1 }, 1, { silence: 500 });
    made.hosts[1]?.dispatch({ type: "expect", from: 0, tensor: 0 });
    made.lab.at(3000, () =>
      made.hosts[0]?.dispatch({ type: "send", to: 1, tensor: 0, values: gradient(2000, 1) }),
    );
    made.lab.run(() => made.received.length === 1, 5000);
    expect([made.received.length, made.errors]).toEqual([1, []]);
    made.hosts[1]?.dispatch({ type: "expect", from: 0, tensor: 0 });
    unplug(made.lab, 0);
    made.lab.run(() => made.errors.length > 0, made.lab.now + 5000);
    expect(made.errors.map(({ at, error }) => [at, error.code, error.peer])).toEqual([[1, "peer_lost", 0]]);
  });

  test("a peer that says another size is named on both sides, and no tensor is delivered", () => {
    const other = jobOf([tensorOf(1990), tensorOf(40)]);
    const made = setUp(job, { delay: 0.1 }, 1, {}, [other, job]);
    made.hosts[0]?.dispatch({ type: "send", to: 1, tensor: 0, values: gradient(1990, 1) });
    made.lab.run(() => made.errors.length === 2, 5000);
    expect(made.errors.map(({ at, error }) => [at, error.code, error.peer, error.tensor])).toEqual([
      [1, "peer_disagrees", 0, 0],
      [0, "peer_disagrees", 1, 0],
    ]);
    expect(made.received).toEqual([]);
    // Other tensors are not affected.
    made.hosts[0]?.dispatch({ type: "send", to: 1, tensor: 1, values: gradient(40, 1) });
    expect(made.lab.run(() => made.received.length === 1, made.lab.now + 5000)).toBe(true);
  });

  test("a host that starts anew is noticed, and packets of its earlier life change nothing", () => {
    const made = setUp(job, { delay: 0.1 }, 1);
    made.hosts[0]?.dispatch({ type: "send", to: 1, tensor: 1, values: gradient(40, 1) });
    made.lab.run(() => made.sent.length === 1, 1000);
    const reborn = new DlcpHost(job, 0, { ...quick, incarnation: 2 });
    const receiver = made.machines[1];
    const frames = reborn.handle({ type: "send", to: 1, tensor: 1, values: gradient(40, 2) }, made.lab.now);
    const actions = frames.flatMap((a) =>
      a.type === "send" ? (receiver?.handle({ type: "frame", frame: a.frame }, made.lab.now) ?? []) : [],
    );
    expect(actions.map((a) => (a.type === "error" ? a.error.code : a.type))).toEqual(["peer_restarted"]);
  });

  test("whatever a peer sends, memory stays what the job needs and nothing wrong is delivered", () => {
    const header = fc.record({
      kind: fc.integer({ min: 0, max: 9 }),
      tensor: fc.oneof(fc.nat(2), fc.nat(0xffff)),
      count: fc.oneof(fc.constantFrom(0, 10, 40), fc.nat(0xffff)),
      iteration: fc.oneof(fc.nat(3), fc.nat(0xffffffff)),
      elements: fc.oneof(fc.constantFrom(2000, 40), fc.nat(0xffffffff)),
      offset: fc.oneof(fc.constantFrom(0, 10, 1990), fc.nat(0xffffffff)),
      sequence: fc.nat(0xffffffff),
      sent_at: fc.nat(0xffffffff),
    });
    fc.assert(
      fc.property(fc.array(fc.tuple(header, fc.nat(60)), { maxLength: 40 }), (packets) => {
        const host = new DlcpHost(job, 1, quick);
        const values = gradient(2000, 1);
        host.handle({ type: "send", to: 0, tensor: 0, values }, 0);
        for (const [fields, bytes] of packets) {
          const actions = host.handle({ type: "frame", frame: frameOf(fields, bytes) }, 1);
          expect(actions.length).toBeLessThan(400);
          for (const action of actions) if (action.type === "received") expect(action.values.length).toBe(40);
        }
      }),
      { numRuns: 60 },
    );
  });

  function frameOf(fields: Partial<TensorHeader>, bytes: number): Uint8Array {
    const frame = newFrame(
      {
        ...{ srcMac: 1, dstMac: 2, srcIp: 0x0a000001, dstIp: 0x0a000002 },
        ...{ srcPort: TENSOR_PORT, dstPort: TENSOR_PORT },
      },
      tensorCodec.bytes + bytes,
    );
    const header = {
      ...{ version: 1, kind: 1, reserved: 0, job: 9, sender: 0, receiver: 1, incarnation: 1 },
      ...{ peer_incarnation: 1, tensor: 0, count: 0, iteration: 1, elements: 2000 },
      ...{ offset: 0, sequence: 0, sent_at: 0, ...fields },
    };
    tensorCodec.encode(header, frame, PAYLOAD_AT);
    writeUdpChecksum(frame);
    return frame;
  }

  test("wrong calls and jobs are refused with the reason", () => {
    const host = new DlcpHost(job, 0);
    const send = (to: number, tensor: number, n: number) => () =>
      host.handle({ type: "send", to, tensor, values: new Float32Array(n) }, 0);
    expect(send(1, 7, 1)).toThrow("no tensor 7");
    expect(send(1, 0, 1)).toThrow("tensor 0 has 2000 values, not 1");
    expect(send(0, 0, 2000)).toThrow("does not go from host 0 to host 0");
    expect(() => new DlcpHost(job, 5)).toThrow("no host 5");
    expect(() => new DlcpHost(jobOf([tensorOf(0)]), 0)).toThrow("tensor 0 has 0 values");
    expect(() => new DlcpHost(jobOf([tensorOf(5, { bound: 1 })]), 0)).toThrow("may lose a share of 1");
    expect(() => new DlcpHost(jobOf([tensorOf(5, { layer: 12 })]), 0)).toThrow("layer 12 of 12");
    expect(() => new DlcpHost(jobOf([tensorOf(5, { senders: [4] })]), 0)).toThrow("host 4");
  });
});

test("enough is never less than the bound allows, and never nothing", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1e6 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (elements, bound) => {
        const needed = enough({ elements, bound });
        expect(needed).toBeGreaterThanOrEqual(1);
        expect((elements - needed) / elements).toBeLessThanOrEqual(bound);
      },
    ),
  );
});
