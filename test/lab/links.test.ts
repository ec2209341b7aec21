import { describe, expect, test } from "vitest";
import type { FrameEvent, HostMachine, SendAction, TickEvent } from "../../src/host/machine.ts";
import { seededRandom } from "../../src/host/random.ts";
import { addSwitches, plugHosts } from "../../src/lab/build.ts";
import { ForwardingSwitch } from "../../src/lab/forwardingswitch.ts";
import { Lab } from "../../src/lab/index.ts";
import type { LinkOptions } from "../../src/lab/link.ts";
import { fatTree, leafSpine, mltNetwork, star } from "../../src/lab/topology.ts";
import { newFrame, parseFrame } from "../../src/wire/datagram.ts";

interface Go {
  readonly type: "go";
  readonly frames: readonly Uint8Array[];
}
interface Got {
  readonly type: "got";
  readonly frame: Uint8Array;
}

/** Sends what it is told, and tells what it gets. */
class Echo implements HostMachine<Go, Got> {
  readonly wakeAt = Number.POSITIVE_INFINITY;
  handle(event: Go | FrameEvent | TickEvent): readonly (Got | SendAction)[] {
    if (event.type === "go") return event.frames.map((frame) => ({ type: "send", frame }));
    return event.type === "frame" ? [{ type: "got", frame: event.frame }] : [];
  }
}

const topology = star(2);

/** Frames from h0 to h1, and when they come. */
function send(link: LinkOptions, lengths: readonly number[], seed = 1) {
  const lab = new Lab(seededRandom(seed));
  const net = star(2, link);
  addSwitches(lab, net, (p) => new ForwardingSwitch({ routes: p.routes, priority: false }));
  const got: { at: number; frame: Uint8Array }[] = [];
  const hosts = net.hosts.map(({ name }) =>
    lab.addHost(name, new Echo(), ({ frame }) => got.push({ at: lab.now, frame })),
  );
  plugHosts(lab, net);
  hosts[0]?.dispatch({ type: "go", frames: lengths.map((n, i) => frame(n, i)) });
  return { lab, got };
}

function frame(bytes: number, id: number): Uint8Array {
  const [a, b] = topology.hosts;
  const addressing = {
    ...{ srcMac: a?.mac ?? 0, dstMac: 0x020100000001, srcIp: a?.ip ?? 0, dstIp: b?.ip ?? 0 },
    ...{ srcPort: 1, dstPort: 2 },
  };
  const made = newFrame(addressing, bytes - 42);
  made[42] = id;
  return made;
}

describe("a cable", () => {
  test("takes a frame's length over its rate, then its delay; frames follow each other", () => {
    // 1000 bytes at 8 Mbit/s: 1 ms, on both cables; the second waits for the first.
    const { lab, got } = send({ rate: 8e6, delay: 0.25 }, [1000, 500]);
    lab.run(() => false, 100);
    expect(got.map(({ at }) => at)).toEqual([2.5, 3]);
  });

  test("loses, doubles, damages and holds back about as often as it should, the same each time", () => {
    const link = { loss: 0.2, duplicate: 0.1, corrupt: 0.05, reorder: 0.3, delay: 1 };
    const once = () => {
      const { lab, got } = send(
        link,
        Array.from({ length: 60 }, () => 100),
        9,
      );
      lab.run(() => false, 1000);
      return { got, counters: lab.wire("h0>s0:0").counters };
    };
    const { got, counters } = once();
    expect(once()).toEqual({ got, counters });
    expect(counters).toMatchObject({ frames: 60, bytes: 6000, cut: 0 });
    expect(counters.lost).toBeGreaterThan(3);
    expect(counters.damaged).toBeGreaterThan(0);
    const order = got.map(({ frame }) => frame[42] ?? 0);
    expect(order).not.toEqual([...order].sort((a, b) => a - b));
    for (const { frame } of got) expect(parseFrame(frame)).not.toHaveProperty("refused");
  });

  test("hands damaged frames on only where it is told to", () => {
    const damaged = (how: "refused" | "delivered") => {
      const { lab, got } = send({ corrupt: 1, damaged: how }, [100, 100, 100, 100, 100], 4);
      lab.run(() => false, 100);
      return got.length + lab.wire("s0:1>h1").counters.frames;
    };
    expect(damaged("refused")).toBe(0);
    expect(damaged("delivered")).toBeGreaterThan(0);
  });

  test("that is cut loses what is on it, until it is mended", () => {
    const { lab, got } = send({ rate: 8e6, delay: 5 }, [1000]);
    const wire = lab.wire("s0:1>h1");
    lab.at(7, () => wire.cut());
    lab.run(() => false, 100);
    expect([got.length, wire.counters.cut]).toEqual([0, 1]);
    wire.mend();
    lab.wire("h0>s0:0").send(frame(1000, 1));
    lab.run(() => false, 1000);
    expect(got.map(({ frame }) => frame[42])).toEqual([1]);
  });

  test("from a switch that has lost power carries nothing more", () => {
    const { lab, got } = send({ rate: 8e6 }, [1000, 1000, 1000]);
    lab.at(2.5, () => lab.removeSwitch("s0"));
    lab.run(() => false, 100);
    // The second was on the wire already.
    expect(got).toHaveLength(2);
  });
});

describe("a topology", () => {
  test.each([star(5), leafSpine({ leaves: 3, spines: 2, hostsPerLeaf: 2 }), fatTree(4), mltNetwork()])(
    "$name lets every host reach every other",
    (net) => {
      const lab = new Lab(seededRandom(1));
      addSwitches(lab, net, (p) => new ForwardingSwitch({ routes: p.routes, priority: false }));
      const got = new Map<string, Set<number>>(net.hosts.map(({ name }) => [name, new Set()]));
      const hosts = net.hosts.map(({ name }) =>
        lab.addHost<Go, Got>(name, new Echo(), ({ frame }) => {
          const open = parseFrame(frame);
          if (!("refused" in open)) got.get(name)?.add(open.srcIp);
        }),
      );
      plugHosts(lab, net);
      const some = net.hosts.filter((_, i) => i % 5 === 0);
      for (const [i, a] of net.hosts.entries()) {
        const frames = some.map((b) =>
          newFrame({ srcMac: a.mac, dstMac: 0, srcIp: a.ip, dstIp: b.ip, srcPort: 1, dstPort: 2 }, 0),
        );
        lab.at(i, () => hosts[i]?.dispatch({ type: "go", frames }));
      }
      lab.run(() => false, 1e6);
      for (const { name } of some) expect(got.get(name)?.size).toBe(net.hosts.length);
    },
  );

  test("of MLT has 144 hosts under 9 leaves and 4 spines, and a round trip of 24 us", () => {
    const { hosts, switches, cables } = mltNetwork();
    expect([hosts.length, switches.length, cables.length]).toEqual([144, 13, 144 + 36]);
    const delays = cables.map(({ options }) => options.delay ?? 0);
    expect(8 * Math.max(...delays)).toBeCloseTo(0.024, 9);
  });

  test("refuses a fat tree with an odd number of ports", () => {
    expect(() => fatTree(3)).toThrow("even number of ports, not 3");
  });
});
