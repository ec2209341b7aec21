import type { Program } from "../ir/index.ts";
import { p4infoFromBinary } from "../p4info/index.ts";
import { type GeneratedFiles, type GenerateOptions, generate } from "./build.ts";

/** Makes the bindings of a P4Info in binary form, for a program of that name. */
export type BindingsMaker = (info: Uint8Array, name: string) => Promise<string>;

/**
 * What `generate` makes, and what people and control planes use beside it: `bindings.ts`, a typed client for the program's tables and
 * the like, and `NAME.lua`, a Wireshark dissector. They are loaded here, so that only those who want them wait for them. The same
 * program gives the same bytes; nothing is written to disk.
 *
 * @throws BackendError when the program is beyond the target, although well typed.
 */
export async function generateAll(
  program: Program,
  options: GenerateOptions & { readonly bindings?: BindingsMaker } = {},
): Promise<GeneratedFiles> {
  const files = new Map(generate(program, options));
  const info = files.get("p4info.bin");
  if (info instanceof Uint8Array && options.bindings !== undefined)
    files.set("bindings.ts", await options.bindings(info, program.name));
  else if (info instanceof Uint8Array) {
    const { bindingsModule } = await import("./bindings/index.ts");
    files.set("bindings.ts", bindingsModule(p4infoFromBinary(info), { name: program.name }));
  }
  const { dissector } = await import("./dissector/index.ts");
  files.set(`${program.name}.lua`, dissector(program));
  return files;
}
