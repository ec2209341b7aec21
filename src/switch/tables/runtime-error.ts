/** Codes of {@link SwitchRuntimeError}; the names and meanings of gRPC's canonical codes. */
export type SwitchRuntimeErrorCode =
  | "ALREADY_EXISTS"
  | "NOT_FOUND"
  | "RESOURCE_EXHAUSTED"
  | "INVALID_ARGUMENT"
  | "OUT_OF_RANGE"
  | "PERMISSION_DENIED"
  | "FAILED_PRECONDITION";

/** A refused change of, or question about, run-time state. Nothing has changed when it is thrown. */
export class SwitchRuntimeError extends Error {
  readonly code: SwitchRuntimeErrorCode;
  /** The table, array, group or session concerned, for instance `ingress.route`. */
  readonly object: string;

  constructor(code: SwitchRuntimeErrorCode, object: string, problem: string) {
    super(`${object}: ${problem}`);
    this.name = "SwitchRuntimeError";
    this.code = code;
    this.object = object;
  }
}
