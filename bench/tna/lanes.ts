/**
 * How many lanes each mode has room for on a Tofino 1 in one pass, beside all else that a switch for training does (forwarding, priority,
 * selective drop, spraying, counters), and what there is not enough of for one more. By the estimate, which is quick; with --verify the
 * real compiler says for the largest number and for one more whether they fit, which takes an hour or more.
 * Run: npx tsx bench/tna/lanes.ts [--verify] [MODE ...]   (p4c-barefoot and bfas by P4C_BAREFOOT and BFAS, or PATH)
 */
import { generate } from "../../src/backends/index.ts";
import { fitReport } from "../../src/backends/tna/fit/report.ts";
import { lowerTna } from "../../src/backends/tna/lower.ts";
import { findCompilers, verifyTna } from "../../src/backends/tna/verify/index.ts";
import { bf16, block, fp16, fp32, int32, type NumericMode } from "../../src/dsl/index.ts";
import { fullSwitch } from "../../test/backends/tna/fullswitch.ts";

const modes: readonly (readonly [string, NumericMode])[] = [
  ["int32", int32],
  ["block", block],
  ["fp16", fp16()],
  ["bf16", bf16()],
  ["fp32", fp32({ slices: [8, 8, 7] })],
];

/** The largest number of lanes that the estimate lets pass, and what it says of one more. */
function most(mode: NumericMode): {
  readonly lanes: number;
  readonly stages: number;
  readonly lacks: string;
} {
  let stages = 0;
  for (let lanes = 1; ; lanes++) {
    let lacks: string;
    try {
      const report = fitReport(lowerTna(fullSwitch(mode, lanes)));
      if (report.lacks === undefined) {
        stages = report.stages;
        continue;
      }
      lacks = report.lacks;
    } catch (error) {
      lacks = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    }
    return { lanes: lanes - 1, stages, lacks };
  }
}

async function verified(mode: NumericMode, lanes: number): Promise<string> {
  const compilers = findCompilers(process.env);
  if (typeof compilers === "string") return compilers;
  const p = fullSwitch(mode, lanes);
  const files = new Map(
    [...generate(p, { targets: ["tna"] })].flatMap(([path, text]): readonly [string, string][] =>
      typeof text === "string" && path.startsWith("tna/") ? [[path.slice(4), text]] : [],
    ),
  );
  const answer = await verifyTna(files, `${p.name}.p4`, compilers);
  if (answer.kind === "fits") return `fits, ${answer.figures.stages} stages`;
  return `refused by ${answer.by}: ${answer.messages[0]?.text ?? ""}`;
}

const wanted = process.argv.slice(2).filter((a) => !a.startsWith("--"));
const isVerified = process.argv.includes("--verify");
console.log("| mode | lanes | stages | one more lane |\n|---|---|---|---|");
for (const [name, mode] of modes) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  const { lanes, stages, lacks } = most(mode);
  console.log(`| \`${name}\` | ${lanes} | ${stages} | ${lacks} |`);
  if (!isVerified) continue;
  for (const n of [lanes, lanes + 1]) console.log(`p4c-barefoot, ${n} lanes: ${await verified(mode, n)}`);
}
