import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, it } from "vitest";
import { insert, TestSwitch } from "../../src/testing/index.ts";

const p4out = (path: string): string => fileURLToPath(new URL(`../../p4out/${path}`, import.meta.url));
const router = { json: p4out("router/router.json"), p4info: p4out("router/p4info.bin") };
const lp = { json: p4out("lp/lp.json"), p4info: p4out("lp/p4info.txtpb") };

const route = (sw: TestSwitch, prefix: string, hop: number) =>
  insert(sw.entities.tableEntry("routing.routes", { dst_addr: prefix }, "routing.via", { next_hop: hop }));

let sw: TestSwitch;
beforeEach(() => {
  sw = TestSwitch.load(router, { cpuPort: 192, ports: [1, 2, 192] });
});

describe("a switch in a test", () => {
  it("refuses what a P4Runtime server would refuse, and keeps what was written before", () => {
    expect(() => sw.write(route(sw, "10.0.0.0/8", 1), route(sw, "10.0.0.0/8", 2))).toThrow(/exist/);
    expect(sw.read(sw.entities.allEntries("routing.routes"))).toMatchObject([
      { name: "routing.routes", match: { dst_addr: expect.stringContaining("10.0.0.0") } },
    ]);
    expect(() => sw.entities.tableEntry("routing.rots", {})).toThrow('there is no table "routing.rots"');
  });

  it("tells drops and their reasons to listeners, and counts them", () => {
    const drops: string[] = [];
    sw.on("drop", ({ reason }) => drops.push(reason));
    expect(sw.send(1, new Uint8Array(60))).toEqual([]);
    expect(drops).toEqual(["ingressDrop"]);
    expect(sw.core.drops.ingressDrop).toBe(1);
  });

  it("holds frames in slow queues until time has passed", () => {
    const plain = TestSwitch.load(lp);
    const { entities } = plain;
    const to = { port: 2, dst_mac: "02:00:00:00:00:02" };
    plain.write(
      insert(entities.tableEntry("forwarding.route", { dst_addr: "10.0.0.0/8" }, "forwarding.to_port", to)),
    );
    plain.core.trafficManager.setRate(2, { kind: "packetsPerSecond", rate: 1000 });
    const frame = Buffer.from(
      "0200000000010200000000020800450000142a00000040003ccb0a0000010a000002".padEnd(120, "0"),
      "hex",
    );
    let sum = 0;
    frame.writeUInt16BE(0, 24);
    for (let at = 14; at < 34; at += 2) sum += frame.readUInt16BE(at);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
    frame.writeUInt16BE(~sum & 0xffff, 24);
    const counts = [plain.send(1, frame), plain.send(1, frame), plain.send(1, frame)].map((f) => f.length);
    expect(counts.reduce((a, b) => a + b)).toBeLessThan(3);
    const later = plain.advance(10_000);
    expect(later.length + counts.reduce((a, b) => a + b)).toBe(3);
    expect(plain.advance(10_000)).toEqual([]);
  });

  it("refuses packet-outs that the program cannot have", () => {
    expect(() => sw.packetOut({ port: 1 }, new Uint8Array(60))).toThrow();
    expect(() => TestSwitch.load(router).packetOut({}, new Uint8Array(60))).toThrow(/CPU port/);
  });

  it("names files that are no program", () => {
    expect(() => TestSwitch.load({ ...router, json: "nowhere.json" })).toThrow("nowhere.json");
    expect(() => TestSwitch.load({ ...router, json: Buffer.from("{") })).toThrow(/program/);
    expect(() => TestSwitch.load({ json: router.json, p4info: lp.p4info })).toThrow();
  });
});
