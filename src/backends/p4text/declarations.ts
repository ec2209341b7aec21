import type { Annotated, Annotation } from "../../ir/index.ts";
import { type DataType, typeName } from "../../ir/index.ts";
import { annotatedLine, annotationLines, inLine } from "./annotations.ts";
import { comment, endOfLine, sentence, wrap } from "./comments.ts";
import { braces, concat, type Doc, hardline, INDENT, lines, list, WIDTH } from "./layout.ts";

/** The declaration with its documentation in front, as it stands inside a control. */
export function documented(doc: string | undefined, declaration: Doc, indent = INDENT): Doc {
  return doc === undefined || doc === ""
    ? declaration
    : concat(comment(sentence(doc), indent), hardline, declaration);
}

/** A register, a counter or the like: one line with its control-plane name. */
export interface ObjectText extends Annotated {
  readonly name: string;
  readonly doc?: string | undefined;
  readonly text: string;
}

/** Objects of one kind; those without documentation stand together. */
export function objectTexts(objects: readonly ObjectText[]): readonly Doc[] {
  const out: Doc[] = [];
  let together: Doc[] = [];
  const flush = (): void => {
    if (together.length > 0) out.push(lines(together));
    together = [];
  };
  for (const object of objects) {
    const { doc } = object;
    const declaration = annotatedLine(object, object.text);
    if (doc === undefined || doc === "") {
      together.push(declaration);
      continue;
    }
    flush();
    out.push(documented(doc, declaration));
  }
  flush();
  return out;
}

/** An action as a backend declares it. */
export interface ActionText extends Annotated {
  readonly name: string;
  readonly local: string;
  readonly doc?: string;
  readonly parameters: readonly ParameterText[];
}

interface ParameterText {
  readonly name: string;
  readonly type: DataType;
  readonly doc?: string;
  readonly annotations?: readonly Annotation[];
}

/** An action with the documentation of its parameters in front. */
export function actionText(action: ActionText, body: readonly Doc[]): Doc {
  const parameterDocs = action.parameters.flatMap((p) =>
    p.doc === undefined ? [] : [`${p.name}: ${p.doc}`],
  );
  return documented(
    [...(action.doc === undefined ? [] : [action.doc]), ...parameterDocs].join("\n"),
    concat(
      annotationLines(action),
      braces(
        list(
          `action ${action.local}(`,
          action.parameters.map((p) => `${inLine(p.annotations)}${typeName(p.type)} ${p.name}`),
          ")",
        ),
        body,
      ),
    ),
  );
}

/** What a counter counts, and what its cells stand for. */
export function counterDoc(
  doc: string | undefined,
  cells: readonly string[] | undefined,
  per?: { readonly name: string; readonly cells: number },
): string | undefined {
  const list = cellList(cells, per, "\u00a0");
  if (list === undefined) return doc;
  return doc === undefined ? list : `${doc.replace(/\.$/, "")}: ${list}`;
}

/**
 * The numbers and names of cells: `0 passed, 1 no_route`; where there are as many for each port, `16 for each port: 0 passed, ...`. In P4Info
 * clients read them (`cellName` of p4runtime).
 */
export function cellList(
  cells: readonly string[] | undefined,
  per: { readonly name: string; readonly cells: number } | undefined,
  between: string,
): string | undefined {
  const list = cells?.map((cell, i) => `${i}${between}${cell}`).join(", ");
  if (per === undefined) return list;
  return per.cells === 1 ? `one for each ${per.name}` : `${per.cells} for each ${per.name}: ${list ?? ""}`;
}

/** A field of a header or of the metadata. */
export interface MemberText {
  readonly text: string;
  readonly doc?: string | undefined;
}

/** Fields, each with its documentation behind it in one column, or above it where the line would be too long. */
export function memberTexts(fields: readonly MemberText[]): readonly Doc[] {
  const room = WIDTH - INDENT - " // ".length;
  const isShort = ({ text, doc = "" }: MemberText, column: number): boolean =>
    Math.max(text.length, column) + doc.length <= room && !/[\r\n]/.test(doc);
  const behind = fields.filter((f) => f.doc !== undefined && isShort(f, 0));
  const column = Math.max(0, ...behind.map((f) => f.text.length));
  return fields.flatMap((f) => {
    if (f.doc === undefined) return [f.text];
    if (isShort(f, column)) return [`${f.text.padEnd(column)} // ${endOfLine(f.doc)}`];
    if (isShort(f, 0)) return [`${f.text} // ${endOfLine(f.doc)}`];
    return [...wrap(f.doc, WIDTH - INDENT - 3).map((l) => `// ${l}`), f.text];
  });
}
