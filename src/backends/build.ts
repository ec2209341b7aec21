import type { Diagnostic, Program } from "../ir/index.ts";
import { p4infoToBinary, p4infoToText } from "../p4info/index.ts";
import { BackendError } from "./backenderror.ts";
import { p4info } from "./p4info/build.ts";
import { packetFormats } from "./packets.ts";
import { fitFindings, fitReport } from "./tna/fit/index.ts";
import { lowerTna } from "./tna/lower.ts";
import { tnaFiles } from "./tna/text/files.ts";
import { bfrtSettings } from "./tna/trafficmanager.ts";
import { bmv2Json } from "./v1model/json/document.ts";
import { lower } from "./v1model/lower.ts";
import { p4Files } from "./v1model/text/files.ts";

export type TargetName = "v1model" | "tna";

export interface GenerateOptions {
  /** What to generate for; v1model when left out. */
  readonly targets?: readonly TargetName[];
}

/** Files by relative path, in the order in which a person would read them. */
export type GeneratedFiles = ReadonlyMap<string, string | Uint8Array>;

/**
 * Everything that is generated from a program. For v1model: `v1model/*.p4` and `v1model/controls/*.p4`, `NAME.json` for BMv2 and the
 * embedded switch, `p4info.txtpb`, `p4info.bin`; for tna: `tna/*.p4` and, where there is anything to set, `tna/bfrt.json`; and `packets.md`. The same program gives the same bytes; nothing is written to disk.
 *
 * @throws BackendError when the program is beyond the target, although well typed.
 */
export function generate(program: Program, options: GenerateOptions = {}): GeneratedFiles {
  const targets = options.targets ?? ["v1model"];
  const files = new Map<string, string | Uint8Array>();
  if (targets.includes("v1model")) {
    const lowered = lower(program);
    for (const [path, text] of p4Files(lowered)) files.set(`v1model/${path}`, text);
    files.set(`${program.name}.json`, bmv2Json(lowered));
    const info = p4info(lowered);
    files.set("p4info.txtpb", p4infoToText(info));
    files.set("p4info.bin", p4infoToBinary(info));
  }
  if (targets.includes("tna")) {
    const lowered = lowerTna(program);
    const [first] = lowered.findings;
    if (first !== undefined) {
      const message = lowered.findings.map((f) => `${f.code}: ${f.message}`).join("; ");
      throw new BackendError("GP2004", "tna", message, first.at);
    }
    for (const [path, text] of tnaFiles(lowered)) files.set(`tna/${path}`, text);
    const settings = bfrtSettings(lowered);
    if (settings !== undefined) files.set("tna/bfrt.json", settings);
  }
  files.set("packets.md", packetFormats(program));
  return files;
}

/** What keeps a checked program off Tofino 1: codes GP18xx, all with the target `tna`. Empty for a program that can be generated. */
export function checkTna(program: Program): readonly Diagnostic[] {
  const lowered = lowerTna(program);
  return lowered.findings.length > 0 ? lowered.findings : fitFindings(fitReport(lowered));
}
