import type { Program } from "../../src/ir/index.ts";
import { bit, bool, int, NO_ACTION } from "../../src/ir/index.ts";
import {
  action,
  advance,
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
  goto,
  intrinsic,
  keep,
  lookahead,
  meta,
  mux,
  parameter,
  program,
  select,
  slice,
  state,
  table,
  unary,
  valid,
  verify,
  when,
} from "./nodes.ts";

/** A parser that looks ahead, keeps values, checks them, and passes over bytes: as many as a field says. */
export function walker(): Program {
  const base = (name: string) => field("base", name, bit(8));
  const kind = meta("kind", bit(4));
  const length = meta("length", bit(16));
  const level = meta("level", int(8));
  const odd = meta("odd", bool);
  const peek = meta("peek", bit(24));
  return program("walker", {
    ports: 8,
    headerTypes: [
      { name: "base", fields: ["kind", "len", "flags", "rest"].map((name) => ({ name, type: bit(8) })) },
      { name: "note", fields: [{ name: "text", type: bit(16) }] },
      {
        name: "report",
        fields: [
          { name: "length", type: bit(16) },
          { name: "peek", type: bit(24) },
          { name: "kind", type: bit(4) },
          { name: "odd", type: bit(4) },
          { name: "level", type: int(8) },
          { name: "why", type: bit(8) },
        ],
      },
    ],
    headers: [
      { name: "report", headerType: "report" },
      { name: "base", headerType: "base" },
      { name: "note", headerType: "note" },
      { name: "last", headerType: "note" },
    ],
    metadata: [
      { name: "kind", type: bit(4), doc: "first bits" },
      { name: "length", type: bit(16) },
      { name: "level", type: int(8) },
      { name: "odd", type: bool },
      { name: "peek", type: bit(24) },
    ],
    parser: [
      state(
        "start",
        [
          keep(kind, slice(lookahead(16), 15, 12)),
          extract("base"),
          keep(length, arithmetic(cast(base("len"), bit(16)), "+", constant(3, bit(16)))),
          verify(binary(base("len"), "<", constant(200, bit(8))), "HeaderTooShort"),
          keep(odd, binary(slice(base("len"), 0, 0), "==", constant(1, bit(1)))),
          verify(
            binary(binary(base("flags"), "!=", constant(7, bit(8))), "||", unary("!", odd)),
            "UnluckyFlags",
          ),
        ],
        select(
          [lookahead(8), kind, slice(base("rest"), 3, 0)],
          [
            [[{ kind: "range", low: 3n, high: 90n }, { kind: "any" }, { kind: "any" }], "skip"],
            [[{ kind: "any" }, 0, { kind: "mask", value: 2n, mask: 3n }], "notes"],
            [[{ kind: "any" }, 1, { kind: "any" }], "reject"],
          ],
          "measure",
        ),
      ),
      state(
        "skip",
        [
          advance(cast(concat(slice(base("len"), 2, 0), constant(0, bit(3))), bit(32))),
          keep(level, mux(odd, constant(-5, int(8)), cast(base("flags"), int(8)))),
          keep(peek, arithmetic(lookahead(24), "-", constant(1, bit(24)))),
        ],
        select(
          [odd, arithmetic(base("rest"), "&", constant(1, bit(8)))],
          [
            [[1, 1], "notes"],
            [[0, { kind: "any" }], "measure"],
          ],
        ),
      ),
      state(
        "notes",
        [extract("note"), advance(constant(16, bit(32)))],
        select(
          [intrinsic("ingress_port"), field("note", "text", bit(16))],
          [
            [
              [
                { kind: "mask", value: 1n, mask: 1n },
                { kind: "prefix", value: 0n, length: 4 },
              ],
              "ends",
            ],
          ],
        ),
      ),
      state(
        "measure",
        [keep(length, arithmetic(length, "+", cast(lookahead(8), bit(16))))],
        select([length], [[[{ kind: "range", low: 4n, high: 9000n }], "ends"]]),
      ),
      state(
        "ends",
        [
          verify(binary(valid("note"), "||", binary(kind, "!=", constant(3, bit(4)))), "NoMatch"),
          extract("last"),
        ],
        goto("accept"),
      ),
    ],
    controls: [
      control("report", {
        apply: [
          { kind: "setValidity", header: "report", valid: true },
          assign(field("report", "length", bit(16)), length),
          assign(field("report", "peek", bit(24)), peek),
          assign(field("report", "kind", bit(4)), kind),
          assign(field("report", "odd", bit(4)), mux(odd, constant(1, bit(4)), constant(0, bit(4)))),
          assign(field("report", "level", int(8)), level),
          assign(field("report", "why", bit(8)), constant(0, bit(8))),
          when(intrinsic("parser_failed"), [assign(field("report", "why", bit(8)), constant(1, bit(8)))]),
          when(valid("last"), [assign(slice(field("report", "why", bit(8)), 7, 4), constant(5, bit(4)))]),
        ],
      }),
    ],
    ingress: [
      { kind: "applyControl", control: "report" },
      assign(intrinsic("egress_port"), constant(1, bit(9))),
    ],
    deparser: ["report", "base", "note", "last"],
  });
}

