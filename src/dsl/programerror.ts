import { type Diagnostic, ruleOf, severityOf } from "../ir/diagnostics.ts";

/** A program that cannot be built. `diagnostics` holds every finding, warnings too, in order of the program. */
export class ProgramError extends Error {
  override readonly name = "ProgramError";
  readonly diagnostics: readonly [Diagnostic, ...Diagnostic[]];

  constructor(...diagnostics: readonly [Diagnostic, ...Diagnostic[]]) {
    super(diagnostics.map(describe).join("\n"));
    this.diagnostics = Object.freeze(diagnostics);
  }

  /** Code of the first error. */
  get code(): Diagnostic["code"] {
    const [first] = this.diagnostics;
    return (this.diagnostics.find((d) => severityOf(d) === "error") ?? first).code;
  }
}

/** One line for people: `file:line:column: error GP1102: message. Remedy.` */
export function describe(d: Diagnostic): string {
  const place = d.at === undefined ? "" : `${d.at.file}:${d.at.line}:${d.at.column}: `;
  const target = d.target === undefined ? "" : ` [${d.target}]`;
  return `${place}${severityOf(d)} ${d.code}${target}: ${d.message}. To mend it: ${ruleOf(d).remedy}.`;
}
