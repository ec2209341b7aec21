import type { Comparison, Experiment, ExperimentResult, Point } from "./experiment.ts";
import { plotSvg } from "./plot.ts";

/** An experiment's results as data, the same bytes for the same results. */
export function resultJson(result: ExperimentResult): string {
  return `${JSON.stringify(result, null, 2)}\n`;
}

export function resultSvg(experiment: Experiment, { points }: ExperimentResult): string {
  return plotSvg({ title: experiment.title, x: experiment.x, y: experiment.y, points });
}

/** Results for a terminal: a table of means, and what the paper has beside it. */
export function resultText(experiment: Experiment, result: ExperimentResult): string {
  const { header, rows } = meansTable(experiment, result.points);
  const widths = header.map((cell, i) => Math.max(cell.length, ...rows.map((row) => row[i]?.length ?? 0)));
  const lineOf = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0)))
      .join("  ");
  return [
    experiment.title,
    `${experiment.y.label}; mean over ${seedsText(result)}`,
    "",
    ...[header, ...rows].map((row) => lineOf(row).trimEnd()),
    "",
    ...result.comparisons.map(
      ({ what, paper, ours, reason }) =>
        `${what}: paper ${paper}, here ${ours}${reason === "" ? "" : `\n  ${reason}`}`,
    ),
    "",
  ].join("\n");
}

/** One section of docs/experiments.md. `plot` is where its picture is, seen from the page. */
export function resultSection(experiment: Experiment, result: ExperimentResult, plot: string): string {
  const { header, rows } = meansTable(experiment, result.points);
  return [
    `## ${experiment.title}`,
    "",
    `\`gradplane lab run ${experiment.name}\``,
    "",
    experiment.setting,
    "",
    `![${experiment.title}](${plot})`,
    "",
    `${experiment.y.label}; mean over ${seedsText(result)}.`,
    "",
    ...table(header, rows),
    "",
    ...comparisonTable(result.comparisons),
    "",
  ].join("\n");
}

/** The page of experiments; `command` is what makes it. */
export function resultPage(sections: readonly string[], command: string): string {
  return [
    "# Experiments",
    "",
    "The papers' experiments, repeated in the lab: the state machines that are deployed, under a virtual clock, on a simulated network. Made by",
    `\`${command}\`; the same seeds give the same page, byte for byte. Where a figure differs from the paper's, the reason stands beside it.`,
    "`gradplane lab list` names all experiments.",
    "",
    ...sections,
  ].join("\n");
}

function comparisonTable(comparisons: readonly Comparison[]): readonly string[] {
  if (comparisons.length === 0) return [];
  return table(
    ["", "paper", "here", "why they differ"],
    comparisons.map(({ what, paper, ours, reason }) => [what, paper, ours, reason]),
  );
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const lineOf = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [lineOf(header), lineOf(header.map(() => "---")), ...rows.map(lineOf)];
}

function meansTable(
  { x }: Experiment,
  points: readonly Point[],
): { readonly header: readonly string[]; readonly rows: readonly (readonly string[])[] } {
  const series = [...new Set(points.map((p) => p.series))];
  const places = [...new Set(points.map((p) => p.x))];
  const cell = (name: string, place: number | string): string => {
    const point = points.find((p) => p.series === name && p.x === place);
    if (point === undefined) return "";
    const { mean, error } = point;
    return error === 0 ? figure(mean) : `${figure(mean)} ± ${figure(error)}`;
  };
  return {
    header: [x.label, ...series],
    rows: places.map((place) => [String(place), ...series.map((name) => cell(name, place))]),
  };
}

function seedsText({ seeds }: ExperimentResult): string {
  return seeds.length === 1 ? "one run" : `seeds 1 to ${seeds.length}, with its standard error`;
}

/** Three or four digits that matter. */
function figure(value: number): string {
  if (value === 0) return "0";
  const digits = Math.abs(value) >= 1000 ? 0 : Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(6, digits));
}
