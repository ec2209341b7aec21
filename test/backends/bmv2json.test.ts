import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BackendError } from "../../src/backends/backenderror.ts";
import { bmv2Document, bmv2Json } from "../../src/backends/v1model/json/document.ts";
import { rangeToMasks } from "../../src/backends/v1model/json/parser.ts";
import { lower } from "../../src/backends/v1model/lower.ts";
import type { Program } from "../../src/ir/index.ts";
import { bit } from "../../src/ir/index.ts";
import { readProgram } from "../../src/switch/bmv2json/read-program.ts";
import { externs } from "./externsprogram.ts";
import {
  action,
  apply,
  assign,
  binary,
  constant,
  control,
  extract,
  field,
  goto,
  meta,
  program,
  select,
  state,
  table,
  valid,
  when,
} from "./nodes.ts";
import { forwarding, zoo } from "./programs.ts";

const json = (p: Program): string => bmv2Json(lower(p));

describe("the BMv2 JSON of v1model", () => {
  for (const p of [forwarding(), zoo(), externs()]) {
    it(`is a document that the switch accepts (${p.name})`, () => {
      const loaded = readProgram(json(p));
      expect(loaded.pipelines.map((x) => x.name)).toEqual(["ingress", "egress"]);
    });

    it(`comes out the same each time (${p.name})`, () => {
      expect(json(p)).toBe(json(p));
    });

    it(`is as reviewed for ${p.name}`, async () => {
      await expect(json(p)).toMatchFileSnapshot(`golden/${p.name}/${p.name}.json.txt`);
    });
  }

  it("names every successor, and only nodes that exist", () => {
    const { pipelines } = readProgram(json(zoo()));
    for (const p of pipelines) {
      const names = new Set([...p.tables, ...p.conditionals].map((n) => n.name));
      const next = [
        p.init,
        ...p.conditionals.flatMap((c) => [c.trueNext, c.falseNext]),
        ...p.tables.flatMap((t) => [...t.nextByAction.values(), t.baseDefaultNext]),
      ];
      for (const n of next) if (n !== null) expect(names).toContain(n);
    }
  });

  it("pads scalars and standard_metadata to whole bytes", () => {
    for (const t of readProgram(json(zoo())).headerTypes.values())
      expect(t.fields.reduce((sum, f) => sum + (f.width === "varbit" ? 0 : f.width), 0) % 8).toBe(0);
  });

  it("says where simple_switch finds the queue, the multicast group and the priority", () => {
    const { field_aliases: aliases } = bmv2Document(lower(forwarding()));
    expect(aliases).toContainEqual(["intrinsic_metadata.priority", ["standard_metadata", "priority"]]);
    expect(aliases).toContainEqual(["intrinsic_metadata.mcast_grp", ["standard_metadata", "mcast_grp"]]);
    expect(aliases).toContainEqual(["queueing_metadata.deq_qdepth", ["standard_metadata", "deq_qdepth"]]);
  });

  it("keeps big constants exact (pitfall 62)", () => {
    const values = [
      9007199254740992n,
      9007199254740993n,
      1n << 63n,
      (1n << 64n) - 1n,
      1n << 64n,
      (1n << 128n) - 1n,
    ];
    const wide = field("h", "w", bit(128));
    const p = program("big", {
      headerTypes: [{ name: "h", fields: [{ name: "w", type: bit(128) }] }],
      headers: [{ name: "h", headerType: "h" }],
      parser: [
        {
          name: "start",
          steps: [extract("h")],
          transition: {
            kind: "select",
            keys: [wide],
            cases: values.map((value) => ({ values: [{ kind: "value" as const, value }], next: "accept" })),
            otherwise: "accept",
          },
        },
      ],
      controls: [
        control("c", {
          actions: [
            action(
              "c.set",
              [{ name: "v", type: bit(128) }],
              [assign(wide, constant(values[1] ?? 0n, bit(128)))],
            ),
          ],
          tables: [
            table("c.t", [["w", wide, "exact"]], ["c.set"], {
              defaultAction: { action: "c.set", arguments: [values[5] ?? 0n], constant: true },
              constEntries: values.map((value) => ({
                action: "c.set",
                arguments: [value],
                keys: [{ kind: "value", value }],
              })),
            }),
          ],
          apply: [apply("c.t")],
        }),
      ],
      ingress: [{ kind: "applyControl", control: "c" }],
    });
    const text = json(p);
    for (const v of values) expect(text).toContain(v.toString(16));
    const entries = readProgram(text).pipelines[0]?.tables[0]?.constEntries ?? [];
    expect(entries.map((e) => e.action.data[0])).toEqual(values);
  });

  it("covers a range of a select with masks, exactly", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 0, max: 255 }), (a, b) => {
        const [low, high] = [Math.min(a, b), Math.max(a, b)];
        const masks = rangeToMasks(BigInt(low), BigInt(high), 8);
        for (let v = 0; v < 256; v++)
          expect(masks.filter((m) => (BigInt(v) & m.mask) === m.value)).toHaveLength(
            v >= low && v <= high ? 1 : 0,
          );
      }),
    );
  });

  it("has one default way out of a state, the first that takes everything: BMv2 would go by the last", () => {
    const p = program("ways", {
      headerTypes: [{ name: "h", fields: [{ name: "x", type: bit(8) }] }],
      headers: [{ name: "h", headerType: "h" }],
      parser: [
        state(
          "start",
          [extract("h")],
          select(
            [field("h", "x", bit(8))],
            [
              [[3], "reject"],
              [[{ kind: "any" }], "more"],
            ],
          ),
        ),
        state("more", [], goto("accept")),
      ],
    });
    const document: {
      readonly parsers: readonly {
        readonly parse_states: readonly {
          readonly transitions: readonly { readonly next_state: string }[];
        }[];
      }[];
    } = JSON.parse(json(p));
    const [start] = document.parsers[0]?.parse_states ?? [];
    expect(start?.transitions.map((t) => t.next_state)).toEqual(["reject_packet", "more"]);
  });

  it("allows a table in two branches that join, and refuses one with two successors", () => {
    const t = table("c.t", [], [], {});
    const build = (between: boolean): Program =>
      program("twice", {
        headerTypes: [{ name: "h", fields: [{ name: "x", type: bit(8) }] }],
        headers: [{ name: "h", headerType: "h" }],
        metadata: [{ name: "m", type: bit(8) }],
        controls: [
          control("c", {
            tables: [t],
            apply: [
              when(
                valid("h"),
                [apply("c.t"), ...(between ? [assign(meta("m", bit(8)), constant(1, bit(8)))] : [])],
                [apply("c.t")],
              ),
              when(binary(meta("m", bit(8)), "==", constant(1, bit(8))), [{ kind: "drop" }]),
            ],
          }),
        ],
        ingress: [{ kind: "applyControl", control: "c" }],
      });
    expect(readProgram(json(build(false))).pipelines[0]?.tables.filter((x) => x.name === "c.t")).toHaveLength(
      1,
    );
    expect(() => json(build(true))).toThrow(BackendError);
    expect(() => json(build(true))).toThrow(/c\.t is applied in two places/);
  });
});
