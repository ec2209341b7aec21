import { describe, expect, it } from "vitest";
import fabric from "../../../../examples/fabric/program.ts";
import router from "../../../../examples/router/program.ts";
import { checkTna } from "../../../../src/backends/index.ts";
import { type FitReport, fitReport, fitText, stageMap } from "../../../../src/backends/tna/fit/index.ts";
import { lowerTna } from "../../../../src/backends/tna/lower.ts";
import { bit, exactly, type Feature, ipv4Forwarding, program, ternary } from "../../../../src/dsl/index.ts";
import { programs } from "./measured.ts";

const report = (p: Parameters<typeof lowerTna>[0]): FitReport => fitReport(lowerTna(p));

/** Tables in a chain: each matches what the one before has set. */
const chained = (length: number): Feature => ({
  name: "chain",
  build(p) {
    const c = p.control("chain", "ingress");
    const values = Array.from({ length: length + 1 }, (_, i) => p.metadata(`v${i}`, bit(32)));
    const tables = values.slice(1).map((value, i) => {
      const set = c.action(`set_${i}`, { to: bit(32) }, (a, d) => a.set(value, d.to));
      const key = values[i];
      if (key === undefined) throw new Error("no key");
      return c.table(`t${i}`, { key: { v: exactly(key) }, actions: [set], size: 64 });
    });
    c.apply((s) => {
      for (const t of tables) s.apply(t);
    });
    p.ingress("classify", (s) => s.invoke(c));
  },
});

/** So many exact tables beside each other, each with a key of its own. */
const beside = (count: number): Feature => ({
  name: "beside",
  build(p) {
    const c = p.control("beside", "ingress");
    const tables = Array.from({ length: count }, (_, i) => {
      const [key, to] = [p.metadata(`k${i}`, bit(32)), p.metadata(`v${i}`, bit(8))];
      const set = c.action(`set_${i}`, { to: bit(8) }, (a, d) => a.set(to, d.to));
      return c.table(`t${i}`, { key: { k: exactly(key) }, actions: [set], size: 64 });
    });
    c.apply((s) => {
      for (const t of tables) s.apply(t);
    });
    p.ingress("classify", (s) => s.invoke(c));
  },
});

/** One table with so many ternary entries of 64 bits. */
const large = (size: number): Feature => ({
  name: "large",
  build(p) {
    const c = p.control("large", "ingress");
    const key = p.metadata("wide", bit(64));
    const mark = p.metadata("mark", bit(8));
    const set = c.action("set", { to: bit(8) }, (a, d) => a.set(mark, d.to));
    const t = c.table("t", { key: { k: ternary(key) }, actions: [set], size });
    c.apply((s) => s.apply(t));
    p.ingress("classify", (s) => s.invoke(c));
  },
});

const withFeature = (feature: Feature) =>
  program("fitting", { ports: 8, features: [ipv4Forwarding(), feature] }).ir;

