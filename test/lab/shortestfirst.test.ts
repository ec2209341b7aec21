import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ShortestFirstBuffer } from "../../src/lab/shortestfirst.ts";

interface Packet {
  readonly flow: number;
  readonly remaining: number;
  readonly number: number;
}

const facts = {
  bytes: () => 100,
  remaining: (p: Packet) => p.remaining,
  isOfSameFlow: (a: Packet, b: Packet) => a.flow === b.flow,
};

function drained(buffer: ShortestFirstBuffer<Packet>): readonly Packet[] {
  const found: Packet[] = [];
  const into = { packet: { flow: 0, remaining: 0, number: 0 }, port: 0, queue: 0, depth: 0 };
  for (let now = buffer.nextWakeup(); now !== undefined; now = buffer.nextWakeup()) {
    expect(buffer.dequeue(now, into)).toBe(true);
    found.push(into.packet);
  }
  return found;
}

describe("pFabric's buffer", () => {
  const fill = (bytes: number, packets: readonly Packet[]) => {
    const buffer = new ShortestFirstBuffer<Packet>(bytes, facts);
    buffer.setRate(0, { kind: "bitsPerSecond", rate: 1e9 });
    for (const packet of packets) buffer.enqueue(0, 0, packet, 0);
    return buffer;
  };

  test("serves the flow with the least left, and its packets in the order of coming", () => {
    const packets = [
      { flow: 1, remaining: 900, number: 0 },
      { flow: 2, remaining: 300, number: 1 },
      { flow: 2, remaining: 200, number: 2 },
      { flow: 1, remaining: 800, number: 3 },
    ];
    expect(drained(fill(1e6, packets)).map((p) => p.number)).toEqual([1, 2, 0, 3]);
  });

  test("holds no more than its bytes, and drops what has the most left", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50), { minLength: 1, maxLength: 60 }), (sizes) => {
        const packets = sizes.map((remaining, number) => ({ flow: number, remaining, number }));
        const kept = drained(fill(1000, packets)).map((p) => p.remaining);
        expect(kept).toEqual([...sizes].sort((a, b) => a - b).slice(0, 10));
      }),
    );
  });
});
