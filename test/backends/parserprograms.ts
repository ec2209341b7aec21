import type { Program } from "../../src/ir/index.ts";
import { bit, bool, int } from "../../src/ir/index.ts";
import {
  advance,
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
  program,
  select,
  slice,
  state,
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

/** Programs that show what parsers can do. */
export const parserPrograms: readonly Program[] = [walker()];
