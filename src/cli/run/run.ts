import { EnvironmentError, UserError } from "../exit.ts";
import { importFile } from "../load.ts";
import { Progress } from "../progress.ts";
import { fraction, parse, type Verb, wholeNumber } from "../verb.ts";
import { HOST_OPTION, type RunningHost, serveHost, startHostProcess } from "./hostprocess.ts";
import type { Scenario, ScenarioReport } from "./scenario.ts";
import { type RunningSwitch, startSwitchProcess } from "./switchprocess.ts";

export const run: Verb = {
  help: `Usage: gradplane run SCENARIO.ts [--json] [--on embedded|bmv2] [options of the scenario]

Runs a scenario and prints what it found. Exits with 0 when the scenario's own checks hold.

  --json      the figures as JSON on stdout
  --on        what its switches are: gradplane's own, or simple_switch_grpc (SIMPLE_SWITCH_GRPC or PATH); default embedded
  --options   list the scenario's own options, as gradplane run SCENARIO.ts --help does

Examples:
  gradplane run examples/libra/scenario.ts --loss 0.1 --seed 7
  gradplane run examples/libra/scenario.ts --on bmv2 --rounds 10`,
  async helpAbout([file]) {
    if (file === undefined || file.startsWith("-")) return undefined;
    const usage = `Usage: gradplane run ${file} [--json] [options]`;
    return `${usage}\n\n${describeOptions(await loadScenario(file))}\n  --${"json".padEnd(12)} the figures as JSON on stdout`;
  },
  async run(args) {
    const [file, ...rest] = args;
    if (file === undefined || file.startsWith("-"))
      throw new UserError("name a scenario first: gradplane run SCENARIO.ts");
    const found = await loadScenario(file);
    if (rest[0] === HOST_OPTION) {
      await asHost(found, rest[1]);
      return;
    }
    const names = Object.keys(found.options);
    const flags = Object.fromEntries(names.map((name) => [name, { type: "string" as const }]));
    const { values, positionals } = parse("run", rest, {
      ...flags,
      json: { type: "boolean" },
      on: { type: "string", default: "embedded" },
      options: { type: "boolean" },
    });
    if (positionals.length > 0) throw new UserError(`"${positionals[0]}" is no option of the scenario`);
    if (values.options === true) {
      process.stdout.write(`${describeOptions(found)}\n`);
      return;
    }
    const { on } = values;
    if (on !== "embedded" && on !== "bmv2") throw new UserError(`--on is "${on}"; it is embedded or bmv2`);
    const given: Readonly<Record<string, unknown>> = values;
    const options = Object.fromEntries(
      Object.entries(found.options).map(([name, o]) => [
        name,
        typeof given[name] === "string" ? given[name] : o.default,
      ]),
    );
    const report = await perform(file, found, options, on);
    if (values.json === true)
      process.stdout.write(`${JSON.stringify({ passed: report.passed, ...report.data }, null, 2)}\n`);
    else print(report);
    if (!report.passed) process.exitCode = 1;
  },
};

async function loadScenario(file: string): Promise<Scenario> {
  const found = (await importFile(file)).default;
  if (isScenario(found)) return found;
  throw new UserError(`${file} has no scenario: write "export default scenario({ ... })"`);
}

function isScenario(value: unknown): value is Scenario {
  return (
    typeof value === "object" && value !== null && "run" in value && "options" in value && "summary" in value
  );
}

function describeOptions(s: Scenario): string {
  const lines = Object.entries(s.options).map(
    ([name, o]) => `  --${name.padEnd(12)} ${o.help}; default ${o.default}`,
  );
  return `${s.name}: ${s.summary}\n\n${lines.join("\n")}`;
}

/**
 * Runs a scenario and sees to it that no switch and no host outlives it. When this process is ended by force, they notice by
 * themselves.
 */
async function perform(
  file: string,
  s: Scenario,
  options: Readonly<Record<string, string>>,
  on: "embedded" | "bmv2",
): Promise<ScenarioReport> {
  const progress = new Progress();
  const starting: Promise<RunningSwitch>[] = [];
  const hosts: RunningHost[] = [];
  for (const signal of ["SIGINT", "SIGTERM"] as const)
    process.once(signal, () => process.exit(128 + (signal === "SIGINT" ? 2 : 15)));
  const text = (option: string): string => options[option] ?? "";
  try {
    return await s.run({
      options,
      progress,
      startSwitch(request) {
        const running = startSwitchProcess({ on, ...request });
        starting.push(running);
        return running;
      },
      startHost(name, settings) {
        if (s.hosts?.[name] === undefined) throw new RangeError(`the scenario has no host ${name}`);
        const running = startHostProcess(file, name, settings);
        hosts.push(running);
        return running;
      },
      whole: (option, low, high) => wholeNumber(option, text(option), low, high),
      fraction: (option) => fraction(option, text(option)),
      choice(option, ...choices) {
        const chosen = choices.find((c) => c === text(option));
        if (chosen === undefined)
          throw new UserError(`--${option} is "${text(option)}"; it is one of ${choices.join(", ")}`);
        return chosen;
      },
    });
  } catch (error) {
    if (
      error instanceof Error &&
      ["P4RuntimeError", "P4RuntimeWriteError", "SwitchesError", "JobRefusal", "LibraError"].includes(
        error.name,
      )
    ) {
      throw new EnvironmentError(error.message);
    }
    throw error;
  } finally {
    progress.clear();
    await Promise.all(hosts.map((host) => host.stop()));
    // One that failed to start may have ended the scenario while others were starting.
    for (const started of await Promise.allSettled(starting))
      if (started.status === "fulfilled") await started.value.stop();
  }
}

/** The process of one of the scenario's hosts, which the scenario has started. */
async function asHost(s: Scenario, name: string | undefined): Promise<void> {
  const work = s.hosts?.[name ?? ""];
  if (work === undefined || process.send === undefined)
    throw new UserError(`${HOST_OPTION} is for scenarios that start their own hosts`);
  await serveHost(name ?? "", work);
}

function print(report: ScenarioReport): void {
  const width = Math.max(...report.table.map(([what]) => what.length));
  for (const [what, figure] of report.table) process.stdout.write(`  ${what.padEnd(width)}  ${figure}\n`);
  process.stdout.write(`\n${report.passed ? "Passed" : "FAILED"}: ${report.verdict}\n`);
}
