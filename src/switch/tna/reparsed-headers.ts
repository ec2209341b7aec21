import { SwitchConfigError } from "../bmv2json/config-error.ts";
import type { TnaDocument } from "./document.ts";

/**
 * Refuses an egress that works on a header which its parser does not extract and egress does not add: egress gets bytes, and nothing of
 * what ingress knew of them.
 */
export function checkReparsedHeaders({ egress, headers }: TnaDocument): void {
  const known = new Set<string>();
  for (const state of egress.parser)
    for (const s of state.steps)
      if (s.kind === "extract" || s.kind === "startHeader") known.add(instanceOf(s.header));
  const uses: { readonly header: string; readonly path: string }[] = [];
  const declared = new Set(headers.map((h) => h.name));
  visit([egress.actions, egress.block, egress.controls, egress.checksums]);
  for (const { header, path } of uses)
    if (!known.has(header) && declared.has(header))
      throw new SwitchConfigError(
        "BAD_VALUE",
        path,
        `egress uses header ${header}, which its parser does not extract; egress of Tofino knows nothing of what ingress has parsed`,
      );

  function visit(node: unknown): void {
    if (Array.isArray(node)) {
      for (const item of node) visit(item);
      return;
    }
    if (typeof node !== "object" || node === null) return;
    if ("kind" in node && "header" in node && typeof node.header === "string") {
      const header = instanceOf(node.header);
      if (node.kind === "setValidity" && "valid" in node && node.valid === true) known.add(header);
      else
        uses.push({ header, path: "path" in node && typeof node.path === "string" ? node.path : "egress" });
    }
    for (const value of Object.values(node)) visit(value);
  }
}

/** The instance that a path of a stack leads to. */
function instanceOf(path: string): string {
  return path.replace(/(\[\d+\]|\.(next|last))$/, "");
}
