import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import ownFeature from "../../examples/own-feature/program.ts";
import router from "../../examples/router/program.ts";
import { generate } from "../../src/backends/index.ts";
import { originOf, type SourceMap } from "../../src/backends/sourcemap.ts";
import type { Program } from "../../src/ir/index.ts";

function built(program: Program) {
  const files = generate(program, { targets: ["v1model", "tna"] });
  const map: SourceMap = JSON.parse(String(files.get("sourcemap.json")));
  const line = (path: string, text: string): number => {
    const lines = String(files.get(path)).split("\n");
    const i = lines.findIndex((l) => l.includes(text));
    if (i < 0) return expect.fail(`${path} has no line with ${text}`);
    return i + 1;
  };
  return { files, map, from: (path: string, text: string) => originOf(map, path, line(path, text)) };
}

const source = readFileSync(new URL("../../examples/router/program.ts", import.meta.url), "utf8").split("\n");

describe("the source map", () => {
  const { files, map, from } = built(router.ir);

  it.each(["v1model", "tna"])("leads a condition of %s to the line that asks it", (target) => {
    const place = from(`${target}/controls/router.p4`, "hdr.ipv4.ttl <= 1");
    expect(source[(place?.line ?? 0) - 1]).toContain("ttl.le(1)");
  });

  it.each(["v1model", "tna"])("leads a table of %s to its declaration", (target) => {
    const place = from(`${target}/controls/routing.p4`, "table next_hops");
    expect(place?.file).toBe("program.ts");
    expect(source[(place?.line ?? 0) - 1]).toContain('c.table("next_hops"');
  });

  it("leads an assignment to the line that makes its value", () => {
    const place = from("v1model/controls/routing.p4", "hdr.ipv4.ttl = hdr.ipv4.ttl - 1");
    expect(source[(place?.line ?? 0) - 1]).toContain("ttl.sub(1)");
  });

  it("knows the file of a feature that stands in one of its own", () => {
    const own = built(ownFeature.ir);
    expect(own.map.sources).toEqual(["program.ts", "watermark.ts"]);
    expect(own.from("tna/controls/queue_watermark.p4", "met_depth[15:0] >= ")?.file).toBe("watermark.ts");
    expect(own.from("tna/controls/forwarding.p4", "table route")?.file).toBe("program.ts");
  });

  it("gives a line without a place that of the nearest above, and none before the first", () => {
    const path = "tna/controls/routing.p4";
    const [first] = map.files[path] ?? [];
    expect(originOf(map, path, (first?.[0] ?? 0) + 1)?.line).toBe(first?.[2]);
    expect(originOf(map, path, 1)).toBeUndefined();
    expect(originOf(map, "tna/none.p4", 5)).toBeUndefined();
  });

  it("names no folder of the machine", () => {
    expect(String(files.get("sourcemap.json"))).not.toContain(process.cwd());
    expect(String(files.get("report.md"))).not.toContain(process.cwd());
  });

  it("leaves no mark in what is written", () => {
    for (const [path, text] of files)
      if (typeof text === "string") expect(text, path).not.toMatch(/[\ue000-\uf8ff]/);
  });
});

describe("tables.json", () => {
  it("has the fixed entries of each table in winning order, with names for keys and parameters", () => {
    const { files } = built(ownFeature.ir);
    const { tables } = JSON.parse(String(files.get("tables.json")));
    const classify = tables.find((t: { name: string }) => t.name === "traffic_class.classify");
    expect(classify.filledBy).toBe("program");
    expect(classify.entries[0]).toEqual({ match: { dscp: "48" }, action: "traffic_class.is_control" });
    expect(classify.entries[1].parameters).toEqual({ traffic_class: "6" });
    expect(classify.default).toEqual({ action: "traffic_class.is_best_effort", fixed: true });
  });

  it("says which tables the control plane fills", () => {
    const { files } = built(router.ir);
    const { tables } = JSON.parse(String(files.get("tables.json")));
    expect(tables.every((t: { filledBy: string }) => t.filledBy === "control plane")).toBe(true);
  });
});

describe("report.md", () => {
  it("says what Tofino lacks, with the code and the place, where it is not built", () => {
    const controls = router.ir.controls.map((c) => ({
      ...c,
      registers:
        c.name === "routing"
          ? [{ name: "routing.huge", type: { kind: "bit", width: 32 }, size: 1 << 20 } as const]
          : c.registers,
    }));
    const page = String(generate({ ...router.ir, controls }).get("report.md"));
    expect(page).toContain("Tofino lacks what the program needs");
    expect(page).toMatch(/\* GP18\d\d /);
  });

  it("has the estimate where it is built", () => {
    const page = String(built(router.ir).files.get("report.md"));
    expect(page).toContain("router on Tofino 1: 6 of 12 stages");
    expect(page).toContain("routing.next_hops (reads next_hop)  program.ts:");
  });
});
