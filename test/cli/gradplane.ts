import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));
export const executable = `${root}bin/gradplane.js`;

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  /** What it has written so far. */
  readonly said: { stdout: string; stderr: string };
  /** Resolves when it has ended and all is read. */
  readonly end: Promise<Ended>;
}

/** Starts `gradplane` as a user does, in a folder; the repository's unless given. */
export function start(
  args: readonly string[],
  cwd = root,
  program = executable,
  environment: NodeJS.ProcessEnv = {},
): Running {
  const env = { ...process.env, ...environment };
  const child = spawn(process.execPath, [program, ...args], { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said.stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said.stderr += text;
  });
  const end = once(child, "close").then(() => ({ status: child.exitCode, ...said }));
  return { child, said, end };
}

/** Runs `gradplane` to its end. */
export function gradplane(
  args: readonly string[],
  cwd?: string,
  program?: string,
  environment?: NodeJS.ProcessEnv,
): Promise<Ended> {
  return start(args, cwd, program, environment).end;
}

/**
 * What `gradplane` says to command lines that are run one after another in one process, for tests of many of them. It has to end by itself,
 * within a limit: none of them may leave anything open.
 */
export async function inTurn(
  commands: readonly (readonly string[])[],
  { cwd = root, limit = 300_000 } = {},
): Promise<readonly Ended[]> {
  const script = fileURLToPath(new URL("./inturn.js", import.meta.url));
  const running = start([JSON.stringify(commands)], cwd, script);
  const timer = setTimeout(() => running.child.kill("SIGKILL"), limit);
  const { status, stdout, stderr } = await running.end;
  clearTimeout(timer);
  if (status !== 0) throw new Error(`it ended with ${status}: ${stderr}${stdout}`);
  return JSON.parse(stdout);
}
