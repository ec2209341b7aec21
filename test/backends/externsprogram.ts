import type {
  Action,
  Expression,
  FieldReference,
  HashAlgorithm,
  Program,
  Target,
} from "../../src/ir/index.ts";
import { bit, bool, colourType, int, NO_ACTION } from "../../src/ir/index.ts";
import {
  action,
  apply,
  arithmetic,
  assign,
  binary,
  cast,
  constant,
  control,
  extract,
  field,
  hash,
  intrinsic,
  meta,
  parameter,
  program,
  random,
  slice,
  table,
  valid,
  when,
} from "./nodes.ts";

const widths = { kind: 8, a: 32, b: 32, c: 16, d: 8, h32: 32, h16: 16, h8: 8, drawn: 8 } as const;
const x = (name: keyof typeof widths): FieldReference => field("op", name, bit(widths[name]));
const signed = field("op", "signed", int(16));
const path = meta("path", bit(16));
const picked = meta("picked", bit(8));
const colour = meta("colour", colourType);

/** All that an algorithm can be asked: its bits, some of them, buckets, a base, and a part of a field. */
function hashes(name: HashAlgorithm, fields: readonly Expression[]): Action {
  const part: Target = slice(x("h16"), 11, 4);
  return action(
    `hashing.${name}`,
    [{ name: "salt", type: bit(16) }],
    [
      hash(x("h32"), name, fields),
      hash(x("h16"), name, [...fields, parameter("salt", bit(16))], { buckets: 1000n }),
      hash(x("h8"), name, fields, { base: 7n, buckets: 9n }),
      hash(part, name, [...fields].reverse(), { buckets: 100n }),
      hash(path, name, [arithmetic(x("d"), "+", constant(1, bit(8)))]),
    ],
  );
}

