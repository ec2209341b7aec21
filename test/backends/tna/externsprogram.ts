import type { Expression, FieldReference, Program } from "../../../src/ir/index.ts";
import { bit, colourType, int, NO_ACTION } from "../../../src/ir/index.ts";
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
  when,
} from "../nodes.ts";

const widths = { kind: 8, a: 32, b: 32, c: 16, d: 8, h32: 32, h16: 16, h8: 8, seen: 8, drawn: 8 } as const;
const x = (name: keyof typeof widths): FieldReference => field("op", name, bit(widths[name]));
const signed = field("op", "signed", int(16));
const [path, picked] = [meta("path", bit(16)), meta("picked", bit(8))];
const entryColour = meta("entry_colour", colourType);
const flowColour = meta("flow_colour", colourType);
const volumeColour = meta("volume_colour", colourType);
const flow: readonly Expression[] = [
  x("a"),
  x("b"),
  x("c"),
  signed,
  constant(0xab, bit(12)),
  slice(x("d"), 3, 0),
];

const forward = (name: string) =>
  action(
    name,
    [{ name: "port", type: bit(9) }],
    [assign(intrinsic("egress_port"), parameter("port", bit(9)))],
  );

/** Hashes, random numbers, meters, digests, action profiles and selectors, as far as both targets have them. */
export function tofinoExterns(): Program {
  return program("tofino_externs", {
    doc: "What both architectures do for a program.",
    ports: 8,
    headerTypes: [
      {
        name: "op",
        fields: [
          ...(["kind", "a", "b", "c"] as const).map((name) => ({ name, type: bit(widths[name]) })),
          { name: "signed", type: int(16) },
          ...(["d", "h32", "h16", "h8", "seen", "drawn"] as const).map((name) => ({
            name,
            type: bit(widths[name]),
          })),
        ],
      },
    ],
    headers: [{ name: "op", headerType: "op" }],
    metadata: [
      { name: "path", type: bit(16), doc: "hash of the flow" },
      { name: "picked", type: bit(8) },
      { name: "low", type: bit(8) },
      ...[entryColour, flowColour, volumeColour].map(({ name, type }) => ({ name, type })),
    ],
    parser: [{ name: "start", steps: [extract("op")], transition: { kind: "goto", next: "accept" } }],
    controls: [
      control("hashing", {
        doc: "Hashes by the algorithms that both have.",
        actions: [
          action("hashing.whole", [], [hash(x("h32"), "crc32", flow), hash(path, "crc16", flow)]),
          action(
            "hashing.parts",
            [],
            [
              hash(x("h16"), "crc32", [x("a"), x("c")], { buckets: 1024n }),
              hash(x("h8"), "crc16", [x("b"), slice(x("d"), 2, 0)], { base: 7n, buckets: 16n }),
            ],
          ),
          action(
            "hashing.salted",
            [{ name: "salt", type: bit(16) }],
            [hash(x("h32"), "crc16", [x("a"), parameter("salt", bit(16))])],
          ),
          action("hashing.same", [], [hash(x("h16"), "identity", [x("c")])]),
        ],
        tables: [
          table(
            "hashing.algorithm",
            [["kind", slice(x("kind"), 1, 0), "exact"]],
            ["hashing.whole", "hashing.parts", "hashing.salted", "hashing.same"],
            {
              defaultAction: { action: "hashing.whole", arguments: [], constant: true },
              constEntries: [
                { keys: [{ kind: "value", value: 1n }], action: "hashing.parts", arguments: [] },
                { keys: [{ kind: "value", value: 2n }], action: "hashing.salted", arguments: [0x1234n] },
                { keys: [{ kind: "value", value: 3n }], action: "hashing.same", arguments: [] },
              ],
            },
          ),
        ],
        apply: [apply("hashing.algorithm")],
      }),
      control("drawing", {
        apply: [
          random(x("drawn"), x("d"), x("d")),
          random(meta("low", bit(8)), constant(16, bit(8)), constant(31, bit(8))),
          when(
            binary(
              binary(meta("low", bit(8)), ">=", constant(16, bit(8))),
              "&&",
              binary(meta("low", bit(8)), "<", constant(32, bit(8))),
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
            directMeter: { name: "police.rate", unit: "packets", into: entryColour },
          }),
          table("police.sizes", [["c", x("c"), "exact"]], ["police.big_one", NO_ACTION], { size: 16 }),
        ],
        apply: [
          apply("police.sizes"),
          apply("police.rates"),
          { kind: "meter", meter: "police.flows", index: slice(x("d"), 3, 0), into: flowColour },
          { kind: "meter", meter: "police.volume", index: constant(1, bit(32)), into: volumeColour },
          ...[entryColour, flowColour, volumeColour].map((colour, i) =>
            when(binary(colour, "==", constant(2, colourType)), [
              assign(x("seen"), arithmetic(x("seen"), "^", constant(1 << i, bit(8)))),
            ]),
          ),
          when(binary(slice(x("kind"), 2, 0), "==", constant(5, bit(3))), [
            {
              kind: "digest",
              digest: "police.seen",
              values: [x("a"), cast(signed, bit(16)), arithmetic(x("c"), "+", constant(1, bit(16)))],
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
          action(
            "balance.mark",
            [{ name: "value", type: bit(8) }],
            [assign(picked, parameter("value", bit(8)))],
          ),
          forward("balance.by_path"),
        ],
        tables: [
          table("balance.route", [["d", x("d"), "exact"]], ["balance.to_port", "balance.drop"], {
            size: 128,
            implementation: "balance.next_hops",
            directCounter: "balance.routed",
          }),
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
            miss: [assign(x("h8"), arithmetic(picked, "+", constant(1, bit(8))))],
          },
          when(binary(x("kind"), "==", constant(3, bit(8))), [apply("balance.path")]),
        ],
      }),
    ],
    ingress: [
      when(intrinsic("parser_failed"), [{ kind: "drop" }, { kind: "exit" }]),
      assign(intrinsic("egress_port"), intrinsic("ingress_port")),
      { kind: "applyControl", control: "hashing" },
      { kind: "applyControl", control: "drawing" },
      { kind: "applyControl", control: "police" },
      { kind: "applyControl", control: "balance" },
    ],
    deparser: ["op"],
  });
}
