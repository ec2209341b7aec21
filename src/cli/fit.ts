import { writeFileSync } from "node:fs";
import { generate } from "../backends/index.ts";
import { type FitReport, fitReport, fitText, stageMap } from "../backends/tna/fit/index.ts";
import { lowerTna } from "../backends/tna/lower.ts";
import { ProgramError } from "../dsl/programerror.ts";
import { EnvironmentError } from "./exit.ts";
import { loadProgram } from "./load.ts";
import { onlyFile, parse, type Verb } from "./verb.ts";
import { askCompiler, throwRefusal } from "./verification.ts";

export const fit: Verb = {
  help: `Usage: gradplane fit PROGRAM.ts [--json] [--svg FILE] [--verify]

Estimates what a program takes of a Tofino 1: for each stage logical tables, stateful ALUs, memories and live bits, and the chain of
tables that costs the most stages, in the program's own names and lines. No compiler is needed. Exits with 1 when it does not fit.

  --json       the report as JSON on stdout
  --svg FILE   a map of the stages with their tables
  --verify     asks p4c-barefoot and bfas (named by P4C_BAREFOOT and BFAS, or on the PATH), and prints estimated/real; minutes
               for a full switch

Example:
  gradplane fit examples/dlcp/program.ts --svg /tmp/dlcp.svg`,
  async run(args) {
    const { values, positionals } = parse("fit", args, {
      json: { type: "boolean", default: false },
      svg: { type: "string" },
      verify: { type: "boolean", default: false },
    });
    const program = await loadProgram(onlyFile("fit", positionals));
    const report = reportOf(program.ir);
    if (values.svg !== undefined) write(values.svg, stageMap(report));
    const files = values.verify ? generate(program.ir, { targets: ["tna"] }) : undefined;
    const verification = files === undefined ? undefined : await askCompiler(program, files);
    const real = verification?.figures;
    if (values.json)
      process.stdout.write(`${JSON.stringify(real === undefined ? report : { ...report, real }, null, 2)}\n`);
    else
      process.stdout.write(
        `${fitText(report, { root: process.cwd(), ...(real === undefined ? {} : { real }) })}\n`,
      );
    if (verification !== undefined) throwRefusal(verification, program);
    else if (report.verdict === "no") process.exitCode = 1;
  },
};

/** @throws ProgramError when Tofino lacks what the program needs */
function reportOf(ir: Parameters<typeof lowerTna>[0]): FitReport {
  const lowered = lowerTna(ir);
  const [first, ...others] = lowered.findings;
  if (first !== undefined) throw new ProgramError(first, ...others);
  return fitReport(lowered);
}

function write(file: string, text: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new EnvironmentError(
      `cannot write ${file}: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
