import { execFileSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { FrameRing, ringMemory } from "../../src/switch/ports/linux/frame-ring.ts";
import { type LinuxPort, openLinuxPorts } from "../../src/switch/ports/linux/linux-port.ts";
import { completeFrame } from "../../src/switch/ports/linux/offloads.ts";

const ip = (...args: string[]): string => execFileSync("ip", args, { encoding: "utf8", stdio: "pipe" });

/** Why interfaces cannot be made here; undefined when they can. */
const missing = ((): string | undefined => {
  try {
    ip("link", "add", "gptry0", "type", "veth", "peer", "name", "gptry1");
    ip("link", "del", "gptry0");
    return undefined;
  } catch (error) {
    return `veth pairs (root, iproute2): ${error instanceof Error ? error.message.split("\n")[0] : error}`;
  }
})();
if (missing !== undefined) console.log(`skipped: Linux interfaces, no ${missing}`);

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

/** A veth pair without the kernel's own IPv6 chatter. */
function veth(a: string, b: string): void {
  ip("link", "add", a, "type", "veth", "peer", "name", b);
  undo.push(() => ip("link", "del", a));
  for (const name of [a, b]) {
    ip("link", "set", name, "addrgenmode", "none");
    ip("link", "set", name, "up");
  }
}

function open(...names: string[]): readonly LinuxPort[] {
  const ports = openLinuxPorts(names);
  undo.push(() => Promise.all(ports.map((port) => port.close())));
  return ports;
}

/** All frames of ours that a port received, by copy. */
function collect(port: LinuxPort | undefined): Buffer[] {
  const frames: Buffer[] = [];
  port?.onFrame((frame) => frames.push(Buffer.from(frame)));
  return frames;
}

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; tries < 500 && !condition(); tries++) await sleep(10);
}

const frame = (n: number, bytes = 64): Buffer => {
  const made = Buffer.alloc(bytes, n);
  made.write("020000000002020000000001", 0, "hex");
  made.writeUInt16BE(0x88b5, 12);
  made.writeUInt32BE(n, 14);
  return made;
};

describe.skipIf(missing !== undefined)("a Linux interface as a port", () => {
  it("carries frames both ways, whole and in order, with one thread for several interfaces", async () => {
    veth("gpa0", "gpa1");
    veth("gpb0", "gpb1");
    const [a, b] = open("gpa0", "gpb0");
    const [farA, farB] = open("gpa1", "gpb1");
    const [atA, atB] = [collect(a), collect(b)];
    const atFarB = collect(farB);
    const sent = Array.from({ length: 3000 }, (_, n) => frame(n, 60 + (n % 1400)));
    for (const [n, one] of sent.entries()) {
      farA?.send(one);
      b?.send(one);
      if (n % 50 === 0) await sleep(1);
    }
    await until(() => atA.length === sent.length && atFarB.length === sent.length);
    expect(atA.length).toBe(sent.length);
    expect(atA.every((got, n) => got.equals(sent[n] ?? Buffer.alloc(0)))).toBe(true);
    expect(atFarB.every((got, n) => got.equals(sent[n] ?? Buffer.alloc(0)))).toBe(true);
    // What the host sends through an interface is not heard by itself.
    expect(atB).toEqual([]);
    expect(a?.statistics()).toEqual({ received: sent.length, sent: 0, errors: {} });
    expect(b?.statistics()).toEqual({ received: 0, sent: sent.length, errors: {} });
  });

  it("puts back VLAN tags, which the kernel takes off", async () => {
    veth("gpa0", "gpa1");
    const [a] = open("gpa0");
    const [far] = open("gpa1");
    const got = collect(a);
    const tagged = Buffer.concat([
      frame(1).subarray(0, 12),
      Buffer.from([0x81, 0x00, 0x60, 0x2a]),
      frame(1).subarray(12),
    ]);
    far?.send(tagged);
    await until(() => got.length === 1);
    expect(got).toEqual([tagged]);
  });

  it("computes the checksums that a host leaves to its card (pitfall 73)", async () => {
    veth("gpa0", "gpa1");
    ip("addr", "add", "10.99.0.1/24", "dev", "gpa1");
    ip("neigh", "add", "10.99.0.2", "lladdr", "02:00:00:00:00:02", "dev", "gpa1");
    const [a] = open("gpa0");
    const got = collect(a);
    const socket = createSocket("udp4");
    undo.push(() => socket.close());
    socket.send(Buffer.from("hello gradients"), 9000, "10.99.0.2");
    const udp = (bytes: Buffer): boolean => bytes.readUInt16BE(12) === 0x0800 && bytes[23] === 17;
    await until(() => got.some(udp));
    const found = got.find(udp) ?? Buffer.alloc(0);
    const datagram = found.subarray(34);
    let sum = 17 + datagram.length;
    for (let n = 26; n < 34; n += 2) sum += found.readUInt16BE(n);
    for (let n = 0; n < datagram.length; n += 2)
      sum += n + 1 < datagram.length ? datagram.readUInt16BE(n) : (datagram[n] ?? 0) << 8;
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
    expect(sum).toBe(0xffff);
  });

  it("counts frames that do not fit, and goes on", async () => {
    veth("gpa0", "gpa1");
    ip("link", "set", "gpa1", "mtu", "9000");
    const [a] = open("gpa0");
    const [far] = open("gpa1");
    const got = collect(a);
    far?.send(frame(1, 5000));
    a?.send(frame(2, 5000));
    await sleep(50);
    far?.send(frame(3));
    await until(() => got.length === 1);
    expect(got).toEqual([frame(3)]);
    expect(a?.statistics().errors.EMSGSIZE).toBe(1);
  });

  it("that goes down and comes back is used again; one that is gone is counted", async () => {
    veth("gpa0", "gpa1");
    const [a] = open("gpa0");
    const [far] = open("gpa1");
    const got = collect(a);
    ip("link", "set", "gpa0", "down");
    a?.send(frame(1));
    await sleep(50);
    expect(a?.statistics().errors).toMatchObject({ ENETDOWN: expect.any(Number) });
    ip("link", "set", "gpa0", "up");
    await sleep(50);
    far?.send(frame(2));
    await until(() => got.length === 1);
    expect(got).toEqual([frame(2)]);
    undo.shift();
    ip("link", "del", "gpa0");
    a?.send(frame(3));
    await sleep(50);
    expect(Object.keys(a?.statistics().errors ?? {})).toContain("ENXIO");
  });

  it("that does not exist is named", () => {
    expect(() => openLinuxPorts(["gpnone"])).toThrow('there is no interface gpnone; "ip link" lists them');
    expect(() => openLinuxPorts(["../etc"])).toThrow("no name of an interface");
  });
});

