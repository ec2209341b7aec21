/** Why a collective operation failed. */
export type CollectiveErrorCode =
  /** A node is gone, or silent for longer than allowed. */
  | "node_lost"
  /** A node takes part in something else: another operation, length or block, or it sends what is no message. */
  | "node_disagrees"
  /** A node has left the group although it is still needed. */
  | "node_left"
  /** A node could not be reached when the group was formed. */
  | "node_unreachable"
  /** Arguments that make no sense. */
  | "wrong_use"
  /** This node has closed the group. */
  | "closed";

export class CollectiveError extends Error {
  override readonly name = "CollectiveError";
  readonly code: CollectiveErrorCode;
  /** The node at fault; undefined when it is a wrong call. */
  readonly node: number | undefined;

  constructor(code: CollectiveErrorCode, message: string, node?: number) {
    super(message);
    this.code = code;
    this.node = node;
  }
}

/** Causes as FAILURE messages carry them. */
const CAUSES: readonly CollectiveErrorCode[] = [
  "node_lost",
  "node_disagrees",
  "node_left",
  "node_unreachable",
];

export function causeNumber(code: CollectiveErrorCode): number {
  return Math.max(0, CAUSES.indexOf(code));
}

/** The error that another node has reported. */
export function reportedError(cause: number, node: number, by: number): CollectiveError {
  const code = CAUSES[cause] ?? "node_lost";
  const what = {
    node_lost: "is lost",
    node_disagrees: "disagrees about the operation",
    node_left: "has left the group",
    node_unreachable: "can't be reached",
  }[code as "node_lost"]; // CAUSES has these four only
  return new CollectiveError(code, `node ${node} ${what} (reported by node ${by})`, node);
}
