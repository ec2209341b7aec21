import { type Diagnostic, rules } from "../ir/diagnostics.ts";

/** A program that cannot be built. `diagnostics` holds every finding, in order of the program. */
export class ProgramError extends Error {
  override readonly name = "ProgramError";
  readonly diagnostics: readonly Diagnostic[];

  constructor(...diagnostics: readonly [Diagnostic, ...Diagnostic[]]) {
    super(diagnostics.map(describe).join("\n"));
    this.diagnostics = diagnostics;
  }

  get code(): string {
    return this.diagnostics[0]?.code ?? "GP0000";
  }
}

/** One line for people: `file:line:column: error GP1102: message. Remedy.` */
export function describe(d: Diagnostic): string {
  const place = d.at === undefined ? "" : `${d.at.file}:${d.at.line}:${d.at.column}: `;
  const target = d.target === undefined ? "" : ` [${d.target}]`;
  return `${place}${rules[d.code].severity} ${d.code}${target}: ${d.message}. To mend it: ${rules[d.code].remedy}.`;
}
