import { describe, expect, test } from "vitest";
import { check } from "../../src/ir/check/check.ts";
import type { Program } from "../../src/ir/index.ts";
import { Dice } from "../backends/dice.ts";
import { randomProgram } from "../backends/randomprogram.ts";
import { editedAt, wrongEdits } from "./wrongedits.ts";

/** Programs to break. With GRADPLANE_LONG_TESTS more of them; from the seed GRADPLANE_RANDOM_SEED on. */
const count = process.env.GRADPLANE_LONG_TESTS === undefined ? 8 : 60;
const first = Number(process.env.GRADPLANE_RANDOM_SEED ?? 1);
const programs: readonly Program[] = Array.from({ length: count }, (_, i) =>
  randomProgram(`edited_${first + i}`, new Dice((first + i) * 7919)),
);

/** What the checks find that holds for v1model. */
function found(p: Program) {
  return check(p).filter((d) => d.target !== "tna");
}

describe("one wrong edit of a right program", () => {
  test("the programs are right before", () => {
    for (const p of programs) expect([p.name, found(p)]).toEqual([p.name, []]);
  });

  test.each(Object.entries(wrongEdits))("%s is told, at its place", (_, edit) => {
    let made = 0;
    programs.forEach((p, seed) => {
      const edited = edit(p, new Dice(first + seed));
      if (edited === undefined) return;
      made++;
      const places = found(edited).map((d) => d.at);
      expect(places, `${p.name}: ${JSON.stringify(found(edited).map((d) => d.message))}`).toContainEqual(
        editedAt,
      );
    });
    expect(made).toBeGreaterThan(0);
  });
});
