import { describe, expect, it } from "vitest";
import { checkTna, checkTna2, generate } from "../../../src/backends/index.ts";
import { TOFINO_2 } from "../../../src/backends/tna/verify/figures.ts";
import { findCompilers, verifyTna } from "../../../src/backends/tna/verify/index.ts";
import { bit, exactly, intrinsic, program, wireHeader } from "../../../src/dsl/index.ts";
import { examples } from "../../examples/programs.ts";

/** A row of tables, each of which matches on what the one before has set. */
function row(length: number) {
  return program("row", {
    ports: 8,
    features: [
      {
        name: "row",
        build: (p) => {
          const h = p.header(wireHeader("note", { kind: 8, size: 8 }));
          p.parser.state("start").extract(h);
          const c = p.control("steps", "ingress");
          const values = Array.from({ length: length + 1 }, (_, i) => p.metadata(`m${i}`, bit(8)));
          c.apply((s) => {
            const [first] = values;
            if (first !== undefined) s.set(first, h.kind);
            values.slice(0, -1).forEach((value, i) => {
              const next = values[i + 1] ?? value;
              const step = c.action(`step${i}`, { to: bit(8) }, (a, d) => a.set(next, d.to));
              s.apply(c.table(`t${i}`, { key: { m: exactly(value) }, actions: [step], size: 64 }));
            });
            s.set(h.kind, values.at(-1) ?? h.kind);
            s.set(intrinsic.egress_port, 1);
          });
          p.ingress("route", (s) => s.invoke(c));
        },
      },
    ],
  }).ir;
}

const textsOf = (files: ReadonlyMap<string, string | Uint8Array>, folder: string) =>
  new Map(
    [...files].flatMap(([path, text]) =>
      path.startsWith(folder) && path.endsWith(".p4") && typeof text === "string"
        ? [[path.slice(folder.length), text] as const]
        : [],
    ),
  );

describe("Tofino 2", () => {
  it.each(Object.entries(examples))(
    "has the P4 of Tofino 1 for %s, but for what is included",
    (_, { ir }) => {
      if (checkTna2(ir).length > 0) return;
      const one = textsOf(generate(ir, { targets: ["tna"] }), "tna/");
      const two = textsOf(generate(ir, { targets: ["tna2"] }), "tna2/");
      const main = `${ir.name}.p4`;
      expect(one.get(main)).toContain("#include <tna.p4>");
      expect(two.get(main)).toContain("#include <t2na.p4>");
      expect(new Map([...two, [main, two.get(main)?.replace("<t2na.p4>", "<tna.p4>")]])).toEqual(one);
    },
  );

  it("has 20 stages: what is too long for Tofino 1 may fit", () => {
    const long = row(15);
    expect(checkTna(long).map((d) => d.code)).toEqual(["GP1850"]);
    expect(checkTna2(long)).toEqual([]);
    const files = generate(long, { targets: ["tna2"] });
    expect(files.get("tna2/stages.svg")).toContain("of 20 stages of Tofino 2");
    expect(files.get("report.md")).toMatch(/row on Tofino 2: 1\d of 20 stages; fits/);
    const longer = checkTna2(row(22));
    expect(longer.map((d) => d.code)).toEqual(["GP1850"]);
    expect(longer[0]?.message).toContain("and there are 20");
  });

  const compilers = findCompilers(process.env);
  if (typeof compilers === "string") console.log(`not tested on Tofino 2: ${compilers}`);
  const programs = [
    ...["p3", "router", "dlcp"].map((name) => [name, examples[name]?.ir] as const),
    ["a row of 15 tables", row(15)] as const,
  ];
  it.skipIf(typeof compilers === "string").each(programs)(
    "takes %s, by its own compiler",
    async (_, ir) => {
      if (typeof compilers === "string" || ir === undefined) return;
      const files = textsOf(generate(ir, { targets: ["tna2"] }), "tna2/");
      const verification = await verifyTna(files, `${ir.name}.p4`, compilers, { chip: TOFINO_2 });
      expect(verification).toMatchObject({ kind: "fits" });
    },
    900_000,
  );
});
