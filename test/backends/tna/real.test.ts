import { describe, expect, it } from "vitest";
import allInOne from "../../../examples/all-in-one/program.ts";
import allreduceInt32, { allreduce } from "../../../examples/allreduce/program.ts";
import libra, { libraFloat } from "../../../examples/libra/program.ts";
import lp from "../../../examples/lp/program.ts";
import p3 from "../../../examples/p3/program.ts";
import router from "../../../examples/router/program.ts";
import { generate } from "../../../src/backends/index.ts";
import { findCompilers, verifyTna } from "../../../src/backends/tna/verify/index.ts";
import { block, fp16, fp32, int32 } from "../../../src/dsl/index.ts";
import type { Program } from "../../../src/ir/index.ts";
import { annotated } from "../annotationsprogram.ts";
import { passes } from "../passesprogram.ts";
import { forwarding } from "../programs.ts";
import { valueSets } from "../valuesetsprogram.ts";
import { tofinoExterns } from "./externsprogram.ts";
import { fullSwitch } from "./fullswitch.ts";
import { nat } from "./natprogram.ts";

const found = findCompilers(process.env);
if (typeof found === "string") console.log(`not tested with real tools: ${found}`);
const compilers = typeof found === "string" ? undefined : found;

/** Minutes each: asked for by name. */
const isLong = process.env.GRADPLANE_LONG_TESTS !== undefined;

const verify = async (p: Program) => {
  if (compilers === undefined) return expect.fail("no compilers");
  const files = new Map(
    [...generate(p, { targets: ["tna"] })].flatMap(([path, text]): readonly [string, string][] =>
      typeof text === "string" && path.startsWith("tna/") ? [[path.slice(4), text]] : [],
    ),
  );
  return verifyTna(files, `${p.name}.p4`, compilers);
};

const MINUTES = 60_000;

describe.skipIf(compilers === undefined)("p4c-barefoot and bfas on the emitted P4", () => {
  it.each([
    ["forwarding", forwarding()],
    ["a router", router.ir],
    ["P3's switch", p3.ir],
    ["hashes, meters, digests, action profiles", tofinoExterns()],
    ["checksums over the payload", nat()],
    ["further passes", passes()],
    ["value sets", valueSets()],
    ["annotations", annotated()],
    ["next hops by flow", lp.ir],
  ])(
    "compile and assemble %s without a word",
    async (_, p) => {
      expect(await verify(p)).toMatchObject({ kind: "fits", warnings: [] });
    },
    20 * MINUTES,
  );

  it.runIf(isLong).each([
    ["libra, 32 lanes", libra.ir],
    ["libra, 8 lanes of float32", libraFloat().ir],
    ["all-reduce, 32 lanes int32", allreduceInt32.ir],
    ["all-reduce, 32 lanes block", allreduce(block).ir],
    ["all in one", allInOne.ir],
    ["everything and 32 lanes int32", fullSwitch(int32, 32)],
    ["everything and 32 lanes block", fullSwitch(block, 32)],
    ["everything and 16 lanes fp16", fullSwitch(fp16(), 16)],
    ["everything and 8 lanes fp32", fullSwitch(fp32({ slices: [8, 8, 7] }), 8)],
  ])(
    "compile and assemble %s, in one pass of at most 12 stages",
    async (_, p) => {
      const verification = await verify(p);
      expect(verification).toMatchObject({ kind: "fits", warnings: [] });
      expect(verification.figures?.stages).toBeLessThanOrEqual(12);
    },
    60 * MINUTES,
  );
});
