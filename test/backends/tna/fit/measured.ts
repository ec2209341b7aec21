import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import allInOne from "../../../../examples/all-in-one/program.ts";
import allreduceInt32, { allreduce } from "../../../../examples/allreduce/program.ts";
import dlcp from "../../../../examples/dlcp/program.ts";
import fabric from "../../../../examples/fabric/program.ts";
import libra, { libraFloat } from "../../../../examples/libra/program.ts";
import lp from "../../../../examples/lp/program.ts";
import ownFeature from "../../../../examples/own-feature/program.ts";
import p3 from "../../../../examples/p3/program.ts";
import router from "../../../../examples/router/program.ts";
import { generate } from "../../../../src/backends/index.ts";
import { block, fp16, fp32, int32 } from "../../../../src/dsl/index.ts";
import type { Program } from "../../../../src/ir/index.ts";
import { fullSwitch } from "../fullswitch.ts";

/** Programs whose estimate is compared with the compiler's figures. */
export const programs: Readonly<Record<string, Program>> = {
  router: router.ir,
  p3: p3.ir,
  dlcp: dlcp.ir,
  libra: libra.ir,
  libra_float: libraFloat().ir,
  all_in_one: allInOne.ir,
  allreduce: allreduceInt32.ir,
  allreduce_block: allreduce(block).ir,
  fabric: fabric.ir,
  lp: lp.ir,
  own_feature: ownFeature.ir,
  full_int32_32: fullSwitch(int32, 32, "full_int32_32"),
  full_block_32: fullSwitch(block, 32, "full_block_32"),
  full_fp16_16: fullSwitch(fp16(), 16, "full_fp16_16"),
  full_fp32_8: fullSwitch(fp32({ slices: [8, 8, 7] }), 8, "full_fp32_8"),
};

/** Of one stage: logical tables, stateful ALUs, SRAM, map RAM, TCAM blocks. */
export type MeasuredStage = readonly [
  tables: number,
  statefulAlus: number,
  sram: number,
  mapRam: number,
  tcam: number,
];

export interface Measured {
  /** Of the P4 that was compiled. */
  readonly p4: string;
  readonly stages: readonly MeasuredStage[];
}

export const MEASURED = new URL("./measured.json", import.meta.url);

/** What p4c-barefoot made of the programs; `measure.ts` writes it. */
export function measured(): Readonly<Record<string, Measured>> {
  return JSON.parse(readFileSync(MEASURED, "utf8"));
}

/** Emitted P4 by path, and a hash of its text without comments. */
export function emitted(p: Program): { readonly files: ReadonlyMap<string, string>; readonly hash: string } {
  const files = new Map(
    [...generate(p, { targets: ["tna"] })].flatMap(([path, text]): readonly [string, string][] =>
      typeof text === "string" && path.startsWith("tna/") && path.endsWith(".p4")
        ? [[path.slice("tna/".length), text]]
        : [],
    ),
  );
  const hash = createHash("sha256");
  for (const [path, text] of files) hash.update(`${path}\n${text.replace(/\/\/.*$/gm, "")}`);
  return { files, hash: hash.digest("hex").slice(0, 16) };
}
