import { describe, expect, it } from "vitest";
import { generate } from "../../../src/backends/index.ts";
import { findCompilers, verifyTna } from "../../../src/backends/tna/verify/index.ts";
import { attempt, broken, randomTna } from "./randomtna.ts";

const found = findCompilers(process.env);
const compilers = typeof found === "string" ? undefined : found;
/** How many programs the real compiler gets, at up to a minute each. */
const wanted = Number(process.env.GRADPLANE_RANDOM_TNA ?? "0");
const MINUTES = 60_000;

describe("random programs for Tofino", () => {
  it("break a rule less often than once in three", () => {
    const seeds = Array.from({ length: 60 }, (_, i) => i + 1);
    const accepted = seeds.filter((seed) => broken(attempt(`r${seed}`, seed)).length === 0);
    expect(accepted.length).toBeGreaterThanOrEqual((seeds.length * 2) / 3);
  });

  it.runIf(compilers !== undefined && wanted > 0)(
    `p4c-barefoot and bfas take ${wanted} that the checks take, without a word`,
    async () => {
      if (compilers === undefined) return;
      for (let seed = 1; seed <= wanted; seed++) {
        const p = randomTna(`r${seed}`, seed);
        const files = new Map(
          [...generate(p, { targets: ["tna"] })].flatMap(([path, text]): readonly [string, string][] =>
            typeof text === "string" && path.startsWith("tna/") ? [[path.slice(4), text]] : [],
          ),
        );
        const verification = await verifyTna(files, `${p.name}.p4`, compilers);
        expect(verification, `seed ${seed}`).toMatchObject({ kind: "fits", warnings: [] });
      }
    },
    wanted * 5 * MINUTES,
  );
});
