import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it, vi } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { ruleOf } from "../../src/ir/diagnostics.ts";
import { Switch } from "../../src/switch/switch.ts";
import { Dice } from "./dice.ts";
import { compose, composition, type Outcome, outcomeOf } from "./random/compositions.ts";
import { findTools, run, withoutProfileWarnings, writeFiles } from "./tools.ts";
import { fill, limit, packetsFor, transcript } from "./traffic.ts";

/**
 * Some dozens by default. With GRADPLANE_LONG_TESTS 400 of them, or as many as GRADPLANE_COMPOSITIONS says, from the seed
 * GRADPLANE_COMPOSITION_SEED on.
 */
const isLong = process.env.GRADPLANE_LONG_TESTS !== undefined;
const count = Number(process.env.GRADPLANE_COMPOSITIONS ?? (isLong ? 400 : 12));
const first = Number(process.env.GRADPLANE_COMPOSITION_SEED ?? 1);
const seeds = Array.from({ length: count }, (_, i) => first + i);
/** Seeds that the real compilers get without being asked to. */
const compiled = isLong ? seeds : seeds.slice(0, 3);
const PACKETS = 60;

// Hundreds of programs in one test, and compilers beside others on a busy machine.
vi.setConfig({ testTimeout: isLong ? 3_600_000 : 300_000 });

const tools = findTools({ p4c: ["P4C", "p4c-bm2-ss"], p4test: ["P4TEST", "p4test"] });
const scratch = mkdtempSync(join(tmpdir(), "gradplane-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const faultless = (seed: number) =>
  composition(`composition_${seed}`, seed, { faults: false, lanes: isLong ? 32 : 6 });

/** The embedded switch with a composition's program, or with what another compiler made of it, its tables filled. */
function filled(
  json: string,
  seed: number,
): { readonly sw: Switch; readonly packets: ReturnType<typeof packetsFor> } {
  const { ir } = compose(faultless(seed));
  const packets = packetsFor(ir, PACKETS, new Dice(seed));
  const sw = new Switch(json);
  fill(sw, ir, packets, seed * 7919);
  limit(sw, new Dice(seed));
  return { sw, packets };
}

function textOf(files: ReturnType<typeof generate>, path: string): string {
  const text = files.get(path);
  if (typeof text !== "string") throw new Error(`${path} was not generated`);
  return text;
}

describe("random compositions of the features", () => {
  it("are built, or refused by a documented rule with a reason and a place", () => {
    const seen = new Set<Outcome["kind"]>();
    for (const seed of Array.from({ length: Math.max(40, count) }, (_, i) => first + i)) {
      const c = composition(`composition_${seed}`, seed, { lanes: isLong ? 32 : 6 });
      const shown = JSON.stringify(c);
      const outcome = outcomeOf(c);
      seen.add(outcome.kind);
      const findings = outcome.kind === "refused" ? outcome.findings : outcome.tna;
      for (const finding of findings) {
        expect(ruleOf(finding), shown).toBeDefined();
        expect(finding.message.length, shown).toBeGreaterThan(5);
        if (outcome.kind === "refused") {
          expect(finding, shown).toMatchObject({ code: expect.stringMatching(/^GP1[0-7]/) });
          expect(finding.at?.file, shown).toMatch(/compositions\.ts$/);
        } else expect(finding, shown).toMatchObject({ target: "tna" });
      }
    }
    expect([...seen].sort()).toEqual(["built", "refused"]);
  });

  it.each(seeds)("number %i, with sound options, is taken by the checks and runs", (seed) => {
    const c = faultless(seed);
    const outcome = outcomeOf(c);
    if (outcome.kind === "refused") throw new Error(`${JSON.stringify(c)}: ${outcome.findings[0]?.message}`);
    const { program, tna } = outcome;
    expect(program.warnings.filter((d) => d.target !== "tna")).toEqual([]);
    const files = generate(program.ir, { targets: tna.length === 0 ? ["v1model", "tna"] : ["v1model"] });
    const { sw, packets } = filled(textOf(files, `${c.name}.json`), seed);
    const lines = transcript(sw, packets);
    expect(lines.length).toBeGreaterThan(PACKETS);
    expect(Object.values(sw.faults).every((n) => n === 0)).toBe(true);
    expect(sw.drops.priorityOutOfRange).toBe(0);
  });
});

describe.skipIf(tools.p4c === undefined && tools.p4test === undefined)(
  "the compilers on compositions",
  () => {
    it.each(compiled)("take number %i without a word, and p4c's JSON treats packets as ours does", (seed) => {
      const c = faultless(seed);
      const folder = join(scratch, c.name);
      const files = generate(compose(c).ir);
      writeFiles(folder, files);
      const silence = { status: 0, output: "" };
      const compile = (compiler: string, args: readonly string[]) => {
        const { status, output } = run(compiler, [...args, `${c.name}.p4`], join(folder, "v1model"));
        expect({ status, output: withoutProfileWarnings(output) }, JSON.stringify(c)).toEqual(silence);
      };
      if (tools.p4test !== undefined) compile(tools.p4test, []);
      if (tools.p4c === undefined) return;
      compile(tools.p4c, ["-o", "../p4c.json"]);
      const ours = filled(textOf(files, `${c.name}.json`), seed);
      const theirs = filled(readFileSync(join(folder, "p4c.json"), "utf8"), seed);
      expect(transcript(ours.sw, ours.packets, theirs.sw)).toEqual(
        transcript(theirs.sw, theirs.packets, ours.sw),
      );
    });
  },
);
