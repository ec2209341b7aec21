import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { HostMachine } from "../../src/host/machine.ts";
import { seededRandom } from "../../src/host/random.ts";
import { addSwitches, plugHosts } from "../../src/lab/build.ts";
import { ForwardingSwitch } from "../../src/lab/forwardingswitch.ts";
import { Lab, type LabSwitch } from "../../src/lab/index.ts";
import type { LinkOptions } from "../../src/lab/link.ts";
import { fatTree, type LabTopology, leafSpine, type SwitchPlace, star } from "../../src/lab/topology.ts";
import { newFrame, PAYLOAD_AT } from "../../src/wire/datagram.ts";
import { trafficPlan } from "../../src/wire/trafficclass.ts";
import { KEEP, programSwitch } from "./programswitch.ts";

const plan = trafficPlan();

interface Packet {
  readonly at: number;
  readonly from: number;
  readonly to: number;
  readonly dscp: number;
  readonly ecn: number;
  readonly length: number;
  readonly ttl: number;
  /** Byte of the frame that is wrong; none when negative. */
  readonly wrong: number;
}

const packet: fc.Arbitrary<Packet> = fc.record({
  at: fc.integer({ min: 0, max: 30 }).map((n) => n / 10),
  from: fc.nat(3),
  to: fc.nat(4),
  dscp: fc.constantFrom(0, 5, plan.control.dscp, ...plan.gradients.map((g) => g.dscp)),
  ecn: fc.nat(3),
  length: fc.nat(300),
  ttl: fc.constantFrom(64, 64, 64, 64, 2, 1, 0),
  wrong: fc.oneof({ weight: 6, arbitrary: fc.constant(-1) }, { weight: 1, arbitrary: fc.nat(60) }),
});

const silent: HostMachine<never, never> = { handle: () => [], wakeAt: Number.POSITIVE_INFINITY };

const fast = (place: SwitchPlace): LabSwitch =>
  new ForwardingSwitch({ routes: place.routes, priority: true, keep: KEEP });

/** Everything that is sent on every wire, with its time. */
function trace(
  topology: LabTopology,
  packets: readonly Packet[],
  seed: number,
  make: (place: SwitchPlace) => LabSwitch,
) {
  const frames: string[] = [];
  const lab = new Lab(seededRandom(seed), {
    onFrame: ({ at, wire, frame }) => frames.push(`${at} ${wire} ${Buffer.from(frame).toString("hex")}`),
  });
  addSwitches(lab, topology, make);
  for (const { name } of topology.hosts) lab.addHost(name, silent, () => {});
  plugHosts(lab, topology);
  for (const p of packets)
    lab.at(p.at, () => {
      const from = topology.hosts[p.from % topology.hosts.length];
      if (from === undefined) return;
      const [name = ""] = [...lab.wires.keys()].filter((w) => w.startsWith(`${from.name}>`));
      lab.wire(name).send(frameOf(topology, p));
    });
  lab.run(() => false, 1000);
  return frames;
}

function frameOf(topology: LabTopology, p: Packet): Uint8Array {
  const from = topology.hosts[p.from % topology.hosts.length];
  // One more than there are hosts: nobody.
  const to = topology.hosts[p.to * 3];
  const frame = newFrame(
    {
      ...{
        srcMac: from?.mac ?? 0,
        dstMac: 0x020100000001,
        srcIp: from?.ip ?? 0,
        dstIp: to?.ip ?? 0x01020304,
      },
      ...{ srcPort: 1, dstPort: 2, dscp: p.dscp, ecn: p.ecn },
    },
    p.length,
  );
  for (let i = PAYLOAD_AT; i < frame.length; i++) frame[i] = i * p.at;
  if (p.ttl !== 64) {
    frame[22] = p.ttl;
    // The checksum falls by what the word of the time to live gains.
    let sum = (((frame[24] ?? 0) << 8) | (frame[25] ?? 0)) + ((64 - p.ttl) << 8);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
    frame[24] = sum >> 8;
    frame[25] = sum;
  }
  if (p.wrong >= 0 && p.wrong < frame.length) frame[p.wrong] = (frame[p.wrong] ?? 0) ^ 0x21;
  return p.wrong > 50 ? frame.subarray(0, p.wrong % frame.length) : frame;
}

const slow: LinkOptions = { rate: 1e7, delay: 0.01 };
const bad: LinkOptions = {
  ...slow,
  loss: 0.1,
  duplicate: 0.1,
  reorder: 0.2,
  corrupt: 0.05,
  damaged: "delivered",
};

describe("the fast path does what the engine does with the generated program, frame by frame and at the same time", () => {
  test.each([
    ["on a star", star(4, slow)],
    ["on a star with bad cables", star(4, bad)],
    [
      "with leaves and spines",
      leafSpine({ leaves: 2, spines: 3, hostsPerLeaf: 2, hostLink: slow, uplink: slow }),
    ],
    ["on a fat tree", fatTree(4, slow)],
  ])("%s", (_, topology) => {
    fc.assert(
      fc.property(fc.array(packet, { minLength: 30, maxLength: 90 }), fc.integer(), (packets, seed) => {
        const expected = trace(topology, packets, seed, programSwitch);
        const found = trace(topology, packets, seed, fast);
        const at = expected.findIndex((line, i) => line !== found[i]);
        // The first difference says more than a comparison of all.
        expect(found.slice(at, at + 3)).toEqual(expected.slice(at, at + 3));
        expect(found.length).toBe(expected.length);
        expect(expected.length).toBeGreaterThan(0);
      }),
      { numRuns: 5, endOnFailure: true },
    );
  });
});

describe("spray and flow hashing", () => {
  const topology = leafSpine({ leaves: 2, spines: 4, hostsPerLeaf: 1 });
  const through = (balance: "spray" | "flow", ports: (i: number) => number) => {
    const lab = new Lab(seededRandom(1));
    addSwitches(lab, topology, (p) => new ForwardingSwitch({ routes: p.routes, priority: false, balance }));
    for (const { name } of topology.hosts) lab.addHost(name, silent, () => {});
    plugHosts(lab, topology);
    const [from, to] = topology.hosts;
    for (let i = 0; i < 402; i++)
      lab.at(i, () =>
        lab.wire("h0>leaf0:0").send(
          newFrame(
            {
              ...{ srcMac: from?.mac ?? 0, dstMac: 0, srcIp: from?.ip ?? 0, dstIp: to?.ip ?? 0 },
              ...{ srcPort: ports(i), dstPort: 2 },
            },
            10,
          ),
        ),
      );
    lab.run(() => false, 1000);
    return [0, 1, 2, 3].map((s) => lab.wire(`leaf0:${1 + s}>spine${s}:0`).counters.frames);
  };

  test("spray is even within one packet", () => {
    const counts = through("spray", () => 1);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  });

  test("a flow keeps to one path, and many flows use all of them", () => {
    expect(through("flow", () => 77).filter((n) => n > 0)).toEqual([402]);
    expect(Math.min(...through("flow", (i) => i))).toBeGreaterThan(60);
  });
});
