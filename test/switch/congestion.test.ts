import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fateOf } from "../../src/dsl/index.ts";
import {
  type CongestionRules,
  type Importance,
  importanceOf,
  markCongestion,
  Switch,
  TrafficManager,
} from "../../src/switch/index.ts";
import { ipv4HeaderChecksum } from "../../src/wire/datagram.ts";
import {
  burst,
  frame,
  frame6,
  KEEP,
  NEAR_PORT,
  plan,
  type Sent,
  switchOf,
} from "../features/trafficprograms.ts";
import { assign, bytes, extract, hex, program, sm } from "./fixtures/builder.ts";

interface Packet {
  readonly id: number;
  readonly bytes: number;
  readonly importance: Importance;
  marked?: boolean;
}

const rules: CongestionRules<Packet> = {
  importance: (packet) => packet.importance,
  mark: (packet) => {
    packet.marked = true;
  },
};

function manager(pacing: "port" | "queue" = "port"): TrafficManager<Packet> {
  return new TrafficManager<Packet>({ queues: 4, depth: 100, pacing }, (packet) => packet.bytes, rules);
}

const some = (id: number, importance: Importance = "exempt", length = 100): Packet => ({
  id,
  bytes: length,
  importance,
});

interface Left {
  readonly id: number;
  readonly at: number;
}

/** All that leaves until the queues are empty, each when it may. */
function drain(tm: TrafficManager<Packet>): readonly Left[] {
  const into = { packet: some(0), port: 0, queue: 0, depth: 0 };
  const left: Left[] = [];
  for (let at = tm.nextWakeup(); at !== undefined; at = tm.nextWakeup())
    while (tm.dequeue(at, into)) left.push({ id: into.packet.id, at });
  return left;
}

describe("a queue with thresholds", () => {
  it("refuses droppable packets where more wait than it keeps, and takes others until it is full", () => {
    const tm = manager();
    tm.setRate(1, { kind: "packetsPerSecond", rate: 1 });
    tm.configureQueues({ port: 1, queue: 2 }, { drop: { packets: 1 }, depth: { packets: 4 } });
    const put = (importance: Importance) => tm.enqueue(1, 2, some(0, importance), 0);
    expect([put("droppable"), put("droppable"), put("droppable")]).toEqual([
      undefined,
      undefined,
      "selectiveDrop",
    ]);
    expect([put("ecnCapable"), put("exempt"), put("exempt")]).toEqual([undefined, undefined, "queueFull"]);
    // Other queues of the port have no threshold.
    expect(tm.enqueue(1, 0, some(0, "droppable"), 0)).toBeUndefined();
    expect(tm.counters(1, 2)).toMatchObject({
      enqueued: 4,
      dropped: { selectiveDrop: 1, queueFull: 1 },
      droppedBytes: 200,
      marked: 0,
    });
  });

  it("marks what is ECN-capable, and nothing that it refuses", () => {
    const tm = manager();
    tm.setRate(1, { kind: "packetsPerSecond", rate: 1 });
    tm.configureQueues({ port: 1 }, { mark: { packets: 0 }, depth: { packets: 2 } });
    const packets = [some(1, "ecnCapable"), some(2, "ecnCapable"), some(3, "ecnCapable"), some(4, "exempt")];
    const refused = packets.map((packet) => tm.enqueue(1, 0, packet, 0));
    expect(refused).toEqual([undefined, undefined, "queueFull", "queueFull"]);
    expect(packets.map((packet) => packet.marked ?? false)).toEqual([false, true, false, false]);
    expect(tm.counters(1, 0).marked).toBe(1);
  });

  it("counts in bytes where it is told so", () => {
    const tm = manager();
    tm.setRate(1, { kind: "packetsPerSecond", rate: 1 });
    tm.configureQueues({ port: 1, queue: 0 }, { depth: { bytes: 1000 }, drop: { bytes: 500 } });
    expect(tm.enqueue(1, 0, some(1, "droppable", 501), 0)).toBeUndefined();
    expect(tm.enqueue(1, 0, some(2, "droppable", 1), 0)).toBe("selectiveDrop");
    expect(tm.enqueue(1, 0, some(3, "exempt", 500), 0)).toBe("queueFull");
    expect(tm.enqueue(1, 0, some(4, "exempt", 499), 0)).toBeUndefined();
    expect(tm.counters(1, 0)).toMatchObject({ highest: 2, highestBytes: 1000, enqueuedBytes: 1000 });
    tm.dequeue(0, { packet: some(0), port: 0, queue: 0, depth: 0 });
    tm.resetWatermarks();
    expect(tm.counters(1, 0)).toMatchObject({ highest: 1, highestBytes: 499 });
  });

  it("is told for all ports at once, those to come included, and for one port afterwards", () => {
    const tm = manager();
    tm.enqueue(1, 0, some(0), 0);
    tm.configureQueues({ queue: 3 }, { drop: { packets: 5 } });
    tm.configurePort(undefined, { rate: { kind: "bitsPerSecond", rate: 1e6 }, buffer: 1000 });
    tm.configureQueues({ port: 1, queue: 3 }, { drop: {} });
    expect([1, 2].map((port) => tm.queueSettings(port, 3)?.drop)).toEqual([{}, { packets: 5 }]);
    tm.enqueue(2, 0, some(0), 0);
    expect([1, 2].map((port) => tm.portSettings(port))).toEqual([
      { rate: { kind: "bitsPerSecond", rate: 1e6 }, buffer: 1000, reserved: 0 },
      { rate: { kind: "bitsPerSecond", rate: 1e6 }, buffer: 1000, reserved: 0 },
    ]);
    expect([tm.isLimited(1), tm.isLimited(77)]).toEqual([true, true]);
  });

  it("refuses settings that make no sense, and keeps what it has", () => {
    const tm = manager();
    const before = tm.queueSettings(1, 0);
    expect(() => tm.configureQueues({ queue: 4 }, {})).toThrow("there is no queue 4; they are 0 to 3");
    expect(() => tm.configureQueues({ port: 1 }, { depth: { packets: 3 }, drop: { bytes: -1 } })).toThrow(
      "port 1: a queue can't hold -1 bytes",
    );
    const none = { kind: "packetsPerSecond", rate: 0 } as const;
    expect(() => tm.configurePort(undefined, { rate: none })).toThrow("all ports: a rate must be above 0");
    expect(() => tm.configurePort(1, { buffer: Number.NaN })).toThrow("port 1: queues can't hold NaN bytes");
    expect(tm.queueSettings(1, 0)).toEqual(before);
  });
});

