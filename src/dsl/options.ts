import type { SourceLocation } from "../ir/index.ts";
import { ProgramError } from "./programerror.ts";

/**
 * Refuses options that do not exist: a program is also run without a type checker, and a misspelt option would do nothing.
 * @throws ProgramError GP1701 with the options there are.
 */
export function onlyKnown(
  what: string,
  given: object,
  known: readonly string[],
  at: SourceLocation | undefined,
): void {
  const unknown = Object.keys(given).filter((name) => !known.includes(name));
  if (unknown.length === 0) return;
  const message = `${what} has no option ${unknown.join(", ")}; its options are ${known.join(", ")}`;
  throw new ProgramError({ code: "GP1701", message, at });
}
