export type MeterUnit = "packets" | "bytes";

/** Rates in packets or bytes per second, bursts in packets or bytes. */
export interface MeterConfig {
  readonly committedRate: bigint;
  readonly committedBurst: bigint;
  readonly peakRate: bigint;
  readonly peakBurst: bigint;
}

export const colours = { green: 0, yellow: 1, red: 2 } as const;

/**
 * A two-rate three-colour meter, colour blind (RFC 2698): red if the peak bucket lacks tokens, yellow if the committed
 * bucket does, green otherwise. Without a configuration everything is green.
 */
export class Meter {
  readonly unit: MeterUnit;
  private configuration: MeterConfig | undefined = undefined;
  private committedTokens = 0;
  private peakTokens = 0;
  /** Tokens per microsecond. */
  private committedRate = 0;
  private peakRate = 0;
  private committedBurst = 0;
  private peakBurst = 0;
  private updated = 0;

  constructor(unit: MeterUnit) {
    this.unit = unit;
  }

  get config(): MeterConfig | undefined {
    return this.configuration;
  }

  /** Sets the rates, with full buckets; undefined goes back to "everything is green". `now` is in microseconds. */
  configure(config: MeterConfig | undefined, now: number): void {
    this.configuration = config;
    if (config === undefined) return;
    this.committedRate = Number(config.committedRate) / 1e6;
    this.peakRate = Number(config.peakRate) / 1e6;
    this.committedBurst = Number(config.committedBurst);
    this.peakBurst = Number(config.peakBurst);
    this.committedTokens = this.committedBurst;
    this.peakTokens = this.peakBurst;
    this.updated = now;
  }

  /** Colours a packet of `length` bytes and takes its tokens. */
  execute(length: number, now: number): number {
    if (this.configuration === undefined) return colours.green;
    const elapsed = Math.max(0, now - this.updated);
    this.updated = Math.max(this.updated, now);
    this.peakTokens = Math.min(this.peakBurst, this.peakTokens + elapsed * this.peakRate);
    this.committedTokens = Math.min(this.committedBurst, this.committedTokens + elapsed * this.committedRate);
    const cost = this.unit === "packets" ? 1 : length;
    if (this.peakTokens < cost) return colours.red;
    this.peakTokens -= cost;
    if (this.committedTokens < cost) return colours.yellow;
    this.committedTokens -= cost;
    return colours.green;
  }
}
