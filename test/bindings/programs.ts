import { create, type Init, type P4DataTypeSpec, P4Info } from "../../src/p4info/index.ts";

const exact = { case: "matchType", value: "EXACT" } as const;
const lpm = { case: "matchType", value: "LPM" } as const;
const ternary = { case: "matchType", value: "TERNARY" } as const;
const range = { case: "matchType", value: "RANGE" } as const;
const optional = { case: "matchType", value: "OPTIONAL" } as const;

function bit(bitwidth: number): Init<P4DataTypeSpec> {
  return { typeSpec: { case: "bitstring", value: { typeSpec: { case: "bit", value: { bitwidth } } } } };
}

function int(bitwidth: number): Init<P4DataTypeSpec> {
  return { typeSpec: { case: "bitstring", value: { typeSpec: { case: "int", value: { bitwidth } } } } };
}

/** IPv4 forwarding as the DSL makes it: short names of fields, documentation, controller headers. */
export const FORWARDING: P4Info = create(P4Info, {
  pkgInfo: { name: "libra", arch: "v1model", doc: { brief: "Hot-parameter aggregation." } },
  tables: [
    {
      preamble: {
        id: 0x02000001,
        name: "forwarding.route",
        alias: "route",
        doc: { brief: "where IPv4 packets go" },
      },
      matchFields: [{ id: 1, name: "dst_addr", bitwidth: 32, match: lpm }],
      actionRefs: [{ id: 0x01000001 }, { id: 0x01000002 }],
      directResourceIds: [0x13000001],
      size: 1024n,
    },
  ],
  actions: [
    {
      preamble: {
        id: 0x01000001,
        name: "forwarding.to_port",
        alias: "to_port",
        doc: { brief: "to the next hop" },
      },
      params: [
        { id: 1, name: "port", bitwidth: 9, doc: { brief: "port to leave by" } },
        { id: 2, name: "dst_mac", bitwidth: 48 },
      ],
    },
    { preamble: { id: 0x01000002, name: "forwarding.no_route", alias: "no_route" } },
    // Not an action of any table.
    {
      preamble: { id: 0x01000003, name: "admission.admit", alias: "admit" },
      params: [{ id: 1, name: "job", bitwidth: 16 }],
    },
  ],
  counters: [
    {
      preamble: {
        id: 0x12000001,
        name: "forwarding.events",
        alias: "events",
        doc: { brief: "what became of the packet", description: "0: forwarded, 1: dropped" },
      },
      spec: { unit: "PACKETS" },
      size: 2n,
    },
  ],
  directCounters: [
    {
      preamble: { id: 0x13000001, name: "forwarding.route_counter", alias: "route_counter" },
      spec: { unit: "BOTH" },
      directTableId: 0x02000001,
    },
  ],
  registers: [
    { preamble: { id: 0x16000001, name: "lanes.lane_00", alias: "lane_00" }, typeSpec: bit(32), size: 8 },
  ],
  controllerPacketMetadata: [
    {
      preamble: { id: 0x04000001, name: "packet_in", alias: "packet_in" },
      metadata: [
        { id: 1, name: "ingress_port", bitwidth: 9 },
        { id: 2, name: "padding", bitwidth: 7 },
      ],
    },
    {
      preamble: { id: 0x04000002, name: "packet_out", alias: "packet_out" },
      metadata: [
        { id: 1, name: "egress_port", bitwidth: 9 },
        { id: 2, name: "submit", bitwidth: 1 },
        { id: 3, name: "padding", bitwidth: 6 },
      ],
    },
  ],
});

const MEMBER_DOCUMENTATION = { brief: "ends */ a comment", description: "@deprecated is no tag\nof ours" };

