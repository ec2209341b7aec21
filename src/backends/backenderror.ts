import type { SourceLocation } from "../ir/index.ts";

/**
 * A program that a backend cannot express although it is well typed. The checks refuse what they know of; this is the last
 * line, so that no wrong program is written.
 */
export class BackendError extends Error {
  override readonly name = "BackendError";
  readonly code: BackendErrorCode;
  readonly target: string;
  readonly at?: SourceLocation;

  constructor(code: BackendErrorCode, target: string, message: string, at?: SourceLocation) {
    super(message);
    this.code = code;
    this.target = target;
    if (at !== undefined) this.at = at;
  }
}

/**
 * GP2001: a name that the program does not declare. GP2002: an object used outside the control that owns it. GP2003: a table
 * with two different successors. GP2004: a construct that the target lacks.
 */
export type BackendErrorCode = "GP2001" | "GP2002" | "GP2003" | "GP2004";
