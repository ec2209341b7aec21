import { MessageError } from "../../p4info/message/error.ts";
import { Code } from "../../p4runtime/code.ts";
import { EntityError, type EntityErrorCode } from "../../p4runtime/entity-error.ts";
import { SwitchRuntimeError } from "../tables/runtime-error.ts";
import { TargetError, type TargetErrorCode } from "./target.ts";

/** A request, or one entity of it, is refused with a canonical code. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly code: number;

  constructor(code: number, text: string) {
    super(text);
    this.code = code;
  }
}

export function invalidArgument(text: string): StatusError {
  return new StatusError(Code.INVALID_ARGUMENT, text);
}

export function notFound(text: string): StatusError {
  return new StatusError(Code.NOT_FOUND, text);
}

export function unimplemented(text: string): StatusError {
  return new StatusError(Code.UNIMPLEMENTED, text);
}

/** A name or id that does not exist is an invalid argument; so is everything else but a value that is too wide (8.3). */
const ENTITY_CODES: Readonly<Record<EntityErrorCode, number>> = {
  "unknown-name": Code.INVALID_ARGUMENT,
  "ambiguous-name": Code.INVALID_ARGUMENT,
  "invalid-value": Code.INVALID_ARGUMENT,
  "out-of-range": Code.OUT_OF_RANGE,
  missing: Code.INVALID_ARGUMENT,
  unexpected: Code.INVALID_ARGUMENT,
};

const TARGET_CODES: Readonly<Record<TargetErrorCode, number>> = {
  "bad-program": Code.INVALID_ARGUMENT,
  unsupported: Code.UNIMPLEMENTED,
  full: Code.RESOURCE_EXHAUSTED,
};

/** The status of anything that was thrown while a request was served. A fault of the switch itself becomes INTERNAL. */
export function statusOf(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  if (error instanceof EntityError) return new StatusError(ENTITY_CODES[error.code], error.message);
  if (error instanceof TargetError) return new StatusError(TARGET_CODES[error.code], error.message);
  // The engine checks again what was checked here; its codes are the canonical ones.
  if (error instanceof SwitchRuntimeError) return new StatusError(Code[error.code], error.message);
  if (error instanceof MessageError && error.code === "too-many-fields")
    return new StatusError(Code.RESOURCE_EXHAUSTED, error.message);
  return new StatusError(Code.INTERNAL, error instanceof Error ? error.message : String(error));
}
