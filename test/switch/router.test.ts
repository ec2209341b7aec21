import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Switch } from "../../src/switch/index.ts";
import { bytes, text } from "./fixtures/builder.ts";
import { ipv4Frame, router } from "./fixtures/router.ts";

function routed(): Switch {
  const sw = new Switch(router());
  const table = sw.table("ingress.route");
  const to = (port: bigint) => ({
    kind: "action" as const,
    action: "ingress.forward",
    parameters: [0x0a0b0c0d0e0fn, port],
  });
  table.insert([{ kind: "lpm", value: 0x0a000000n, prefixLength: 8 }], to(1n));
  table.insert([{ kind: "lpm", value: 0xc0a80000n, prefixLength: 16 }], to(2n));
  table.insert([{ kind: "lpm", value: 0xffffffffn, prefixLength: 32 }], to(3n));
  return sw;
}

describe("an IPv4 router", () => {
  it("forwards by the longest prefix, rewrites MAC addresses and updates the checksum", () => {
    const sw = routed();
    const out = sw.inject(7, ipv4Frame({ destination: 0x0a010203, ttl: 64 }));
    expect(out).toHaveLength(1);
    expect(out[0]?.port).toBe(1);
    expect(text(out[0]?.data)?.slice(0, 28)).toBe("0a0b0c0d0e0f0200000000010800");
    const frame = out[0]?.data ?? new Uint8Array(0);
    expect(frame[22]).toBe(63);
    expect(frame.slice(14, 34)).toEqual(ipv4Frame({ destination: 0x0a010203, ttl: 63 }).slice(14, 34));
  });

  it("matches prefixes with the top bit set, and a prefix of 32 bits", () => {
    const sw = routed();
    expect(sw.inject(7, ipv4Frame({ destination: 0xc0a80101 }))[0]?.port).toBe(2);
    expect(sw.inject(7, ipv4Frame({ destination: 0xffffffff }))[0]?.port).toBe(3);
  });

  it("drops and counts what no prefix matches, and lets a prefix of length 0 catch it", () => {
    const sw = routed();
    expect(sw.inject(7, ipv4Frame({ destination: 0x0b000001 }))).toEqual([]);
    expect(sw.drops.ingressDrop).toBe(1);
    sw.table("ingress.route").insert([undefined], {
      kind: "action",
      action: "ingress.forward",
      parameters: [1n, 9n],
    });
    expect(sw.inject(7, ipv4Frame({ destination: 0x0b000001 }))[0]?.port).toBe(9);
  });

  it("sends what it does not parse to port 0, as nobody sets egress_spec", () => {
    const sw = routed();
    const frame = bytes("ffffffffffff 020000000001 0806 0001");
    expect(sw.inject(7, frame)).toEqual([{ port: 0, data: frame }]);
  });

  it("keeps its output when the caller's buffer changes afterwards", () => {
    const sw = routed();
    const frame = ipv4Frame({ destination: 0x0a010203 });
    const shared = new Uint8Array(100);
    shared.set(frame, 3);
    const view = shared.subarray(3, 3 + frame.length);
    const out = sw.inject(7, view)[0]?.data;
    const before = text(out);
    shared.fill(0xee);
    expect(text(out)).toBe(before);
    expect(text(sw.inject(7, frame)[0]?.data)).toBe(before);
  });

  it("handles any bytes: each packet leaves or is counted as a drop", () => {
    const sw = routed();
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.uint8Array({ maxLength: 80 }),
            // Cut or damaged IPv4.
            fc.tuple(fc.uint8Array({ maxLength: 4 }), fc.nat(64)).map(([noise, at]) => {
              const frame = ipv4Frame({ destination: 0x0a000001 });
              frame.set(noise, Math.min(at, 60));
              return frame.slice(0, at);
            }),
          ),
          { maxLength: 20 },
        ),
        (frames) => {
          for (const frame of frames)
            expect(sw.handle({ kind: "packet", port: 1, data: frame }, 0)).toHaveLength(1);
        },
      ),
    );
  });
});