/** Everything that P4Info has for a control plane, in the manner of p4c, and names that TypeScript does not like. */
export const EVERYTHING: P4Info = create(P4Info, {
  pkgInfo: { name: "everything", arch: "v1model" },
  tables: [
    {
      preamble: { id: 0x02000001, name: "MyIngress.acl", alias: "acl", doc: MEMBER_DOCUMENTATION },
      matchFields: [
        { id: 1, name: "hdr.ipv4.$valid$", bitwidth: 1, match: exact },
        { id: 2, name: "hdr.ipv4.dstAddr", bitwidth: 32, match: lpm },
        { id: 3, name: "hdr.ethernet.etherType", bitwidth: 16, match: ternary },
        { id: 4, name: "standard_metadata.ingress_port", bitwidth: 9, match: range },
        {
          id: 5,
          name: "hdr.mpls[0].label",
          bitwidth: 20,
          match: optional,
          doc: { brief: "outermost label" },
        },
      ],
      actionRefs: [
        { id: 0x01000001, scope: "TABLE_ONLY" },
        { id: 0x01000002 },
        { id: 0x01000003, scope: "DEFAULT_ONLY" },
      ],
      directResourceIds: [0x13000001, 0x15000001],
      size: 512n,
    },
    {
      // Its name begins with another table's.
      preamble: { id: 0x02000002, name: "MyIngress.acl.inner", alias: "inner" },
      matchFields: [{ id: 1, name: "hdr.ipv6.dstAddr", bitwidth: 128, match: lpm }],
      actionRefs: [{ id: 0x01000002 }],
      constDefaultActionId: 0x01000002,
      size: 16n,
    },
    {
      preamble: { id: 0x02000003, name: "MyIngress.class", alias: "class" },
      matchFields: [
        { id: 1, name: "default", bitwidth: 8, match: exact },
        { id: 2, name: "__proto__", bitwidth: 8, match: exact },
        { id: 3, name: "port name", bitwidth: 0, match: exact },
        { id: 4, name: "meta.x[3:0]", bitwidth: 4, match: ternary },
      ],
      actionRefs: [{ id: 0x01000004 }, { id: 0x01000005 }],
      size: 16n,
    },
    {
      preamble: { id: 0x02000004, name: "MyIngress.fixed", alias: "fixed" },
      matchFields: [{ id: 1, name: "meta.class", bitwidth: 3, match: exact }],
      actionRefs: [{ id: 0x01000002 }],
      constDefaultActionId: 0x01000002,
      isConstTable: true,
      size: 8n,
    },
    {
      preamble: { id: 0x02000005, name: "MyIngress.keyless", alias: "keyless" },
      actionRefs: [{ id: 0x01000001 }],
      size: 1n,
    },
    {
      preamble: { id: 0x02000006, name: "MyIngress.fixed_default", alias: "fixed_default" },
      actionRefs: [{ id: 0x01000001 }],
      constDefaultActionId: 0x01000001,
    },
    {
      preamble: { id: 0x02000007, name: "MyIngress.ecmp", alias: "ecmp" },
      matchFields: [{ id: 1, name: "meta.group", bitwidth: 16, match: exact }],
      actionRefs: [{ id: 0x01000001 }, { id: 0x01000002 }, { id: 0x01000003, scope: "DEFAULT_ONLY" }],
      implementationId: 0x11000001,
      size: 64n,
    },
    {
      preamble: { id: 0x02000008, name: "MyIngress.next_hop", alias: "next_hop" },
      matchFields: [{ id: 1, name: "meta.next_hop", bitwidth: 16, match: exact }],
      actionRefs: [{ id: 0x01000001 }],
      implementationId: 0x11000002,
      size: 64n,
    },
    {
      // Makes the same type names as MyIngress.next_hop, but for the number.
      preamble: { id: 0x02000009, name: "My.ingress_next.hop", alias: "hop" },
      matchFields: [{ id: 1, name: "a", bitwidth: 1, match: exact }],
      actionRefs: [{ id: 0x01000002 }],
    },
    {
      preamble: {
        id: 0x0200000a,
        name: "MyEgress.some_control_with_a_long_name.some_table_with_a_long_name",
        alias: "some_table_with_a_long_name",
      },
      matchFields: [{ id: 1, name: "a", bitwidth: 1, match: range }],
      actionRefs: [
        { id: 0x01000001 },
        { id: 0x01000002 },
        { id: 0x01000004 },
        { id: 0x01000005 },
        { id: 0x01000006 },
      ],
    },
  ],
  actions: [
    {
      preamble: { id: 0x01000001, name: "MyIngress.ipv4_forward", alias: "ipv4_forward" },
      // The ids are not the positions, as a program with @id may have it.
      params: [
        { id: 7, name: "dstAddr", bitwidth: 48, doc: { brief: "MAC of the next hop" } },
        { id: 3, name: "port", bitwidth: 9 },
      ],
    },
    { preamble: { id: 0x01000002, name: "MyIngress.drop", alias: "drop" } },
    { preamble: { id: 0x01000003, name: "NoAction", alias: "NoAction" } },
    {
      preamble: { id: 0x01000004, name: "MyIngress.return", alias: "return" },
      params: [
        { id: 1, name: "new", bitwidth: 8 },
        { id: 2, name: "__proto__", bitwidth: 8 },
        { id: 3, name: "text", bitwidth: 0 },
      ],
    },
    { preamble: { id: 0x01000005, name: "MyIngress.__proto__", alias: "__proto__" } },
    {
      preamble: {
        id: 0x01000006,
        name: "MyEgress.some_control_with_a_long_name.some_action_with_a_long_name",
        alias: "some_action_with_a_long_name",
      },
    },
  ],
  actionProfiles: [
    {
      preamble: { id: 0x11000001, name: "MyIngress.selector", alias: "selector" },
      tableIds: [0x02000007],
      withSelector: true,
      size: 8n,
      maxGroupSize: 4,
    },
    {
      preamble: { id: 0x11000002, name: "MyIngress.profile", alias: "profile" },
      tableIds: [0x02000008],
      size: 8n,
    },
  ],
  counters: [
    { preamble: { id: 0x12000001, name: "packets", alias: "packets" }, spec: { unit: "PACKETS" }, size: 4n },
    { preamble: { id: 0x12000002, name: "bytes", alias: "bytes" }, spec: { unit: "BYTES" }, size: 4n },
    { preamble: { id: 0x12000003, name: "both", alias: "both" }, spec: { unit: "BOTH" }, size: 4n },
  ],
  directCounters: [
    {
      preamble: { id: 0x13000001, name: "MyIngress.acl_counter", alias: "acl_counter" },
      spec: { unit: "BYTES" },
      directTableId: 0x02000001,
    },
  ],
  meters: [
    {
      preamble: { id: 0x14000001, name: "two_rates", alias: "two_rates" },
      spec: { unit: "BYTES", type: "TWO_RATE_THREE_COLOR" },
      size: 2n,
    },
    {
      preamble: { id: 0x14000002, name: "one_rate", alias: "one_rate" },
      spec: { unit: "PACKETS", type: "SINGLE_RATE_THREE_COLOR" },
      size: 2n,
    },
    {
      preamble: { id: 0x14000003, name: "two_colors", alias: "two_colors" },
      spec: { unit: "PACKETS", type: "SINGLE_RATE_TWO_COLOR" },
      size: 2n,
    },
  ],
  directMeters: [
    {
      preamble: { id: 0x15000001, name: "MyIngress.acl_meter", alias: "acl_meter" },
      spec: { unit: "BYTES", type: "SINGLE_RATE_TWO_COLOR" },
      directTableId: 0x02000001,
    },
  ],
  registers: [
    { preamble: { id: 0x16000001, name: "sums", alias: "sums" }, typeSpec: bit(128), size: 4 },
    { preamble: { id: 0x16000002, name: "signed", alias: "signed" }, typeSpec: int(12), size: 4 },
    {
      preamble: { id: 0x16000003, name: "pairs", alias: "pairs" },
      typeSpec: { typeSpec: { case: "struct", value: { name: "pair_t" } } },
      size: 4,
    },
  ],
  digests: [
    {
      preamble: { id: 0x17000001, name: "learn_t", alias: "learn_t" },
      typeSpec: { typeSpec: { case: "struct", value: { name: "learn_t" } } },
    },
    {
      preamble: { id: 0x17000002, name: "tuple_digest", alias: "tuple_digest" },
      typeSpec: {
        typeSpec: { case: "tuple", value: { members: [bit(8), { typeSpec: { case: "bool", value: {} } }] } },
      },
    },
  ],
  valueSets: [
    {
      preamble: {
        id: 0x03000001,
        name: "MyParser.tunnels",
        alias: "tunnels",
        doc: { brief: "Ports of tunnels." },
      },
      match: [
        { id: 1, name: "protocol", bitwidth: 8, match: { case: "matchType", value: "EXACT" } },
        { id: 2, name: "port", bitwidth: 16, match: { case: "matchType", value: "EXACT" } },
      ],
      size: 4,
    },
    {
      preamble: { id: 0x03000002, name: "MyParser.kinds", alias: "kinds" },
      match: [{ id: 1, bitwidth: 16, match: { case: "matchType", value: "EXACT" } }],
      size: 2,
    },
  ],
  controllerPacketMetadata: [
    {
      preamble: { id: 0x04000001, name: "packet_in", alias: "packet_in" },
      metadata: [
        { id: 1, name: "ingress_port", bitwidth: 9 },
        { id: 2, name: "_pad", bitwidth: 7 },
      ],
    },
    {
      preamble: { id: 0x04000002, name: "packet_out", alias: "packet_out" },
      metadata: [
        { id: 1, name: "egress_port", bitwidth: 9 },
        { id: 2, name: "_pad", bitwidth: 7 },
      ],
    },
  ],
  typeInfo: {
    structs: {
      learn_t: {
        members: [
          { name: "src", typeSpec: bit(48) },
          { name: "delta", typeSpec: int(8) },
          { name: "color", typeSpec: { typeSpec: { case: "enum", value: { name: "color_t" } } } },
          { name: "port", typeSpec: { typeSpec: { case: "newType", value: { name: "port_t" } } } },
          { name: "header", typeSpec: { typeSpec: { case: "header", value: { name: "tag_t" } } } },
        ],
      },
      pair_t: { members: [{ name: "first", typeSpec: bit(8) }] },
    },
    headers: {
      tag_t: {
        members: [{ name: "class", typeSpec: { typeSpec: { case: "bit", value: { bitwidth: 8 } } } }],
      },
    },
    enums: { color_t: { members: [{ name: "RED" }, { name: "GREEN" }] } },
    newTypes: {
      port_t: {
        representation: {
          case: "translatedType",
          value: { uri: "p4.org/port", sdnType: { case: "sdnString", value: {} } },
        },
      },
    },
  },
});