/** Label stacks: read in loops up to their bounds, changed and shifted in actions and in controls, and sent. */
export function labels(): Program {
  const label = (path: string, name: "value" | "last" | "ttl") =>
    field(path, name, bit({ value: 15, last: 1, ttl: 8 }[name]));
  const kind = field("base", "kind", bit(8));
  const swap = action(
    "swap.swap",
    [{ name: "value", type: bit(15) }],
    [
      assign(label("labels[0]", "value"), parameter("value", bit(15))),
      assign(label("labels[0]", "ttl"), arithmetic(label("labels[0]", "ttl"), "-", constant(1, bit(8)))),
    ],
    "Changes the outermost label.",
  );
  const push = action(
    "swap.push",
    [{ name: "value", type: bit(15) }],
    [
      { kind: "pushFront", stack: "labels", count: 1 },
      { kind: "setValidity", header: "labels[0]", valid: true },
      assign(label("labels[0]", "value"), parameter("value", bit(15))),
      assign(label("labels[0]", "last"), constant(0, bit(1))),
      assign(label("labels[0]", "ttl"), label("labels[1]", "ttl")),
    ],
  );
  const pop = action("swap.pop", [], [{ kind: "popFront", stack: "labels", count: 1 }]);
  const popAll = action("swap.pop_all", [], [{ kind: "popFront", stack: "labels", count: 5 }]);
  return program("labels", {
    ports: 8,
    headerTypes: [
      {
        name: "base",
        fields: [
          { name: "kind", type: bit(8) },
          { name: "count", type: bit(8) },
        ],
      },
      {
        name: "label",
        fields: [
          { name: "value", type: bit(15) },
          { name: "last", type: bit(1) },
          { name: "ttl", type: bit(8) },
        ],
        doc: "One label, the outermost first.",
      },
      { name: "word", fields: [{ name: "text", type: bit(16) }] },
    ],
    headers: [
      { name: "base", headerType: "base" },
      { name: "labels", headerType: "label", elements: 4 },
      { name: "words", headerType: "word", elements: 3 },
      { name: "last_word", headerType: "word" },
    ],
    metadata: [
      { name: "outer", type: bit(15) },
      { name: "left", type: bit(8) },
    ],
    parser: [
      state(
        "start",
        [extract("base"), keep(meta("left", bit(8)), field("base", "count", bit(8)))],
        select(
          [kind],
          [
            [[1], "parse_label"],
            [[{ kind: "range", low: 2n, high: 5n }], "parse_word"],
          ],
        ),
      ),
      state(
        "parse_label",
        [extract("labels.next")],
        select(
          [
            label("labels.last", "last"),
            slice(label("labels.last", "ttl"), 0, 0),
            label("labels[0]", "value"),
          ],
          [
            [[1, { kind: "any" }, { kind: "any" }], "after_labels"],
            [[0, 1, { kind: "range", low: 1n, high: 3n }], "accept"],
          ],
          "parse_label",
        ),
      ),
      state(
        "after_labels",
        [
          keep(meta("outer", bit(15)), label("labels[0]", "value")),
          verify(binary(label("labels.last", "ttl"), "!=", constant(0, bit(8))), "Expired"),
        ],
        select([label("labels.last", "value")], [[[1], "parse_word"]]),
      ),
      state(
        "parse_word",
        [
          extract("words.next"),
          keep(meta("left", bit(8)), arithmetic(meta("left", bit(8)), "-", constant(1, bit(8)))),
        ],
        select(
          [meta("left", bit(8))],
          [
            [[0], "last_word"],
            [[{ kind: "range", low: 5n, high: 6n }], "hop"],
          ],
          "parse_word",
        ),
      ),
      state("hop", [advance(constant(8, bit(32)))], select([lookahead(3)], [[[1], "hop"]], "parse_word")),
      state("last_word", [extract("last_word")], goto("accept")),
    ],
    controls: [
      control("swap", {
        actions: [swap, push, pop, popAll],
        tables: [
          table(
            "swap.labels",
            [
              ["outer", label("labels[0]", "value"), "ternary"],
              ["second", valid("labels[1]"), "exact"],
            ],
            ["swap.swap", "swap.push", "swap.pop", "swap.pop_all", NO_ACTION],
            { size: 64 },
          ),
        ],
        apply: [
          when(valid("labels[0]"), [apply("swap.labels")]),
          when(binary(valid("labels[2]"), "&&", unary("!", valid("labels[3]"))), [
            { kind: "setValidity", header: "labels[2]", valid: false },
          ]),
          when(intrinsic("parser_failed"), [{ kind: "popFront", stack: "words", count: 2 }]),
        ],
      }),
      control("stamp", {
        gress: "egress",
        apply: [
          when(valid("words[0]"), [
            { kind: "pushFront", stack: "words", count: 2 },
            { kind: "setValidity", header: "words[1]", valid: true },
            assign(field("words[1]", "text", bit(16)), cast(meta("outer", bit(15)), bit(16))),
          ]),
        ],
      }),
    ],
    ingress: [
      { kind: "applyControl", control: "swap" },
      assign(intrinsic("egress_port"), constant(1, bit(9))),
    ],
    egress: [{ kind: "applyControl", control: "stamp" }],
    deparser: ["base", "labels", "words", "last_word"],
  });
}

