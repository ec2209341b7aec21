import type { Annotated, Annotation } from "../../ir/index.ts";
import { parseAnnotation } from "../../ir/index.ts";
import { comment, sentence } from "./comments.ts";
import { concat, type Doc, group, hardline, line, render } from "./layout.ts";
import { nameText } from "./tables.ts";

/** Name, id and annotations of an object, each in a line above it. */
export function annotationLines(object: Annotated & { readonly name: string }): Doc {
  return concat(...annotationTexts(object).flatMap((text) => [text, hardline]));
}

/** The object behind its annotations, in one line if there is room. */
export function annotatedLine(object: Annotated & { readonly name: string }, text: string): Doc {
  return group(...annotationTexts(object).flatMap((annotation) => [annotation, line]), text);
}

function annotationTexts({
  name,
  id,
  annotations = [],
}: Annotated & { readonly name: string }): readonly string[] {
  return [
    nameText(name),
    ...(id === undefined ? [] : [`@id(${id})`]),
    ...annotations.map((a) => a.text.trim()),
  ];
}

/** Annotations each in a line above what they are of. */
export function linesAbove(annotations: readonly Annotation[] = []): Doc {
  return concat(...annotations.flatMap((a) => [a.text.trim(), hardline]));
}

/** Annotations of what stands in a line, each with a space behind it. */
export function inLine(annotations: readonly Annotation[] = []): string {
  return annotations.map((a) => `${a.text.trim()} `).join("");
}

/** What stands above a control: its documentation as a comment, and its annotations. */
export function controlHead(c: {
  readonly doc?: string;
  readonly annotations?: readonly Annotation[];
}): string {
  return [
    ...(c.doc === undefined ? [] : [render(comment(sentence(c.doc), 0))]),
    ...(c.annotations ?? []).map((a) => a.text.trim()),
  ].join("\n");
}

/** An annotation as p4c writes it into P4Info: word by word, without empty parentheses. */
export function infoText(text: string): string {
  const parsed = parseAnnotation(text);
  if (typeof parsed === "string") return text;
  return `@${parsed.name}${parsed.words.length === 0 ? "" : `(${parsed.words.join(" ")})`}`;
}
