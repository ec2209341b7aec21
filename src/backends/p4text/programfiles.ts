import type { Program } from "../../ir/index.ts";
import { version } from "../version.ts";
import { comment, sentence } from "./comments.ts";
import { constantTexts } from "./constants.ts";
import { type Doc, INDENT, lines, render } from "./layout.ts";
import type { Templates } from "./templates.ts";

/** Makes one file from its template; `part` is what the file's banner calls it. */
export type FileMaker = (template: string, part: string, view: Readonly<Record<string, unknown>>) => string;

interface ControlFile {
  readonly name: string;
  readonly instances: readonly { readonly control: string }[];
}

/**
 * The files of a program, by path within the target's folder: the main file that includes the others, the constants that they use,
 * and the `parts`, which differ from target to target.
 */
export function programFiles(
  templates: Templates,
  source: Pick<Program, "name" | "doc">,
  controls: readonly ControlFile[],
  constants: Program["constants"],
  partFiles: (file: FileMaker) => ReadonlyMap<string, string>,
  arch?: string,
): ReadonlyMap<string, string> {
  const { name, doc } = source;
  const file: FileMaker = (template, part, view) =>
    tidy(templates(template, { program: name, version, part, ...view }));
  const parts = partFiles(file);
  const used = constantTexts(constants, parts);
  const files = new Map<string, string>();
  files.set(
    `${name}.p4`,
    file("main.p4", "the package", {
      doc: doc === undefined ? "" : render(comment(sentence(doc), 0)),
      arch,
      includes: [
        ...(used.length > 0 ? ["constants.p4"] : []),
        "headers.p4",
        "parser.p4",
        ...(parts.has("checksums.p4") ? ["checksums.p4"] : []),
        ...applicationOrder(controls).map((c) => `controls/${c.name}.p4`),
        "ingress.p4",
        "egress.p4",
        "deparser.p4",
      ],
    }),
  );
  if (used.length > 0)
    files.set("constants.p4", file("constants.p4", "constants", { groups: used.map((k) => render(k)) }));
  return new Map([...files, ...parts]);
}

/** Statements of a control's `apply`. */
export function body(statements: readonly Doc[]): string {
  return statements.length === 0 ? "" : render(lines(statements), 2 * INDENT);
}

/** A control is declared before the controls that contain an instance of it. */
function applicationOrder(controls: readonly ControlFile[]): readonly ControlFile[] {
  const done = new Set<string>();
  const out: ControlFile[] = [];
  const visit = (c: ControlFile): void => {
    if (done.has(c.name)) return;
    done.add(c.name);
    for (const i of c.instances) {
      const inner = controls.find((other) => other.name === i.control);
      if (inner !== undefined) visit(inner);
    }
    out.push(c);
  };
  for (const c of controls) visit(c);
  return out;
}

/** Exactly one line end at the end of the file. */
function tidy(text: string): string {
  return `${text.trimEnd()}\n`;
}
