import type { Checksum, Expression, FieldReference, Program, Statement } from "../../../src/ir/index.ts";
import { bit } from "../../../src/ir/index.ts";
import {
  action,
  apply,
  arithmetic,
  assign,
  constant,
  control,
  extract,
  field,
  intrinsic,
  parameter,
  program,
  table,
  valid,
  when,
} from "../nodes.ts";

const layouts = {
  ethernet: { dst_addr: 48, src_addr: 48, ether_type: 16 },
  ipv4: {
    version: 4,
    ihl: 4,
    tos: 8,
    total_len: 16,
    identification: 16,
    fragment: 16,
    ttl: 8,
    protocol: 8,
    hdr_checksum: 16,
    src_addr: 32,
    dst_addr: 32,
  },
  udp: { src_port: 16, dst_port: 16, length: 16, checksum: 16 },
  tcp: {
    src_port: 16,
    dst_port: 16,
    sequence: 32,
    acknowledged: 32,
    offset: 8,
    flags: 8,
    window: 16,
    checksum: 16,
    urgent: 16,
  },
} as const satisfies Record<string, Record<string, number>>;

type Header = keyof typeof layouts;

const of = (header: Header, name: string): FieldReference =>
  field(header, name, bit(Object.entries<number>(layouts[header]).find(([n]) => n === name)?.[1] ?? 0));
const pseudo: readonly Expression[] = [
  of("ipv4", "src_addr"),
  of("ipv4", "dst_addr"),
  constant(0, bit(8)),
  of("ipv4", "protocol"),
];
const fieldsBut = (header: Header, ...left: readonly string[]): readonly FieldReference[] =>
  Object.keys(layouts[header])
    .filter((name) => !left.includes(name))
    .map((name) => of(header, name));

/** Address translation by source address: checksums over the payload have to follow. */
export function nat(more: readonly Statement[] = [], udp: Partial<Checksum> = {}): Program {
  return program("nat", {
    doc: "Address translation: checksums over the payload follow.",
    ports: 8,
    headerTypes: Object.entries(layouts).map(([name, fields]) => ({
      name,
      fields: Object.entries<number>(fields).map(([f, width]) => ({ name: f, type: bit(width) })),
    })),
    headers: Object.keys(layouts).map((name) => ({ name, headerType: name })),
    parser: [
      {
        name: "start",
        steps: [extract("ethernet")],
        transition: {
          kind: "select",
          keys: [of("ethernet", "ether_type")],
          cases: [{ values: [{ kind: "value", value: 0x800n }], next: "parse_ipv4" }],
          otherwise: "accept",
        },
      },
      {
        name: "parse_ipv4",
        steps: [extract("ipv4")],
        transition: {
          kind: "select",
          keys: [of("ipv4", "ihl"), of("ipv4", "protocol")],
          cases: [
            {
              values: [
                { kind: "value", value: 5n },
                { kind: "value", value: 17n },
              ],
              next: "parse_udp",
            },
            {
              values: [
                { kind: "value", value: 5n },
                { kind: "value", value: 6n },
              ],
              next: "parse_tcp",
            },
          ],
          otherwise: "accept",
        },
      },
      { name: "parse_udp", steps: [extract("udp")], transition: { kind: "goto", next: "accept" } },
      { name: "parse_tcp", steps: [extract("tcp")], transition: { kind: "goto", next: "accept" } },
    ],
    checksums: [
      {
        header: "ipv4",
        target: of("ipv4", "hdr_checksum"),
        fields: fieldsBut("ipv4", "hdr_checksum"),
        verify: true,
        update: true,
      },
      {
        header: "udp",
        target: of("udp", "checksum"),
        fields: [...pseudo, of("udp", "length"), ...fieldsBut("udp", "checksum")],
        payload: true,
        zeroIsNone: true,
        verify: false,
        update: true,
        ...udp,
      },
      {
        header: "tcp",
        target: of("tcp", "checksum"),
        // The length is what the packet has; it does not change, and so it need not be summed up.
        fields: [...pseudo, ...fieldsBut("tcp", "checksum")],
        payload: true,
        verify: false,
        update: true,
      },
    ],
    controls: [
      control("translate", {
        actions: [
          action(
            "translate.source",
            [
              { name: "addr", type: bit(32) },
              { name: "tos", type: bit(8) },
              { name: "port", type: bit(9) },
            ],
            [
              assign(of("ipv4", "src_addr"), parameter("addr", bit(32))),
              assign(of("ipv4", "tos"), parameter("tos", bit(8))),
              assign(of("ipv4", "ttl"), arithmetic(of("ipv4", "ttl"), "-", constant(1, bit(8)))),
              assign(intrinsic("egress_port"), parameter("port", bit(9))),
            ],
          ),
          action(
            "translate.udp_port",
            [{ name: "port", type: bit(16) }],
            [assign(of("udp", "src_port"), parameter("port", bit(16)))],
          ),
          action(
            "translate.tcp_flags",
            [{ name: "flags", type: bit(8) }],
            [assign(of("tcp", "flags"), parameter("flags", bit(8)))],
          ),
        ],
        tables: [
          table("translate.sources", [["addr", of("ipv4", "src_addr"), "exact"]], ["translate.source"]),
          table("translate.udp_ports", [["port", of("udp", "src_port"), "exact"]], ["translate.udp_port"]),
          table("translate.tcp_ports", [["port", of("tcp", "src_port"), "exact"]], ["translate.tcp_flags"]),
        ],
        apply: [
          { kind: "drop" },
          when(valid("ipv4"), [apply("translate.sources")]),
          when(valid("udp"), [apply("translate.udp_ports")]),
          when(valid("tcp"), [apply("translate.tcp_ports")]),
          ...more,
        ],
      }),
    ],
    ingress: [{ kind: "applyControl", control: "translate" }],
    deparser: Object.keys(layouts),
  });
}
