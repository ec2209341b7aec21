import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { BackendError } from "../backends/backenderror.ts";
import { ProgramError } from "../dsl/programerror.ts";
import { didYouMean } from "../p4info/suggest.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import type { Verb } from "./verb.ts";

/** Verbs are loaded when they are asked for: a switch starts without the compiler. */
const verbs: Readonly<Record<string, { readonly summary: string; load(): Promise<Verb> }>> = {
  build: {
    summary: "generate P4_16, BMv2 JSON, P4Info, typed bindings and a dissector from a program",
    load: async () => (await import("./build.ts")).build,
  },
  check: {
    summary: "errors and warnings of a program",
    load: async () => (await import("./check.ts")).check,
  },
  fit: {
    summary: "what a program takes of a Tofino: stages, memories, and the chain that costs most",
    load: async () => (await import("./fit.ts")).fit,
  },
  where: {
    summary: "the line of a program that a line of generated P4 comes from",
    load: async () => (await import("./where.ts")).where,
  },
  bindings: {
    summary: "typed bindings from any P4Info",
    load: async () => (await import("./bindings.ts")).bindingsVerb,
  },
  dissector: {
    summary: "a Wireshark dissector for a program's packets",
    load: async () => (await import("./dissector.ts")).dissectorVerb,
  },
  switch: {
    summary: "the embedded switch with a P4Runtime server, started like simple_switch_grpc",
    load: async () => (await import("./switch.ts")).switchVerb,
  },
  run: {
    summary: "run a scenario: program, switches, controller and hosts in one command",
    load: async () => (await import("./run/run.ts")).run,
  },
  controller: {
    summary: "keep deployed switches as a topology says, with a web page and metrics",
    load: async () => (await import("./controller.ts")).controllerVerb,
  },
  server: {
    summary: "the parameter server of a job, as a process of its own",
    load: async () => (await import("./job/hosts.ts")).serverVerb,
  },
  worker: {
    summary: "a worker of a job, as a process of its own",
    load: async () => (await import("./job/hosts.ts")).workerVerb,
  },
  jobs: {
    summary: "the jobs of a controller, and moving them",
    load: async () => (await import("./job/jobs.ts")).jobsVerb,
  },
  apply: {
    summary: "make deployed switches what a topology says, writing only the difference",
    load: async () => (await import("./fleet.ts")).apply,
  },
  diff: {
    summary: "what apply would write, and what somebody else wrote",
    load: async () => (await import("./fleet.ts")).diff,
  },
  status: {
    summary: "the switches of a topology: reachable, steered by whom, as wanted or not",
    load: async () => (await import("./fleet.ts")).status,
  },
  drain: {
    summary: "keep traffic off a switch, or take it into use again",
    load: async () => (await import("./fleet.ts")).drain,
  },
  lab: {
    summary: "the papers' experiments under a virtual clock: tables, plots, a report",
    load: async () => (await import("./lab.ts")).labVerb,
  },
  cable: {
    summary: "joins a Linux interface with a host that speaks by UDP",
    load: async () => (await import("./cable.ts")).cable,
  },
  p4rt: {
    summary: "P4Runtime by hand: read, write, fill, watch, info, shell, with the names of the program",
    load: async () => (await import("./p4rt/p4rt.ts")).p4rt,
  },
};

const usage = `gradplane: describe a switch for distributed training in TypeScript; generate, run and control it.

Usage: gradplane VERB ...

${Object.entries(verbs)
  .map(([name, v]) => `  ${name.padEnd(10)} ${v.summary}`)
  .join("\n")}

gradplane VERB --help tells more. Exit codes: 0 done, 1 a mistake in what was asked, 2 a fault of the environment.

Example:
  gradplane run examples/libra/scenario.ts`;

async function main(args: readonly string[]): Promise<void> {
  const [name, ...rest] = args;
  if (name === "help" && rest.length > 0) return main([...rest, "--help"]);
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
  const found = verbs[name];
  if (found === undefined) {
    const names = Object.keys(verbs);
    throw new UserError(
      `there is no verb "${name}"${didYouMean(name, names)}; the verbs are ${names.join(", ")}`,
    );
  }
  const verb = await found.load();
  const own = rest.slice(0, rest.includes("--") ? rest.indexOf("--") : rest.length);
  if (own.includes("--help") || own.includes("-h")) {
    const about = await verb.helpAbout?.(own.filter((a) => a !== "--help" && a !== "-h"));
    process.stdout.write(`${about ?? verb.help}\n`);
    return;
  }
  await verb.run(rest);
}

/** What went wrong, for people, and the exit code. Only a fault of gradplane itself shows a stack. */
async function report(error: unknown): Promise<number> {
  if (error instanceof ProgramError) {
    const { frame } = await import("./check.ts");
    process.stderr.write(`${error.diagnostics.map(frame).join("\n\n")}\n`);
    return 1;
  }
  if (error instanceof BackendError) {
    const { code, target, at, message } = error;
    const place =
      at === undefined ? "" : `  --> ${relative(process.cwd(), at.file)}:${at.line}:${at.column}\n`;
    const { errorSection } = await import("../ir/errorpage.ts");
    process.stderr.write(`error ${code} [${target}]: ${message}\n${place}See ${errorSection(code)}.\n`);
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

// Whoever reads the output may stop early: gradplane dissector PROGRAM.ts | head.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

/** Resolves when the verb has ended, and the exit code is set. Not awaited here: the modules may be put together as one that cannot. */
export const ended: Promise<void> = main(process.argv.slice(2)).catch(async (error: unknown) => {
  process.exitCode = await report(error);
});
