import { describe, expect, it } from "vitest";
import { Switch } from "../../src/switch/index.ts";
import {
  assign,
  bytes,
  call,
  extract,
  field,
  hex,
  type Json,
  op,
  otherwise,
  program,
  sm,
  text,
  valid,
  when,
} from "./fixtures/builder.ts";
import { ethernet, ipv4, ipv4ChecksumInput } from "./fixtures/router.ts";

const tcp = [
  ["srcPort", 16],
  ["dstPort", 16],
  ["seq", 32],
  ["ack", 32],
  ["dataOffset", 4],
  ["res", 4],
  ["flags", 8],
  ["window", 16],
  ["checksum", 16],
  ["urgent", 16],
] as const;
const udp = [
  ["srcPort", 16],
  ["dstPort", 16],
  ["length", 16],
  ["checksum", 16],
] as const;

const constant = (value: number, width: number): Json => ({
  type: "hexstr",
  value: `0x${value.toString(16)}`,
  bitwidth: width,
});

/** Verifies and updates IPv4, TCP and UDP checksums; egress may change the TTL; the report byte is checksum_error. */
function checksums(body: readonly Json[]): Switch {
  const pseudo = [
    field("ipv4.srcAddr"),
    field("ipv4.dstAddr"),
    constant(0, 8),
    field("ipv4.protocol"),
    field("scalars.l4_len"),
  ];
  const checksum = (name: string, header: string, fieldName: string, calculation: string): Json => ({
    name,
    id: 0,
    target: [header, fieldName],
    type: "generic",
    calculation,
    verify: true,
    update: true,
    if_cond: valid(header),
  });
  return new Switch(
    program({
      types: { ethernet_t: ethernet, ipv4_t: ipv4, tcp_t: tcp, udp_t: udp, report_t: [["error", 8]] },
      headers: { report: "report_t", ethernet: "ethernet_t", ipv4: "ipv4_t", tcp: "tcp_t", udp: "udp_t" },
      metadata: [["l4_len", 16]],
      parser: {
        start: {
          ops: [extract("ethernet")],
          key: [field("ethernet.etherType")],
          transitions: [when("0x0800", "ip"), otherwise(null)],
        },
        ip: {
          ops: [
            extract("ipv4"),
            {
              op: "set",
              parameters: [
                field("scalars.l4_len"),
                op("&", op("-", field("ipv4.totalLen"), op("<<", field("ipv4.ihl"), hex(2))), hex(0xffff)),
              ],
            },
          ],
          key: [field("ipv4.protocol")],
          transitions: [when("0x06", "tcp"), when("0x11", "udp"), otherwise(null)],
        },
        tcp: { ops: [extract("tcp")] },
        udp: { ops: [extract("udp")] },
      },
      ingressBody: body,
      extra: {
        calculations: [
          { name: "ip", id: 0, algo: "csum16", input: [...ipv4ChecksumInput] },
          {
            name: "tcp",
            id: 1,
            algo: "csum16",
            input: [
              ...pseudo,
              ...tcp.filter(([n]) => n !== "checksum").map(([n]) => field(`tcp.${n}`)),
              { type: "payload" },
            ],
          },
          {
            name: "udp",
            id: 2,
            algo: "csum16",
            input: [
              ...pseudo,
              field("udp.srcPort"),
              field("udp.dstPort"),
              field("udp.length"),
              { type: "payload" },
            ],
          },
        ],
        checksums: [
          checksum("ip", "ipv4", "hdrChecksum", "ip"),
          checksum("tcp", "tcp", "checksum", "tcp"),
          checksum("udp", "udp", "checksum", "udp"),
        ],
      },
    }),
  );
}

const report: readonly Json[] = [
  call("add_header", { type: "header", value: "report" }),
  assign("report.error", field(sm("checksum_error"))),
];
const run = (sw: Switch, frame: Uint8Array) => text(sw.inject(1, frame)[0]?.data);

const good =
  "525400123502080027018bbc08004500003800010000400664af0a00020f0a01000116a1005000000000000000005002200047a6000064656164626565666465616462656566";

describe("IPv4 and TCP checksums", () => {
  it("accept a good frame and leave it as it is", () => {
    expect(run(checksums(report), bytes(good))).toBe(`00${good}`);
  });

  it("report a wrong byte in the payload, and the packet is forwarded", () => {
    const bad = bytes(good);
    bad[bad.length - 1] = 0x67;
    expect(run(checksums(report), bad)?.slice(0, 2)).toBe("01");
  });

  it("are updated: a lower TTL changes IPv4's and not TCP's", () => {
    const out = run(checksums([assign("ipv4.ttl", hex(63))]), bytes(good)) ?? "";
    expect(out.slice(48, 52)).toBe("65af");
    expect(out.slice(100, 104)).toBe("47a6");
  });

  it("pad an odd payload with a zero byte", () => {
    const odd = bytes(good).slice(0, 69);
    const view = new DataView(odd.buffer);
    view.setUint16(16, 55);
    const fixed = bytes(run(checksums([]), odd) ?? "");
    expect(run(checksums(report), fixed)?.slice(0, 2)).toBe("00");
    let sum = 0;
    const add = (from: number, to: number) => {
      for (let i = from; i < to; i += 2)
        sum += ((fixed[i] ?? 0) << 8) | (i + 1 < to ? (fixed[i + 1] ?? 0) : 0);
    };
    add(26, 34);
    sum += 6 + 35;
    add(34, 69);
    while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
    expect(sum).toBe(0xffff);
  });
});

describe("a UDP checksum that comes out as zero", () => {
  it("is written as 0, as csum16 of BMv2 does: the rule to send ffff instead is the program's", () => {
    const frame = bytes(
      `${"00".repeat(12)}0800 4500001e00000000401100000a0000010a000002 03e807d0000a0000 e01f`,
    );
    const out = run(checksums([]), frame) ?? "";
    expect(out.slice(-8, -4)).toBe("0000");
  });
});
