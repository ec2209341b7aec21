import { STAGE_LIMITS } from "../verify/figures.ts";
import type { FitEntry, FitReport } from "./report.ts";

/** Colours that people with any colour vision tell apart (Okabe and Ito). */
const KINDS = {
  register: { colour: "#d55e00", label: "register (stateful ALU)" },
  ternary: { colour: "#cc79a7", label: "ternary table (TCAM)" },
  exact: { colour: "#0072b2", label: "exact table (SRAM)" },
  counter: { colour: "#009e73", label: "counter" },
  action: { colour: "#e69f00", label: "action without a key" },
  condition: { colour: "#b8b8b8", label: "condition with a logical table of its own" },
} as const;
type Kind = keyof typeof KINDS;

const COLUMN = 190;
const GAP = 10;
const LEFT = 20;
const TOP = 92;
const LINE = 22;
/** Height of a memory block beyond the line that each table has. */
const BLOCK = 3;
const MOST_EXTRA = 160;
const BARS = 74;

/**
 * The stages as columns, their logical tables as boxes: the more memory, the higher, coloured by kind; ingress boxes have a full edge, egress
 * boxes a dashed one. Below each column how much of the stage is used. Stages behind the chip's last one stand on red.
 */
export function stageMap(report: FitReport): string {
  const columns = Math.max(report.stages, 1);
  const heights = report.perStage.map((s) => s.tables.reduce((n, t) => n + height(t) + 4, 0));
  const body = Math.max(60, ...heights);
  const width = Math.max(LEFT * 2 + columns * (COLUMN + GAP) - GAP, 900);
  const total = TOP + body + BARS + 30;
  const parts: string[] = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${total}" viewBox="0 0 ${width} ${total}" font-family="Helvetica, Arial, sans-serif">`,
    `<title>${escaped(report.program)}: stages of a ${report.chip}, estimated</title>`,
    `<rect width="${width}" height="${total}" fill="#ffffff"/>`,
    text(
      LEFT,
      26,
      `${report.program}: ${report.stages} of ${report.stagesThere} stages of ${report.chip}, estimated`,
      17,
      { bold: true },
    ),
    ...legend(),
  ];
  for (const stage of report.perStage) {
    const x = LEFT + stage.stage * (COLUMN + GAP);
    const isBeyond = stage.stage >= report.stagesThere;
    parts.push(
      `<rect x="${x}" y="${TOP - 22}" width="${COLUMN}" height="${body + 26}" fill="${isBeyond ? "#fde0dc" : "#f5f5f5"}"/>`,
      text(x + 6, TOP - 6, `stage ${stage.stage}${isBeyond ? ": not there" : ""}`, 12, { bold: true }),
    );
    let y = TOP;
    for (const t of stage.tables) {
      parts.push(...box(t, x + 3, y));
      y += height(t) + 4;
    }
    parts.push(...bars(stage.need, stage.tables.length, x, TOP + body + 14));
  }
  parts.push("</svg>");
  return `${parts.join("\n")}\n`;
}

function kindOf(t: FitEntry): Kind {
  if (t.need.statefulAlus > 0) return "register";
  if (t.kind === "condition") return "condition";
  if (t.kind === "match") return t.need.tcam > 0 ? "ternary" : "exact";
  return t.need.counterAlus > 0 ? "counter" : "action";
}

function height(t: FitEntry): number {
  return LINE + Math.min(MOST_EXTRA, (t.need.sram + t.need.tcam) * BLOCK);
}

function box(t: FitEntry, x: number, y: number): readonly string[] {
  const { colour } = KINDS[kindOf(t)];
  const h = height(t);
  const memory = [
    ...(t.need.sram > 0 ? [`${t.need.sram} SRAM`] : []),
    ...(t.need.tcam > 0 ? [`${t.need.tcam} TCAM`] : []),
    ...(t.entries === undefined ? [] : [`${t.entries} entries here`]),
  ].join(", ");
  const about = [t.name, ...(t.when === undefined ? [] : [t.when]), ...(memory === "" ? [] : [memory])];
  const dashed = t.gress === "egress" ? ' stroke-dasharray="4 2"' : "";
  return [
    `<g><title>${escaped(`${t.gress}: ${about.join("; ")}`)}</title>`,
    `<rect x="${x}" y="${y}" width="${COLUMN - 6}" height="${h}" rx="3" fill="${colour}" fill-opacity="0.28" stroke="${colour}" stroke-width="1.3"${dashed}/>`,
    `<rect x="${x}" y="${y}" width="5" height="${h}" fill="${colour}"/>`,
    text(x + 10, y + 15, shortened(t.name, 29), 11),
    ...(h >= LINE + 13 && memory !== ""
      ? [text(x + 10, y + 28, shortened(memory, 28), 9.5, { faint: true })]
      : []),
    "</g>",
  ];
}

function bars(need: FitEntry["need"], tables: number, x: number, y: number): readonly string[] {
  const rows: readonly (readonly [string, number, number])[] = [
    ["tables", tables, STAGE_LIMITS.logicalTables],
    ["stateful ALUs", need.statefulAlus + need.otherAlus, STAGE_LIMITS.meterAlus],
    ["SRAM", need.sram, STAGE_LIMITS.sram],
    ["TCAM", need.tcam, STAGE_LIMITS.tcam],
  ];
  const from = 78;
  const room = COLUMN - from - 50;
  return rows.flatMap(([name, used, of], i) => {
    const line = y + i * 16;
    return [
      text(x + 2, line + 9, name, 9.5),
      `<rect x="${x + from}" y="${line + 1}" width="${room}" height="9" fill="#e4e4e4"/>`,
      `<rect x="${x + from}" y="${line + 1}" width="${Math.round((Math.min(used, of) / of) * room)}" height="9" fill="#555555"/>`,
      text(x + from + room + 4, line + 9, `${used} of ${of}`, 9.5),
    ];
  });
}

function legend(): readonly string[] {
  let x = LEFT;
  const boxes = Object.values(KINDS).flatMap(({ colour, label }) => {
    const at = x;
    x += 26 + label.length * 6.4;
    return [
      `<rect x="${at}" y="40" width="13" height="13" fill="${colour}" fill-opacity="0.28" stroke="${colour}"/>`,
      `<rect x="${at}" y="40" width="4" height="13" fill="${colour}"/>`,
      text(at + 18, 51, label, 11),
    ];
  });
  return [
    ...boxes,
    `<rect x="${x}" y="40" width="22" height="13" fill="none" stroke="#555555" stroke-dasharray="4 2"/>`,
    text(x + 27, 51, "dashed: egress", 11),
  ];
}

function text(
  x: number,
  y: number,
  content: string,
  size: number,
  { bold = false, faint = false }: { readonly bold?: boolean; readonly faint?: boolean } = {},
): string {
  const style = `${bold ? ' font-weight="bold"' : ""} fill="${faint ? "#444444" : "#111111"}"`;
  return `<text x="${x}" y="${y}" font-size="${size}"${style}>${escaped(content)}</text>`;
}

function shortened(name: string, most: number): string {
  return name.length <= most ? name : `${name.slice(0, most - 1)}…`;
}

function escaped(s: string): string {
  return s.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}
