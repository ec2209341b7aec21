import type { ChannelOptions } from "../ps/channel.ts";

/** Times, windows and bounds of a Libra host. Times are in milliseconds. */
export interface LibraOptions extends ChannelOptions {
  /** Time between two signs of life of a worker. */
  readonly heartbeat: number;
  /** Silence of a peer that others wait for, after which it counts as lost; half as much again when others falter too. */
  readonly silence: number;
  /** Time without progress after which the server asks the aggregator for missing results. */
  readonly collectAfter: number;
}

/**
 * For a network with round trips of at most a few tens of milliseconds. Retries last about 15 s, longer than a
 * controller needs to move a job.
 */
export const DEFAULT_OPTIONS: LibraOptions = {
  window: 32,
  timeout: 30,
  maxTimeout: 400,
  retries: 40,
  heartbeat: 200,
  silence: 5000,
  collectAfter: 60,
};
