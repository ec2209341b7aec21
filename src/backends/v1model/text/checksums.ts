import type { Checksum } from "../../../ir/index.ts";
import { expression } from "../../p4text/expressions.ts";
import { concat, type Doc, group, join, line, nest, softline } from "../../p4text/layout.ts";
import { scopeOf } from "./blocks.ts";

/** `verify_checksum` and `update_checksum` calls. */
export function checksumTexts(checksums: readonly Checksum[], call: "verify" | "update"): readonly Doc[] {
  return checksums
    .filter((c) => c[call])
    .map((c) => {
      const fields = group(
        "{",
        nest(
          line,
          join(
            concat(",", line),
            c.fields.map((f) => expression(f, scopeOf("ingress"), true)),
          ),
        ),
        line,
        "}",
      );
      const items = [
        `hdr.${c.header}.isValid()`,
        fields,
        `hdr.${c.target.header}.${c.target.field}`,
        "HashAlgorithm.csum16",
      ];
      return group(`${call}_checksum(`, nest(softline, join(concat(",", line), items)), softline, ");");
    });
}
