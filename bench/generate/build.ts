/**
 * Whole processes: `gradplane build` of each example, all targets, beside p4c-bm2-ss on the P4 that it wrote. In turns, best of three each
 * (or as many as the number given).
 * Run: npx tsx bench/generate/build.ts [ROUNDS]   (p4c-bm2-ss by P4C or PATH)
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { realTool } from "../realtools.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const out = mkdtempSync(join(tmpdir(), "gradplane-"));
const p4c = realTool("P4C", "p4c-bm2-ss");
const rounds = Number(process.argv[2] ?? 3);

function seconds(command: string, args: readonly string[]): number {
  const start = performance.now();
  const { status, stderr } = spawnSync(command, args, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr}`);
  return (performance.now() - start) / 1000;
}

const examples = readdirSync(join(root, "examples"))
  .filter((folder) => existsSync(join(root, "examples", folder, "program.ts")))
  .map((folder) => ({ folder, name: folder.replaceAll("-", "_") }));
const build = (folder: string): number =>
  seconds(process.execPath, ["bin/gradplane.js", "build", `examples/${folder}/program.ts`, "--out", out]);
// The first run of a clone puts its sources together.
const [first] = examples;
if (first !== undefined) build(first.folder);

for (const { folder, name } of examples) {
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let i = 0; i < rounds; i++) {
    ours.push(build(folder));
    if (p4c === undefined) continue;
    const source = join(out, name, "v1model", `${name}.p4`);
    theirs.push(seconds(p4c, ["--arch", "v1model", "-o", join(out, "p4c.json"), source]));
  }
  const [own, other] = [Math.min(...ours), Math.min(...theirs)];
  const ratio =
    p4c === undefined
      ? ""
      : `   p4c-bm2-ss ${other.toFixed(2)} s   ratio ${(other / own).toFixed(2)} (above 1: we are faster)`;
  console.log(`${name.padEnd(14)} gradplane build ${own.toFixed(2)} s${ratio}`);
}
rmSync(out, { recursive: true });
if (p4c === undefined) console.log("p4c-bm2-ss is not here (P4C): no comparison");
