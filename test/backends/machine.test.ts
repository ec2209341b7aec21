import { describe, expect, it } from "vitest";
import { generate } from "../../src/backends/index.ts";
import type { Program } from "../../src/ir/index.ts";
import { Switch } from "../../src/switch/switch.ts";
import { examples } from "../examples/programs.ts";
import { annotated } from "./annotationsprogram.ts";
import { Dice } from "./dice.ts";
import { Machine, Unforeseeable } from "./machine/machine.ts";
import { parserPrograms } from "./parserprograms.ts";
import { passes } from "./passesprogram.ts";
import { forwarding, zoo } from "./programs.ts";
import { compose, composition } from "./random/compositions.ts";
import { randomProgram } from "./randomprogram.ts";
import { nat } from "./tna/natprogram.ts";
import { copiesFor, fill, packetsFor } from "./traffic.ts";

/**
 * Some random programs by default. With GRADPLANE_LONG_TESTS 500, or as many as GRADPLANE_RANDOM_PROGRAMS says, from the seed
 * GRADPLANE_RANDOM_SEED on; and a fifth as many compositions of the features.
 */
const isLong = process.env.GRADPLANE_LONG_TESTS !== undefined;
const count = Number(process.env.GRADPLANE_RANDOM_PROGRAMS ?? (isLong ? 500 : 15));
const first = Number(process.env.GRADPLANE_RANDOM_SEED ?? 1);
const seeds = (length: number): readonly number[] => Array.from({ length }, (_, i) => first + i);

/** Programs whose behaviour is no matter of chance. */
const written: readonly Program[] = [
  forwarding(),
  zoo(),
  nat(),
  passes(),
  passes(true),
  annotated(),
  ...Object.values(examples).map(({ ir }) => ir),
  ...parserPrograms,
];

/** The same packets through both; what the switch and the model remember in the end. Answers the number of packets that came out. */
function compare(program: Program, packets: number, seed: number): number {
  const json = generate(program).get(`${program.name}.json`);
  const sw = new Switch(typeof json === "string" ? json : "");
  const arrivals = packetsFor(program, packets, new Dice(seed));
  fill(sw, program, arrivals, seed * 7919, copiesFor(program));
  const machine = new Machine(program, sw);
  let sent = 0;
  for (const [i, { port, data }] of arrivals.entries()) {
    const out = machine.send(port, data);
    const shown = `packet ${i}, ${Buffer.from(data).toString("hex")} on port ${port}`;
    const got = sw.inject(port, data).map((o) => `${o.port}:${Buffer.from(o.data).toString("hex")}`);
    expect(got.sort(), shown).toEqual(out);
    sent += out.length;
  }
  const cells = (n: { readonly size: number }): readonly number[] =>
    Array.from({ length: n.size }, (_, i) => i);
  for (const [name, wanted] of machine.registers) {
    const register = sw.registers.get(name);
    if (register !== undefined)
      expect([name, cells(register).map((i) => register.read(i))]).toEqual([name, wanted]);
  }
  for (const [name, wanted] of machine.counters) {
    const counter = sw.counters.get(name);
    if (counter !== undefined)
      expect([name, cells(counter).map((i) => counter.read(i))]).toEqual([name, wanted]);
  }
  return sent;
}

describe("the embedded switch does with the generated JSON what a model does with the program itself", () => {
  it.each(seeds(count))("random program %i", (seed) => {
    compare(randomProgram(`random_${seed}`, new Dice(seed * 104729)), 100, seed);
  });

  it.each(seeds(Math.ceil(count / 5)))("composition %i of the features", (seed) => {
    compare(compose(composition(`composition_${seed}`, seed, { faults: false, lanes: 8 })).ir, 100, seed);
  });

  it.each(written.map((p) => [p.name, p] as const))("%s", (_, program) => {
    let [sent, sure] = [0, 0];
    for (let seed = 1; seed <= 4; seed++)
      try {
        sent += compare(program, 100, seed);
        sure++;
      } catch (error) {
        if (!(error instanceof Unforeseeable)) throw error;
      }
    expect([sent > 0, sure > 0]).toEqual([true, true]);
  });
}, 120_000);
