import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { type GeneratedFiles, generate } from "../backends/index.ts";
import { frame } from "./check.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import { loadProgram } from "./load.ts";
import { parse, type Verb } from "./verb.ts";

const TARGETS = ["v1model", "all"];

export const build: Verb = {
  help: `Usage: gradplane build PROGRAM.ts [--target v1model|all] [--out DIR]

Checks the program and writes DIR/NAME/: v1model/*.p4, NAME.json (BMv2), p4info.txtpb, p4info.bin, packets.md.
The same program gives the same bytes.

  --target T  what to generate for; default all
  --out DIR   where the folder NAME goes; default p4out

Example:
  gradplane build examples/libra/program.ts --out /tmp/p4out`,
  async run(args) {
    const { values, positionals } = parse("build", args, {
      target: { type: "string", default: "all" },
      out: { type: "string", default: "p4out" },
    });
    const [file] = positionals;
    if (file === undefined || positionals.length > 1)
      throw new UserError("name one program: gradplane build PROGRAM.ts");
    if (!TARGETS.includes(values.target)) {
      throw new UserError(`--target is "${values.target}"; it is one of ${TARGETS.join(", ")}`);
    }
    const program = await loadProgram(file);
    for (const warning of program.warnings) process.stderr.write(`${frame(warning)}\n\n`);
    const files = generate(program.ir);
    const folder = join(values.out, program.name);
    writeFiles(folder, files);
    const bytes = [...files.values()].reduce((sum, f) => sum + Buffer.byteLength(f), 0);
    for (const path of files.keys()) process.stdout.write(`${join(folder, path)}\n`);
    process.stdout.write(`${files.size} files, ${bytes} bytes\n`);
  },
};

/** Writes generated files below a folder. */
export function writeFiles(folder: string, files: GeneratedFiles): void {
  try {
    for (const [path, content] of files) {
      const full = join(folder, path);
      mkdirSync(dirname(full), { recursive: true });
      writeFileSync(full, content);
    }
  } catch (error) {
    throw new EnvironmentError(
      `cannot write below ${folder}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
