import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import libra, { libraFloat } from "../../../examples/libra/program.ts";
import { generate } from "../../../src/backends/index.ts";
import type { Program } from "../../../src/ir/index.ts";
import { forwarding } from "../programs.ts";
import { findTools, run, writeFiles } from "../tools.ts";

const tools = findTools({ barefoot: ["P4C_BAREFOOT", "p4c-barefoot"], bfas: ["BFAS", "bfas"] });
const scratch = mkdtempSync(join(tmpdir(), "gradplane-tna-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const STAGES = 12;

/** Compiles and assembles: the compiler alone places tables behind the last stage and says nothing. */
function build(p: Program, name: string) {
  const folder = join(scratch, name);
  const out = join(folder, "out");
  writeFiles(folder, generate(p, { targets: ["tna"] }));
  const compiled = run(
    tools.barefoot ?? "",
    ["--target", "tofino", "--arch", "tna", "-o", out, `${p.name}.p4`],
    join(folder, "tna"),
  );
  const assembly = readdirSync(out, { recursive: true, encoding: "utf8" }).find((f) => f.endsWith(".bfa"));
  if (assembly === undefined) return { compiled, assembled: undefined, stages: 0 };
  const path = join(out, assembly);
  const assembled = run(tools.bfas ?? "", ["-o", ".", basename(path)], dirname(path));
  const stages = [...readFileSync(path, "utf8").matchAll(/^stage (\d+) (?:in|e)gress:/gm)].map(
    (m) => Number(m[1]) + 1,
  );
  return { compiled, assembled, stages: Math.max(0, ...stages) };
}

describe.skipIf(tools.barefoot === undefined || tools.bfas === undefined)(
  "p4c-barefoot and bfas on the emitted P4",
  () => {
    it.each([
      ["forwarding", forwarding()],
      ["libra, int32, 32 lanes", libra.ir],
      ["libra, fp32, 8 lanes", libraFloat().ir],
    ])(
      "compile and assemble %s, in one pass of at most 12 stages",
      (name, p) => {
        const { compiled, assembled, stages } = build(p, name.replace(/\W+/g, "_"));
        expect(compiled.output).toBe("");
        expect(compiled.status).toBe(0);
        expect(assembled?.status, assembled?.output).toBe(0);
        expect(stages).toBeGreaterThan(0);
        expect(stages).toBeLessThanOrEqual(STAGES);
      },
      900_000,
    );
  },
);
