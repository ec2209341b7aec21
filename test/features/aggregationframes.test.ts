import { describe, expect, test } from "vitest";
import { fp16, int32 } from "../../src/dsl/index.ts";
import { AGGREGATOR_EVENTS } from "../../src/numeric/aggregator.ts";
import { AGGREGATION_VERSION, Kind, ModeId } from "../../src/wire/aggregation.ts";
import type { AggregationMessage } from "../../src/wire/aggregationpacket.ts";
import { ipv4HeaderChecksum, parseFrame } from "../../src/wire/datagram.ts";
import { frameFrom, LANES, placements, setUp, type Variant } from "./aggregationrequests.ts";

const IPV4_AT = 14;
const UDP_AT = 34;
const [job] = placements;

function contribution({ mode }: Variant): AggregationMessage {
  const header = {
    version: AGGREGATION_VERSION,
    kind: Kind.CONTRIBUTION,
    flags: 0,
    job: job?.job ?? 0,
    generation: job?.generation ?? 0,
    member: 0,
    scale: job?.scale ?? 0,
    slot: 0,
    lanes: LANES,
    mode: ModeId[mode.name],
    round: 1,
  };
  return { header, lanes: Int32Array.of(1, 2, 3) };
}

/** The frame with other bytes in its IPv4 header, whose checksum is right again. */
function withIpv4(frame: Uint8Array, change: (ip: Uint8Array) => void): Uint8Array {
  const changed = frame.slice();
  change(changed.subarray(IPV4_AT, UDP_AT));
  changed.fill(0, IPV4_AT + 10, IPV4_AT + 12);
  const checksum = ipv4HeaderChecksum(changed, IPV4_AT);
  changed[IPV4_AT + 10] = checksum >> 8;
  changed[IPV4_AT + 11] = checksum & 255;
  return changed;
}

const fragments: readonly (readonly [string, (ip: Uint8Array) => void])[] = [
  ["a first fragment", (ip) => ip.set([0x20, 0], 6)],
  ["a middle fragment", (ip) => ip.set([0x20, 1], 6)],
  ["a last fragment", (ip) => ip.set([0, 1], 6)],
];
const variants: readonly Variant[] = [int32, fp16()].map((mode) => ({ mode, result: "ps" }));

describe.each(variants)("what looks like a contribution and is none, mode $mode.name", (variant) => {
  const counted = (events: readonly bigint[]) =>
    Object.fromEntries(
      AGGREGATOR_EVENTS.map((name, i) => [name, Number(events[i])]).filter(([, n]) => n !== 0),
    );
  const local = (sw: ReturnType<typeof setUp>["sw"]): bigint =>
    sw.counter("forwarding.events").read(1).packets;

  test.each(fragments)("%s for the switch is dropped, counted as local, and touches no slot", (_, change) => {
    const { sw, events } = setUp(variant);
    const [before, registers] = [local(sw), cells(sw)];
    const frame = withIpv4(frameFrom(0, contribution(variant)), change);
    expect(parseFrame(frame)).toEqual({ refused: "ipv4_fragment" });
    expect(sw.inject(0, frame)).toEqual([]);
    expect(counted(events())).toEqual({});
    expect(local(sw) - before).toBe(1n);
    expect(cells(sw)).toEqual(registers);
  });

  test.each(fragments)("%s for a host is forwarded as it is, but for its time to live", (_, change) => {
    const { sw, events } = setUp(variant);
    const frame = withIpv4(frameFrom(0, contribution(variant)), (ip) => {
      ip.set([10, 0, 0, 2], 16);
      change(ip);
    });
    const [out, ...more] = sw.inject(0, frame);
    expect(more).toEqual([]);
    expect(out?.port).toBe(1);
    expect(out?.data.subarray(UDP_AT)).toEqual(frame.subarray(UDP_AT));
    expect(counted(events())).toEqual({});
  });

  test.each([0, 8, -2, 2, 1000])(
    "a UDP length that differs by %i from that of the packet makes it malformed, and it touches no slot",
    (more) => {
      const { sw, events } = setUp(variant);
      const registers = cells(sw);
      const frame = frameFrom(0, contribution(variant));
      const view = new DataView(frame.buffer);
      view.setUint16(UDP_AT + 4, more === 0 ? 0 : frame.length - UDP_AT + more);
      expect(parseFrame(frame)).toEqual({ refused: "udp_length" });
      expect(sw.inject(0, frame)).toEqual([]);
      expect(counted(events())).toEqual({ malformed: 1 });
      expect(cells(sw)).toEqual(registers);
    },
  );

  test("a don't-fragment bit, or none, and an identification make no difference", () => {
    for (const change of [
      (ip: Uint8Array) => ip.set([0, 0], 6),
      (ip: Uint8Array) => ip.set([0x12, 0x34, 0x40, 0], 4),
    ]) {
      const { sw, events } = setUp(variant);
      expect(sw.inject(0, withIpv4(frameFrom(0, contribution(variant)), change))).toHaveLength(1);
      expect(counted(events())).toEqual({ contribution: 1 });
    }
  });
});

function cells(sw: ReturnType<typeof setUp>["sw"]) {
  return [...sw.registers.values()].map((r) => [...r.cells]);
}
