import type { KeysAndValues } from "../../wire/messagebody.ts";
import type { JobLayout } from "./layout.ts";

/** What became of something that arrived for a round. */
export type RoundOutcome = "taken" | "taken_before";

/**
 * What the server has of one round: a result per row, the cold gradients per worker, and for marked rows the
 * workers' own float32 values.
 */
export class ServerRound {
  readonly round: number;
  readonly #layout: JobLayout;
  /** Sums of the hot rows, row-major, float32. */
  #sums: Float32Array;
  /** 0 missing, 1 marked and waiting for the workers' values, 2 done. */
  #states: Uint8Array;
  #rowsMissing: number;
  /** Rows without a sum: missing, or marked. */
  #rowsLeft: number;
  readonly #pushes = new Map<number, KeysAndValues>();
  readonly #marked = new Map<number, Map<number, Float32Array>>();

  constructor(round: number, layout: JobLayout) {
    this.round = round;
    this.#layout = layout;
    this.#sums = new Float32Array(layout.rows.length * layout.lanes);
    this.#states = new Uint8Array(layout.rows.length);
    this.#rowsMissing = layout.rows.length;
    this.#rowsLeft = layout.rows.length;
  }

  /** Has anything arrived? */
  get hasBegun(): boolean {
    return this.#pushes.size > 0 || this.#rowsMissing < this.#states.length;
  }

  /** Are there rows without a RESULT? */
  get isMissingRows(): boolean {
    return this.#rowsMissing > 0;
  }

  /** Rows without a RESULT. */
  missingRows(): number[] {
    const rows: number[] = [];
    this.#states.forEach((state, row) => {
      if (state === 0) rows.push(row);
    });
    return rows;
  }

  hasPushed(member: number): boolean {
    return this.#pushes.has(member);
  }

  /** Does every one of these workers have its push in, and every row its sum? */
  isComplete(members: readonly number[]): boolean {
    return this.#rowsLeft === 0 && members.every((member) => this.#pushes.has(member));
  }

  takePush(member: number, push: KeysAndValues): RoundOutcome {
    if (this.#pushes.has(member)) return "taken_before";
    this.#pushes.set(member, push);
    return "taken";
  }

  /** Takes the integer sums of a row, in units of `unit`. */
  takeResult(row: number, lanes: Int32Array, unit: number): RoundOutcome {
    if (this.#states[row] !== 0) return "taken_before";
    this.#rowsMissing--;
    this.#finishRow(row, (lane) => (lanes[lane] ?? 0) * unit);
    return "taken";
  }

  /** Takes the notice that a row can't be used: the workers' own values are needed. */
  takeMark(row: number): RoundOutcome {
    if (this.#states[row] !== 0) return "taken_before";
    this.#states[row] = 1;
    this.#rowsMissing--;
    this.#marked.set(row, new Map());
    return "taken";
  }

  /**
   * Takes one worker's float32 values of a marked row (empty: none). With the last worker's the row is summed in
   * float64, in the order of the workers, so that the order of arrival does not show.
   */
  takeValues(row: number, member: number, values: Float32Array, members: readonly number[]): RoundOutcome {
    const waiting = this.#marked.get(row);
    if (waiting === undefined || waiting.has(member)) return "taken_before";
    waiting.set(member, values);
    this.#sumMarked(row, members);
    return "taken";
  }

  /**
   * Takes back all that arrived: the set of workers has changed, and sums with the old set mean nothing. Only the pushes of those who
   * stayed are kept.
   */
  restart(stayed: readonly number[]): void {
    this.#states.fill(0);
    this.#sums.fill(0);
    this.#rowsMissing = this.#states.length;
    this.#rowsLeft = this.#states.length;
    this.#marked.clear();
    for (const member of [...this.#pushes.keys()]) if (!stayed.includes(member)) this.#pushes.delete(member);
  }

  /**
   * The round's gradients: hot keys in the order of the grid, then cold keys in ascending order. Cold sums are made
   * in float64 in the order of the workers. A hot key whose sum is 0 is left out: nothing says whether a worker
   * had a gradient for it.
   */
  gradients(members: readonly number[]): { readonly keys: Uint32Array; readonly sums: Float32Array } {
    const cold = new Map<number, number>();
    for (const member of [...members].sort((a, b) => a - b)) {
      const push = this.#pushes.get(member);
      push?.keys.forEach((key, i) => {
        cold.set(key, (cold.get(key) ?? 0) + (push.values[i] ?? 0));
      });
    }
    const keys: number[] = [];
    const sums: number[] = [];
    this.#layout.rows.forEach((row, index) => {
      row.forEach((key, lane) => {
        const sum = this.#sums[index * this.#layout.lanes + lane] ?? 0;
        if (sum === 0) return;
        keys.push(key);
        sums.push(sum);
      });
    });
    for (const key of Uint32Array.from(cold.keys()).sort()) {
      keys.push(key);
      sums.push(cold.get(key) ?? 0);
    }
    return { keys: Uint32Array.from(keys), sums: Float32Array.from(sums) };
  }

  #sumMarked(row: number, members: readonly number[]): void {
    const values = this.#marked.get(row);
    if (values === undefined || !members.every((member) => values.has(member))) return;
    const inOrder = [...members].sort((a, b) => a - b).map((member) => values.get(member));
    this.#marked.delete(row);
    this.#finishRow(row, (lane) => inOrder.reduce((sum, lanes) => sum + (lanes?.[lane] ?? 0), 0));
  }

  #finishRow(row: number, sumOf: (lane: number) => number): void {
    for (let lane = 0; lane < this.#layout.lanes; lane++)
      this.#sums[row * this.#layout.lanes + lane] = sumOf(lane);
    this.#states[row] = 2;
    this.#rowsLeft--;
  }
}
