import { Code } from "../../p4runtime/code.ts";
import type { CallInfo } from "../grpc/grpc-call.ts";
import type { GrpcStatus } from "../grpc/grpc-status.ts";
import type { Steps } from "./access-queue.ts";
import { batchStatus } from "./error-details.ts";
import { type StatusError, statusOf } from "./status.ts";

/** Members of a batch failed: one result per member, undefined for those that went well. */
export class BatchError extends Error {
  override readonly name = "BatchError";
  readonly results: readonly (StatusError | undefined)[];
  /** The error space of the members; our own unless given. */
  readonly space: string | undefined;

  constructor(results: readonly (StatusError | undefined)[], message: string, space?: string) {
    super(message);
    this.results = results;
    this.space = space;
  }
}

/** Do something for one member of a batch; gives why it failed. */
export function attempt(action: () => void): StatusError | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    return statusOf(error);
  }
}

/** `attempt` for something that is done in steps. */
export function* attemptSteps(steps: Steps<void>): Steps<StatusError | undefined> {
  try {
    yield* steps;
    return undefined;
  } catch (error) {
    return statusOf(error);
  }
}

/** gRPC for Node, which our own client is made with, takes headers of any size that HTTP/2 does. */
function takesLongHeaders(call: CallInfo): boolean {
  return call.header("user-agent")?.includes("grpc-node-js") ?? false;
}

/** How a call ends for which `error` was thrown. */
export function callStatus(error: unknown, call: CallInfo): GrpcStatus {
  if (error instanceof BatchError)
    return {
      code: Code.UNKNOWN,
      message: error.message,
      details: batchStatus(error.results, error.message, takesLongHeaders(call), error.space),
    };
  const { code, message } = statusOf(error);
  return { code, message };
}
