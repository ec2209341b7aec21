import { backOff } from "../retry.ts";
import type { LibraOptions } from "./options.ts";

interface Asked {
  dueAt: number;
  timeout: number;
  /** Times asked since the aggregator last answered for this row. */
  unanswered: number;
}

/**
 * Decides when the server asks the aggregator again for rows whose RESULT has not come. It starts when all workers
 * have pushed and nothing has come for a while, and asks each row with growing pauses, a window of rows at a time.
 */
export class Collector {
  readonly #options: LibraOptions;
  readonly #asked = new Map<number, Asked>();
  #quietSince: number | undefined;
  #unreachableRow: number | undefined;
  /** COLLECTs sent. */
  sent = 0;

  constructor(options: LibraOptions) {
    this.#options = options;
  }

  /** A row that the aggregator did not answer for in the allowed number of tries. It is asked on, at the slowest pace. */
  get unreachableRow(): number | undefined {
    return this.#unreachableRow;
  }

  get wakeAt(): number {
    if (this.#quietSince === undefined) return Number.POSITIVE_INFINITY;
    const patient = this.#quietSince + this.#options.collectAfter;
    if (this.#asked.size === 0) return patient;
    let at = Number.POSITIVE_INFINITY;
    for (const asked of this.#asked.values()) at = Math.min(at, asked.dueAt);
    return Math.max(at, patient);
  }

  /** A RESULT came, or the round or the place has changed: give the rest its time. */
  restart(now: number | undefined): void {
    this.#quietSince = now;
    this.#asked.clear();
    this.#unreachableRow = undefined;
  }

  /** The row's RESULT is here. */
  taken(row: number, now: number): void {
    this.#asked.delete(row);
    if (this.#quietSince !== undefined) this.#quietSince = now;
    this.#unreachableRow = undefined;
  }

  /** The aggregator answered that the row is not complete. */
  pending(row: number): void {
    const asked = this.#asked.get(row);
    if (asked !== undefined) asked.unanswered = 0;
    this.#unreachableRow = undefined;
  }

  /** The rows to ask for now, out of those that are missing. */
  poll(missing: readonly number[], now: number): number[] {
    if (this.#quietSince === undefined || now < this.#quietSince + this.#options.collectAfter) return [];
    const rows: number[] = [];
    for (const row of missing) {
      let asked = this.#asked.get(row);
      if (asked === undefined) {
        if (this.#asked.size >= this.#options.window) continue;
        asked = { dueAt: now, timeout: this.#options.timeout, unanswered: 0 };
        this.#asked.set(row, asked);
      }
      if (asked.dueAt > now) continue;
      if (asked.unanswered > this.#options.retries) this.#unreachableRow = row;
      asked.unanswered++;
      asked.dueAt = now + asked.timeout;
      asked.timeout = backOff(asked.timeout, this.#options);
      rows.push(row);
      this.sent++;
    }
    return rows;
  }
}
