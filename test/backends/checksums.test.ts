import { describe, expect, it } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { Switch } from "../../src/switch/switch.ts";
import { internet } from "./parserprograms.ts";

const BAD = 0x0bad;

function load(): Switch {
  const json = generate(internet()).get("internet.json");
  if (typeof json !== "string") throw new Error("no JSON was generated");
  return new Switch(json);
}

function sent(s: Switch, packet: Buffer): Buffer {
  return Buffer.from(s.inject(1, packet)[0]?.data ?? []);
}

/** RFC 1071. */
function checksum(bytes: Buffer): number {
  let sum = 0;
  for (let i = 0; i < bytes.length; i += 2) sum += ((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

/** An IPv4 packet from 10.0.0.1 with a UDP datagram; `options` in whole words. */
function datagram(to: string, udp: string, payload: string, options = ""): Buffer {
  const data = Buffer.from(udp + payload, "hex");
  const header = Buffer.from(`4500000000000000401100000a000001${to}${options}`, "hex");
  header[0] = 0x40 | (header.length / 4);
  header.writeUInt16BE(header.length + data.length, 2);
  header.writeUInt16BE(checksum(header), 10);
  return Buffer.concat([header, data]);
}

const isBad = (packet: Buffer): boolean => packet.readUInt16BE(4) === BAD;

describe("UDP's checksum", () => {
  // From port 1000 to 53 and 10.0.0.2: this payload makes the raw sum 0.
  const zeroSum = (() => {
    const p = datagram("0a000002", "03e8003500" + "0a0000", "0000");
    const pseudo = Buffer.concat([p.subarray(12, 20), Buffer.from("0011000a", "hex"), p.subarray(20)]);
    return checksum(pseudo).toString(16).padStart(4, "0");
  })();

  it("goes out as 0xffff where the sum is 0 (pitfall 42)", () => {
    // The program adds 1 to the address: what had the checksum 1 has a sum of 0 then.
    const out = sent(load(), datagram("0a000001", "03e80035000a" + "0001", zeroSum));
    expect([isBad(out), out.readUInt32BE(16), out.readUInt16BE(26)]).toEqual([false, 0x0a000002, 0xffff]);
  });

  it("is sound when it comes as 0xffff for a sum of 0", () => {
    const p = datagram("0a000002", "03e80035000a" + "ffff", zeroSum);
    expect(isBad(sent(load(), p))).toBe(false);
  });

  it("is neither verified nor renewed when it is 0", () => {
    const out = sent(load(), datagram("0a000002", "03e80035000a" + "0000", "1234"));
    expect([isBad(out), out.readUInt16BE(26)]).toEqual([false, 0]);
  });

  it("is wrong when a byte of the payload is", () => {
    const p = datagram("0a000002", "03e80035000a" + "ffff", zeroSum);
    p[p.length - 1] = (p[p.length - 1] ?? 0) ^ 1;
    expect(isBad(sent(load(), p))).toBe(true);
  });
});

describe("IPv4's checksum", () => {
  it("covers the options", () => {
    const p = datagram("0a000002", "03e80035000a" + "0000", "1234", "0102030405060708");
    const out = sent(load(), p);
    expect(isBad(out)).toBe(false);
    expect(checksum(out.subarray(0, 28))).toBe(0);
    p[21] = 0xff;
    expect(isBad(sent(load(), p))).toBe(true);
  });
});

describe("TCP's checksum", () => {
  const frame = Buffer.from(
    "525400123502080027018bbc08004500003800010000400664af0a00020f0a01000116a1005000000000000000005002200047a6" +
      "000064656164626565666465616462656566",
    "hex",
  ).subarray(14);

  it("covers pseudo header and payload, and is renewed when an address changes (pitfall 41)", () => {
    const out = sent(load(), frame);
    expect([isBad(out), out.readUInt32BE(16)]).toEqual([false, 0x0a010002]);
    expect(out.readUInt16BE(36)).toBe(0x47a5);
  });

  it("is wrong when the last byte is, and the packet goes on", () => {
    const wrong = Buffer.from(frame);
    wrong[wrong.length - 1] = 0;
    expect(isBad(sent(load(), wrong))).toBe(true);
  });
});