/** What the architecture does for a program on the control side: hashes, random numbers, action profiles and selectors. */
export function externs(): Program {
  const spread = [x("a"), x("b"), x("c"), signed, constant(0xab, bit(12)), slice(x("d"), 3, 0)];
  const forward = (name: string) =>
    action(
      name,
      [{ name: "port", type: bit(9) }],
      [assign(intrinsic("egress_port"), parameter("port", bit(9)))],
    );
  const mark = (name: string) =>
    action(name, [{ name: "value", type: bit(8) }], [assign(picked, parameter("value", bit(8)))]);
  return program("externs", {
    doc: "What the architecture does for a program.",
    ports: 8,
    headerTypes: [
      {
        name: "op",
        fields: [
          { name: "kind", type: bit(8) },
          { name: "a", type: bit(32) },
          { name: "b", type: bit(32) },
          { name: "c", type: bit(16) },
          { name: "signed", type: int(16) },
          { name: "d", type: bit(8) },
          { name: "h32", type: bit(32) },
          { name: "h16", type: bit(16) },
          { name: "h8", type: bit(8) },
          { name: "drawn", type: bit(8) },
        ],
      },
      { name: "more", fields: [{ name: "a", type: bit(32) }] },
    ],
    headers: [
      { name: "op", headerType: "op" },
      { name: "more", headerType: "more" },
    ],
    metadata: [
      { name: "path", type: bit(16), doc: "hash of the flow" },
      { name: "picked", type: bit(8) },
      { name: "low", type: bit(8) },
      { name: "colour", type: colourType, doc: "of the last meter" },
      { name: "odd", type: bool },
    ],
    parser: [
      {
        name: "start",
        steps: [extract("op")],
        transition: {
          kind: "select",
          keys: [x("kind")],
          cases: [{ values: [{ kind: "mask", value: 0x80n, mask: 0x80n }], next: "parse_more" }],
          otherwise: "accept",
        },
      },
      { name: "parse_more", steps: [extract("more")], transition: { kind: "goto", next: "accept" } },
    ],
    controls: [
      control("hashing", {
        doc: "Hashes by every algorithm.",
        actions: [
          hashes("crc16", spread),
          hashes("crc32", spread),
          hashes("csum16", spread),
          hashes("xor16", spread),
          hashes("identity", [x("d"), x("c"), slice(x("a"), 7, 0)]),
          action("hashing.both", [], [hash(x("h32"), "crc32", [field("more", "a", bit(32)), x("b")])]),
        ],
        tables: [
          table(
            "hashing.algorithm",
            [["kind", slice(x("kind"), 2, 0), "exact"]],
            ["hashing.crc16", "hashing.crc32", "hashing.csum16", "hashing.xor16", "hashing.identity"],
            {
              size: 8,
              defaultAction: { action: "hashing.crc16", arguments: [0n], constant: false },
              constEntries: (["crc32", "csum16", "xor16", "identity"] as const).map((name, i) => ({
                keys: [{ kind: "value", value: BigInt(i) }],
                action: `hashing.${name}`,
                arguments: [BigInt(i * 1000)],
              })),
            },
          ),
        ],
        apply: [
          apply("hashing.algorithm"),
          when(valid("more"), [{ kind: "callAction", action: "hashing.both", arguments: [] }]),
          hash(picked, "crc16", [x("a"), x("kind")], { base: 16n, buckets: 32n }),
        ],
      }),
      control("drawing", {
        apply: [
          // One number to draw from: any source of random numbers gives it.
          random(x("drawn"), x("d"), x("d")),
          random(slice(x("drawn"), 7, 4), constant(5, bit(4)), constant(5, bit(4))),
          random(meta("low", bit(8)), constant(10, bit(8)), constant(19, bit(8))),
          when(
            binary(
              binary(meta("low", bit(8)), ">=", constant(10, bit(8))),
              "&&",
              binary(meta("low", bit(8)), "<", constant(20, bit(8))),
            ),
            [assign(x("kind"), arithmetic(x("kind"), "^", constant(0x40, bit(8))))],
          ),
        ],
      }),
      control("police", {
        doc: "Meters and digests.",
        meters: [
          { name: "police.flows", size: 16, unit: "packets", doc: "By d." },
          { name: "police.volume", size: 4, unit: "bytes" },
        ],
        digests: [
          {
            name: "police.seen",
            fields: [
              { name: "a", type: bit(32) },
              { name: "signed", type: bit(16) },
              { name: "odd", type: bit(1) },
              { name: "next", type: bit(16) },
            ],
            doc: "Packets of kind 5.",
          },
          { name: "police.big", fields: [{ name: "port", type: bit(9) }] },
        ],
        actions: [
          action(
            "police.pass",
            [{ name: "mask", type: bit(8) }],
            [assign(x("d"), arithmetic(x("d"), "^", parameter("mask", bit(8))))],
          ),
          action(
            "police.big_one",
            [],
            [{ kind: "digest", digest: "police.big", values: [intrinsic("ingress_port")] }],
          ),
        ],
        tables: [
          table("police.rates", [["d", x("d"), "ternary"]], ["police.pass"], {
            size: 32,
            directMeter: { name: "police.rate", unit: "packets", into: colour },
          }),
          table("police.sizes", [["c", x("c"), "exact"]], ["police.big_one", NO_ACTION], { size: 16 }),
        ],
        apply: [
          assign(meta("odd", bool), cast(slice(x("a"), 0, 0), bool)),
          apply("police.sizes"),
          apply("police.rates"),
          assign(slice(x("h8"), 1, 0), colour),
          { kind: "meter", meter: "police.flows", index: slice(x("d"), 3, 0), into: colour },
          assign(slice(x("h8"), 3, 2), colour),
          { kind: "meter", meter: "police.volume", index: constant(1, bit(32)), into: slice(x("h8"), 5, 4) },
          when(binary(slice(x("kind"), 2, 0), "==", constant(5, bit(3))), [
            {
              kind: "digest",
              digest: "police.seen",
              values: [
                x("a"),
                cast(signed, bit(16)),
                cast(meta("odd", bool), bit(1)),
                arithmetic(x("c"), "+", constant(1, bit(16))),
              ],
            },
          ]),
          assign(x("c"), constant(0, bit(16))),
        ],
      }),
      control("balance", {
        doc: "Members of action profiles, and groups of them.",
        actionProfiles: [
          {
            name: "balance.next_hops",
            size: 64,
            selector: { algorithm: "crc16", keys: [x("a"), x("b"), path], maxGroupSize: 8 },
            doc: "Where packets go.",
          },
          { name: "balance.marks", size: 16 },
          { name: "balance.paths", size: 32, selector: { algorithm: "crc32", keys: [x("c")] } },
        ],
        actions: [
          forward("balance.to_port"),
          action("balance.drop", [], [{ kind: "drop" }]),
          mark("balance.mark"),
          forward("balance.by_path"),
        ],
        tables: [
          table("balance.route", [["d", x("d"), "exact"]], ["balance.to_port", "balance.drop"], {
            size: 128,
            implementation: "balance.next_hops",
            directCounter: "balance.routed",
          }),
          table(
            "balance.fallback",
            [
              ["c", x("c"), "ternary"],
              ["d", x("d"), "exact"],
            ],
            ["balance.to_port", "balance.drop"],
            { size: 32, implementation: "balance.next_hops", doc: "For what has no route." },
          ),
          table("balance.classify", [["a", x("a"), "lpm"]], ["balance.mark", NO_ACTION], {
            size: 32,
            implementation: "balance.marks",
          }),
          table("balance.path", [["b", x("b"), "exact"]], ["balance.by_path"], {
            size: 16,
            implementation: "balance.paths",
          }),
        ],
        apply: [
          apply("balance.classify"),
          {
            kind: "applyTable",
            table: "balance.route",
            hit: [assign(x("h8"), picked)],
            miss: [apply("balance.fallback"), assign(x("h8"), arithmetic(picked, "+", constant(1, bit(8))))],
          },
          when(binary(x("kind"), "==", constant(3, bit(8))), [apply("balance.path")]),
        ],
      }),
    ],
    ingress: [
      when(intrinsic("parser_failed"), [{ kind: "drop" }, { kind: "exit" }]),
      assign(intrinsic("egress_port"), cast(slice(x("a"), 2, 0), bit(9))),
      { kind: "applyControl", control: "hashing" },
      { kind: "applyControl", control: "drawing" },
      { kind: "applyControl", control: "police" },
      { kind: "applyControl", control: "balance" },
    ],
    deparser: ["op", "more"],
  });
}
