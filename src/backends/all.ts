import type { Program } from "../ir/index.ts";
import { p4infoFromBinary } from "../p4info/index.ts";
import { bindingsModule } from "./bindings/index.ts";
import { type GeneratedFiles, type GenerateOptions, generate } from "./build.ts";
import { dissector } from "./dissector/index.ts";

/**
 * What `generate` makes, and what people and control planes use beside it: `bindings.ts`, a typed client for the program's tables and
 * the like, and `NAME.lua`, a Wireshark dissector. The same program gives the same bytes; nothing is written to disk.
 *
 * @throws BackendError when the program is beyond the target, although well typed.
 */
export function generateAll(program: Program, options: GenerateOptions = {}): GeneratedFiles {
  const files = new Map(generate(program, options));
  const info = files.get("p4info.bin");
  if (info instanceof Uint8Array)
    files.set("bindings.ts", bindingsModule(p4infoFromBinary(info), { name: program.name }));
  files.set(`${program.name}.lua`, dissector(program));
  return files;
}
