import { setTimeout as wait } from "node:timers/promises";

/** The time for those who wait: the machine's, or one that a simulation moves. */
export interface Clock {
  /** Milliseconds; only differences mean something. */
  now(): number;
  /** Resolves after so many milliseconds, or at once when the signal is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
}

export const machineClock: Clock = {
  now: () => performance.now(),
  sleep: (milliseconds, signal) =>
    wait(milliseconds, undefined, signal === undefined ? {} : { signal }).catch(() => {}),
};
