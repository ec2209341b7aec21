import type { Program } from "../ir/index.ts";
import { p4infoToBinary, p4infoToText } from "../p4info/index.ts";
import { p4info } from "./p4info/build.ts";
import { packetFormats } from "./packets.ts";
import { bmv2Json } from "./v1model/json/document.ts";
import { lower } from "./v1model/lower.ts";
import { p4Files } from "./v1model/text/files.ts";

export type TargetName = "v1model";

export interface GenerateOptions {
  /** What to generate for; all that exist when left out. */
  readonly targets?: readonly TargetName[];
}

/** Files by relative path, in the order in which a person would read them. */
export type GeneratedFiles = ReadonlyMap<string, string | Uint8Array>;

/**
 * Everything that is generated from a program. For v1model: `v1model/*.p4` and `v1model/controls/*.p4`, `NAME.json` for BMv2 and the
 * embedded switch, `p4info.txtpb`, `p4info.bin`; and `packets.md`. The same program gives the same bytes; nothing is written to disk.
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
  files.set("packets.md", packetFormats(program));
  return files;
}
