import type { Expression, FieldReference, HeaderType, Program } from "../../src/ir/index.ts";
import { bit, bool, int, NO_ACTION } from "../../src/ir/index.ts";
import { reservedBy, reservedWords } from "../../src/ir/reservedwords.ts";
import type { WireHeader } from "../../src/wire/header.ts";
import { ethernet, ipv4 } from "../../src/wire/internet.ts";
import {
  action,
  apply,
  arithmetic,
  assign,
  binary,
  cast,
  concat,
  constant,
  control,
  extract,
  field,
  intrinsic,
  memory,
  meta,
  mux,
  parameter,
  program,
  register,
  slice,
  table,
  unary,
  update,
  valid,
  when,
} from "./nodes.ts";

function headerType(wire: WireHeader): HeaderType {
  return {
    name: wire.name,
    ...(wire.doc === undefined ? {} : { doc: wire.doc }),
    fields: wire.fields.map((f) => ({
      name: f.name,
      type: bit(f.bits),
      ...(f.doc === undefined ? {} : { doc: f.doc }),
    })),
  };
}

function wireField(wire: WireHeader, name: string): FieldReference {
  const found = wire.fields.find((f) => f.name === name);
  if (found === undefined) throw new Error(`${wire.name} has no field ${name}`);
  return field(wire.name, name, bit(found.bits));
}

const eth = (name: string) => wireField(ethernet, name);
const ip = (name: string) => wireField(ipv4, name);

/** Ethernet and IPv4 with LPM routing, TTL and both checksum calls. */
export function forwarding(): Program {
  return program("forward", {
    doc: "Routes IPv4 packets.",
    headerTypes: [headerType(ethernet), headerType(ipv4)],
    headers: [
      { name: "ethernet", headerType: "ethernet" },
      { name: "ipv4", headerType: "ipv4" },
    ],
    parser: [
      {
        name: "start",
        steps: [extract("ethernet")],
        transition: {
          kind: "select",
          keys: [eth("ether_type")],
          cases: [{ values: [{ kind: "value", value: 0x800n }], next: "parse_ipv4" }],
          otherwise: "accept",
        },
      },
      { name: "parse_ipv4", steps: [extract("ipv4")], transition: { kind: "goto", next: "accept" } },
    ],
    checksums: [
      {
        header: "ipv4",
        target: ip("hdr_checksum"),
        fields: ipv4.fields.filter((f) => f.name !== "hdr_checksum").map((f) => ip(f.name)),
        verify: true,
        update: true,
      },
    ],
    controls: [
      control("forwarding", {
        doc: "Longest-prefix routing.",
        actions: [
          action(
            "forwarding.route",
            [
              { name: "port", type: bit(9), doc: "where the next hop is" },
              { name: "next_hop", type: bit(48) },
            ],
            [
              assign(intrinsic("egress_port"), parameter("port", bit(9))),
              assign(eth("src_addr"), eth("dst_addr")),
              assign(eth("dst_addr"), parameter("next_hop", bit(48))),
              assign(ip("ttl"), arithmetic(ip("ttl"), "-", constant(1, bit(8)))),
            ],
            "Sends the packet to its next hop.",
          ),
          action("forwarding.refuse", [], [{ kind: "drop" }]),
        ],
        tables: [
          table(
            "forwarding.routes",
            [["dst_addr", ip("dst_addr"), "lpm"]],
            ["forwarding.route", "forwarding.refuse"],
            {
              size: 256,
              doc: "Routes by destination.",
              defaultAction: { action: "forwarding.refuse", arguments: [], constant: false },
              directCounter: "forwarding.routed",
            },
          ),
        ],
        apply: [
          when(
            binary(
              binary(valid("ipv4"), "&&", binary(ip("ttl"), ">", constant(1, bit(8)))),
              "&&",
              unary("!", intrinsic("checksum_failed")),
            ),
            [apply("forwarding.routes")],
            [{ kind: "drop" }],
          ),
        ],
      }),
    ],
    ingress: [{ kind: "applyControl", control: "forwarding" }],
    deparser: ["ethernet", "ipv4"],
  });
}

const opName = ["a", "b", "c"] as const;
const op = (name: (typeof opName)[number] | "w" | "sum") => field("op", name, bit(name === "w" ? 128 : 32));
const ctl = (name: string, width: number) => field("op", name, bit(width));

