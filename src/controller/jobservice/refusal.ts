/** Why a request of a host is refused: values of the enum `Refusal.Code` of jobs.proto. */
export const refusalCodes = [
  "NOT_LEADER",
  "BAD_REQUEST",
  "UNKNOWN_JOB",
  "JOB_EXISTS",
  "UNKNOWN_HOST",
  "NOT_INVITED",
  "NO_SLOTS",
  "DOES_NOT_FIT",
  "REPLACED",
  "DEAD",
  "NOT_JOINED",
  "UNKNOWN_SWITCH",
] as const;
export type RefusalCode = (typeof refusalCodes)[number];

/** A request of a host that is refused, with the reason for people. */
export class JobRefusal extends Error {
  override readonly name = "JobRefusal";
  readonly code: RefusalCode;

  constructor(code: RefusalCode, message: string) {
    super(message);
    this.code = code;
  }
}
