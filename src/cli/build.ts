import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { checkTna, checkTna2, type GeneratedFiles, generateAll, type TargetName } from "../backends/index.ts";
import { type Chip, TOFINO_1, TOFINO_2 } from "../backends/tna/verify/figures.ts";
import type { SwitchProgram } from "../dsl/program.ts";
import { ProgramError } from "../dsl/programerror.ts";
import { type Diagnostic, severityOf } from "../ir/diagnostics.ts";
import { frame } from "./check.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import { loadProgram } from "./load.ts";
import { parse, type Verb } from "./verb.ts";

const TARGETS: ReadonlyMap<string, readonly TargetName[]> = new Map([
  ["v1model", ["v1model"]],
  ["tna", ["tna"]],
  ["tna2", ["tna2"]],
  ["all", ["v1model", "tna"]],
]);

export const build: Verb = {
  help: `Usage: gradplane build PROGRAM.ts ... [--target v1model|tna|tna2|all] [--out DIR] [--verify]

Checks the program and writes below DIR/NAME: v1model/*.p4, NAME.json (BMv2), p4info.txtpb, p4info.bin, tna/*.p4,
tna/NAME.json with its tna/p4info.* (gradplane switch --personality tna), tna/stages.svg (Tofino 1), tables.json (for
gradplane p4rt fill), report.md, sourcemap.json (for gradplane where), packets.md, bindings.ts (a typed P4Runtime client), NAME.lua (a Wireshark dissector). The same program gives the same bytes.

  --target T  what to generate for; an error when the target lacks something that the program needs.
              Without it: v1model, and tna when Tofino has all that the program needs. tna2 is Tofino 2, with more stages: tna2/*.p4
              with its p4info.* and stages.svg
  --out DIR   where the folder NAME goes; default p4out
  --verify    with --target tna or tna2: compile and assemble what was written with p4c-barefoot and bfas (named by P4C_BAREFOOT
              and BFAS, or on the PATH), and print the stages and memories that it takes beside those estimated; minutes for
              a full switch. The compiler then has the last word on whether the program fits

Example:
  gradplane build examples/libra/program.ts --out /tmp/p4out`,
  async run(args) {
    const { values, positionals } = parse("build", args, {
      target: { type: "string" },
      out: { type: "string", default: "p4out" },
      verify: { type: "boolean", default: false },
    });
    const asked = values.target === undefined ? undefined : TARGETS.get(values.target);
    if (values.target !== undefined && asked === undefined) {
      throw new UserError(`--target is "${values.target}"; it is one of ${[...TARGETS.keys()].join(", ")}`);
    }
    if (values.verify && asked?.some((t) => t !== "v1model") !== true) {
      throw new UserError("--verify asks Tofino's compiler: add --target tna");
    }
    if (positionals.length === 0) throw new UserError("name a program: gradplane build PROGRAM.ts");
    for (const file of positionals) {
      const program = await loadProgram(file);
      const files = buildProgram(program, asked, values.out, values.verify);
      if (values.verify) await verify(program, files, asked?.includes("tna2") === true ? TOFINO_2 : TOFINO_1);
    }
  },
};

/** Generates, writes and lists. Without `asked`, for each target that has what the program needs. @throws ProgramError */
function buildProgram(
  program: SwitchProgram,
  asked: readonly TargetName[] | undefined,
  out: string,
  isVerified: boolean,
): GeneratedFiles {
  for (const warning of program.warnings.filter((d) => severityOf(d) === "warning"))
    process.stderr.write(`${frame(warning)}\n\n`);
  const lacks = lacking(program, asked).filter((d) => !isVerified || d.code !== "GP1850");
  const [first, ...others] = lacks.filter(
    (d) => d.target !== undefined && (asked ?? ["v1model"]).some((t) => t.startsWith(d.target ?? "")),
  );
  if (first !== undefined) throw new ProgramError(first, ...others);
  const targets = asked ?? (lacks.some((d) => d.target === "tna") ? ["v1model"] : ["v1model", "tna"]);
  if (!targets.includes("tna") && asked === undefined)
    process.stderr.write(
      `${lacks.map(frame).join("\n\n")}\n\nnot built for tna, which lacks what the above needs\n\n`,
    );
  const files = generateAll(program.ir, { targets });
  const folder = join(out, program.name);
  writeFiles(folder, files);
  const bytes = [...files.values()].reduce((sum, f) => sum + Buffer.byteLength(f), 0);
  for (const path of files.keys()) process.stdout.write(`${join(folder, path)}\n`);
  process.stdout.write(`${files.size} files, ${bytes} bytes\n`);
  return files;
}

/** Errors that only one target has. */
function lacking(program: SwitchProgram, asked: readonly TargetName[] | undefined): readonly Diagnostic[] {
  const onTofino = asked?.includes("tna2") === true ? checkTna2(program.ir) : checkTna(program.ir);
  return [...program.warnings, ...onTofino].filter(
    (d) => severityOf(d) === "error" && d.target !== undefined,
  );
}

/** Asks the real compiler. @throws ProgramError with what it refuses, EnvironmentError when it is not there */
async function verify(program: SwitchProgram, files: GeneratedFiles, chip: Chip): Promise<void> {
  const { askCompiler, throwRefusal } = await import("./verification.ts");
  const { fitReport, fitText } = await import("../backends/tna/fit/index.ts");
  const { lowerTna } = await import("../backends/tna/lower.ts");
  const verification = await askCompiler(program, files, chip);
  if (verification.figures !== undefined) {
    const report = fitReport(lowerTna(program.ir), chip);
    process.stdout.write(`${fitText(report, { real: verification.figures, root: process.cwd() })}\n`);
  }
  throwRefusal(verification, program);
}

/** Writes generated files below a folder. @throws EnvironmentError that names the folder */
function writeFiles(folder: string, files: GeneratedFiles): void {
  try {
    const folders = new Set([...files.keys()].map((path) => dirname(join(folder, path))));
    for (const needed of folders) mkdirSync(needed, { recursive: true });
    for (const [path, content] of files) {
      const full = join(folder, path);
      if (!isAlready(full, content)) writeFileSync(full, content);
    }
  } catch (error) {
    throw new EnvironmentError(
      `cannot write below ${folder}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** Whether a file has this content: then nobody has to see a change, and writing over a file takes many times longer than reading it. */
function isAlready(file: string, content: string | Uint8Array): boolean {
  try {
    return readFileSync(file).equals(Buffer.from(content));
  } catch {
    return false;
  }
}
