import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { checkTna, type GeneratedFiles, generateAll, type TargetName } from "../backends/index.ts";
import { figuresText, findCompilers, findingsOf, verifyTna } from "../backends/tna/verify/index.ts";
import type { SwitchProgram } from "../dsl/program.ts";
import { ProgramError } from "../dsl/programerror.ts";
import { severityOf } from "../ir/diagnostics.ts";
import { frame } from "./check.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import { loadProgram } from "./load.ts";
import { onlyFile, parse, type Verb } from "./verb.ts";

const TARGETS: ReadonlyMap<string, readonly TargetName[]> = new Map([
  ["v1model", ["v1model"]],
  ["tna", ["tna"]],
  ["all", ["v1model"]],
]);

export const build: Verb = {
  help: `Usage: gradplane build PROGRAM.ts [--target v1model|tna|all] [--out DIR] [--verify]

Checks the program and writes below DIR/NAME: v1model/*.p4, NAME.json (BMv2), p4info.txtpb, p4info.bin, packets.md,
bindings.ts (a typed P4Runtime client), NAME.lua (a Wireshark dissector). The same program gives the same bytes.

  --target T  what to generate for; default all, which is v1model; tna writes tna/*.p4 for Tofino 1,
              which no Tofino compiler has confirmed yet
  --out DIR   where the folder NAME goes; default p4out
  --verify    with --target tna: compile and assemble what was written with p4c-barefoot and bfas (named by P4C_BAREFOOT
              and BFAS, or on the PATH), and print the stages and memories that it takes; minutes for a full switch

Example:
  gradplane build examples/libra/program.ts --out /tmp/p4out`,
  async run(args) {
    const { values, positionals } = parse("build", args, {
      target: { type: "string", default: "all" },
      out: { type: "string", default: "p4out" },
      verify: { type: "boolean", default: false },
    });
    const file = onlyFile("build", positionals);
    const targets = TARGETS.get(values.target);
    if (targets === undefined) {
      throw new UserError(`--target is "${values.target}"; it is one of ${[...TARGETS.keys()].join(", ")}`);
    }
    if (values.verify && !targets.includes("tna")) {
      throw new UserError("--verify asks Tofino's compiler: add --target tna");
    }
    const program = await loadProgram(file);
    refuseWhatTargetsLack(program, targets);
    for (const warning of program.warnings) process.stderr.write(`${frame(warning)}\n\n`);
    const files = await generateAll(program.ir, { targets });
    const folder = join(values.out, program.name);
    writeFiles(folder, files);
    const bytes = [...files.values()].reduce((sum, f) => sum + Buffer.byteLength(f), 0);
    for (const path of files.keys()) process.stdout.write(`${join(folder, path)}\n`);
    process.stdout.write(`${files.size} files, ${bytes} bytes\n`);
    if (values.verify) await verify(program, files);
  },
};

/** Asks the real compiler. @throws ProgramError with what it refuses, EnvironmentError when it is not there */
async function verify({ name, ir }: SwitchProgram, files: GeneratedFiles): Promise<void> {
  const compilers = findCompilers(process.env);
  if (typeof compilers === "string") throw new EnvironmentError(`cannot verify: ${compilers}`);
  const p4 = new Map(
    [...files].flatMap(([path, text]): readonly [string, string][] =>
      path.startsWith("tna/") && typeof text === "string" ? [[path.slice("tna/".length), text]] : [],
    ),
  );
  if (process.stderr.isTTY) process.stderr.write("compiling for Tofino ...\n");
  const verification = await verifyTna(p4, `${name}.p4`, compilers);
  if (verification.figures !== undefined) process.stdout.write(`${figuresText(verification.figures)}\n`);
  if (verification.kind === "fits") return;
  const [first, ...others] = findingsOf(verification.messages, ir, p4);
  if (first !== undefined) throw new ProgramError(first, ...others);
}

/** What one target alone refuses stops nobody who builds for another. @throws ProgramError */
function refuseWhatTargetsLack(program: SwitchProgram, targets: readonly TargetName[]): void {
  const found = [...program.warnings, ...(targets.includes("tna") ? checkTna(program.ir) : [])];
  const [first, ...others] = found.filter(
    (d) => severityOf(d) === "error" && targets.some((t) => t === d.target),
  );
  if (first !== undefined) throw new ProgramError(first, ...others);
}

/** Writes generated files below a folder. @throws EnvironmentError that names the folder */
function writeFiles(folder: string, files: GeneratedFiles): void {
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
