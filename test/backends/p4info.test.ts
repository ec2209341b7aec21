import { describe, expect, it } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { p4info } from "../../src/backends/p4info/build.ts";
import { Symbols } from "../../src/backends/p4info/symbols.ts";
import { lower } from "../../src/backends/v1model/lower.ts";
import type { Program } from "../../src/ir/index.ts";
import { create, P4Info, p4infoFromBinary, p4infoFromText } from "../../src/p4info/index.ts";
import { externs } from "./externsprogram.ts";
import { forwarding, zoo } from "./programs.ts";

const info = (p: Program): P4Info => create(P4Info, p4info(lower(p)));

describe("P4Info", () => {
  it("has the id that every P4 compiler gives NoAction", () => {
    expect(new Symbols([["action", "NoAction"]]).id("action", "NoAction")).toBe(21257015);
  });

  it("gives the same ids whatever the order of declarations (pitfall 60)", () => {
    const names = ["a.b", "c.d", "e.f", "zz"].map((n) => ["table", n] as const);
    const forwards = new Symbols(names);
    const backwards = new Symbols([...names].reverse());
    for (const [, n] of names) expect(forwards.id("table", n)).toBe(backwards.id("table", n));
  });

  it("gives colliding names the next free id, in the order of the names", () => {
    // A search for two names whose hashes share 24 bits, so that the test needs no fixed list.
    const seen = new Map<number, string>();
    let pair: readonly [string, string] | undefined;
    for (let i = 0; pair === undefined && i < 100_000; i++) {
      const name = `t${i}`;
      const id = new Symbols([["table", name]]).id("table", name);
      const other = seen.get(id);
      if (other !== undefined) pair = [other, name];
      seen.set(id, name);
    }
    if (pair === undefined) throw new Error("no collision among the names tried");
    const [first, second] = [...pair].sort();
    const both = new Symbols(pair.map((n) => ["table", n] as const));
    const alone = new Symbols([["table", first ?? ""]]).id("table", first ?? "");
    expect(both.id("table", first ?? "")).toBe(alone);
    expect(both.id("table", second ?? "")).toBe(alone + 1);
  });

  it("keeps one name in two kinds apart by prefix", () => {
    const s = new Symbols([
      ["table", "x"],
      ["counter", "x"],
    ]);
    expect(s.id("table", "x") >>> 24).toBe(0x02);
    expect(s.id("counter", "x") >>> 24).toBe(0x12);
  });

  it("shortens names to the shortest end that is unique", () => {
    const s = new Symbols([
      ["table", "a.x"],
      ["action", "b.x"],
      ["table", "b.y"],
    ]);
    expect([s.alias("a.x"), s.alias("b.x"), s.alias("b.y")]).toEqual(["a.x", "b.x", "y"]);
  });

  it("names the objects of the control plane and no others", () => {
    const i = info(zoo());
    expect(i.tables.map((t) => t.preamble?.name)).toEqual([
      "compute.rules",
      "compute.classify",
      "memory.slots",
    ]);
    expect(i.registers.map((r) => r.preamble?.name)).toEqual([
      "memory.total",
      "memory.seen",
      "memory.level",
      "memory.slot",
    ]);
    expect(
      i.controllerPacketMetadata.map((c) => [c.preamble?.name, c.metadata.map((m) => m.bitwidth)]),
    ).toEqual([
      ["packet_in", [7, 9]],
      ["packet_out", [9, 7]],
    ]);
  });

  it("keeps a zero argument of the default action", () => {
    const call = info(zoo()).tables[2]?.initialDefaultAction;
    expect(call?.arguments.map((a) => [a.paramId, [...a.value]])).toEqual([[1, [0]]]);
  });

  it("is the same in text and in binary", () => {
    for (const p of [forwarding(), zoo(), externs()]) {
      const files = generate(p);
      const text = files.get("p4info.txtpb");
      const binary = files.get("p4info.bin");
      if (typeof text !== "string" || !(binary instanceof Uint8Array))
        throw new Error("no P4Info was generated");
      expect(p4infoFromText(text)).toEqual(p4infoFromBinary(binary));
    }
  });
});

describe("generate", () => {
  it("answers the same bytes for the same program", () => {
    expect([...generate(zoo())]).toEqual([...generate(zoo())]);
  });

  it("writes the layout that the command line expects", () => {
    expect([...generate(forwarding()).keys()]).toEqual([
      "v1model/forward.p4",
      "v1model/headers.p4",
      "v1model/parser.p4",
      "v1model/checksums.p4",
      "v1model/controls/forwarding.p4",
      "v1model/ingress.p4",
      "v1model/egress.p4",
      "v1model/deparser.p4",
      "forward.json",
      "p4info.txtpb",
      "p4info.bin",
      "tables.json",
      "report.md",
      "sourcemap.json",
      "packets.md",
    ]);
  });

  it("is as reviewed (P4Info and packet formats)", async () => {
    for (const p of [forwarding(), zoo(), externs()])
      for (const path of ["p4info.txtpb", "packets.md"])
        await expect(generate(p).get(path)).toMatchFileSnapshot(`golden/${p.name}/${path}`);
  });
});
