import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkTna, generate, type TargetName } from "../../src/backends/index.ts";
import {
  bit,
  exactly,
  intrinsic,
  masked,
  program,
  type TableOptions,
  ternary,
  wireHeader,
} from "../../src/dsl/index.ts";
import { severityOf } from "../../src/ir/diagnostics.ts";
import { p4infoFromBinary, p4infoFromText } from "../../src/p4info/index.ts";
import { insert, modify, remove, TestSwitch } from "../../src/testing/index.ts";
import { findTools } from "./tools.ts";

const { p4c } = findTools({ p4c: ["P4C", "p4c-bm2-ss"] });

const tag = wireHeader("tag", { kind: 8, port: 8 });

type Kind = "initialEntries" | "entries";

/** A table with priorities and one without, whose entries are the program's at first, or for ever. */
function start(kind: Kind = "initialEntries") {
  return program("start", {
    ports: 16,
    features: [
      {
        name: "start",
        build: (p) => {
          const h = p.header(tag);
          p.parser.state("start").extract(h);
          const c = p.control("pick", "ingress");
          const to = c.action("to", { port: bit(9) }, (a, d) => a.set(intrinsic.egress_port, d.port));
          const nowhere = c.action("nowhere", {}, (a) => a.drop());
          const byKind: TableOptions<"kind">["entries"] = [
            { key: { kind: masked(0x11, 0xff) }, run: to.with({ port: 1 }) },
            { key: { kind: masked(0x10, 0xf0) }, run: to.with({ port: 2 }) },
          ];
          const byPort: TableOptions<"port">["entries"] = [{ key: { port: 9 }, run: to.with({ port: 3 }) }];
          const kinds = c.table("kinds", {
            key: { kind: ternary(h.kind) },
            actions: [to, nowhere],
            size: 4,
            defaultAction: nowhere.with({}),
            [kind]: byKind,
          });
          const ports = c.table("ports", {
            key: { port: exactly(h.port) },
            actions: [to],
            size: 4,
            [kind]: byPort,
          });
          c.apply((s) => s.apply(kinds, { miss: (m) => m.apply(ports) }));
          p.ingress("route", (s) => s.invoke(c));
        },
      },
    ],
  });
}

function loaded(target: TargetName, kind?: Kind): TestSwitch {
  const files = generate(start(kind).ir, { targets: [target] });
  const folder = target === "tna" ? "tna/" : "";
  const [json, info] = [files.get(`${folder}start.json`), files.get(`${folder}p4info.bin`)];
  if (typeof json !== "string" || !(info instanceof Uint8Array)) return expect.fail("not generated");
  const personality = target === "tna" ? ({ personality: "tna" } as const) : {};
  return TestSwitch.load({ json: Buffer.from(json), p4info: p4infoFromBinary(info) }, personality);
}

describe.each<TargetName>(["v1model", "tna"])("entries that a program has at first, on %s", (target) => {
  const toPort = (sw: TestSwitch, kind: number, port = 0) => {
    // Long enough for Tofino's ports.
    const frame = new Uint8Array(64);
    frame.set([kind, port]);
    return sw.send(0, frame).map((out) => out.port);
  };

  it("are there, in their order, the last one with priority 1", () => {
    const sw = loaded(target);
    expect([toPort(sw, 0x11), toPort(sw, 0x12), toPort(sw, 0x20, 9), toPort(sw, 0x20)]).toEqual([
      [1],
      [2],
      [3],
      [],
    ]);
    const read = sw.read(sw.entities.allEntries("pick.kinds"));
    expect(read).toMatchObject([{ priority: 2 }, { priority: 1 }]);
  });

  it("may be changed and removed, and have others beside them up to the table's size", () => {
    const sw = loaded(target);
    const entry = (kind: string, port: number, priority: number) =>
      sw.entities.tableEntry("pick.kinds", { kind }, "pick.to", { port }, { priority });
    sw.write(modify(entry("0x11 &&& 0xff", 5, 2)), insert(entry("0x20 &&& 0xff", 6, 7)));
    expect([toPort(sw, 0x11), toPort(sw, 0x20)]).toEqual([[5], [6]]);
    sw.write(remove(entry("0x11 &&& 0xff", 5, 2)));
    expect(toPort(sw, 0x11)).toEqual([2]);
    sw.write(insert(entry("0x21 &&& 0xff", 6, 7)), insert(entry("0x22 &&& 0xff", 6, 7)));
    expect(() => sw.write(insert(entry("0x23 &&& 0xff", 6, 7)))).toThrow("room for 4 entries");
    const port = (n: number) => sw.entities.tableEntry("pick.ports", { port: n }, "pick.to", { port: 4 });
    sw.write(modify(port(9)), insert(port(8)));
    expect([toPort(sw, 0x30, 9), toPort(sw, 0x30, 8)]).toEqual([[4], [4]]);
  });

  it("cannot be changed where they are the program's for ever", () => {
    const sw = loaded(target, "entries");
    const entry = sw.entities.tableEntry("pick.ports", { port: 9 }, "pick.to", { port: 4 });
    expect(() => sw.write(modify(entry))).toThrow();
    expect(() => sw.write(remove(entry))).toThrow();
  });
});

