import { generate } from "../../../src/backends/index.ts";
import type { Program } from "../../../src/ir/index.ts";
import { Dice } from "../../backends/dice.ts";
import { parserPrograms } from "../../backends/parserprograms.ts";
import { compose, composition } from "../../backends/random/compositions.ts";
import { randomProgram } from "../../backends/randomprogram.ts";
import { examples } from "../../examples/programs.ts";
import type { FuzzedProgram } from "./packets.ts";

/** The examples, programs with every kind of parser, random programs and compositions. */
export function fuzzedPrograms(random: number): readonly FuzzedProgram[] {
  const seeds = Array.from({ length: random }, (_, i) => i + 1);
  return [
    ...Object.values(examples).map(({ ir }) => ir),
    ...parserPrograms,
    ...seeds.map((seed) => randomProgram(`random_${seed}`, new Dice(seed * 104729), { measured: true })),
    ...seeds.map((seed) => compose(composition(`composition_${seed}`, seed, { faults: false, lanes: 8 })).ir),
  ].map(fuzzed);
}

export function fuzzed(ir: Program): FuzzedProgram {
  const files = generate(ir);
  const text = (path: string): string => {
    const found = files.get(path);
    if (typeof found !== "string") throw new Error(`no ${path}`);
    return found;
  };
  const { name, cpuPort } = ir;
  const base = { name, json: text(`${name}.json`), p4info: text("p4info.txtpb") };
  return cpuPort === undefined ? base : { ...base, cpuPort };
}
