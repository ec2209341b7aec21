import type { Documentation } from "../../p4info/index.ts";

/** The lines of a comment from the parts that are there. */
export function documentationText(...parts: readonly (string | Documentation | undefined)[]): string {
  return parts
    .flatMap((part) => (typeof part === "object" ? [part.brief, part.description] : [part ?? ""]))
    .map((text) => text.trim())
    .filter((text) => text !== "")
    .join("\n");
}

/** The lines of a JSDoc comment: texts and names of the program cannot end the comment or begin a tag. */
export function commentLines(text: string): readonly string[] {
  return text
    .replaceAll("*/", "*\\/")
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => line.replace(/^(\s*)@/, "$1\\@").trimEnd());
}
