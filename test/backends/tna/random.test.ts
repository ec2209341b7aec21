import { describe, expect, it } from "vitest";
import { generate } from "../../../src/backends/index.ts";
import { fitReport } from "../../../src/backends/tna/fit/index.ts";
import { lowerTna } from "../../../src/backends/tna/lower.ts";
import { findCompilers, type Verification, verifyTna } from "../../../src/backends/tna/verify/index.ts";
import type { Program } from "../../../src/ir/index.ts";
import { composition, outcomeOf } from "../random/compositions.ts";
import { attempt, broken, randomTna } from "./randomtna.ts";

const found = findCompilers(process.env);
const compilers = typeof found === "string" ? undefined : found;
const isLong = process.env.GRADPLANE_LONG_TESTS !== undefined;
/**
 * How many programs of each kind the real compiler gets, at up to a minute each, from the seed GRADPLANE_RANDOM_SEED on: with
 * GRADPLANE_LONG_TESTS 500, or as many as GRADPLANE_RANDOM_TNA says.
 */
const wanted = Number(process.env.GRADPLANE_RANDOM_TNA ?? (isLong ? "500" : "0"));
const first = Number(process.env.GRADPLANE_RANDOM_SEED ?? "1");
const MINUTES = 60_000;
const LANES = 8;

const kinds: Readonly<Record<string, (seed: number) => Program | undefined>> = {
  "plain programs": (seed) => randomTna(`r${seed}`, seed),
  "programs with externs and further passes": (seed) => randomTna(`r${seed}`, seed, true),
  // Those that no Tofino takes are not for the compiler.
  "compositions of the features": (seed) => {
    const outcome = outcomeOf(composition(`composition_${seed}`, seed, { faults: false, lanes: LANES }));
    return outcome.kind === "built" && outcome.tna.length === 0 ? outcome.program.ir : undefined;
  },
};

function filesOf(p: Program): ReadonlyMap<string, string> {
  return new Map(
    [...generate(p, { targets: ["tna"] })].flatMap(([path, text]): readonly [string, string][] =>
      typeof text === "string" && path.startsWith("tna/") && path.endsWith(".p4")
        ? [[path.slice("tna/".length), text]]
        : [],
    ),
  );
}

/** What is not as it should be: the compiler refuses, or warns. */
function complaint(v: Verification): string | undefined {
  if (v.kind === "refused") return `refused by ${v.by}: ${v.messages.map((m) => m.text).join("; ")}`;
  return v.warnings.length === 0 ? undefined : `warned of: ${v.warnings.map((m) => m.text).join("; ")}`;
}

describe("random programs for Tofino", () => {
  it.each([false, true])("break a rule less often than twice in five (with externs: %s)", (hasExtras) => {
    const seeds = Array.from({ length: 60 }, (_, i) => i + 1);
    const accepted = seeds.filter((seed) => broken(attempt(`r${seed}`, seed, hasExtras)).length === 0);
    expect(accepted.length).toBeGreaterThanOrEqual((seeds.length * 3) / 5);
  });

  describe.runIf(compilers !== undefined && wanted > 0)(
    "p4c-barefoot and bfas take what the checks take, without a word",
    () => {
      it.each(Object.keys(kinds))(
        `${wanted} %s`,
        async (kind) => {
          if (compilers === undefined) return;
          const failures: string[] = [];
          for (let seed = first; seed < first + wanted; seed++) {
            const p = kinds[kind]?.(seed);
            if (p === undefined) continue;
            const said = complaint(await verifyTna(filesOf(p), `${p.name}.p4`, compilers));
            if (said === undefined) continue;
            const { verdict, stages } = fitReport(lowerTna(p));
            failures.push(`seed ${seed} (estimate: ${verdict}, ${stages} stages): ${said}`);
          }
          expect(failures.join("\n")).toBe("");
        },
        wanted * 5 * MINUTES,
      );
    },
  );
});