/** A union: one of three headers, found by looking ahead, and exchanged for another. */
export function union(): Program {
  const small = field("body.small", "a", bit(8));
  const large = (name: "kind" | "b") => field("body.large", name, bit(16));
  const make = action(
    "exchange.grow",
    [{ name: "b", type: bit(16) }],
    [
      { kind: "setValidity", header: "body.large", valid: true },
      assign(large("kind"), constant(0x2222, bit(16))),
      assign(large("b"), parameter("b", bit(16))),
    ],
  );
  const drop = action(
    "exchange.drop_body",
    [],
    [
      { kind: "setValidity", header: "body.small", valid: false },
      { kind: "setValidity", header: "body.flags", valid: false },
    ],
  );
  return program("union", {
    ports: 8,
    headerTypes: [
      { name: "base", fields: [{ name: "x", type: bit(8) }] },
      {
        name: "small",
        fields: [
          { name: "kind", type: bit(4) },
          { name: "rest", type: bit(4) },
          { name: "a", type: bit(8) },
        ],
      },
      {
        name: "large",
        fields: [
          { name: "kind", type: bit(16) },
          { name: "b", type: bit(16) },
        ],
      },
      {
        name: "flags",
        fields: [
          { name: "kind", type: bit(8) },
          { name: "f", type: bool },
          { name: "rest", type: bit(7) },
        ],
      },
    ],
    headers: [{ name: "base", headerType: "base" }],
    unions: [
      {
        name: "body",
        members: [
          { name: "small", headerType: "small" },
          { name: "large", headerType: "large" },
          { name: "flags", headerType: "flags" },
        ],
      },
      { name: "tail", members: [{ name: "small", headerType: "small" }] },
    ],
    parser: [
      state(
        "start",
        [extract("base")],
        select(
          [lookahead(4)],
          [
            [[1], "small"],
            [[2], "large"],
            [[3], "flags"],
          ],
        ),
      ),
      state(
        "small",
        [extract("body.small")],
        select([small], [[[{ kind: "mask", value: 1n, mask: 1n }], "tail"]]),
      ),
      state("large", [extract("body.large")], goto("tail")),
      state("flags", [extract("body.flags")], select([field("body.flags", "f", bool)], [[[1], "again"]])),
      state("again", [extract("body.small")], goto("accept")),
      state("tail", [extract("tail.small")], goto("accept")),
    ],
    controls: [
      control("exchange", {
        actions: [make, drop],
        tables: [
          table(
            "exchange.bodies",
            [
              ["is_small", valid("body.small"), "exact"],
              ["is_large", valid("body.large"), "exact"],
              ["x", field("base", "x", bit(8)), "ternary"],
            ],
            ["exchange.grow", "exchange.drop_body", NO_ACTION],
            { size: 32 },
          ),
        ],
        apply: [
          when(valid("body.flags"), [assign(field("base", "x", bit(8)), constant(0xf1, bit(8)))]),
          apply("exchange.bodies"),
          when(binary(valid("tail.small"), "&&", valid("body.large")), [
            assign(field("tail.small", "a", bit(8)), slice(large("b"), 7, 0)),
          ]),
        ],
      }),
    ],
    ingress: [
      { kind: "applyControl", control: "exchange" },
      assign(intrinsic("egress_port"), constant(1, bit(9))),
    ],
    deparser: ["base", "body", "tail"],
  });
}