describe("a queue with a rate of its own", () => {
  it("sends by it within the port's, and lets weaker ones go meanwhile", () => {
    const tm = manager();
    tm.setRate(1, { kind: "packetsPerSecond", rate: 1000 });
    tm.configureQueues({ port: 1, queue: 3 }, { rate: { kind: "packetsPerSecond", rate: 500 } });
    for (const id of [31, 32, 33]) tm.enqueue(1, 3, some(id), 0);
    for (const id of [1, 2, 3]) tm.enqueue(1, 0, some(id), 0);
    expect(drain(tm)).toEqual([
      { id: 31, at: 0 },
      { id: 1, at: 1000 },
      { id: 32, at: 2000 },
      { id: 2, at: 3000 },
      { id: 33, at: 4000 },
      { id: 3, at: 5000 },
    ]);
  });

  it("has no credit for the time before it was given one", () => {
    const tm = manager();
    tm.configureQueues({ port: 1 }, { rate: { kind: "packetsPerSecond", rate: 1000 } });
    for (const id of [1, 2, 3]) tm.enqueue(1, 0, some(id), 500_000);
    tm.configureQueues({ port: 1 }, { rate: { kind: "packetsPerSecond", rate: 100 } });
    expect(drain(tm).map(({ at }) => at)).toEqual([500_000, 510_000, 520_000]);
    tm.configureQueues({ port: 1 }, { rate: { kind: "unlimited" } });
    expect(tm.isLimited(1)).toBe(false);
  });
});

