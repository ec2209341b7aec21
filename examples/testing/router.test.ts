/** Tests of a P4 program: see docs/testing-p4.md. The program here is ../router; any that p4c-bm2-ss compiles is tested alike. */
import { insert, TestSwitch } from "gradplane/testing";
import { beforeEach, describe, expect, test } from "vitest";

const files = {
  json: new URL("../../p4out/router/router.json", import.meta.url).pathname,
  p4info: new URL("../../p4out/router/p4info.txtpb", import.meta.url).pathname,
};

/** Ethernet, IPv4 and UDP with a valid header checksum. */
function udp(to: string, { dstPort = 53, ttl = 64 } = {}): Buffer {
  const frame = Buffer.alloc(60);
  frame.write("0200000000010200000000020800450000", "hex");
  frame.writeUInt16BE(46, 16);
  frame.writeUInt8(ttl, 22);
  frame.writeUInt8(17, 23);
  frame.set([192, 168, 0, 1, ...to.split(".").map(Number)], 26);
  frame.writeUInt16BE(dstPort, 36);
  let sum = 0;
  for (let at = 14; at < 34; at += 2) sum += frame.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  frame.writeUInt16BE(~sum & 0xffff, 24);
  return frame;
}

let sw: TestSwitch;
beforeEach(() => {
  sw = TestSwitch.load(files, { cpuPort: 192 });
  const { entities } = sw;
  sw.write(
    insert(entities.tableEntry("routing.routes", { dst_addr: "10.0.0.0/8" }, "routing.via", { next_hop: 7 })),
    insert(
      entities.tableEntry("routing.next_hops", { next_hop: 7 }, "routing.forward", {
        port: 3,
        dst_mac: "02:00:00:00:00:07",
      }),
    ),
  );
});

describe("the router", () => {
  test("sends packets to the next hop, one hop older", () => {
    const [out] = sw.send(1, udp("10.1.2.3"));
    expect(out?.port).toBe(3);
    expect(out?.data.slice(0, 6)).toEqual(Uint8Array.of(2, 0, 0, 0, 0, 7));
    expect(out?.data[22]).toBe(63);
  });

  test("drops what an access list denies, and counts it", () => {
    const rule = sw.entities.tableEntry(
      "access_list.rules",
      { dst_port: 53 },
      "access_list.deny",
      {},
      { priority: 10 },
    );
    sw.write(insert(rule));
    expect(sw.send(1, udp("10.1.2.3", { dstPort: 53 }))).toEqual([]);
    expect(sw.send(1, udp("10.1.2.3", { dstPort: 54 }))).toHaveLength(1);
    expect(sw.read(sw.entities.counter("router.events", 5))).toMatchObject([{ packets: 1 }]);
  });

  test("asks the controller about packets that are too old", () => {
    const asked: bigint[] = [];
    sw.on("packetIn", ({ metadata }) => asked.push(metadata.ingress_port ?? 0n));
    expect(sw.send(5, udp("10.1.2.3", { ttl: 1 }))).toEqual([]);
    expect(asked).toEqual([5n]);
  });

  test("tells what a packet went through", () => {
    expect(sw.explain(1, udp("10.1.2.3"))).toContain("table    routing.next_hops: entry");
    expect(sw.explain(1, udp("11.1.2.3"))).toContain("drop     ingressDrop");
  });
});
