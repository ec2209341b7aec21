// Runs command lines of gradplane one after another in one process, which costs one start instead of many, and prints what each said
// and the exit code that it set. Nothing ends the process by force: what a verb leaves open keeps it alive, as it would its own.
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { modules } = createRequire(import.meta.url)("../../bin/bundle.js");
const main = pathToFileURL(join(await modules(), "cli/main.js")).href;
const commands = JSON.parse(process.argv[2]);
const [node, program] = process.argv;
const print = process.stdout.write.bind(process.stdout);
process.stdout.setMaxListeners(0);
process.setMaxListeners(0);

const ends = [];
for (const [at, args] of commands.entries()) {
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"])
    process[name].write = (text) => {
      said[name] += text;
      return true;
    };
  process.argv = [node, program, ...args];
  process.exitCode = undefined;
  await (await import(`${main}?${at}`)).ended;
  ends.push({ status: process.exitCode ?? 0, ...said });
}
process.exitCode = 0;
print(JSON.stringify(ends));
