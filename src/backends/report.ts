import { dirname, relative } from "node:path";
import { type Diagnostic, type Program, ruleOf, type SourceLocation, widthOf } from "../ir/index.ts";
import { shortPackets } from "./shortpackets.ts";
import { filledBy } from "./tables.ts";
import { type FitReport, fitText } from "./tna/fit/index.ts";

/** What there is to say of a program on one page: what it declares, what it takes of each target, and what a target lacks. */
export function reportPage(
  program: Program,
  targets: {
    readonly v1model: boolean;
    readonly tna: FitReport | readonly Diagnostic[];
    /** When it was asked for. */
    readonly tna2?: FitReport | undefined;
  },
): string {
  const root = rootOf(program);
  const out = [`# ${program.name}`, ""];
  if (program.doc !== undefined) out.push(program.doc, "");
  const tables = program.controls.flatMap((c) => c.tables);
  out.push(
    `${program.ports} ports${program.cpuPort === undefined ? "" : `, the controller at port ${program.cpuPort}`}; ` +
      `${program.headers.length} headers, ${program.parser.length} parser states, ${program.controls.length} controls.`,
    "",
  );
  if (tables.length > 0) {
    out.push("| table | key | entries | filled by |", "|---|---|---:|---|");
    for (const t of tables) {
      const key = t.key.map((k) => `${k.name} ${k.match} ${widthOf(k.expression.type)}`).join(", ");
      out.push(`| ${t.name} | ${key} | ${t.size} | ${filledBy(t)} |`);
    }
    out.push("");
  }
  const registers = program.controls.flatMap((c) => c.registers);
  const counters = program.controls.flatMap((c) => c.counters);
  if (registers.length > 0) {
    const bytes = registers.reduce((n, r) => n + (r.size * widthOf(r.type)) / 8, 0);
    const shapes = new Map<string, string[]>();
    for (const r of registers) {
      const shape = `${r.size} x ${widthOf(r.type)} bits`;
      shapes.set(shape, [...(shapes.get(shape) ?? []), r.name]);
    }
    out.push(`${registers.length} registers, ${Math.ceil(bytes)} bytes:`, "");
    for (const [shape, names] of shapes) out.push(`* ${shape}: ${namesText(names)}`);
    out.push("");
  }
  if (counters.length > 0)
    out.push(`${counters.length} counters: ${counters.map((c) => `${c.name} (${c.size})`).join(", ")}.`, "");
  out.push("## v1model", "", targets.v1model ? "Generated." : "Not asked for.", "", "## Tofino 1", "");
  const short = shortPackets(program);
  if (short !== undefined) out.push(`${short.code} ${ruleOf(short).title}: ${short.message}.`, "");
  if ("verdict" in targets.tna)
    out.push("Estimated, without its compiler:", "", "```", fitText(targets.tna, { root }), "```");
  else {
    out.push("Not generated; Tofino lacks what the program needs:", "");
    for (const d of targets.tna)
      out.push(`* ${d.code} ${ruleOf(d).title}: ${d.message}${placeText(d.at, root)}`);
  }
  if (targets.tna2 !== undefined) {
    out.push("", "## Tofino 2", "", "Estimated as a Tofino 1 with more stages:", "", "```");
    out.push(fitText(targets.tna2, { root }), "```");
  }
  return `${out.join("\n").trimEnd()}\n`;
}

/** Names one by one, and long rows of numbered ones by their ends. */
function namesText(names: readonly string[]): string {
  return names.length <= 4
    ? names.join(", ")
    : `${names[0]}, ${names[1]} ... ${names.at(-1)} (${names.length})`;
}

function placeText(at: SourceLocation | undefined, root: string): string {
  return at === undefined ? "" : ` (${relative(root, at.file)}:${at.line})`;
}

/** The folder from which the user's files are named: that of the first one. */
function rootOf(program: Program): string {
  const at = program.controls.find((c) => c.at !== undefined)?.at;
  return at === undefined ? process.cwd() : dirname(at.file);
}
