import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import ownFeature from "../../examples/own-feature/program.ts";
import { parseIpv4, parseMac } from "../../src/wire/address.ts";
import { newFrame } from "../../src/wire/datagram.ts";
import { localSwitch } from "../features/localswitch.ts";

const source = readFileSync(new URL("../../examples/own-feature/watermark.ts", import.meta.url), "utf8");

describe("the example of a feature of one's own", () => {
  test("is made with the public interface alone", () => {
    expect([...source.matchAll(/from "([^"]+)"/g)].map(([, from]) => from)).toEqual(["gradplane"]);
  });

  test("remembers the longest queue of each port, and counts packets that met a long one", () => {
    const sw = localSwitch(ownFeature.ir);
    for (const port of [1, 2])
      sw.table("forwarding.route").insert(
        [{ kind: "lpm", value: BigInt(parseIpv4(`10.0.${port}.0`)), prefixLength: 24 }],
        { kind: "action", action: "forwarding.to_port", parameters: [BigInt(port), 1n] },
      );
    const send = (port: number): void => {
      const frame = newFrame(
        {
          srcMac: parseMac("02:00:00:00:00:01"),
          dstMac: parseMac("02:00:00:00:00:02"),
          srcIp: parseIpv4("10.0.0.1"),
          dstIp: parseIpv4(`10.0.${port}.1`),
          srcPort: 1,
          dstPort: 2,
        },
        0,
      );
      sw.handle({ kind: "packet", port: 0, data: frame }, 0);
    };
    for (const port of [1, 2]) sw.trafficManager.setRate(port, { kind: "packetsPerSecond", rate: 1000 });
    for (let i = 0; i < 60; i++) send(1);
    for (let i = 0; i < 10; i++) send(2);
    for (let at = sw.nextWakeup(); at !== undefined; at = sw.nextWakeup()) sw.tick(at);
    const longest = (port: number): bigint => sw.register("queue_watermark.longest").read(port);
    expect(longest(1)).toBeGreaterThanOrEqual(48n);
    expect(longest(2)).toBeLessThan(10n);
    expect(longest(2)).toBeGreaterThan(0n);
    const [short, long] = [0, 1].map((cell) => sw.counter("queue_watermark.met").read(cell).packets);
    expect(Number(short) + Number(long)).toBe(70);
    expect(Number(long)).toBe(Number(longest(1)) - 48 + 1);
  });
});