/** One of everything: each statement, match kind and operator; used where the claim is about the whole language. */
export function zoo(): Program {
  const slot = ctl("slot", 8);
  const lane: FieldReference = field("op", "signed", int(16));
  const flag: FieldReference = field("op", "flag", bool);
  const acc = meta("acc", bit(32));
  const old = memory("old", bit(32));
  const key = (e: Expression) => e;
  return program("zoo", {
    doc: "One of everything.\nWith <angle> brackets & 'quotes'.",
    ports: 8,
    cpuPort: 255,
    headerTypes: [
      {
        name: "op",
        doc: "Operands and results <a & b>.",
        fields: [
          { name: "kind", type: bit(8) },
          { name: "slot", type: bit(8) },
          { name: "flag", type: bool },
          { name: "small", type: bit(7) },
          { name: "signed", type: int(16), doc: "a value with sign" },
          { name: "a", type: bit(32) },
          { name: "b", type: bit(32) },
          { name: "c", type: bit(32) },
          { name: "sum", type: bit(32) },
          { name: "w", type: bit(128) },
        ],
      },
      {
        name: "to_cpu",
        fields: [
          { name: "reason", type: bit(7) },
          { name: "ingress_port", type: bit(9) },
        ],
      },
      {
        name: "from_cpu",
        fields: [
          { name: "egress_port", type: bit(9) },
          { name: "padding", type: bit(7) },
        ],
      },
    ],
    headers: [
      { name: "to_cpu", headerType: "to_cpu" },
      { name: "from_cpu", headerType: "from_cpu" },
      { name: "op", headerType: "op" },
      { name: "extra", headerType: "op" },
    ],
    packetIn: "to_cpu",
    packetOut: "from_cpu",
    metadata: [
      { name: "acc", type: bit(32), doc: "running value" },
      { name: "ready", type: bool },
      { name: "signed", type: int(16) },
      { name: "wide", type: bit(128) },
      { name: "session", type: bit(16) },
    ],
    parser: [
      {
        name: "start",
        steps: [],
        transition: {
          kind: "select",
          keys: [intrinsic("ingress_port")],
          cases: [{ values: [{ kind: "value", value: 255n }], next: "parse_from_cpu" }],
          otherwise: "parse_op",
        },
      },
      {
        name: "parse_from_cpu",
        steps: [extract("from_cpu")],
        transition: { kind: "goto", next: "parse_op" },
      },
      {
        name: "parse_op",
        steps: [extract("op")],
        transition: {
          kind: "select",
          keys: [ctl("kind", 8), flag, slice(op("a"), 31, 28)],
          cases: [
            {
              values: [{ kind: "range", low: 3n, high: 9n }, { kind: "any" }, { kind: "value", value: 0n }],
              next: "parse_extra",
            },
            {
              values: [
                { kind: "mask", value: 0x80n, mask: 0xc0n },
                { kind: "value", value: 1n },
                { kind: "any" },
              ],
              next: "reject",
            },
            {
              values: [{ kind: "prefix", value: 0xf0n, length: 4 }, { kind: "any" }, { kind: "any" }],
              next: "accept",
            },
            {
              values: [{ kind: "value", value: 0n }, { kind: "value", value: 0n }, { kind: "any" }],
              next: "accept",
            },
          ],
          otherwise: "accept",
        },
      },
      { name: "parse_extra", steps: [extract("extra")], transition: { kind: "goto", next: "accept" } },
    ],
    controls: [
      control("compute", {
        doc: "Arithmetic of every kind.",
        actions: [
          action(
            "compute.sums",
            [{ name: "k", type: bit(32) }],
            [
              assign(
                op("sum"),
                arithmetic(
                  arithmetic(op("a"), "+", arithmetic(op("b"), "*", op("c"))),
                  "-",
                  parameter("k", bit(32)),
                ),
              ),
              assign(acc, arithmetic(arithmetic(op("a"), "|+|", op("b")), "^", unary("~", op("c")))),
              assign(op("w"), arithmetic(op("w"), "+", constant((1n << 128n) - 1n, bit(128)))),
            ],
          ),
          action(
            "compute.bits",
            [],
            [
              assign(
                op("sum"),
                concat(slice(op("a"), 7, 0), concat(slice(op("b"), 15, 8), constant(0xabcd, bit(16)))),
              ),
              assign(slice(op("c"), 15, 8), slice(op("a"), 31, 24)),
              assign(acc, binary(op("a"), ">>", cast(slice(op("b"), 4, 0), bit(8)))),
              assign(meta("wide", bit(128)), binary(cast(op("a"), bit(128)), "<<", constant(96, bit(8)))),
            ],
          ),
          action(
            "compute.signs",
            [
              { name: "step", type: int(16) },
              { name: "raise", type: bool },
            ],
            [
              assign(meta("signed", int(16)), arithmetic(lane, "|-|", parameter("step", int(16)))),
              assign(
                lane,
                mux(
                  binary(meta("signed", int(16)), "<", constant(-3, int(16))),
                  unary("-", lane),
                  binary(lane, ">>", constant(2, bit(8))),
                ),
              ),
              assign(
                flag,
                binary(
                  binary(parameter("raise", bool), "||", binary(lane, ">=", parameter("step", int(16)))),
                  "==",
                  binary(flag, "||", constant(0, bool)),
                ),
              ),
              assign(meta("ready", bool), cast(slice(op("a"), 0, 0), bool)),
              assign(op("b"), cast(cast(lane, int(32)), bit(32))),
            ],
          ),
        ],
        tables: [
          table(
            "compute.rules",
            [
              ["kind", ctl("kind", 8), "ternary"],
              ["a", op("a"), "range"],
              ["slot", slot, "optional"],
              ["ready", meta("ready", bool), "exact"],
              ["parity", arithmetic(op("b"), "&", constant(1, bit(32))), "exact"],
            ],
            ["compute.sums", "compute.bits", "compute.signs", NO_ACTION],
            {
              size: 64,
              constEntries: [
                {
                  action: "compute.sums",
                  arguments: [0n],
                  keys: [
                    { kind: "value", value: 0n },
                    { kind: "any" },
                    { kind: "any" },
                    { kind: "value", value: 0n },
                    { kind: "value", value: 0n },
                  ],
                },
                {
                  action: "compute.signs",
                  arguments: [-2n, 1n],
                  keys: [
                    { kind: "mask", value: 4n, mask: 0xfn },
                    { kind: "range", low: 5n, high: 0xffff0000n },
                    { kind: "value", value: 7n },
                    { kind: "value", value: 1n },
                    { kind: "value", value: 1n },
                  ],
                },
                {
                  action: "compute.bits",
                  arguments: [],
                  keys: [
                    { kind: "any" },
                    { kind: "value", value: 9007199254740993n & 0xffffffffn },
                    { kind: "any" },
                    { kind: "value", value: 0n },
                    { kind: "value", value: 1n },
                  ],
                },
              ],
            },
          ),
          table("compute.classify", [["w", key(op("w")), "exact"]], ["compute.sums", "compute.bits"], {
            defaultAction: { action: "compute.signs", arguments: [0n, 0n], constant: true },
          }),
        ],
        apply: [
          assign(acc, constant(0, bit(32))),
          apply("compute.rules"),
          {
            kind: "applyTable",
            table: "compute.classify",
            hit: [assign(meta("session", bit(16)), constant(0x0800, bit(16)))],
            miss: [
              {
                kind: "callAction",
                action: "compute.sums",
                arguments: [arithmetic(acc, "+", constant(1, bit(32)))],
              },
              when(binary(op("a"), "==", op("b")), [{ kind: "exit" }]),
            ],
          },
        ],
      }),
      control("memory", {
        registers: [
          register("memory.total", bit(32), 16),
          register("memory.seen", bit(32), 16),
          register("memory.level", int(16), 300),
          register("memory.slot", bit(8), 1),
        ],
        counters: [
          {
            name: "memory.events",
            size: 4,
            unit: "both",
            cells: ["fresh", "repeated", "stale", "other"],
            doc: "Outcomes.",
          },
        ],
        actions: [
          action(
            "memory.add",
            [{ name: "slot", type: bit(8) }],
            [
              update(
                "memory.total",
                slice(parameter("slot", bit(8)), 3, 0),
                arithmetic(old, "+", op("a")),
                memory("next", bit(32)),
                op("sum"),
              ),
              update(
                "memory.seen",
                slice(slot, 3, 0),
                arithmetic(old, "|", op("b")),
                arithmetic(old, "&", op("b")),
                acc,
              ),
              {
                kind: "count",
                counter: "memory.events",
                index: cast(slice(op("a"), 1, 0), bit(32)),
              },
            ],
          ),
        ],
        tables: [
          table("memory.slots", [["slot", slot, "exact"]], ["memory.add", NO_ACTION], {
            defaultAction: { action: "memory.add", arguments: [0n], constant: false },
          }),
        ],
        apply: [
          apply("memory.slots"),
          update(
            "memory.level",
            slot,
            mux(binary(memory("old", int(16)), "<", lane), lane, memory("old", int(16))),
            binary(memory("old", int(16)), ">", lane),
            flag,
          ),
          update(
            "memory.slot",
            constant(0, bit(32)),
            memory("old", bit(8)),
            memory("old", bit(8)),
            field("op", "kind", bit(8)),
          ),
        ],
      }),
      control("mark", {
        gress: "egress",
        apply: [
          when(intrinsic("is_clone"), [
            { kind: "setValidity", header: "to_cpu", valid: true },
            assign(field("to_cpu", "reason", bit(7)), constant(1, bit(7))),
            assign(field("to_cpu", "ingress_port", bit(9)), intrinsic("ingress_port")),
          ]),
          when(
            binary(intrinsic("egress_port"), "==", intrinsic("ingress_port")),
            [],
            [assign(op("c"), cast(intrinsic("replication_id"), bit(32)))],
          ),
        ],
      }),
    ],
    ingress: [
      when(
        valid("from_cpu"),
        [
          assign(intrinsic("egress_port"), field("from_cpu", "egress_port", bit(9))),
          { kind: "setValidity", header: "from_cpu", valid: false },
        ],
        [
          when(intrinsic("parser_failed"), [{ kind: "drop" }, { kind: "exit" }], []),
          when(
            binary(ctl("kind", 8), "==", constant(0x44, bit(8))),
            [{ kind: "clone", session: cast(meta("session", bit(16)), bit(32)) }],
            [
              when(binary(ctl("kind", 8), "==", constant(0x45, bit(8))), [
                { kind: "clone", session: constant(7, bit(32)) },
              ]),
            ],
          ),
          { kind: "applyControl", control: "compute" },
          { kind: "applyControl", control: "memory" },
          assign(intrinsic("priority"), slice(ctl("kind", 8), 2, 0)),
          assign(intrinsic("egress_port"), cast(slice(op("a"), 2, 0), bit(9))),
          when(binary(slot, "==", constant(0xff, bit(8))), [
            assign(intrinsic("multicast_group"), concat(constant(0, bit(8)), slot)),
          ]),
        ],
      ),
    ],
    egress: [{ kind: "applyControl", control: "mark" }],
    deparser: ["to_cpu", "op", "extra"],
  });
}

