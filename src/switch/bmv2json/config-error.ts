/** Codes of {@link SwitchConfigError}. */
export type SwitchConfigErrorCode =
  | "JSON_SYNTAX"
  | "INEXACT_INTEGER"
  | "MISSING"
  | "WRONG_TYPE"
  | "BAD_VALUE"
  | "UNKNOWN_NAME"
  | "UNSUPPORTED";

/**
 * A BMv2 JSON program that this switch can't load. `path` leads to the offending
 * element, as in `pipelines[0].tables[2].key[0].target`.
 */
export class SwitchConfigError extends Error {
  readonly code: SwitchConfigErrorCode;
  readonly path: string;

  constructor(code: SwitchConfigErrorCode, path: string, problem: string) {
    super(`${path === "" ? "program" : path}: ${problem}`);
    this.name = "SwitchConfigError";
    this.code = code;
    this.path = path;
  }
}
