import type { SourceLocation } from "../ir/index.ts";
import { callSite } from "./callsite.ts";
import { ProgramError } from "./programerror.ts";

/**
 * Refuses options that do not exist: a program is also run without a type checker, and a misspelt option would do nothing.
 *
 * @param at the line of the user's program that calls when left out; it is looked for only when something is wrong
 * @throws ProgramError GP1701 with the options there are.
 */
export function onlyKnown(what: string, given: object, known: readonly string[], at?: SourceLocation): void {
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const message = `${what} has no option ${unknown.join(", ")}; its options are ${known.join(", ")}`;
  throw new ProgramError({ code: "GP1701", message, at: at ?? callSite() });
}
