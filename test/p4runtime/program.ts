import { create, type Init, P4Info } from "../../src/p4info/index.ts";

/** Ids of the objects of the test program, as a P4 compiler would give them. */
export const ID = {
  ipv4Lpm: 0x02000001,
  acl: 0x02000002,
  mac: 0x02000003,
  keyless: 0x02000004,
  fixed: 0x02000005,
  ecmp: 0x02000006,
  wide: 0x02000007,
  forward: 0x01000001,
  drop: 0x01000002,
  noAction: 0x01000003,
  setWide: 0x01000004,
  selector: 0x11000001,
  packets: 0x12000001,
  aclCounter: 0x13000001,
  meter: 0x14000001,
  aclMeter: 0x15000001,
  sums: 0x16000001,
  wideRegister: 0x16000002,
  digest: 0x17000001,
  packetIn: 0x0400_0001,
  packetOut: 0x0400_0002,
} as const;

const init: Init<P4Info> = {
  pkgInfo: { name: "test", arch: "v1model" },
  tables: [
    {
      preamble: { id: ID.ipv4Lpm, name: "ingress.ipv4_lpm", alias: "ipv4_lpm" },
      matchFields: [
        { id: 1, name: "hdr.ipv4.dst", bitwidth: 32, match: { case: "matchType", value: "LPM" } },
      ],
      actionRefs: [{ id: ID.forward }, { id: ID.drop }, { id: ID.noAction, scope: "DEFAULT_ONLY" }],
      size: 1024n,
    },
    {
      preamble: { id: ID.acl, name: "ingress.acl", alias: "acl" },
      matchFields: [
        {
          id: 1,
          name: "hdr.ethernet.ether_type",
          bitwidth: 16,
          match: { case: "matchType", value: "TERNARY" },
        },
        {
          id: 2,
          name: "standard_metadata.ingress_port",
          bitwidth: 9,
          match: { case: "matchType", value: "RANGE" },
        },
        { id: 3, name: "hdr.ipv4.protocol", bitwidth: 8, match: { case: "matchType", value: "OPTIONAL" } },
      ],
      actionRefs: [{ id: ID.forward, scope: "TABLE_ONLY" }, { id: ID.drop }],
      directResourceIds: [ID.aclCounter, ID.aclMeter],
      size: 4n,
    },
    {
      preamble: { id: ID.mac, name: "ingress.mac", alias: "mac" },
      matchFields: [
        { id: 1, name: "hdr.ethernet.dst", bitwidth: 48, match: { case: "matchType", value: "EXACT" } },
        { id: 7, name: "meta.vlan", bitwidth: 12, match: { case: "matchType", value: "EXACT" } },
      ],
      actionRefs: [{ id: ID.forward }, { id: ID.drop }],
      size: 64n,
    },
    {
      preamble: { id: ID.keyless, name: "ingress.keyless", alias: "keyless" },
      actionRefs: [{ id: ID.forward }],
      size: 1n,
    },
    {
      preamble: { id: ID.fixed, name: "ingress.fixed", alias: "fixed" },
      matchFields: [{ id: 1, name: "meta.class", bitwidth: 3, match: { case: "matchType", value: "EXACT" } }],
      actionRefs: [{ id: ID.drop }],
      constDefaultActionId: ID.drop,
      isConstTable: true,
      hasInitialEntries: true,
      size: 2n,
    },
    {
      preamble: { id: ID.ecmp, name: "ingress.ecmp", alias: "ecmp" },
      matchFields: [
        { id: 1, name: "meta.group", bitwidth: 16, match: { case: "matchType", value: "EXACT" } },
      ],
      actionRefs: [{ id: ID.forward }, { id: ID.drop }],
      implementationId: ID.selector,
      size: 16n,
    },
    {
      preamble: { id: ID.wide, name: "egress.wide", alias: "wide" },
      matchFields: [
        { id: 1, name: "hdr.ipv6.dst", bitwidth: 128, match: { case: "matchType", value: "LPM" } },
      ],
      actionRefs: [{ id: ID.setWide }],
      size: 16n,
    },
  ],
  actions: [
    {
      preamble: { id: ID.forward, name: "ingress.forward", alias: "forward" },
      // The ids are not the positions, as a program with @id may have it.
      params: [
        { id: 5, name: "port", bitwidth: 9 },
        { id: 2, name: "dst", bitwidth: 48 },
      ],
    },
    { preamble: { id: ID.drop, name: "ingress.drop", alias: "drop" } },
    { preamble: { id: ID.noAction, name: "NoAction", alias: "NoAction" } },
    {
      preamble: { id: ID.setWide, name: "egress.set_wide", alias: "set_wide" },
      params: [{ id: 1, name: "value", bitwidth: 512 }],
    },
  ],
  actionProfiles: [
    {
      preamble: { id: ID.selector, name: "ingress.selector", alias: "selector" },
      tableIds: [ID.ecmp],
      withSelector: true,
      size: 8n,
      maxGroupSize: 4,
    },
  ],
  counters: [
    {
      preamble: { id: ID.packets, name: "ingress.packets", alias: "packets" },
      spec: { unit: "BOTH" },
      size: 4n,
    },
  ],
  directCounters: [
    {
      preamble: { id: ID.aclCounter, name: "ingress.acl_counter", alias: "acl_counter" },
      spec: { unit: "BOTH" },
      directTableId: ID.acl,
    },
  ],
  meters: [
    {
      preamble: { id: ID.meter, name: "ingress.meter", alias: "meter" },
      spec: { unit: "PACKETS" },
      size: 2n,
    },
  ],
  directMeters: [
    {
      preamble: { id: ID.aclMeter, name: "ingress.acl_meter", alias: "acl_meter" },
      spec: { unit: "BYTES" },
      directTableId: ID.acl,
    },
  ],
  registers: [
    {
      preamble: { id: ID.sums, name: "ingress.sums", alias: "sums" },
      typeSpec: {
        typeSpec: { case: "bitstring", value: { typeSpec: { case: "bit", value: { bitwidth: 32 } } } },
      },
      size: 4,
    },
    {
      preamble: { id: ID.wideRegister, name: "ingress.wide_register", alias: "wide_register" },
      typeSpec: {
        typeSpec: { case: "bitstring", value: { typeSpec: { case: "bit", value: { bitwidth: 128 } } } },
      },
      size: 2,
    },
  ],
  digests: [
    {
      preamble: { id: ID.digest, name: "learn_t", alias: "learn_t" },
      typeSpec: { typeSpec: { case: "struct", value: { name: "learn_t" } } },
    },
  ],
  controllerPacketMetadata: [
    {
      preamble: { id: ID.packetIn, name: "packet_in", alias: "packet_in" },
      metadata: [
        { id: 1, name: "ingress_port", bitwidth: 9 },
        { id: 2, name: "_pad", bitwidth: 7 },
      ],
    },
    {
      preamble: { id: ID.packetOut, name: "packet_out", alias: "packet_out" },
      metadata: [
        { id: 1, name: "egress_port", bitwidth: 9 },
        { id: 2, name: "_pad", bitwidth: 7 },
      ],
    },
  ],
};

/** A small program with every kind of object that P4Runtime knows. */
export const PROGRAM: P4Info = create(P4Info, init);
