import type { Annotated, Annotation, DataType, KeySet, MatchKind } from "../../ir/index.ts";
import { annotationLines } from "./annotations.ts";
import { comment, sentence } from "./comments.ts";
import { braces, concat, type Doc, hardline, INDENT, list, nest, render, WIDTH } from "./layout.ts";
import { keySet, literal } from "./literals.ts";

/** What a table declaration says, the same for every target. */
export interface TableText extends Annotated {
  readonly name: string;
  readonly local: string;
  readonly key: readonly {
    readonly name: string;
    readonly expression: Doc;
    readonly match: MatchKind;
    readonly type: DataType;
    readonly doc?: string;
    readonly annotations?: readonly Annotation[];
  }[];
  /** Fields whose hash chooses among the members of a group. */
  readonly selectors?: readonly Doc[];
  readonly actions: readonly { readonly local: string; readonly defaultOnly: boolean }[];
  readonly size: number;
  readonly defaultAction: CallText & { readonly constant: boolean };
  readonly entries: readonly (CallText & { readonly keys: readonly KeySet[] })[];
  /** The control plane may change the entries. */
  readonly entriesAreInitial?: true | undefined;
  /** Further properties of the target, such as `counters = ...`. */
  readonly properties: readonly string[];
}

interface CallText {
  readonly local: string;
  readonly arguments: readonly {
    readonly value: bigint;
    readonly type: DataType;
    /** The constant that stands for it. */
    readonly name?: string | undefined;
  }[];
}

export function tableText(t: TableText): Doc {
  const body: Doc[] = [];
  if (t.key.length > 0)
    body.push(
      braces("key =", [
        ...t.key.map((k) => {
          const line = concat(
            k.expression,
            `: ${k.match} @name(${quote(k.name)})${partTexts(k.annotations)};`,
          );
          return k.doc === undefined ? line : concat(comment(sentence(k.doc), 4 * INDENT), hardline, line);
        }),
        ...(t.selectors ?? []).map((k) => concat(k, ": selector;")),
      ]),
    );
  body.push(
    braces(
      "actions =",
      t.actions.map((a) => `${a.defaultOnly ? "@defaultonly " : ""}${a.local};`),
    ),
  );
  // Without a key there is one entry, the default one; constant entries are counted by the compiler.
  if (t.key.length > 0 && (t.entries.length === 0 || t.entriesAreInitial)) body.push(`size = ${t.size};`);
  body.push(...t.properties);
  if (t.entries.length > 0)
    body.push(braces(t.entriesAreInitial ? "entries =" : "const entries =", entries(t)));
  body.push(
    concat(t.defaultAction.constant ? "const " : "", "default_action = ", call(t.defaultAction), ";"),
  );
  return concat(annotationLines(t), braces(`table ${t.local}`, body));
}

function partTexts(annotations: readonly Annotation[] = []): string {
  return annotations.map((a) => ` ${a.text.trim()}`).join("");
}

/** The control-plane name, absolute, so that it does not depend on where the object stands. */
export function nameAnnotation(name: string): Doc {
  return concat(nameText(name), hardline);
}

/** The same annotation, for objects that stand in the line behind it. */
export function nameText(name: string): string {
  return `@name(${quote(`.${name}`)})`;
}

export function quote(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}

/** Constant entries in winning order, in columns where the page is wide enough: a decision table. */
function entries(t: TableText): readonly Doc[] {
  const rows = t.entries.map((entry) => ({ cells: keys(entry.keys, t), call: call(entry) }));
  const widths = rows.reduce<readonly number[]>(
    (so, { cells }) => cells.map((c, i) => Math.max(so[i] ?? 0, c.length)),
    [],
  );
  // Inside a control, a table and its entries.
  const room = WIDTH - 3 * INDENT;
  const lines = rows.map(({ cells, call }) => `${padded(cells, widths)} ${render(call)};`);
  if (lines.every((l) => !l.includes("\n") && l.length <= room)) return lines;
  const heads = rows.map(({ cells }) => padded(cells, widths).trimEnd());
  if (heads.every((head) => head.length <= room))
    return rows.map(({ call }, i) => concat(heads[i] ?? "", nest(hardline, call, ";")));
  return rows.map(({ cells, call }) =>
    concat(cells.length === 1 ? (cells[0] ?? "") : list("(", cells, ")"), ": ", call, ";"),
  );
}

/** `(a, b): ` with each key as wide as its column. */
function padded(cells: readonly string[], widths: readonly number[]): string {
  const last = cells.length - 1;
  const row = cells.map((c, i) => (i < last ? `${c},`.padEnd((widths[i] ?? 0) + 1) : c)).join(" ");
  const text = cells.length === 1 ? `${row}:` : `(${row}):`;
  return text.padEnd(text.length + (widths[last] ?? 0) - (cells[last] ?? "").length);
}

function keys(sets: readonly KeySet[], t: TableText): readonly string[] {
  return sets.map((set, i) => {
    const key = t.key[i];
    return keySet(set, key?.type ?? { kind: "bit", width: 1 }, key?.match === "range");
  });
}

function call(c: CallText): Doc {
  return concat(
    c.local,
    list(
      "(",
      c.arguments.map((a) => a.name ?? literal(a.value, a.type, false)),
      ")",
    ),
  );
}
