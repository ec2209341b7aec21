import type { Diagnostic, Program } from "../ir/index.ts";
import { p4infoToBinary, p4infoToText } from "../p4info/index.ts";
import { BackendError } from "./backenderror.ts";
import { p4info } from "./p4info/build.ts";
import type { PlacedFiles } from "./p4text/places.ts";
import { packetFormats } from "./packets.ts";
import { reportPage } from "./report.ts";
import { shortPackets } from "./shortpackets.ts";
import { sourceMap, sourceMapText } from "./sourcemap.ts";
import { tableContents } from "./tables.ts";
import { tnaDocument } from "./tna/document.ts";
import { type FitReport, fitFindings, fitReport, stageMap } from "./tna/fit/index.ts";
import { lowerTna } from "./tna/lower.ts";
import type { TnaProgram } from "./tna/lowered.ts";
import { tnaP4info } from "./tna/p4info.ts";
import { placedTnaFiles } from "./tna/text/files.ts";
import { bfrtSettings } from "./tna/trafficmanager.ts";
import { TOFINO_2 } from "./tna/verify/figures.ts";
import { bmv2Json } from "./v1model/json/document.ts";
import { lower } from "./v1model/lower.ts";
import { placedP4Files } from "./v1model/text/files.ts";

/** `tna2` is what `tna` is, for Tofino 2: P4 for t2na, and its stages. */
export type TargetName = "v1model" | "tna" | "tna2";

export interface GenerateOptions {
  /** What to generate for; v1model when left out. */
  readonly targets?: readonly TargetName[];
}

/** Files by relative path, in the order in which a person would read them. */
export type GeneratedFiles = ReadonlyMap<string, string | Uint8Array>;

/**
 * Everything that is generated from a program. For v1model: `v1model/*.p4` and `v1model/controls/*.p4`, `NAME.json` for BMv2 and the
 * embedded switch, `p4info.txtpb`, `p4info.bin`; for tna: `tna/*.p4`, `tna/NAME.json` for
 * the embedded switch's tna personality with its `tna/p4info.txtpb` and `tna/p4info.bin`, where there is anything to set `tna/bfrt.json`,
 * and a map of its stages, `tna/stages.svg`; for tna2: `tna2/*.p4`, `tna2/p4info.txtpb`, `tna2/p4info.bin`, `tna2/stages.svg`; and `tables.json` (their contents), `report.md`, `sourcemap.json` and `packets.md`. The same program gives the same bytes; nothing is written to disk.
 *
 * @throws BackendError when the program is beyond the target, although well typed.
 */
export function generate(program: Program, options: GenerateOptions = {}): GeneratedFiles {
  const targets = options.targets ?? ["v1model"];
  const files = new Map<string, string | Uint8Array>();
  const placed = new Map<string, PlacedFiles>();
  const emit = (target: TargetName, emitted: PlacedFiles): void => {
    placed.set(target, emitted);
    for (const [path, text] of emitted.files) files.set(`${target}/${path}`, text);
  };
  if (targets.includes("v1model")) {
    const lowered = lower(program);
    emit("v1model", placedP4Files(lowered));
    files.set(`${program.name}.json`, bmv2Json(lowered));
    const info = p4info(lowered);
    files.set("p4info.txtpb", p4infoToText(info));
    files.set("p4info.bin", p4infoToBinary(info));
  }
  const { lowered: onTofino, fit } = tofino(program);
  const [first] = onTofino.findings;
  if (first !== undefined && targets.some((t) => t !== "v1model")) {
    const message = onTofino.findings.map((f) => `${f.code}: ${f.message}`).join("; ");
    throw new BackendError("GP2004", "tna", message, first.at);
  }
  if (targets.includes("tna")) {
    emit("tna", placedTnaFiles(onTofino));
    files.set(`tna/${program.name}.json`, tnaDocument(onTofino));
    const info = tnaP4info(program);
    files.set("tna/p4info.txtpb", p4infoToText(info));
    files.set("tna/p4info.bin", p4infoToBinary(info));
    const settings = bfrtSettings(onTofino);
    if (settings !== undefined) files.set("tna/bfrt.json", settings);
  }
  if (targets.includes("tna2")) {
    emit("tna2", placedTnaFiles(onTofino, TOFINO_2));
    const info = tnaP4info(program);
    files.set("tna2/p4info.txtpb", p4infoToText(info));
    files.set("tna2/p4info.bin", p4infoToBinary(info));
    files.set("tna2/stages.svg", stageMap(fitReport(onTofino, TOFINO_2)));
  }
  if (fit !== undefined && targets.includes("tna")) files.set("tna/stages.svg", stageMap(fit));
  files.set("tables.json", tableContents(program));
  files.set(
    "report.md",
    reportPage(program, {
      v1model: targets.includes("v1model"),
      tna: fit ?? onTofino.findings,
      tna2: targets.includes("tna2") ? fitReport(onTofino, TOFINO_2) : undefined,
    }),
  );
  files.set("sourcemap.json", sourceMapText(sourceMap(program, placed)));
  files.set("packets.md", packetFormats(program));
  return files;
}

/** What keeps a checked program off Tofino 1: codes GP18xx, all with the target `tna`. Empty for a program that can be generated. */
export function checkTna(program: Program): readonly Diagnostic[] {
  const { lowered, fit } = tofino(program);
  return fit === undefined ? lowered.findings : fitFindings(fit);
}

/** What is worth knowing of a checked program that can be generated, and no fault. */
export function notesOf(program: Program): readonly Diagnostic[] {
  const short = shortPackets(program);
  return short === undefined ? [] : [short];
}

/** What keeps a checked program off Tofino 2, which has what Tofino 1 has, and more stages. */
export function checkTna2(program: Program): readonly Diagnostic[] {
  const { lowered } = tofino(program);
  return lowered.findings.length > 0 ? lowered.findings : fitFindings(fitReport(lowered, TOFINO_2));
}

/** A program lowered for Tofino, and how it fits when nothing keeps it off. */
interface OnTofino {
  readonly lowered: TnaProgram;
  readonly fit: FitReport | undefined;
}

const known = new WeakMap<Program, OnTofino>();

/** Whoever generates a program has checked it before: the work is done once. */
function tofino(program: Program): OnTofino {
  const before = known.get(program);
  if (before !== undefined) return before;
  const lowered = lowerTna(program);
  const result = { lowered, fit: lowered.findings.length > 0 ? undefined : fitReport(lowered) };
  known.set(program, result);
  return result;
}
