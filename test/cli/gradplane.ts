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
