/**
 * Whole processes: `gradplane build` of the Libra program beside p4c-bm2-ss on the P4 that it wrote. Best of five each, in turns.
 * Run: npx tsx bench/generate/build.ts   (p4c-bm2-ss by P4C or PATH)
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { realTool } from "../realtools.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const out = mkdtempSync(join(tmpdir(), "gradplane-"));
const p4c = realTool("P4C", "p4c-bm2-ss");

function seconds(command: string, args: readonly string[]): number {
  const start = performance.now();
  const { status, stderr } = spawnSync(command, args, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr}`);
  return (performance.now() - start) / 1000;
}

const ours: number[] = [];
const theirs: number[] = [];
for (let i = 0; i < 5; i++) {
  ours.push(
    seconds(process.execPath, ["bin/gradplane.js", "build", "examples/libra/program.ts", "--out", out]),
  );
  if (p4c === undefined) continue;
  theirs.push(
    seconds(p4c, ["--arch", "v1model", "-o", join(out, "p4c.json"), join(out, "libra/v1model/libra.p4")]),
  );
}
rmSync(out, { recursive: true });
const best = Math.min(...ours);
console.log(`gradplane build   ${best.toFixed(2)} s`);
if (p4c === undefined) console.log("p4c-bm2-ss is not here (P4C): no comparison");
else
  console.log(
    `p4c-bm2-ss        ${Math.min(...theirs).toFixed(2)} s\nratio             ${(Math.min(...theirs) / best).toFixed(2)} (above 1: we are faster)`,
  );
