import { readFileSync } from "node:fs";
import { ProgramError } from "../dsl/programerror.ts";
import { build } from "./build.ts";
import { check, frame } from "./check.ts";
import { EnvironmentError, UserError } from "./exit.ts";

import type { Verb } from "./verb.ts";

const verbs: readonly Verb[] = [build, check];

const usage = `gradplane: describe a switch for distributed training in TypeScript; generate, run and control it.

Usage: gradplane VERB ...

${verbs.map((v) => `  ${v.name.padEnd(8)} ${v.summary}`).join("\n")}

gradplane VERB --help tells more. Exit codes: 0 done, 1 a mistake in what was asked, 2 a fault of the environment.

Example:
  gradplane run examples/libra/scenario.ts`;

async function main(args: readonly string[]): Promise<void> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    process.stdout.write(`${usage}\n`);
    if (name === undefined) process.exitCode = 1;
    return;
  }
  if (name === "--version") {
    const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
    const { version }: { version: string } = JSON.parse(text);
    process.stdout.write(`${version}\n`);
    return;
  }
  const verb = verbs.find((v) => v.name === name);
  if (verb === undefined) {
    throw new UserError(`there is no verb "${name}"; the verbs are ${verbs.map((v) => v.name).join(", ")}`);
  }
  const own = rest.slice(0, rest.includes("--") ? rest.indexOf("--") : rest.length);
  if (own.includes("--help") || own.includes("-h")) {
    process.stdout.write(`${verb.help}\n`);
    return;
  }
  await verb.run(rest);
}

/** What went wrong, for people, and the exit code. Only a fault of gradplane itself shows a stack. */
function report(error: unknown): number {
  if (error instanceof ProgramError) {
    process.stderr.write(`${error.diagnostics.map(frame).join("\n\n")}\n`);
    return 1;
  }
  if (error instanceof UserError) {
    process.stderr.write(`gradplane: ${error.message}\n`);
    return 1;
  }
  if (error instanceof EnvironmentError) {
    process.stderr.write(`gradplane: ${error.message}\n`);
    return 2;
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`gradplane: this is a fault of gradplane itself, please report it:\n${text}\n`);
  return 2;
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.exitCode = report(error);
}
