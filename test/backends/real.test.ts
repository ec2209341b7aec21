import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { generate } from "../../src/backends/index.ts";
import type { Program } from "../../src/ir/index.ts";
import { widthOf } from "../../src/ir/index.ts";
import { p4infoFromText } from "../../src/p4info/index.ts";
import { Switch } from "../../src/switch/switch.ts";
import { examples } from "../examples/programs.ts";
import { annotated } from "./annotationsprogram.ts";
import { anyExpression, operands } from "./arbitrary.ts";
import { answer, calculator, question } from "./calculator.ts";
import { Dice } from "./dice.ts";
import { externs } from "./externsprogram.ts";
import { parserPrograms } from "./parserprograms.ts";
import { passes } from "./passesprogram.ts";
import { forwarding, namesake, zoo } from "./programs.ts";
import { tofinoExterns } from "./tna/externsprogram.ts";
import { nat } from "./tna/natprogram.ts";
import { findTools, run, withoutProfileWarnings, writeFiles } from "./tools.ts";
import { fill, limit, packetsFor, transcript } from "./traffic.ts";
import { valueSets } from "./valuesetsprogram.ts";

const tools = findTools({ p4c: ["P4C", "p4c-bm2-ss"], p4test: ["P4TEST", "p4test"] });
const scratch = mkdtempSync(join(tmpdir(), "gradplane-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const compiled = new Map<string, ReturnType<typeof compileOnce>>();

/** What the compiler says of a program of this name, and its files; compiled once. */
function compile(p: Program, compiler: string): ReturnType<typeof compileOnce> {
  const known = compiled.get(p.name) ?? compileOnce(p, compiler);
  compiled.set(p.name, known);
  return known;
}

function compileOnce(p: Program, compiler: string) {
  const folder = join(scratch, p.name);
  const files = generate(p);
  writeFiles(folder, files);
  const ran = run(
    compiler,
    [
      "--std",
      "p4-16",
      "-o",
      join(folder, "p4c.json"),
      "--p4runtime-files",
      join(folder, "p4c.txtpb"),
      `${p.name}.p4`,
    ],
    join(folder, "v1model"),
  );
  const ours = files.get(`${p.name}.json`);
  const info = files.get("p4info.txtpb");
  if (typeof ours !== "string" || typeof info !== "string")
    throw new Error("JSON or P4Info was not generated");
  const read = (name: string): string => readFileSync(join(folder, name), "utf8");
  return {
    ...ran,
    ours,
    info,
    theirs: () => read("p4c.json"),
    theirInfo: () => read("p4c.txtpb"),
  };
}

/** A P4Info to compare: in order of ids; without documentation, which p4c takes from elsewhere; values as numbers. */
function comparable(text: string): unknown {
  const plain = (x: unknown): unknown => {
    if (x instanceof Uint8Array) return BigInt(`0x${Buffer.from(x).toString("hex") || "0"}`);
    if (Array.isArray(x)) return x.map(plain);
    if (typeof x !== "object" || x === null) return x;
    return Object.fromEntries(
      Object.entries(x)
        .filter(([key]) => key !== "doc" && key !== "typeInfo")
        .map(([key, value]) => [key, plain(value)]),
    );
  };
  const idOf = (o: { readonly preamble?: { readonly id: number } | undefined }): number =>
    o.preamble?.id ?? 0;
  const byId = <T extends { readonly preamble?: { readonly id: number } | undefined }>(list: readonly T[]) =>
    [...list].sort((a, b) => idOf(a) - idOf(b));
  const info = p4infoFromText(text);
  return plain({
    ...info,
    tables: byId(info.tables),
    actions: byId(info.actions),
    actionProfiles: byId(info.actionProfiles),
    meters: byId(info.meters),
    directMeters: byId(info.directMeters),
    digests: byId(info.digests),
    structs: info.typeInfo?.structs ?? {},
    counters: byId(info.counters),
    directCounters: byId(info.directCounters),
    registers: byId(info.registers),
    controllerPacketMetadata: byId(info.controllerPacketMetadata),
  });
}

const programs: readonly Program[] = [
  forwarding(),
  zoo(),
  externs(),
  tofinoExterns(),
  nat(),
  passes(),
  passes(true),
  valueSets(),
  annotated(),
  ...Object.values(examples).map((e) => e.ir),
  ...parserPrograms,
];

describe.skipIf(tools.p4c === undefined)("p4c on the emitted P4", () => {
  const compiler = tools.p4c ?? "";
  for (const program of programs) {
    it(`compiles ${program.name} without an error or a warning`, () => {
      const { status, output } = compile(program, compiler);
      expect(withoutProfileWarnings(output)).toBe("");
      expect(status).toBe(0);
    });

    it(`makes the same P4Info of ${program.name}`, () => {
      const c = compile(program, compiler);
      expect(comparable(c.info)).toEqual(comparable(c.theirInfo()));
    });

    it(`makes a JSON of ${program.name} that treats random packets as ours does`, () => {
      const c = compile(program, compiler);
      const options = program.cpuPort === undefined ? {} : { cpuPort: program.cpuPort };
      let sent = 0;
      for (let seed = 1; seed <= 20; seed++) {
        const dice = new Dice(seed);
        const arrivals = packetsFor(program, 300, dice);
        const [a, b] = [c.ours, c.theirs()].map((json) => {
          const s = new Switch(json, options);
          fill(s, program, arrivals, seed * 7919);
          limit(s, new Dice(seed));
          return transcript(s, arrivals);
        });
        expect(a, `seed ${seed}`).toEqual(b);
        sent += (a ?? []).filter((line) => /^(\d+|cpu):/.test(line)).length;
      }
      // Equal silence would prove nothing.
      expect(sent).toBeGreaterThan(50);
    });
  }

  it("accepts every name that the checks allow for members and objects (pitfall 58)", () => {
    const { status, output } = compile(namesake(), compiler);
    expect(output).toBe("");
    expect(status).toBe(0);
  });

  it("computes any expression as P4 says, and as our JSON does", () => {
    const expressions = fc.sample(anyExpression(4), { numRuns: 120, seed: 20 });
    const c = compile(calculator("calculator", expressions), compiler);
    expect(c.status, c.output).toBe(0);
    const inputs = fc.sample(
      fc.tuple(...operands.map((o) => fc.bigInt({ min: 0n, max: (1n << BigInt(widthOf(o.type))) - 1n }))),
      { numRuns: 200, seed: 21 },
    );
    const ours = new Switch(c.ours);
    const theirs = new Switch(c.theirs());
    for (const values of inputs) {
      const asked = question(values, expressions);
      const expected = Buffer.from(answer(values, expressions)).toString("hex");
      for (const s of [ours, theirs])
        expect(Buffer.from(s.inject(0, asked)[0]?.data ?? []).toString("hex")).toBe(expected);
    }
  });
});

describe.skipIf(tools.p4test === undefined)("p4test on the emitted P4", () => {
  for (const program of programs)
    it(`accepts ${program.name} without an error or a warning`, () => {
      const folder = join(scratch, `test-${program.name}`);
      writeFiles(folder, generate(program));
      const ran = run(tools.p4test ?? "", ["--std", "p4-16", `${program.name}.p4`], join(folder, "v1model"));
      expect(ran).toEqual({ status: 0, output: "" });
    });
});
