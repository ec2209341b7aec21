import { describe, expect, it } from "vitest";
import { Switch, type SwitchOptions, TrafficManager } from "../../src/switch/index.ts";
import {
  assign,
  bytes,
  call,
  counting,
  extract,
  field,
  hex,
  op,
  program,
  sm,
  text,
} from "./fixtures/builder.ts";

function manager(queues = 8, depth = 4): TrafficManager<string> {
  return new TrafficManager<string>({ queues, depth }, (packet) => packet.length);
}

function drain(tm: TrafficManager<string>, now: number): readonly string[] {
  const into = { packet: "", port: 0, queue: 0, depth: 0 };
  const out: string[] = [];
  while (tm.dequeue(now, into)) out.push(into.packet);
  return out;
}

describe("the traffic manager", () => {
  it("serves the highest queue of a port first", () => {
    const tm = manager();
    for (const [queue, packet] of [
      [0, "a"],
      [7, "b"],
      [3, "c"],
      [7, "d"],
    ] as const) {
      tm.enqueue(1, queue, packet, 0);
    }
    expect(drain(tm, 0)).toEqual(["b", "d", "c", "a"]);
  });

  it("lets ports take turns", () => {
    const tm = manager();
    for (const packet of ["a1", "a2"]) tm.enqueue(1, 0, packet, 0);
    for (const packet of ["b1", "b2"]) tm.enqueue(2, 0, packet, 0);
    expect(drain(tm, 0)).toEqual(["a1", "b1", "a2", "b2"]);
  });

  it("refuses what does not fit into the buffer that a port's queues share", () => {
    const tm = manager();
    tm.setRate(1, { kind: "packetsPerSecond", rate: 1000 });
    tm.setBuffer(1, 10);
    expect(tm.enqueue(1, 0, "12345", 0)).toBeUndefined();
    expect(tm.enqueue(1, 7, "123456", 0)).toBe("bufferFull");
    expect(tm.enqueue(1, 7, "12345", 0)).toBeUndefined();
    expect(tm.enqueue(2, 0, "12345678901", 0)).toBeUndefined();
    expect(drain(tm, 0)).toEqual(["12345", "12345678901"]);
    expect(tm.enqueue(1, 7, "12345", 0)).toBeUndefined();
  });

  it("shares a port's rate among its queues", () => {
    const tm = manager();
    tm.setRate(1, { kind: "packetsPerSecond", rate: 1000 });
    tm.enqueue(1, 0, "low", 0);
    tm.enqueue(1, 7, "high", 0);
    expect(drain(tm, 0)).toEqual(["high"]);
    expect(tm.nextWakeup()).toBe(1000);
    expect(drain(tm, 999)).toEqual([]);
    expect(drain(tm, 1000)).toEqual(["low"]);
    expect(tm.nextWakeup()).toBeUndefined();
  });

  it("paces by bits, without credit for idle time", () => {
    const tm = manager();
    tm.setRate(1, { kind: "bitsPerSecond", rate: 8_000_000 });
    tm.enqueue(1, 0, "12345678", 100);
    tm.enqueue(1, 0, "1234", 100);
    tm.enqueue(1, 0, "12", 100);
    expect(drain(tm, 100)).toEqual(["12345678"]);
    expect(tm.nextWakeup()).toBe(108);
    expect(drain(tm, 108)).toEqual(["1234"]);
    expect(drain(tm, 112)).toEqual(["12"]);
  });

  it("drops the tail of a full queue and counts it by queue", () => {
    const tm = manager();
    tm.setRate(1, { kind: "packetsPerSecond", rate: 1 });
    const refused = ["a", "b", "c", "d", "e"].map((packet) => tm.enqueue(1, 2, packet, 0));
    expect(refused).toEqual([undefined, undefined, undefined, undefined, "queueFull"]);
    expect(tm.counters(1, 2)).toEqual({
      enqueued: 4,
      enqueuedBytes: 4,
      dropped: { queueFull: 1, bufferFull: 0, selectiveDrop: 0, priorityOutOfRange: 0 },
      droppedBytes: 1,
      marked: 0,
      highest: 4,
      highestBytes: 4,
    });
    tm.setDepth(1, 6, 2);
    expect(tm.enqueue(1, 2, "f", 0)).toBeUndefined();
    expect(tm.depth(1, 2)).toBe(5);
  });

  it("refuses a priority beyond its queues", () => {
    const tm = manager(2);
    expect(tm.enqueue(1, 2, "a", 0)).toBe("priorityOutOfRange");
    expect(tm.counters(1, 0).dropped.priorityOutOfRange).toBe(1);
  });
});

