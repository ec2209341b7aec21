import { type P4Info, p4infoFromBinary } from "../p4info/index.ts";
import type { GeneratedFiles } from "./build.ts";

/**
 * What a controller pushes to a switch (SetForwardingPipelineConfig), of what was generated.
 *
 * @param name the program's
 * @param personality whose files: of BMv2 (v1model), or of the embedded switch's `tna` personality
 * @throws RangeError when the program was not generated for it
 */
export function loadableOf(
  files: GeneratedFiles,
  name: string,
  personality: "v1model" | "tna" = "v1model",
): { readonly p4info: P4Info; readonly deviceConfig: Uint8Array } {
  const folder = personality === "tna" ? "tna/" : "";
  const bytes = (file: string): Uint8Array => {
    const content = files.get(`${folder}${file}`);
    if (content === undefined) throw new RangeError(`${folder}${file} was not generated`);
    return typeof content === "string" ? new TextEncoder().encode(content) : content;
  };
  return { p4info: p4infoFromBinary(bytes("p4info.bin")), deviceConfig: bytes(`${name}.json`) };
}