/** IPv4 with options, and UDP and TCP with checksums over pseudo header and payload. */
export function internet(): Program {
  const ip = (name: string, width: number) => field("ipv4", name, bit(width));
  const datagram = (name: string) => field("udp", name, bit(16));
  const segment = (name: string, width: number) => field("tcp", name, bit(width));
  const length = meta("segment_length", bit(16));
  const ihl = ip("ihl", 4);
  const words = arithmetic(cast(ihl, bit(16)), "-", constant(5, bit(16)));
  const pseudo = [ip("src_addr", 32), ip("dst_addr", 32), constant(0, bit(8)), ip("protocol", 8)];
  const fields = (list: readonly (readonly [string, number])[]) =>
    list.map(([name, width]) => ({ name, type: bit(width) }));
  const ipFields = [
    ["version", 4],
    ["ihl", 4],
    ["diffserv", 8],
    ["total_len", 16],
    ["identification", 16],
    ["flags", 3],
    ["frag_offset", 13],
    ["ttl", 8],
    ["protocol", 8],
    ["hdr_checksum", 16],
    ["src_addr", 32],
    ["dst_addr", 32],
  ] as const;
  const tcpFields = [
    ["src_port", 16],
    ["dst_port", 16],
    ["sequence", 32],
    ["acknowledgement", 32],
    ["data_offset", 4],
    ["flags", 12],
    ["window", 16],
    ["checksum", 16],
    ["urgent", 16],
  ] as const;
  const udpFields = [
    ["src_port", 16],
    ["dst_port", 16],
    ["length", 16],
    ["checksum", 16],
  ] as const;
  return program("internet", {
    ports: 8,
    headerTypes: [
      { name: "ipv4", fields: fields(ipFields) },
      { name: "options", fields: [], varbit: { name: "bytes", width: 320, doc: "IPv4 options" } },
      { name: "udp", fields: fields(udpFields) },
      { name: "tcp", fields: fields(tcpFields) },
    ],
    headers: ["ipv4", "options", "udp", "tcp"].map((name) => ({ name, headerType: name })),
    metadata: [{ name: "segment_length", type: bit(16) }],
    parser: [
      state(
        "start",
        [
          extract("ipv4"),
          verify(binary(ihl, ">=", constant(5, bit(4))), "HeaderTooShort"),
          keep(
            length,
            arithmetic(ip("total_len", 16), "-", binary(cast(ihl, bit(16)), "<<", constant(2, bit(8)))),
          ),
        ],
        select([ihl], [[[5], "transport"]], "parse_options"),
      ),
      state(
        "parse_options",
        [{ kind: "extract", header: "options", length: binary(words, "<<", constant(5, bit(8))) }],
        goto("transport"),
      ),
      state(
        "transport",
        [],
        select(
          [ip("frag_offset", 13), ip("protocol", 8)],
          [
            [[0, 17], "parse_udp"],
            [[0, 6], "parse_tcp"],
          ],
        ),
      ),
      state("parse_udp", [extract("udp")], goto("accept")),
      state("parse_tcp", [extract("tcp")], goto("accept")),
    ],
    checksums: [
      {
        header: "ipv4",
        target: ip("hdr_checksum", 16),
        fields: ipFields.filter(([name]) => name !== "hdr_checksum").map(([name, width]) => ip(name, width)),
        varbits: ["options.bytes"],
        verify: true,
        update: true,
      },
      {
        header: "udp",
        target: datagram("checksum"),
        fields: [
          ...pseudo,
          datagram("length"),
          datagram("src_port"),
          datagram("dst_port"),
          datagram("length"),
        ],
        payload: true,
        zeroIsNone: true,
        verify: true,
        update: true,
      },
      {
        header: "tcp",
        target: segment("checksum", 16),
        fields: [
          ...pseudo,
          length,
          ...tcpFields.filter(([name]) => name !== "checksum").map(([name, width]) => segment(name, width)),
        ],
        payload: true,
        condition: binary(segment("window", 16), "!=", constant(1, bit(16))),
        verify: true,
        update: true,
      },
    ],
    controls: [
      control("rewrite", {
        apply: [
          when(
            intrinsic("checksum_failed"),
            [assign(ip("identification", 16), constant(0xbad, bit(16)))],
            [assign(ip("dst_addr", 32), arithmetic(ip("dst_addr", 32), "+", constant(1, bit(32))))],
          ),
          when(valid("udp"), [assign(datagram("dst_port"), constant(53, bit(16)))]),
        ],
      }),
    ],
    ingress: [
      when(unary("!", valid("ipv4")), [{ kind: "drop" }, { kind: "exit" }]),
      { kind: "applyControl", control: "rewrite" },
      assign(intrinsic("egress_port"), constant(1, bit(9))),
    ],
    deparser: ["ipv4", "options", "udp", "tcp"],
  });
}

/** Programs that show what parsers can do. */
export const parserPrograms: readonly Program[] = [walker(), labels(), union(), internet()];