describe("a program with initial entries", () => {
  it("is told that BMv2 keeps them, and can be built for both targets", () => {
    const p = start();
    expect(p.warnings.map((w) => [w.code, w.target, severityOf(w)])).toEqual([
      ["GP1412", "v1model", "warning"],
      ["GP1412", "v1model", "warning"],
    ]);
    expect(checkTna(p.ir)).toEqual([]);
  });

  it("has them in P4 with the table's size, and in the contents of tables", () => {
    const files = generate(start().ir, { targets: ["v1model", "tna"] });
    for (const target of ["v1model", "tna"])
      expect(files.get(`${target}/controls/pick.p4`), target).toMatch(/size = 4;\s+entries = \{/);
    expect(files.get("tables.json")).toContain('"filledBy": "program at first, then control plane"');
  });

  it("is refused when a table has both kinds", () => {
    const both = () =>
      program("both", {
        ports: 4,
        features: [
          {
            name: "both",
            build: (p) => {
              const m = p.metadata("m", bit(8));
              const c = p.control("c", "ingress");
              const a = c.action("a", {}, (s) => s.drop());
              const one = [{ key: { m: 1 }, run: a.with({}) }];
              c.table("t", {
                key: { m: exactly(m) },
                actions: [a],
                size: 4,
                entries: one,
                initialEntries: one,
              });
            },
          },
        ],
      });
    expect(both).toThrow("entries beside initialEntries");
  });

  it.skipIf(p4c === undefined)("has p4c's P4Info and entries", () => {
    const folder = mkdtempSync(join(tmpdir(), "gradplane-"));
    const files = generate(start().ir);
    for (const [path, content] of files) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), content);
    }
    const [json, info] = [join(folder, "p4c.json"), join(folder, "p4c.txtpb")];
    const source = join(folder, "v1model/start.p4");
    execFileSync(p4c ?? "", ["--p4runtime-files", info, "-o", json, source]);
    const tables = (text: string) =>
      p4infoFromText(text).tables.map(({ size, isConstTable, hasInitialEntries }) => ({
        size,
        isConstTable,
        hasInitialEntries,
      }));
    const own = files.get("p4info.txtpb");
    expect(tables(readFileSync(info, "utf8"))).toEqual(tables(typeof own === "string" ? own : ""));
    // Their JSON has no room for more; what is there works as ours.
    const sw = TestSwitch.load({ json, p4info: info });
    const frame = new Uint8Array(64);
    frame.set([0x12]);
    expect(sw.send(0, frame).map((out) => out.port)).toEqual([2]);
    sw.write(
      modify(
        sw.entities.tableEntry(
          "pick.kinds",
          { kind: "0x10 &&& 0xf0" },
          "pick.to",
          { port: 7 },
          { priority: 1 },
        ),
      ),
    );
    expect(sw.send(0, frame).map((out) => out.port)).toEqual([7]);
  });
});
