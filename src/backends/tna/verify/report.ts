import { type Figures, STAGE_LIMITS, type StageFigures, TOFINO_STAGES } from "./figures.ts";

type Column = keyof typeof STAGE_LIMITS;

const COLUMNS: readonly (readonly [Column, string])[] = [
  ["logicalTables", "tables"],
  ["meterAlus", "meter ALUs"],
  ["counterAlus", "counter ALUs"],
  ["sram", "SRAM"],
  ["mapRam", "map RAM"],
  ["tcam", "TCAM"],
  ["gateways", "gateways"],
  ["exactCrossbarBytes", "exact bytes"],
  ["ternaryCrossbarBytes", "ternary bytes"],
  ["hashBits", "hash bits"],
  ["hashDistributionUnits", "hash dist."],
  ["actionBusBytes", "action bytes"],
  ["instructions", "instructions"],
];

/** The figures as a table for people: a line a stage, and the containers below. */
export function figuresText(figures: Figures, stages: number = TOFINO_STAGES): string {
  const head = ["stage", ...COLUMNS.map(([, title]) => title)];
  const rows = figures.perStage.map((s) => [String(s.stage), ...COLUMNS.map(([c]) => String(amount(s, c)))]);
  const totals = [
    "all",
    ...COLUMNS.map(([c]) => String(figures.perStage.reduce((sum, s) => sum + amount(s, c), 0))),
  ];
  const limits = ["each", ...COLUMNS.map(([c]) => `of ${STAGE_LIMITS[c]}`)];
  const table = [head, ...rows, totals, limits];
  const widths = head.map((_, i) => Math.max(...table.map((r) => r[i]?.length ?? 0)));
  const lines = table.map((r) => r.map((cell, i) => cell.padStart(widths[i] ?? 0)).join("  "));
  const containers = figures.containers.map((c) => `${c.used} of ${c.of} ${containerName(c)}`).join(", ");
  return [
    `${figures.stages} of ${stages} stages`,
    ...lines,
    ...(containers === "" ? [] : [`containers: ${containers}`]),
  ].join("\n");
}

function amount(stage: StageFigures, column: Column): number {
  const value = stage[column];
  return typeof value === "number" ? value : value.length;
}

function containerName({ kind, bits }: Figures["containers"][number]): string {
  return kind === "normal" ? `of ${bits} bits` : `tagalong of ${bits} bits`;
}