function queued(options: SwitchOptions = {}): Switch {
  return new Switch(
    program({
      types: {
        h_t: [["class", 8]],
        q_t: [
          ["enq", 16],
          ["deq", 16],
          ["waited", 32],
        ],
      },
      headers: { h: "h_t", q: "q_t" },
      parser: { start: { ops: [extract("h")] } },
      ingressBody: [
        assign(sm("egress_spec"), hex(1)),
        assign(sm("priority"), op("&", field("h.class"), hex(7))),
      ],
      egressBody: [
        call("add_header", { type: "header", value: "q" }),
        assign("q.enq", op("&", field(sm("enq_qdepth")), hex(0xffff))),
        assign("q.deq", op("&", field(sm("deq_qdepth")), hex(0xffff))),
        assign("q.waited", field(sm("deq_timedelta"))),
      ],
    }),
    options,
  );
}

describe("queues in the switch", () => {
  const leaving = (actions: readonly { readonly kind: string; readonly data?: Uint8Array }[]) =>
    actions.flatMap((action) => (action.kind === "transmit" ? [text(action.data)?.slice(0, 18)] : []));

  it("tell egress how deep they were and how long the packet waited", () => {
    const sw = queued();
    sw.trafficManager.setRate(1, { kind: "packetsPerSecond", rate: 1000 });
    const packet = (byte: string) => ({ kind: "packet" as const, port: 0, data: bytes(byte) });
    expect(leaving(sw.handle(packet("00"), 0))).toEqual(["000000000000000000"]);
    expect(leaving(sw.handle(packet("00"), 100))).toEqual([]);
    expect(leaving(sw.handle(packet("00"), 200))).toEqual([]);
    expect(sw.nextWakeup()).toBe(1000);
    expect(leaving(sw.tick(1000))).toEqual([`0000000001${(900).toString(16).padStart(8, "0")}`]);
    expect(leaving(sw.tick(2000))).toEqual([`0000010000${(1800).toString(16).padStart(8, "0")}`]);
  });

  it("serve a strong class first", () => {
    const sw = queued();
    sw.trafficManager.setRate(1, { kind: "packetsPerSecond", rate: 1000 });
    for (const byte of ["00", "00", "07"]) sw.handle({ kind: "packet", port: 0, data: bytes(byte) }, 0);
    expect(leaving(sw.tick(1000))[0]?.slice(0, 2)).toBe("07");
  });

  it("drop a class beyond the queues, counted by reason", () => {
    const sw = queued({ priorityQueues: 2 });
    expect(leaving(sw.handle({ kind: "packet", port: 0, data: bytes("01") }, 0))).toHaveLength(1);
    expect(sw.handle({ kind: "packet", port: 0, data: bytes("02") }, 0)).toEqual([
      { kind: "drop", reason: "priorityOutOfRange", port: 1 },
    ]);
    expect(sw.drops.priorityOutOfRange).toBe(1);
  });

  it("keep waiting packets apart from the caller's buffer", () => {
    const sw = queued();
    sw.trafficManager.setRate(1, { kind: "packetsPerSecond", rate: 1000 });
    sw.handle({ kind: "packet", port: 0, data: counting(8) }, 0);
    const shared = counting(8);
    sw.handle({ kind: "packet", port: 0, data: shared }, 0);
    shared.fill(0xee);
    const [action] = sw.tick(1000);
    expect(action?.kind === "transmit" && text(action.data)?.slice(18)).toBe("01020304050607");
  });

  it("drop what waits when the pipeline is replaced", () => {
    const sw = queued();
    sw.trafficManager.setRate(1, { kind: "packetsPerSecond", rate: 1 });
    for (let i = 0; i < 3; i++) sw.handle({ kind: "packet", port: 0, data: bytes("00") }, 0);
    sw.setPipeline(program({}));
    expect(sw.drops.pipelineReplaced).toBe(2);
    expect(sw.tick(10_000_000)).toEqual([]);
  });
});
