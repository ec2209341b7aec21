/** When to send again what was not acknowledged. Times are in milliseconds. */
export interface RetryOptions {
  /** Time until the first resend. */
  readonly timeout: number;
  /** Longest time between two tries; the time doubles until it is reached. */
  readonly maxTimeout: number;
  /** Resends before the peer counts as unreachable. */
  readonly retries: number;
}

/** The time to wait after the next try. */
export function backOff(timeout: number, { maxTimeout }: RetryOptions): number {
  return Math.min(timeout * 2, maxTimeout);
}
