import type { Documentation } from "../../p4info/index.ts";

/** The lines of a JSDoc comment from the parts that are there. Texts of the program cannot end the comment or begin a tag. */
export function documentationText(...parts: readonly (string | Documentation | undefined)[]): string {
  return parts
    .flatMap((part) => (typeof part === "object" ? [part.brief, part.description] : [part ?? ""]))
    .map((text) => text.trim())
    .filter((text) => text !== "")
    .join("\n")
    .replaceAll("*/", "*\\/")
    .replace(/^(\s*)@/gm, "$1\\@")
    .replace(/[ \t\r]+$/gm, "");
}
