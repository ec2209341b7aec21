/**
 * Whole processes: `gradplane build` of each example, all targets, beside p4c-bm2-ss on the P4 that it wrote. In turns, best of three each
 * (or as many as the number given): time on the clock, which other work on the machine makes longer, and time of processors, user and
 * system, which counts both threads of the build.
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

interface Seconds {
  readonly clock: number;
  /** Of the process and its children, by bash. */
  readonly processors: number;
}

function seconds(command: string, args: readonly string[]): Seconds {
  const start = performance.now();
  const timed = ["-c", 'TIMEFORMAT="%U %S"; time "$@"', "bash", command, ...args];
  const { status, stderr } = spawnSync("bash", timed, { cwd: root, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr}`);
  const [user = 0, system = 0] = (stderr.trimEnd().split("\n").at(-1) ?? "").split(" ").map(Number);
  return { clock: (performance.now() - start) / 1000, processors: user + system };
}

const examples = readdirSync(join(root, "examples"))
  .filter((folder) => existsSync(join(root, "examples", folder, "program.ts")))
  .map((folder) => ({ folder, name: folder.replaceAll("-", "_") }));
const build = (folder: string): Seconds =>
  seconds(process.execPath, ["bin/gradplane.js", "build", `examples/${folder}/program.ts`, "--out", out]);
// The first run of a clone puts its sources together.
const [first] = examples;
if (first !== undefined) build(first.folder);

const least = (runs: readonly Seconds[]): Seconds => ({
  clock: Math.min(...runs.map((r) => r.clock)),
  processors: Math.min(...runs.map((r) => r.processors)),
});
const text = ({ clock, processors }: Seconds): string =>
  `${clock.toFixed(2)} s (${processors.toFixed(2)} s of processors)`;

for (const { folder, name } of examples) {
  const ours: Seconds[] = [];
  const theirs: Seconds[] = [];
  for (let i = 0; i < rounds; i++) {
    ours.push(build(folder));
    if (p4c === undefined) continue;
    const source = join(out, name, "v1model", `${name}.p4`);
    theirs.push(seconds(p4c, ["--arch", "v1model", "-o", join(out, "p4c.json"), source]));
  }
  const [own, other] = [least(ours), least(theirs)];
  const ratio =
    p4c === undefined
      ? ""
      : `   p4c-bm2-ss ${text(other)}   ratio ${(other.clock / own.clock).toFixed(2)} (${(other.processors / own.processors).toFixed(2)})`;
  console.log(`${name.padEnd(14)} gradplane build ${text(own)}${ratio}`);
}
rmSync(out, { recursive: true });
console.log(
  p4c === undefined
    ? "p4c-bm2-ss is not here (P4C): no comparison"
    : "ratios: on the clock (of processors); above 1 gradplane takes less",
);
