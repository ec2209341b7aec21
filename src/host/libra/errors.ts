/** What a Libra host reports to its application. */
export type LibraErrorCode =
  /** A layout that can't be, or can't follow the one before. */
  | "layout_invalid"
  /** The switch (or the server in its place) does not answer for a row. */
  | "aggregator_unreachable"
  /** The parameter server does not answer. */
  | "server_unreachable"
  /** The job goes on with a newer life of this worker: this one is over. */
  | "replaced"
  /** A worker has been silent for too long while others wait. */
  | "worker_lost"
  /** Some worker's value is NaN or infinite, so that its sum is no number. */
  | "not_finite";

/** The peer or row at fault; which fields are there depends on the code. */
export interface LibraErrorDetails {
  readonly job?: number;
  readonly round?: number;
  readonly row?: number;
  readonly worker?: number;
  /** IPv4 address of the peer. */
  readonly peer?: string;
}

export class LibraError extends Error {
  readonly code: LibraErrorCode;
  readonly details: LibraErrorDetails;

  constructor(code: LibraErrorCode, message: string, details: LibraErrorDetails = {}) {
    super(message);
    this.name = "LibraError";
    this.code = code;
    this.details = details;
  }
}