describe("the estimate", () => {
  it("gives tables that read each other's results stages of their own", () => {
    expect(report(withFeature(chained(5))).chainStages).toBe(5);
    expect(report(withFeature(chained(9))).stages).toBeGreaterThanOrEqual(9);
  });

  it("names the chain in the user's words, with the user's lines", () => {
    const { chain } = report(withFeature(chained(4)));
    expect(chain.map((l) => l.name)).toEqual(["chain.t0", "chain.t1", "chain.t2", "chain.t3"]);
    expect(chain[1]?.why).toBe("reads v1");
    expect(chain.every((l) => l.at?.file.endsWith("report.test.ts"))).toBe(true);
  });

  it("lets a table wait for what its groups choose their members by", () => {
    const { chain } = report(fabric.ir);
    expect(chain.map((l) => l.name)).toContain("ecmp.flow");
    expect(chain.find((l) => l.name === "ecmp.flow")?.why).toBe("reads flow_src");
  });

  it("does not call a program fitting that would be in the last stage", () => {
    expect(report(withFeature(chained(12))).verdict).toBe("tight");
    expect(report(withFeature(chained(8))).verdict).toBe("fits");
  });

  it("gives a stage no more exact tables than it has hash functions", () => {
    for (const s of report(withFeature(beside(20))).perStage)
      expect(s.tables.filter((t) => t.kind === "match" && t.need.hashWays > 0).length).toBeLessThanOrEqual(8);
  });

  it("cuts a table that is larger than a stage over several", () => {
    const { perStage } = report(withFeature(large(9000)));
    const parts = perStage.flatMap((s) => s.tables.filter((t) => t.name === "large.t"));
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.reduce((n, t) => n + (t.entries ?? 0), 0)).toBe(9000);
    for (const s of perStage) expect(s.need.tcam).toBeLessThanOrEqual(24);
  });

  it("stays within each stage's limits", () => {
    for (const p of Object.values(programs))
      for (const s of report(p).perStage) {
        expect(s.tables.length).toBeLessThanOrEqual(16);
        expect(s.need.statefulAlus).toBeLessThanOrEqual(4);
        expect(s.need.sram).toBeLessThanOrEqual(80);
        expect(s.need.mapRam).toBeLessThanOrEqual(48);
        expect(s.need.tcam).toBeLessThanOrEqual(24);
        expect(s.hashUnits).toBeLessThanOrEqual(6);
      }
  });

  it("places every table of the program", () => {
    const { perStage } = report(router.ir);
    const names = perStage.flatMap((s) => s.tables.map((t) => t.name));
    for (const t of router.ir.controls.flatMap((c) => c.tables)) expect(names).toContain(t.name);
  });
});

describe("GP1850", () => {
  it("a chain of more tables than there are stages is refused, with the chain", () => {
    const found = checkTna(withFeature(chained(13)));
    expect(found.map((d) => d.code)).toEqual(["GP1850"]);
    expect(found[0]?.message).toContain("chain.t0 -> chain.t1 -> chain.t2");
    expect(found[0]?.at?.file).toMatch(/report\.test\.ts$/);
  });

  it("more TCAM than the chip has is refused", () => {
    expect(checkTna(withFeature(large(512 * 24 * 12))).map((d) => d.code)).toEqual(["GP1850"]);
  });

  it("what fits is not refused", () => {
    expect(checkTna(withFeature(chained(8)))).toEqual([]);
  });
});

describe("the report", () => {
  it("is a table with a line a stage, limits below, and the chain", () => {
    const lines = fitText(report(router.ir)).split("\n");
    expect(lines[0]).toBe("router on Tofino 1: 6 of 12 stages; fits");
    expect(lines.filter((l) => /^ +\d+ +\d+ /.test(l))).toHaveLength(6);
    expect(lines.some((l) => l.includes("of 80"))).toBe(true);
    expect(lines.at(-1)).toContain("router.events (reads bridge.event)");
  });

  it("the same program gives the same bytes", () => {
    expect(stageMap(report(router.ir))).toBe(stageMap(report(router.ir)));
    expect(fitText(report(router.ir))).toBe(fitText(report(router.ir)));
  });

  it("the map is an SVG with a column a stage and a box a logical table", () => {
    const found = report(router.ir);
    const svg = stageMap(found);
    expect(svg.startsWith("<svg ")).toBe(true);
    expect([...svg.matchAll(/>stage \d+</g)]).toHaveLength(found.stages);
    expect([...svg.matchAll(/<g>/g)]).toHaveLength(found.perStage.reduce((n, s) => n + s.tables.length, 0));
    // Each tag that is opened is closed.
    expect([...svg.matchAll(/<g>/g)].length).toBe([...svg.matchAll(/<\/g>/g)].length);
  });

  it("conditions with < and & are spelled as XML wants them", () => {
    const svg = stageMap(report(router.ir));
    expect(svg).toContain("ttl &lt;= 1");
    expect(svg).toContain("&amp;&amp;");
  });
});
