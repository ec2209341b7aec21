/**
 * p4c's own sample programs with their packet tests, for those who have them:
 *   P4C=.../p4c-bm2-ss P4C_SAMPLES=.../p4c/testdata/p4_16_samples npx vitest run test/switch/samples.test.ts
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Switch } from "../../src/switch/index.ts";
import { runStf } from "./fixtures/stf.ts";

const compiler = process.env.P4C;
const samples = process.env.P4C_SAMPLES;

/** Programs for other architectures have "ebpf", "ubpf" or "psa" in their names or do not include v1model. */
function scripts(folder: string): readonly string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith(".stf"))
    .map((file) => file.slice(0, -".stf".length))
    .filter((name) => {
      try {
        return readFileSync(join(folder, `${name}.p4`), "utf8").includes("v1model.p4");
      } catch {
        return false;
      }
    });
}

describe.skipIf(compiler === undefined || samples === undefined)("p4c's sample programs", () => {
  let output = "";
  beforeAll(() => {
    output = mkdtempSync(join(tmpdir(), "gradplane-samples-"));
  });
  afterAll(() => rmSync(output, { recursive: true, force: true }));
  for (const name of samples === undefined ? [] : scripts(samples)) {
    it(name, ({ skip }) => {
      const json = join(output, `${name}.json`);
      const run = spawnSync(compiler ?? "", [
        "--arch",
        "v1model",
        "-o",
        json,
        join(samples ?? "", `${name}.p4`),
      ]);
      // Some samples are there to be refused by the compiler.
      if (run.status !== 0) skip();
      expect(
        runStf(new Switch(readFileSync(json)), readFileSync(join(samples ?? "", `${name}.stf`), "utf8")),
      ).toBeUndefined();
    }, 60_000);
  }
});