describe("the ring between the receiving thread and the switch", () => {
  it("hands each frame over once, over its end, and wakes only a reader that sleeps", () => {
    const ring = new FrameRing(ringMemory(4, 64));
    const got: string[] = [];
    const take = (): number =>
      ring.take(10, (source, bytes) => got.push(`${source}:${Buffer.from(bytes).toString()}`));
    let wakes = 0;
    for (let round = 0; round < 10; round++) {
      expect(ring.sleep()).toBe(true);
      const { first, count } = ring.freeSlots();
      const n = Math.min(count, 3);
      for (let k = 0; k < n; k++) {
        ring.frames[(first + k) * 64 + 4] = 65 + k;
        ring.describe(first + k, 7, 4, 1);
      }
      if (ring.publish(n)) wakes++;
      expect(ring.publish(0)).toBe(false);
      expect(ring.sleep()).toBe(false);
      expect(take()).toBe(n);
    }
    expect(wakes).toBe(10);
    expect(got.slice(0, 4)).toEqual(["7:A", "7:B", "7:C", "7:A"]);
    expect(ring.waiting).toBe(0);
  });
});

describe("frames as a cable would carry them", () => {
  it("get their TCP checksum over IPv6, and a UDP checksum of zero becomes ones", () => {
    const bytes = Buffer.alloc(4 + 54 + 20);
    bytes.writeUInt16BE(0x86dd, 16);
    bytes.writeUInt16BE(20, 22);
    bytes[24] = 6;
    expect(completeFrame(bytes, 4, 74, 1 << 3, 0)).toBe(4);
    // 20 bytes and protocol 6: the complement of 26.
    expect(bytes.readUInt16BE(58 + 16)).toBe(0xffff - 26);
    const udp = Buffer.alloc(4 + 14 + 20 + 8);
    udp.writeUInt16BE(0x0800, 16);
    udp[18] = 0x45;
    udp.writeUInt16BE(28, 20);
    udp[27] = 17;
    udp.writeUInt16BE(0xffff - 17 - 8, 38);
    completeFrame(udp, 4, 42, 1 << 3, 0);
    expect(udp.readUInt16BE(44)).toBe(0xffff);
  });

  it("of any bytes are never written past their end", () => {
    for (let seed = 0; seed < 2000; seed++) {
      const bytes = Buffer.alloc(120, 0xee);
      const length = 14 + (seed % 60);
      for (let n = 4; n < 4 + length; n++) bytes[n] = (seed * 7919 + n * 104_729) >>> (n % 11);
      bytes.writeUInt16BE(seed % 2 === 0 ? 0x0800 : 0x86dd, 16);
      completeFrame(bytes, 4, length, 1 << 3, 0);
      expect(bytes.subarray(4 + length).every((byte) => byte === 0xee)).toBe(true);
    }
  });
});
