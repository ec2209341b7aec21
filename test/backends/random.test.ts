import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { generate } from "../../src/backends/index.ts";
import { check } from "../../src/ir/check/check.ts";
import type { Program } from "../../src/ir/index.ts";
import { Switch } from "../../src/switch/switch.ts";
import { Dice } from "./dice.ts";
import { randomProgram } from "./randomprogram.ts";
import { findTools, run, withoutProfileWarnings, writeFiles } from "./tools.ts";
import { fill, limit, packetsFor, transcript } from "./traffic.ts";

/**
 * Some programs by default. With GRADPLANE_LONG_TESTS 500 of them, or as many as GRADPLANE_RANDOM_PROGRAMS says, from the seed
 * GRADPLANE_RANDOM_SEED on: about 4 s each.
 */
const isLong = process.env.GRADPLANE_LONG_TESTS !== undefined;
const count = Number(process.env.GRADPLANE_RANDOM_PROGRAMS ?? (isLong ? 500 : 6));
const first = Number(process.env.GRADPLANE_RANDOM_SEED ?? 1);
const seeds = Array.from({ length: count }, (_, i) => first + i);

const tools = findTools({ p4c: ["P4C", "p4c-bm2-ss"], p4test: ["P4TEST", "p4test"] });
const scratch = mkdtempSync(join(tmpdir(), "gradplane-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const programOf = (seed: number, measured = false): Program =>
  randomProgram(`random_${seed}`, new Dice(seed * 104729), { measured });

/** The program's files in a folder, and a compiler run there. */
function compile(p: Program, compiler: string, args: readonly string[]) {
  const folder = join(scratch, p.name);
  const files = generate(p);
  writeFiles(folder, files);
  const { status, output } = run(compiler, [...args, `${p.name}.p4`], join(folder, "v1model"));
  const own = files.get(`${p.name}.json`);
  const read = (name: string): string => readFileSync(join(folder, name), "utf8");
  return {
    said: { status, output: withoutProfileWarnings(output) },
    own: typeof own === "string" ? own : "",
    read,
  };
}

const silence = { status: 0, output: "" };
const ARGUMENTS = ["-o", "../p4c.json", "--p4runtime-files", "../p4c.txtpb"];

describe("random programs", () => {
  it("are right, say the checks, and the embedded switch runs them", () => {
    let sent = 0;
    for (let seed = first; seed < first + Math.max(40, count); seed++) {
      const p = programOf(seed, true);
      expect([seed, check(p).filter((d) => d.target !== "tna")]).toEqual([seed, []]);
      if (seed >= first + 20) continue;
      const { own } = { own: generate(p).get(`${p.name}.json`) };
      const s = new Switch(typeof own === "string" ? own : "");
      const arrivals = packetsFor(p, 50, new Dice(seed));
      fill(s, p, arrivals, seed);
      sent += transcript(s, arrivals).filter((line) => /(^| )(\d+|cpu):/.test(line)).length;
    }
    expect(sent).toBeGreaterThan(100);
  });
});

describe.skipIf(tools.p4c === undefined)("p4c on random programs", () => {
  it.each(seeds)(
    "compiles number %i without a word, and its JSON treats random packets as ours does",
    (seed) => {
      const p = programOf(seed);
      const { said, own, read } = compile(p, tools.p4c ?? "", ARGUMENTS);
      expect(said).toEqual(silence);
      const arrivals = packetsFor(p, 200, new Dice(seed));
      // p4c leaves out objects that it finds unused.
      const [ours, theirs] = [new Switch(own), new Switch(read("p4c.json"))];
      for (const s of [ours, theirs]) {
        fill(s, p, arrivals, seed * 7919);
        limit(s, new Dice(seed));
      }
      expect(transcript(ours, arrivals, theirs)).toEqual(transcript(theirs, arrivals, ours));
    },
  );

  it.each(seeds.slice(0, Math.ceil(count / 3)))(
    "compiles number %i with what depends on time and chance",
    (seed) => {
      expect(compile(programOf(seed + 100_000, true), tools.p4c ?? "", ARGUMENTS).said).toEqual(silence);
    },
  );
});

describe.skipIf(tools.p4test === undefined)("p4test on random programs", () => {
  it.each(seeds)("accepts number %i without a word", (seed) => {
    expect(compile(programOf(seed), tools.p4test ?? "", []).said).toEqual(silence);
  });
});
