export type P3ErrorCode =
  /** A job that can't be. */
  | "job_invalid"
  /** A call that makes no sense, such as a gradient of the wrong length. */
  | "wrong_use"
  | "worker_lost"
  | "server_lost"
  /** A peer sends what does not fit the job: another length, slice or iteration. */
  | "peer_disagrees";

/** What a P3 host reports to its application. */
export class P3Error extends Error {
  override readonly name = "P3Error";
  readonly code: P3ErrorCode;
  /** The worker or server at fault. */
  readonly peer: { readonly worker?: number; readonly server?: number };

  constructor(code: P3ErrorCode, message: string, peer: P3Error["peer"] = {}) {
    super(message);
    this.code = code;
    this.peer = peer;
  }
}