/** How BMv2 paces (include/bm/bm_sim/queueing.h): a packet gets its time when it joins; the strongest that is due goes first. */
class Bmv2Queues {
  readonly #waiting: {
    readonly id: number;
    readonly queue: number;
    readonly at: number;
    readonly order: number;
  }[] = [];
  readonly #lastSent = [0, 0, 0, 0].map(() => Number.NEGATIVE_INFINITY);
  readonly #delay: number;
  #order = 0;

  constructor(packetsPerSecond: number) {
    this.#delay = 1e6 / packetsPerSecond;
  }

  enqueue(queue: number, id: number, now: number): void {
    const at = Math.max(now, (this.#lastSent[queue] ?? 0) + this.#delay);
    this.#lastSent[queue] = at;
    this.#waiting.push({ id, queue, at, order: this.#order++ });
  }

  /** All that leaves by `now`, in order. */
  due(now: number): readonly Left[] {
    const left: Left[] = [];
    for (;;) {
      const next = Math.min(...this.#waiting.map(({ at }) => at));
      if (!(next <= now)) return left;
      const ready = this.#waiting.filter(({ at }) => at <= next);
      const [first] = ready.sort((a, b) => b.queue - a.queue || a.at - b.at || a.order - b.order);
      if (first === undefined) return left;
      this.#waiting.splice(this.#waiting.indexOf(first), 1);
      left.push({ id: first.id, at: next });
    }
  }
}

describe("pacing as BMv2 does it", () => {
  it("gives each queue the rate of the port, so that weak queues go as fast as strong ones", () => {
    const tm = manager("queue");
    tm.setRate(1, { kind: "packetsPerSecond", rate: 1000 });
    for (const id of [1, 2]) tm.enqueue(1, 0, some(id), 0);
    for (const id of [31, 32]) tm.enqueue(1, 3, some(id), 0);
    expect(drain(tm)).toEqual([
      { id: 31, at: 0 },
      { id: 1, at: 0 },
      { id: 32, at: 1000 },
      { id: 2, at: 1000 },
    ]);
  });

  it("knows packets per second only", () => {
    const bits = { kind: "bitsPerSecond", rate: 1e6 } as const;
    expect(() => manager("queue").setRate(1, bits)).toThrow(
      "port 1: queues are paced by packets per second, as in BMv2",
    );
  });

  it("sends each packet when BMv2's queues would", () => {
    const arrival = fc.record({ pause: fc.integer({ min: 0, max: 3000 }), queue: fc.nat(3) });
    fc.assert(
      fc.property(
        fc.array(arrival, { maxLength: 60 }),
        fc.constantFrom(250, 1000, 4000),
        (arrivals, rate) => {
          const tm = manager("queue");
          tm.setRate(1, { kind: "packetsPerSecond", rate });
          const real = new Bmv2Queues(rate);
          const into = { packet: some(0), port: 0, queue: 0, depth: 0 };
          const left: Left[] = [];
          const until = (now: number): void => {
            for (let at = tm.nextWakeup(); at !== undefined && at <= now; at = tm.nextWakeup())
              while (tm.dequeue(at, into)) left.push({ id: into.packet.id, at });
          };
          const wanted: Left[] = [];
          let now = 0;
          for (const [id, { pause, queue }] of arrivals.entries()) {
            now += pause;
            until(now);
            wanted.push(...real.due(now));
            expect(tm.enqueue(1, queue, some(id), now)).toBeUndefined();
            real.enqueue(queue, id, now);
          }
          until(Number.MAX_SAFE_INTEGER);
          wanted.push(...real.due(Number.MAX_SAFE_INTEGER));
          expect(left).toEqual(wanted);
        },
      ),
    );
  });
});

describe("the ECN bits of a frame", () => {
  const checked = (made: Uint8Array): Uint8Array => {
    expect(made.length > 34 && made[12] === 8 && ipv4HeaderChecksum(made, 14)).toBe(0);
    return made;
  };

  it("say what is droppable, of IPv4, IPv6 and behind VLAN tags", () => {
    const tagged = (made: Uint8Array) =>
      new Uint8Array([...made.subarray(0, 12), 0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, ...made.subarray(12)]);
    for (const ecn of [0, 1, 2, 3]) {
      const wanted = ecn === 0 ? "droppable" : "ecnCapable";
      for (const made of [frame({ ecn }), frame6({ ecn }), tagged(frame({ ecn }))])
        expect(importanceOf(made)).toBe(wanted);
    }
    for (const made of [
      new Uint8Array(0),
      frame({}).subarray(0, 33),
      bytes(`${"00".repeat(12)}0806${"45".repeat(30)}`),
    ])
      expect(importanceOf(made)).toBe("exempt");
  });

  it("give way to code points where those are named", () => {
    const named = new Set([12, 14]);
    expect(importanceOf(frame({ dscp: 12, ecn: 2 }), named)).toBe("droppable");
    expect(importanceOf(frame6({ dscp: 14 }), named)).toBe("droppable");
    expect(importanceOf(frame({ dscp: 10 }), named)).toBe("exempt");
    expect(importanceOf(frame({ dscp: 10, ecn: 1 }), named)).toBe("ecnCapable");
  });

  it("become CE with a right checksum, whatever stood there; what is not ECN-capable stays as it is", () => {
    fc.assert(
      fc.property(
        fc.nat(63),
        fc.nat(3),
        fc.nat(0xffff),
        fc.integer({ min: 1, max: 255 }),
        (dscp, ecn, id, ttl) => {
          const made = frame({ dscp, ecn, id, ttl });
          const before = made.slice();
          markCongestion(made);
          checked(made);
          expect(made[15]).toBe((dscp << 2) | (ecn === 0 ? 0 : 3));
          made.set(before.subarray(15, 16), 15);
          made.set(before.subarray(24, 26), 24);
          expect(made).toEqual(before);
          const six = frame6({ dscp, ecn, id });
          const wanted = frame6({ dscp, ecn: ecn === 0 ? 0 : 3, id });
          markCongestion(six);
          expect(six).toEqual(wanted);
        },
      ),
    );
  });
});

describe("thresholds of the switch's queues", () => {
  const priorityOnly = { priority: true, drop: false, ecmp: false, aggregation: false };

  /** The program without the drop feature; its thresholds stand at the queues instead. */
  function withThresholds(): Switch {
    const sw = switchOf(priorityOnly);
    sw.trafficManager.setRate(NEAR_PORT, { kind: "packetsPerSecond", rate: 1000 });
    for (const [name, packets] of Object.entries(KEEP))
      sw.trafficManager.configureQueues({ queue: Number(name) }, { drop: { packets }, mark: { packets } });
    return sw;
  }

  it("do before the queue what the drop feature does behind it, packet by packet", () => {
    const packet = fc.record({
      dscp: fc.constantFrom(0, plan.control.dscp, ...plan.gradients.map((g) => g.dscp)),
      ecn: fc.nat(3),
    });
    fc.assert(
      fc.property(fc.array(packet, { maxLength: 60 }), (packets) => {
        const depth = new Map<number, number>();
        const keepOf: Readonly<Record<number, number>> = KEEP;
        const wanted = new Map<number, number>();
        const sent = packets.map((p, id) => ({ ...p, id }));
        for (const { id, dscp, ecn } of sent) {
          const queue = [plan.control, ...plan.gradients].find((g) => g.dscp === dscp)?.class ?? 0;
          const before = depth.get(queue) ?? 0;
          const fate = fateOf({ ecn, depth: before, keep: keepOf[queue] });
          if (fate === "drop_unimportant") continue;
          // What is dropped never had a place in the queue.
          depth.set(queue, before + 1);
          wanted.set(id, fate === "marked" ? 3 : ecn);
        }
        const sw = withThresholds();
        const holder: Sent = { id: 999, dscp: plan.control.dscp };
        const got = burst(sw, [holder, ...sent]).slice(1);
        expect(new Map(got.map((a) => [a.id, a.ecn]))).toEqual(wanted);
        expect(sw.drops.selectiveDrop).toBe(sent.length - wanted.size);
      }),
      { numRuns: 15 },
    );
  });

  it("let clones alone: they are the switch's own", () => {
    const sw = new Switch(
      program({
        types: { e_t: [["all", 112]] },
        headers: { e: "e_t" },
        parser: { start: { ops: [extract("e")] } },
        ingressBody: [
          assign(sm("egress_spec"), hex(511)),
          { op: "clone_ingress_pkt_to_egress", parameters: [hex(1), hex(0)] },
        ],
      }),
    );
    sw.replication.insertSession(1, [{ port: 1, instance: 0 }]);
    sw.trafficManager.setRate(1, { kind: "packetsPerSecond", rate: 1000 });
    sw.trafficManager.configureQueues({}, { drop: { packets: 0 } });
    for (let n = 0; n < 5; n++) sw.handle({ kind: "packet", port: 0, data: frame({}) }, 0);
    expect(sw.drops.selectiveDrop).toBe(0);
    expect(sw.trafficManager.depth(1, 0)).toBe(4);
  });
});
