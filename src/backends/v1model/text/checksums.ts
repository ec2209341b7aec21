import { comment } from "../../p4text/comments.ts";
import { expression } from "../../p4text/expressions.ts";
import {
  concat,
  type Doc,
  group,
  hardline,
  INDENT,
  join,
  line,
  nest,
  softline,
} from "../../p4text/layout.ts";
import type { ChecksumCall } from "../checksums.ts";
import { scopeOf } from "./blocks.ts";

/** `verify_checksum` and `update_checksum` calls. */
export function checksumTexts(calls: readonly ChecksumCall[], call: ChecksumCall["call"]): readonly Doc[] {
  return calls.filter((c) => c.call === call).map(callText);
}

function callText(c: ChecksumCall): Doc {
  const scope = scopeOf("ingress");
  const data = [
    ...c.fields.map((f) => expression(f, scope, true)),
    ...c.varbits.map((path) => `hdr.${path}`),
  ];
  const items = [
    expression(c.condition, scope),
    group("{", nest(line, join(concat(",", line), data)), line, "}"),
    expression(c.target, scope),
    "HashAlgorithm.csum16",
  ];
  const name = `${c.call}_checksum${c.payload ? "_with_payload" : ""}`;
  const text = group(`${name}(`, nest(softline, join(concat(",", line), items)), softline, ");");
  return c.why === undefined ? text : concat(comment(c.why, 2 * INDENT), hardline, text);
}
