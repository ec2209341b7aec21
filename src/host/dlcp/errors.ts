export type DlcpErrorCode =
  /** A job that can't be. */
  | "job_invalid"
  /** A call that makes no sense, such as a tensor of the wrong length. */
  | "wrong_use"
  /** Nothing has been heard of the peer for too long. */
  | "peer_lost"
  /** The peer has begun anew: what was under way is gone. */
  | "peer_restarted"
  /** The peer says something else about a tensor than the job does. */
  | "peer_disagrees";

/** What a DLCP host reports to its application. */
export class DlcpError extends Error {
  override readonly name = "DlcpError";
  readonly code: DlcpErrorCode;
  /** The host at fault, and the tensor if it is about one. */
  readonly peer: number | undefined;
  readonly tensor: number | undefined;

  constructor(
    code: DlcpErrorCode,
    message: string,
    about: { readonly peer?: number; readonly tensor?: number } = {},
  ) {
    super(message);
    this.code = code;
    this.peer = about.peer;
    this.tensor = about.tensor;
  }
}
