/**
 * Compiles the programs of `measured.ts` with p4c-barefoot and writes what it placed to `measured.json`: those named, or all whose P4
 * has changed since. Hours for all of them. Then `npm run format`.
 * Run: npx tsx test/backends/tna/fit/measure.ts [NAME ...]
 */
import { writeFileSync } from "node:fs";
import { findCompilers, verifyTna } from "../../../../src/backends/tna/verify/index.ts";
import { emitted, MEASURED, type Measured, type MeasuredStage, measured, programs } from "./measured.ts";

const compilers = findCompilers(process.env);
if (typeof compilers === "string") throw new Error(compilers);
const named = process.argv.slice(2);
for (const [name, program] of Object.entries(programs)) {
  const { files, hash } = emitted(program);
  const isWanted = named.length === 0 ? measured()[name]?.p4 !== hash : named.includes(name);
  if (!isWanted) continue;
  const { figures } = await verifyTna(files, `${program.name}.p4`, compilers);
  if (figures === undefined) {
    console.log(`${name}: no figures`);
    continue;
  }
  const stages = figures.perStage
    .slice(0, figures.stages)
    .map((s): MeasuredStage => [s.logicalTables.length, s.statefulAlus, s.sram, s.mapRam, s.tcam]);
  write({ ...measured(), [name]: { p4: hash, stages } });
  console.log(`${name}: ${figures.stages} stages`);
}

function write(all: Readonly<Record<string, Measured>>): void {
  const lines = Object.entries(all)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, m]) => `  ${JSON.stringify(name)}: ${JSON.stringify(m)}`);
  writeFileSync(MEASURED, `{\n${lines.join(",\n")}\n}\n`);
}