/** A program whose members and objects have names that P4, core.p4, v1model or the generated program use for something else. */
export function namesake(): Program {
  const members = [...reservedWords.keys()].filter((word) => reservedBy(word, "member") === undefined);
  const objects = (
    "drop size counters meters implementation default_action support_timeout length extract emit lookahead isValid " +
    "setValid hit miss action_run NoError entry defaults value name id pragma atomic packet_length port data old next user"
  ).split(" ");
  const first = field("h", members[0] ?? "x", bit(8));
  const controls = objects.map((word, i) =>
    control(i % 2 === 0 ? `c${i}` : `${word}_control`, {
      actions: [
        action(
          `c${i}.${word}`,
          [{ name: word, type: bit(8) }],
          [
            assign(first, parameter(word, bit(8))),
            update(`c${i}.${word}`, constant(0, bit(32)), parameter(word, bit(8))),
          ],
        ),
      ],
      tables: [table(`c${i}.${word}`, [[word, first, "exact"]], [`c${i}.${word}`, NO_ACTION])],
      registers: [register(`c${i}.${word}`, bit(8), 1)],
      apply: [apply(`c${i}.${word}`)],
    }),
  );
  return program("namesake", {
    headerTypes: [{ name: "h", fields: members.map((name) => ({ name, type: bit(8) })) }],
    headers: [{ name: "h", headerType: "h" }, ...members.map((name) => ({ name, headerType: "h" }))],
    metadata: members.map((name) => ({ name, type: bit(8) })),
    parser: [{ name: "start", steps: [extract("h")], transition: { kind: "goto", next: "accept" } }],
    controls: [
      control("copy", {
        apply: members.flatMap((name) => [
          assign(meta(name, bit(8)), field("h", name, bit(8))),
          assign(first, meta(name, bit(8))),
        ]),
      }),
      ...controls,
    ],
    ingress: ["copy", ...controls.map((c) => c.name)].map((name) => ({
      kind: "applyControl" as const,
      control: name,
    })),
    deparser: ["h"],
  });
}
