import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import allreduce from "../../../examples/allreduce/program.ts";
import libra from "../../../examples/libra/program.ts";
import { generate } from "../../../src/backends/index.ts";
import type { Program } from "../../../src/ir/index.ts";
import { bit } from "../../../src/ir/index.ts";
import {
  action,
  apply,
  arithmetic,
  assign,
  binary,
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
  table,
  update,
  when,
} from "../nodes.ts";
import { forwarding } from "../programs.ts";

const files = (p: Program): ReadonlyMap<string, string> =>
  new Map(
    [...generate(p, { targets: ["tna"] })].flatMap(([path, text]) =>
      path.startsWith("tna/") && typeof text === "string" ? [[path, text] as const] : [],
    ),
  );
const g = field("g", "g", bit(8));
const all = (p: Program): string => [...files(p).values()].join("");

describe("the P4 text of TNA", () => {
  it("is as reviewed for libra", () => {
    const root = new URL("../../../p4out/libra/", import.meta.url);
    const made = files(libra.ir);
    const kept = readdirSync(new URL("tna/", root), { recursive: true, encoding: "utf8" }).filter((f) =>
      /\.(p4|json|svg|txtpb)$/.test(f),
    );
    expect(kept.map((f) => `tna/${f}`).sort()).toEqual([...made.keys()].sort());
    for (const [path, text] of made)
      expect(text, `${path}: npm run p4out`).toBe(readFileSync(new URL(path, root), "utf8"));
  });

  it("mirrors v1model file by file, but for the checksums, which TNA has in parser and deparser", () => {
    const v1model = [...generate(libra.ir, { targets: ["v1model"] }).keys()].filter((f) =>
      f.startsWith("v1model/"),
    );
    const written = [...files(libra.ir).keys()].filter((f) => f.endsWith(".p4"));
    expect(written.map((f) => f.slice("tna/".length)).sort()).toEqual(
      v1model
        .map((f) => f.slice("v1model/".length))
        .filter((f) => f !== "checksums.p4")
        .sort(),
    );
  });

  it("has no line over 100 columns, no tabs, no spaces at line ends and one line end at the end", () => {
    for (const p of [libra.ir, forwarding()])
      for (const [path, text] of [...files(p)].filter(([path]) => path.endsWith(".p4"))) {
        for (const line of text.split("\n")) {
          expect(line.length, `${path}: ${line}`).toBeLessThanOrEqual(100);
          expect(line).not.toMatch(/\t|\s$/);
        }
        expect(text).toMatch(/[^\n]\n$/);
        expect(text, path).not.toContain("\n\n\n");
      }
  });

  it("undoes a drop where an output port may come after it, and only there", () => {
    const text = all(libra.ir);
    expect(text).toMatch(/ucast_egress_port = ig_intr_md.ingress_port;\s+ig_dprsr_md.drop_ctl = 0;/);
    expect(text).not.toMatch(/ucast_egress_port = port;\s+ig_dprsr_md.drop_ctl = 0;/);
  });

  it("sends a RESULT of all-reduce to the workers' group, and no longer where its route led", () => {
    const text = files(allreduce.ir).get("tna/controls/answer.p4") ?? "";
    expect(text).toMatch(/action to_workers\(\) \{[^}]*invalidate\(ig_tm_md\.ucast_egress_port\);/);
    expect(text).toMatch(/action to_workers\(\) \{[^}]*ig_tm_md\.mcast_grp_a = hdr\.bridge\.workers_group;/);
  });

  it("swaps with a variable of the action, not with metadata", () => {
    expect(all(libra.ir)).toContain("bit<48> mac_before = hdr.ethernet.dst_addr;");
    expect(all(libra.ir)).not.toContain("meta.mac_before");
  });

  it("says which length a mirror session must have to cut off what egress does not parse", () => {
    // Bridge header 3, Ethernet 14, IPv4 20, UDP 8, aggregation 16.
    expect(files(libra.ir).get("tna/deparser.p4")).toContain("max_pkt_len 61");
    expect(files(libra.ir).get("tna/parser.p4")?.split("SwitchEgressParser")[1]).not.toContain("lanes");
  });

  it("counts in each action of a table with a direct counter", () => {
    const text = files(libra.ir).get("tna/controls/forwarding.p4") ?? "";
    expect(text.match(/^ {8}route_counter\.count\(\);$/gm)).toHaveLength(3);
  });

  it("runs one stateful program an action, at most four a register", () => {
    const text = all(libra.ir);
    for (const [body] of text.matchAll(/ {4}action \w+\([^)]*\) \{[^}]*\}/g))
      expect([...body.matchAll(/\.execute\(/g)].length).toBeLessThanOrEqual(1);
    const registers = [...text.matchAll(/RegisterAction<[^(]*\((\w+)\)/g)].map((m) => m[1]);
    for (const r of registers) expect(registers.filter((other) => other === r).length).toBeLessThanOrEqual(4);
  });

  it("goes on behind the table where an action needs more than its stage", () => {
    const u8 = bit(8);
    const [a, b, c] = [meta("a", u8), meta("b", u8), meta("c", u8)];
    const p = program("late", {
      metadata: ["a", "b", "c"].map((name) => ({ name, type: u8 })),
      controls: [
        control("c", {
          actions: [
            action(
              "c.act",
              [{ name: "limit", type: u8 }],
              [
                assign(b, arithmetic(a, "+", constant(1, u8))),
                update(
                  "c.r",
                  a,
                  mux(binary(memory("old", u8), ">=", parameter("limit", u8)), b, memory("old", u8)),
                  memory("next", u8),
                  c,
                ),
              ],
            ),
          ],
          tables: [table("c.t", [["a", a, "exact"]], ["c.act"])],
          registers: [register("c.r", u8, 256)],
          apply: [apply("c.t"), when(binary(c, "==", b), [assign(a, c)])],
        }),
      ],
      ingress: [{ kind: "applyControl", control: "c" }],
    });
    const text = files(p).get("tna/controls/c.p4") ?? "";
    expect(text).toMatch(
      /action act\(bit<8> limit\) \{\s+meta.b = meta.a \+ 1;\s+meta.act_limit = limit;\s+meta.act_goes_on = 1;\s+\}/,
    );
    expect(text).toMatch(
      /t.apply\(\);\s+if \(meta.act_goes_on == 1\) \{\s+act_rest\(\);\s+\}\s+if \(meta.c == meta.b\)/,
    );
    expect(text).toContain("value >= meta.act_limit");
  });

  it("carries metadata that egress reads in the bridge header", () => {
    const u8 = bit(8);
    const p = program("bridged", {
      headerTypes: [{ name: "h", fields: [{ name: "f", type: u8 }] }],
      headers: [{ name: "h", headerType: "h" }],
      metadata: [{ name: "class", type: bit(3) }],
      parser: [{ name: "start", steps: [extract("h")], transition: { kind: "goto", next: "accept" } }],
      controls: [
        control("c", {
          actions: [
            action(
              "c.mark",
              [],
              [assign(meta("class", bit(3)), { kind: "constant", type: bit(3), value: 5n })],
            ),
          ],
          tables: [table("c.t", [["port", intrinsic("ingress_port"), "exact"]], ["c.mark"])],
          apply: [apply("c.t")],
        }),
      ],
      ingress: [{ kind: "applyControl", control: "c" }],
      egress: [
        when(
          {
            kind: "binary",
            type: { kind: "bool" },
            operator: "==",
            left: meta("class", bit(3)),
            right: { kind: "constant", type: bit(3), value: 5n },
          },
          [assign(field("h", "f", u8), { kind: "constant", type: u8, value: 1n })],
        ),
      ],
      deparser: ["h"],
    });
    const text = all(p);
    expect(text).toMatch(/bit<3> class;\s+@padding bit<5> class_padding;/);
    expect(text).toContain("hdr.bridge.class = 5;");
    expect(text).toContain("if (hdr.bridge.class == 5) {");
    expect(text).not.toContain("meta.class");
  });

  it.each([
    ["all packets alike", []],
    ["clones in their own way", [when(intrinsic("is_clone"), [assign(g, constant(2, bit(8)))])]],
  ])("finds the headers of clones again where egress treats %s", (_, more) => {
    const p = program("cloning", {
      headerTypes: ["f", "g"].map((name) => ({ name, fields: [{ name, type: bit(8) }] })),
      headers: ["f", "g"].map((name) => ({ name, headerType: name })),
      parser: [
        { name: "start", steps: [extract("f")], transition: { kind: "goto", next: "second" } },
        { name: "second", steps: [extract("g")], transition: { kind: "goto", next: "accept" } },
      ],
      ingress: [{ kind: "clone", session: constant(7, bit(32)) }],
      egress: [assign(field("f", "f", bit(8)), constant(1, bit(8))), ...more],
      deparser: ["f", "g"],
    });
    const parser = files(p).get("tna/parser.p4") ?? "";
    const egress = parser.slice(parser.indexOf("parser SwitchEgressParser"));
    expect(egress).not.toContain("ORIGIN_CLONE: accept");
    expect(egress.includes("ORIGIN_CLONE")).toBe(more.length > 0);
    expect(egress.match(/packet\.extract\(hdr\.f\)/g)).toHaveLength(more.length > 0 ? 2 : 1);
  });
});
