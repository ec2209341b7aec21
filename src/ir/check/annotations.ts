import {
  type Annotated,
  type Annotation,
  MOST_ID,
  parseAnnotation,
  reservedAnnotations,
} from "../annotations.ts";
import type { Diagnostic } from "../diagnostics.ts";
import type { Control, Program } from "../program.ts";
import type { SourceLocation } from "../source.ts";

type Report = (d: Diagnostic) => void;

interface Object extends Annotated {
  readonly name: string;
  readonly at?: SourceLocation;
}

/** Annotations that P4 can write and the generator does not, and ids that are one object's alone. */
export function checkAnnotations(program: Program, report: Report): void {
  for (const control of program.controls) {
    annotationsOf(control, report);
    for (const digest of control.digests) annotationsOf(digest, report);
    for (const { name, at, parameters } of control.actions) parts(parameters, "parameter", name, at, report);
    for (const { name, at, key } of control.tables) parts(key, "match field", name, at, report);
  }
  for (const kind of kinds) {
    const taken = new Map<number, string>();
    for (const object of program.controls.flatMap((c): readonly Object[] => c[kind])) {
      annotationsOf(object, report);
      const { id, name, at } = object;
      if (id === undefined) continue;
      const owner = taken.get(id);
      taken.set(id, name);
      if (!Number.isInteger(id) || id < 1 || id > MOST_ID)
        report({ code: "GP1206", message: `id ${id} of ${name} is not from 1 to ${MOST_ID}`, at });
      else if (owner !== undefined)
        report({ code: "GP1206", message: `id ${id} of ${name} is that of ${owner} already`, at });
    }
  }
}

/** Match fields and parameters, by the names of what they belong to. */
function parts(
  all: readonly { readonly name: string; readonly annotations?: readonly Annotation[] }[],
  what: string,
  owner: string,
  at: SourceLocation | undefined,
  report: Report,
): void {
  for (const { name, annotations } of all)
    if (annotations !== undefined)
      annotationsOf({ name: `${what} ${name} of ${owner}`, annotations, ...(at && { at }) }, report);
}

/** Each has ids of its own. */
const kinds = [
  "actions",
  "tables",
  "registers",
  "counters",
  "meters",
  "actionProfiles",
] as const satisfies readonly (keyof Control)[];

function annotationsOf({ name, annotations = [], at }: Object, report: Report): void {
  for (const { text } of annotations) {
    const parsed = parseAnnotation(text);
    if (typeof parsed === "string") {
      report({ code: "GP1205", message: `annotation ${text} of ${name} ${parsed}`, at });
      continue;
    }
    const reason = reservedAnnotations.get(parsed.name);
    if (reason !== undefined)
      report({ code: "GP1205", message: `annotation @${parsed.name} of ${name}: ${reason}`, at });
  }
}
