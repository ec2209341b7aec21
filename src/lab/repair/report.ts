import type { RepairCase } from "./faults.ts";
import type { RepairOutcome } from "./run.ts";

/** All runs of one case. */
export interface CaseOutcomes {
  readonly case: RepairCase;
  readonly outcomes: readonly RepairOutcome[];
}

const HEADS = [
  "what happens",
  "known after",
  "job told after",
  "all repaired after",
  "last frame astray",
  "frames lost",
  "longest pause",
  "rounds",
  "sums",
];

/** Tables of figures: for people, and for a page in Markdown. Times in milliseconds, from the least to the most over the seeds. */
export function repairRows(all: readonly CaseOutcomes[]): readonly (readonly string[])[] {
  return [HEADS, ...all.map(rowOf)];
}

function rowOf({ case: { title }, outcomes }: CaseOutcomes): readonly string[] {
  const of = (figure: (o: RepairOutcome) => number | undefined): string => range(outcomes.map(figure));
  const wrong = outcomes.reduce((sum, o) => sum + o.wrong.length, 0);
  return [
    title,
    of((o) => o.detected),
    of((o) => o.moved),
    of((o) => o.repaired),
    of((o) => o.lastAstray),
    of((o) => o.lost),
    of((o) => o.pause),
    of((o) => o.rounds),
    wrong === 0 ? "exact" : `${wrong} WRONG`,
  ];
}

function range(figures: readonly (number | undefined)[]): string {
  const known = figures.filter((f) => f !== undefined).map(Math.round);
  if (known.length === 0) return "-";
  const [least, most] = [Math.min(...known), Math.max(...known)];
  return least === most ? `${least}` : `${least} to ${most}`;
}

export function repairPage(all: readonly CaseOutcomes[], seeds: number, command: string): string {
  const [heads = [], ...rows] = repairRows(all);
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return `${[
    "# Failures and their repair",
    "",
    `Made by \`${command}\`: four leaves and four spines under a virtual clock, seven workers and a parameter server that train through them, the job's`,
    `sums made on a spine. Controller, clients, P4Runtime servers, switches and hosts are the code that is deployed; between them are cables of 0.02 ms, and`,
    "1 ms each way from the controller to a switch, without gRPC. A worker computes for 10 ms between two rounds. The defaults hold: probes every 100 ms, signs",
    "of life of workers for 3 s, a lease of 3 s for the controller.",
    "",
    `Milliseconds after the fault, the least and the most of ${seeds} seeds, each of which is another moment between probes and heartbeats. *Known*: the controller`,
    "has said so. *Repaired*: the last entry has been written, and the job's hosts have been told. *Astray*: a frame of the job went where nothing leads on. The",
    "longest pause is that between two finished rounds; without a fault it is 10 ms. Every run checks every sum of every round: exactly one gradient of each",
    "worker, the same bits.",
    "",
    line(heads),
    line(heads.map(() => "---")),
    ...rows.map(line),
    "",
    "A link is known to be dead at most two and a half probe intervals after it has gone, and repaired one write later. A switch that loses its power is",
    "known by its links after up to five, twice as long, since it may be slow and not dead; one whose process ends, by its connection. A job that moves goes on",
    "with the round that was open. While there is no controller the data plane goes on; what fails meanwhile waits for the next controller.",
    "",
  ].join("\n")}`;
}
