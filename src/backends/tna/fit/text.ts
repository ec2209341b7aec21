import { relative } from "node:path";
import type { SourceLocation } from "../../../ir/index.ts";
import { type Figures, STAGE_LIMITS, type StageFigures } from "../verify/figures.ts";
import type { Need } from "./memory.ts";
import type { FitReport, FitStage } from "./report.ts";

interface Column {
  readonly title: string;
  readonly of: number;
  estimate(stage: FitStage): number;
  real(stage: StageFigures): number;
}

const needed = (key: keyof Need) => (s: FitStage) => s.need[key];

const COLUMNS: readonly Column[] = [
  {
    title: "tables",
    of: STAGE_LIMITS.logicalTables,
    estimate: (s) => s.tables.length,
    real: (s) => s.logicalTables.length,
  },
  {
    title: "stateful ALUs",
    of: STAGE_LIMITS.meterAlus,
    estimate: needed("statefulAlus"),
    real: (s) => s.statefulAlus,
  },
  {
    title: "meters, selectors",
    of: STAGE_LIMITS.meterAlus,
    estimate: needed("otherAlus"),
    real: (s) => s.meterAlus - s.statefulAlus,
  },
  {
    title: "counter ALUs",
    of: STAGE_LIMITS.counterAlus,
    estimate: needed("counterAlus"),
    real: (s) => s.counterAlus,
  },
  { title: "SRAM", of: STAGE_LIMITS.sram, estimate: needed("sram"), real: (s) => s.sram },
  { title: "map RAM", of: STAGE_LIMITS.mapRam, estimate: needed("mapRam"), real: (s) => s.mapRam },
  { title: "TCAM", of: STAGE_LIMITS.tcam, estimate: needed("tcam"), real: (s) => s.tcam },
  { title: "gateways", of: STAGE_LIMITS.gateways, estimate: needed("gateways"), real: (s) => s.gateways },
  {
    title: "key bytes",
    of: STAGE_LIMITS.exactCrossbarBytes + STAGE_LIMITS.ternaryCrossbarBytes,
    estimate: (s) => s.crossbarBytes,
    real: (s) => s.exactCrossbarBytes + s.ternaryCrossbarBytes,
  },
  {
    title: "hash bits",
    of: STAGE_LIMITS.hashBits,
    estimate: (s) => s.hashBits,
    real: (s) => s.hashBits,
  },
  {
    title: "hash units",
    of: STAGE_LIMITS.hashDistributionUnits,
    estimate: (s) => s.hashUnits,
    real: (s) => s.hashDistributionUnits,
  },
];

const VERDICTS: Readonly<Record<FitReport["verdict"], string>> = {
  fits: "fits",
  tight: "may fit: it would be the last place, and only the compiler knows (--verify)",
  no: "does not fit",
};

/**
 * The report as a table for people, a line a stage; with the compiler's own figures as `estimated/real`. Then what it lacks, if
 * anything, and the chain that needs the most stages, in the names and lines of the user's program.
 */
export function fitText(
  report: FitReport,
  options: { readonly real?: Figures; readonly root?: string } = {},
): string {
  const { real } = options;
  const stages = Math.max(report.stages, real?.perStage.length ?? 0);
  const cell = (column: Column, stage: number): string => {
    const estimated = report.perStage[stage];
    const found = real?.perStage.find((s) => s.stage === stage);
    const own = estimated === undefined ? "-" : String(column.estimate(estimated));
    if (real === undefined) return own;
    return `${own}/${found === undefined ? "-" : column.real(found)}`;
  };
  const total = (column: Column): string => {
    const own = report.perStage.reduce((n, s) => n + column.estimate(s), 0);
    return real === undefined ? `${own}` : `${own}/${real.perStage.reduce((n, s) => n + column.real(s), 0)}`;
  };
  const live = (stage: number): string => {
    const bits = report.perStage[stage]?.live;
    return bits === undefined ? "-" : `${bits[8]}+${bits[16]}+${bits[32]}`;
  };
  const rows = [
    ["stage", ...COLUMNS.map((c) => c.title), "live bits (8+16+32)"],
    ...Array.from({ length: stages }, (_, s) => [String(s), ...COLUMNS.map((c) => cell(c, s)), live(s)]),
    ["all", ...COLUMNS.map(total), ""],
    ["each", ...COLUMNS.map((c) => `of ${c.of}`), "512+1536+2048"],
  ];
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((r) => r[i]?.length ?? 0))) ?? [];
  const table = rows.map((r) =>
    r
      .map((c, i) => c.padStart(widths[i] ?? 0))
      .join("  ")
      .trimEnd(),
  );
  const count = real === undefined ? `${report.stages}` : `${report.stages} estimated, ${real.stages} real`;
  const containers = report.containers.map((c) => `${c.used} of ${c.of} of ${c.bits} bits`).join(", ");
  return [
    `${report.program} on ${report.chip}: ${count} of ${report.stagesThere} stages; ${VERDICTS[report.verdict]}`,
    ...(report.lacks === undefined ? [] : [`beyond the chip: ${report.lacks}`]),
    "",
    ...table,
    `containers: ${containers}`,
    "",
    ...chainText(report, options.root),
  ].join("\n");
}

/** The chain, a table a line. */
export function chainText(report: FitReport, root?: string): readonly string[] {
  if (report.chainStages < 2) return ["no table waits for another"];
  return [
    `the chain that costs most: ${report.chainStages} stages, whatever else there is`,
    ...report.chain.map(({ name, at, why }, i) => {
      const place = at === undefined ? "" : `  ${placeText(at, root)}`;
      return `  ${i === 0 ? "" : "-> "}${name}${why === undefined ? "" : ` (${why})`}${place}`;
    }),
  ];
}

/** `program.ts:12`, from the given folder. */
function placeText({ file, line }: SourceLocation, root: string | undefined): string {
  return `${root === undefined ? file : relative(root, file)}:${line}`;
}
