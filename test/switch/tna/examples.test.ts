import { describe, expect, it } from "vitest";
import { libraOf } from "../../../examples/libra/program.ts";
import { Dice } from "../../backends/dice.ts";
import { fill, limit, packetsFor, transcript } from "../../backends/traffic.ts";
import { examples } from "../../examples/programs.ts";
import { alike, both, comparable } from "./bothpersonalities.ts";

/** The examples, and Libra's switch in its other numeric modes. */
const { int32: _, ...otherModes } = libraOf;
const programs = [
  ...Object.entries(examples),
  ...Object.entries(otherModes).map(([mode, make]) => [`libra in mode ${mode}`, make()] as const),
];

describe("the tna personality", () => {
  it.each(programs)("does with %s what its v1model program does, on random traffic", (_, { ir }) => {
    for (const seed of [1, 2, 3]) {
      const arrivals = comparable(ir, packetsFor(ir, 150, new Dice(seed)));
      const { v1model, tna } = both(ir);
      for (const s of [v1model, tna]) {
        fill(s, ir, arrivals, seed * 7919);
        limit(s, new Dice(seed));
      }
      const [theirs, ours] = [transcript(v1model, arrivals, tna), transcript(tna, arrivals, v1model)];
      expect([seed, alike(ir, ours)]).toEqual([seed, alike(ir, theirs)]);
    }
  });
});
