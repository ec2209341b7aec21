import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import {
  EXPERIMENTS,
  type Experiment,
  type ExperimentResult,
  Points,
  resultJson,
  resultPage,
  resultSection,
  resultSvg,
  resultText,
  runExperiment,
} from "../lab/experiments/index.ts";
import { didYouMean } from "../p4info/suggest.ts";
import { EnvironmentError, UserError } from "./exit.ts";
import { Progress } from "./progress.ts";
import { parse, type Verb, wholeNumber } from "./verb.ts";

export const labVerb: Verb = {
  help: `Usage: gradplane lab list
       gradplane lab run NAME [--seeds N] [--json FILE] [--svg FILE]
       gradplane lab report [NAME ...] [--seeds N] [--out DIR] [--reuse]
       gradplane lab repair [CASE ...] [--seeds N] [--json -] [--out DIR]

Repeats the papers' experiments with the deployed state machines under a virtual clock. The same seeds give the same
bytes of output.

  list           the experiments
  run            one of them; prints a table, and the paper's figures beside ours
  report         all of them, or those named, as experiments.md with plots in experiments/
  repair         links, switches, workers and controllers fail under load: how soon that is known and repaired, and whether
                 every sum is exact; with --out as repair.md

  --seeds N      runs, with seeds 1 to N; error bars are standard errors over them
  --json FILE    results as JSON; - for stdout instead of the table
  --svg FILE     results as a plot
  --out DIR      where the report goes; docs when absent
  --reuse        take results that are in DIR/experiments already, and run the others

Example:
  gradplane lab run p3-resnet50 --seeds 2 --svg resnet50.svg`,
  async run(args) {
    const { values, positionals } = parse("lab", args, {
      seeds: { type: "string" },
      json: { type: "string" },
      svg: { type: "string" },
      out: { type: "string" },
      reuse: { type: "boolean" },
    });
    const [what, ...names] = positionals;
    const seeds = values.seeds === undefined ? undefined : wholeNumber("seeds", values.seeds, 1, 1000);
    if (what === "list" && names.length === 0) list();
    else if (what === "run") runOne(names, seeds, values);
    else if (what === "repair") {
      const { labRepair } = await import("./repair.ts");
      const page = await labRepair({ names, seeds: seeds ?? 3, json: values.json !== undefined });
      if (values.out !== undefined) write(join(values.out, "repair.md"), page);
    } else if (what === "report") report(names, seeds, values.out ?? "docs", values.reuse === true);
    else throw new UserError("say list, run NAME, report or repair.\nSee gradplane lab --help.");
  },
};

function list(): void {
  const width = Math.max(...EXPERIMENTS.map((e) => e.name.length));
  for (const { name, title } of EXPERIMENTS) process.stdout.write(`${name.padEnd(width)}  ${title}\n`);
}

function runOne(
  names: readonly string[],
  seeds: number | undefined,
  { json, svg }: { readonly json?: string | undefined; readonly svg?: string | undefined },
): void {
  const [name, ...more] = names;
  if (name === undefined || more.length > 0)
    throw new UserError("name one experiment: gradplane lab run NAME\nSee gradplane lab list.");
  const experiment = experimentOf(name);
  const result = measured(experiment, seeds);
  if (json !== undefined && json !== "-") write(json, resultJson(result));
  if (svg !== undefined) write(svg, resultSvg(experiment, result));
  process.stdout.write(json === "-" ? resultJson(result) : resultText(experiment, result));
}

function report(names: readonly string[], seeds: number | undefined, out: string, reuse: boolean): void {
  const chosen = names.length === 0 ? EXPERIMENTS : names.map(experimentOf);
  const sections = chosen.map((experiment) => {
    const earlier = reuse ? stored(join(out, `experiments/${experiment.name}.json`)) : undefined;
    const result =
      earlier === undefined
        ? measured(experiment, seeds)
        : { ...earlier, comparisons: experiment.compare(new Points(earlier.points)) };
    const plot = `experiments/${experiment.name}.svg`;
    write(join(out, plot), resultSvg(experiment, result));
    write(join(out, `experiments/${experiment.name}.json`), resultJson(result));
    return resultSection(experiment, result, plot);
  });
  const page = join(out, "experiments.md");
  write(page, resultPage(sections, ["gradplane lab report", ...names].join(" ")));
  process.stdout.write(`${page}: ${chosen.length} experiments\n`);
}

/** Results of an earlier report, which wrote them itself. */
function stored(file: string): ExperimentResult | undefined {
  if (!existsSync(file)) return undefined;
  const result: ExperimentResult = JSON.parse(readFileSync(file, "utf8"));
  return result;
}

function experimentOf(name: string): Experiment {
  const found = EXPERIMENTS.find((e) => e.name === name);
  if (found !== undefined) return found;
  const names = EXPERIMENTS.map((e) => e.name);
  throw new UserError(`there is no experiment ${name}${didYouMean(name, names)}\nSee gradplane lab list.`);
}

function measured(experiment: Experiment, seeds = experiment.seeds): ExperimentResult {
  const progress = new Progress();
  const result = runExperiment(experiment, seeds, (text) => progress.show(`${experiment.name}: ${text}`));
  progress.clear();
  return result;
}

function write(file: string, text: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new EnvironmentError(`${file} could not be written: ${reason}`);
  }
}
