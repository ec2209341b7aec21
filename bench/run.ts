/**
 * Runs benchmarks, each in a process of its own: all files `bench/AREA/NAME.ts`, or those named. They print their figures and how these
 * compare with something else measured in the same run; the ratios are what to look at, since figures depend on the machine.
 * Run: npm run bench [AREA | AREA/NAME ...]
 */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = new URL("./", import.meta.url);

/** `switch/forwarding` and so on, sorted. */
function benchmarks(): readonly string[] {
  return readdirSync(here, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => readdirSync(new URL(`${name}/`, here)).map((file) => `${name}/${file}`))
    .filter((path) => path.endsWith(".ts"))
    .map((path) => path.slice(0, -".ts".length))
    .sort();
}

const isNamed = (name: string, by: string): boolean => name === by || name.startsWith(`${by}/`);

const all = benchmarks();
const wanted = process.argv.slice(2);
const unknown = wanted.find((by) => !all.some((name) => isNamed(name, by)));
if (unknown === undefined) {
  for (const name of all.filter((n) => wanted.length === 0 || wanted.some((by) => isNamed(n, by)))) {
    console.log(`\n${name}`);
    const file = fileURLToPath(new URL(`${name}.ts`, here));
    const { status } = spawnSync(process.execPath, ["--import", "tsx", file], { stdio: "inherit" });
    if (status !== 0) {
      console.error(`bench/${name}.ts failed`);
      process.exitCode = 1;
    }
  }
} else {
  console.error(`there is no benchmark "${unknown}"; there are ${all.join(", ")}`);
  process.exitCode = 1;
}
