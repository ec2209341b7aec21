import { type GeneratedFiles, generate } from "../backends/index.ts";
import { lowerTna } from "../backends/tna/lower.ts";
import { placedTnaFiles } from "../backends/tna/text/files.ts";
import { type Chip, TOFINO_1 } from "../backends/tna/verify/figures.ts";
import { findCompilers, findingsOf, type Verification, verifyTna } from "../backends/tna/verify/index.ts";
import type { SwitchProgram } from "../dsl/program.ts";
import { ProgramError } from "../dsl/programerror.ts";
import { EnvironmentError } from "./exit.ts";

/**
 * Asks Tofino's own compiler and assembler about a program.
 *
 * @throws EnvironmentError when they are not there
 */
export async function askCompiler(
  { name, ir }: SwitchProgram,
  files: GeneratedFiles = generate(ir, { targets: ["tna"] }),
  chip: Chip = TOFINO_1,
): Promise<Verification> {
  const compilers = findCompilers(process.env);
  if (typeof compilers === "string") throw new EnvironmentError(`cannot verify: ${compilers}`);
  if (process.stderr.isTTY) process.stderr.write("compiling for Tofino ...\n");
  return verifyTna(tnaTexts(files, chip), `${name}.p4`, compilers, { chip });
}

/** What it refused, as findings about the user's program. @throws ProgramError */
export function throwRefusal(verification: Verification, { ir }: SwitchProgram): void {
  if (verification.kind === "fits") return;
  const [first, ...others] = findingsOf(verification.messages, ir, placedTnaFiles(lowerTna(ir)));
  if (first !== undefined) throw new ProgramError(first, ...others);
}

function tnaTexts(files: GeneratedFiles, chip: Chip): ReadonlyMap<string, string> {
  const folder = chip === TOFINO_1 ? "tna/" : "tna2/";
  return new Map(
    [...files].flatMap(([path, text]): readonly [string, string][] =>
      path.startsWith(folder) && typeof text === "string" ? [[path.slice(folder.length), text]] : [],
    ),
  );
}
