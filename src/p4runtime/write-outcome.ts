import { batchErrors, P4RuntimeError, type UpdateStatus } from "./call-error.ts";
import { Code } from "./code.ts";
import { isServiceError } from "./connection.ts";
import type { Update } from "./proto/generated/p4runtime.ts";

/** What became of one request. */
export type BatchOutcome =
  | {
      readonly updates: readonly UpdateStatus[];
      readonly failure: P4RuntimeError | undefined;
      readonly isWhole: false;
      readonly hasDetails: boolean;
    }
  /** The request failed as a whole. */
  | {
      readonly updates: readonly UpdateStatus[];
      readonly failure: P4RuntimeError;
      readonly isWhole: true;
      readonly hasDetails: false;
    };

/** Sort out what became of a request that failed. */
export function failedBatch(updates: readonly Update[], failure: P4RuntimeError): BatchOutcome {
  // UNKNOWN means that single updates failed; any other code that the request was refused (12.3).
  if (failure.code !== Code.UNKNOWN)
    return {
      updates: updates.map((update) => statusOf(update, failure.code, reasonOf(failure), "")),
      failure,
      isWhole: true,
      hasDetails: false,
    };
  const errors = isServiceError(failure.cause) ? batchErrors(failure.cause) : undefined;
  const hasDetails = errors?.length === updates.length;
  return {
    updates: updates.map((update, index) => {
      const error = hasDetails ? errors[index] : undefined;
      if (error === undefined) return statusOf(update, Code.UNKNOWN, reasonOf(failure), "");
      return statusOf(update, error.canonicalCode, error.message, error.space, error.code);
    }),
    failure,
    isWhole: false,
    hasDetails,
  };
}

export function statusOf(
  update: Update,
  code: number,
  message: string,
  space: string,
  spaceCode = 0,
): UpdateStatus {
  return { code, message, space, spaceCode, update };
}

/** The server's own words. */
export function reasonOf(failure: P4RuntimeError): string {
  return isServiceError(failure.cause) ? failure.cause.details : failure.message;
}

/** The error of a read: the first failing request in the text, instead of "1 of 1 reads failed". */
export function readError(error: unknown): unknown {
  if (!(error instanceof P4RuntimeError) || !isServiceError(error.cause)) return error;
  const first = batchErrors(error.cause)?.find((detail) => detail.canonicalCode !== Code.OK);
  if (first === undefined) return error;
  return new P4RuntimeError(first.canonicalCode, error.address, error.call, first.message, error.cause);
}
