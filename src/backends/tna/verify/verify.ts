import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Compilers, type Ran, run } from "./compilers.ts";
import {
  type Chip,
  containerFigures,
  type Figures,
  ReportError,
  stageFigures,
  stagesOfAssembly,
  TOFINO_1,
} from "./figures.ts";
import { type CompilerMessage, compilerMessages } from "./messages.ts";

/** The answer of the real compiler to a program. */
export type Verification =
  | { readonly kind: "fits"; readonly figures: Figures; readonly warnings: readonly CompilerMessage[] }
  | {
      readonly kind: "refused";
      readonly by: "p4c-barefoot" | "bfas" | "stages";
      readonly messages: readonly CompilerMessage[];
      /** What it would need, as far as the compiler came. */
      readonly figures?: Figures;
    };

export interface VerifyOptions {
  /** Milliseconds for each of the two programs; default half an hour. */
  readonly limit?: number;
  /** Where to leave what the two wrote; default: it is removed. */
  readonly keepIn?: string;
  /** Default: Tofino 1. */
  readonly chip?: Chip;
}

const HALF_AN_HOUR = 1_800_000;

/**
 * Compiles the emitted P4 of a program for a Tofino and assembles the result. A program fits when both programs end with 0, there is a
 * binary, and the assembly uses at most the stages that there are: p4c-barefoot ends with 0 for programs that need more.
 *
 * @param files paths within the target's folder and their texts, as `tnaFiles` makes them
 */
export async function verifyTna(
  files: ReadonlyMap<string, string>,
  main: string,
  compilers: Compilers,
  options: VerifyOptions = {},
): Promise<Verification> {
  const scratch = options.keepIn ?? mkdtempSync(join(tmpdir(), "gradplane-verify-"));
  try {
    const source = join(scratch, "p4");
    for (const [path, text] of files) {
      const file = join(source, path);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    return await verifyIn(
      scratch,
      source,
      main,
      compilers,
      options.limit ?? HALF_AN_HOUR,
      options.chip ?? TOFINO_1,
    );
  } finally {
    if (options.keepIn === undefined) rmSync(scratch, { recursive: true, force: true });
  }
}

async function verifyIn(
  scratch: string,
  source: string,
  main: string,
  { compiler, assembler }: Compilers,
  limit: number,
  chip: Chip,
): Promise<Verification> {
  const out = join(scratch, "out");
  const flags = ["--target", chip.target, "--arch", chip.arch, "-g", "-o", out];
  const compiled = await run(compiler, [...flags, main], source, limit);
  const assembly = findFile(out, (name) => name.endsWith(".bfa"));
  const figures = assembly === undefined ? undefined : figuresIn(dirname(assembly), assembly);
  const withFigures = figures === undefined ? {} : { figures };
  if (compiled.code !== 0 || assembly === undefined)
    return {
      kind: "refused",
      by: "p4c-barefoot",
      messages: reasons(compiled, "p4c-barefoot"),
      ...withFigures,
    };

  const folder = dirname(assembly);
  const assembled = await run(assembler, ["-o", ".", assembly], folder, limit);
  const binary = findFile(folder, (name) => name === `${chip.target}.bin`);
  if (assembled.code !== 0 || binary === undefined)
    return { kind: "refused", by: "bfas", messages: reasons(assembled, "bfas"), ...withFigures };
  if (figures === undefined) return { kind: "refused", by: "p4c-barefoot", messages: [noReport()] };
  if (figures.stages > chip.stages || figures.stages === 0)
    return {
      kind: "refused",
      by: "stages",
      messages: [{ severity: "error", text: `${figures.stages} stages, and there are ${chip.stages}` }],
      figures,
    };
  const warnings = compilerMessages(compiled.output).filter((m) => m.severity === "warning");
  return { kind: "fits", figures, warnings };
}

function noReport(): CompilerMessage {
  return { severity: "error", text: "p4c-barefoot ended well and wrote no report of what it placed" };
}

/** Why a program ended badly: its own errors, or that it said none. */
function reasons(ran: Ran, program: string): readonly CompilerMessage[] {
  const errors = compilerMessages(ran.output).filter((m) => m.severity === "error");
  if (errors.length > 0) return errors;
  const said = ran.output.trim();
  const how = ran.ended ?? (ran.code === 0 ? "ended with 0 and without a result" : `ended with ${ran.code}`);
  return [{ severity: "error", text: `${program} ${how}${said === "" ? "" : `: ${said}`}` }];
}

function figuresIn(folder: string, assembly: string): Figures | undefined {
  const resources = join(folder, "logs", "resources.json");
  const containers = join(folder, "logs", "phv.json");
  if (!existsSync(resources)) return undefined;
  try {
    return {
      stages: stagesOfAssembly(readFileSync(assembly, "utf8")),
      perStage: stageFigures(readFileSync(resources, "utf8")),
      containers: existsSync(containers) ? containerFigures(readFileSync(containers, "utf8")) : [],
    };
  } catch (error) {
    if (error instanceof ReportError) return undefined;
    throw error;
  }
}

function findFile(folder: string, isIt: (name: string) => boolean): string | undefined {
  if (!existsSync(folder)) return undefined;
  const found = readdirSync(folder, { recursive: true, encoding: "utf8" }).find((path) =>
    isIt(path.split(/[\\/]/).at(-1) ?? ""),
  );
  return found === undefined ? undefined : join(folder, found);
}
