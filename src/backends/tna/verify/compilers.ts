import { spawn } from "node:child_process";
import { isExecutable, onPath } from "../../onpath.ts";

/** The two programs that make a Tofino binary of P4, both of p4lang/p4c (backends/tofino). */
export interface Compilers {
  /** p4c-barefoot: P4 to assembly. */
  readonly compiler: string;
  /** bfas: assembly to a binary. It alone refuses what needs too many stages. */
  readonly assembler: string;
}

const PROGRAMS = {
  compiler: { variable: "P4C_BAREFOOT", program: "p4c-barefoot" },
  assembler: { variable: "BFAS", program: "bfas" },
} as const;

/**
 * Finds them by the environment's P4C_BAREFOOT and BFAS, or on its PATH. When one is missing, the result is a line for the user.
 */
export function findCompilers(environment: NodeJS.ProcessEnv): Compilers | string {
  const compiler = find(PROGRAMS.compiler, environment);
  const assembler = find(PROGRAMS.assembler, environment);
  if (compiler !== undefined && assembler !== undefined) return { compiler, assembler };
  const missing = [
    ...(compiler === undefined ? [PROGRAMS.compiler] : []),
    ...(assembler === undefined ? [PROGRAMS.assembler] : []),
  ];
  return (
    `${missing.map((m) => m.program).join(" and ")} not found: build them from github.com/p4lang/p4c (backends/tofino), ` +
    `then put them on the PATH or name them in ${missing.map((m) => m.variable).join(" and ")}`
  );
}

function find(
  { variable, program }: { readonly variable: string; readonly program: string },
  environment: NodeJS.ProcessEnv,
): string | undefined {
  const named = environment[variable];
  if (named === undefined || named === "") return onPath(program, environment.PATH);
  return isExecutable(named) ? named : undefined;
}

export interface Ran {
  /** Exit code; undefined when a signal ended the process or it never ran. */
  readonly code: number | undefined;
  /** Why there is no exit code. */
  readonly ended?: string;
  /** stdout and stderr as they came. */
  readonly output: string;
}

/** Runs a program to its end. It is killed after `limit` milliseconds. */
export function run(program: string, args: readonly string[], folder: string, limit: number): Promise<Ran> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    const child = spawn(program, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
    const timer = setTimeout(() => child.kill("SIGKILL"), limit);
    child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
    child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
    let failure: string | undefined;
    child.on("error", (error) => {
      failure = error.message;
    });
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      const ended = failure ?? (signal === null ? undefined : `ended by ${signal}`);
      resolve({
        code: failure === undefined ? (code ?? undefined) : undefined,
        ...(ended === undefined ? {} : { ended }),
        output: Buffer.concat(chunks).toString("utf8"),
      });
    });
  });
}
