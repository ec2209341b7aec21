import type { JobLayout } from "../libra/layout.ts";
import type { WorkerAction, WorkerEvent } from "../libra/worker.ts";
import type { SendAction } from "../machine.ts";

/** Names one push or pull, as in ps-lite; `wait` with it. `Answer` is what waiting gives. */
export interface Timestamp<Answer> {
  readonly id: number;
  /** Never there: it only carries the type. */
  readonly answer?: Answer;
}

interface Waiter {
  resolve(answer: Float32Array | undefined): void;
  reject(error: Error): void;
}

/** Whoever passes events to the worker's state machine: an adapter such as UdpHost. */
export interface WorkerDriver {
  dispatch(event: WorkerEvent): void;
}

/**
 * The worker's side of the parameter-server interface, in the manner of ps-lite. Push and pull return at once; the
 * work is done when `wait` resolves. Pushes are rounds: all workers of the job push equally often, and the server
 * updates its values with the n-th pushes of all together.
 *
 * Pass all actions of the state machine to `notice`.
 */
export class KVWorker {
  readonly #driver: WorkerDriver;
  /** Outstanding pushes, oldest first: rounds finish in order. */
  readonly #pushes: number[] = [];
  readonly #answers = new Map<number, Float32Array | undefined>();
  readonly #outstanding = new Set<number>();
  readonly #waiters = new Map<number, Waiter[]>();
  readonly #leaving: Waiter[] = [];
  /** Why nothing goes on, until something does. */
  #failure: Error | undefined;
  #hasLeft = false;
  #next = 1;

  constructor(driver: WorkerDriver) {
    this.#driver = driver;
  }

  /**
   * Gives the gradients of the worker's next round.
   *
   * @throws RangeError when there is not one value per key.
   */
  push(keys: Uint32Array, values: Float32Array): Timestamp<undefined> {
    this.#driver.dispatch({ type: "push", keys, values });
    const id = this.#next++;
    this.#outstanding.add(id);
    this.#pushes.push(id);
    return { id };
  }

  /** Asks the server for the present values of the keys, in their order. */
  pull(keys: Uint32Array): Timestamp<Float32Array> {
    const id = this.#next++;
    this.#driver.dispatch({ type: "pull", request: id, keys });
    this.#outstanding.add(id);
    return { id };
  }

  /**
   * Waits for a push to be in the server's values, or for a pull's values, which it gives once.
   *
   * @throws LibraError when the job can't go on as it is: a peer is lost or unreachable. The work is not forgotten:
   * when the job moves, waiting again may succeed.
   */
  wait<Answer extends Float32Array | undefined>({ id }: Timestamp<Answer>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      // The answer's type is the timestamp's: pushes are answered with undefined, pulls with values.
      const waiter: Waiter = { resolve: (answer) => resolve(answer as Answer), reject };
      if (!this.#outstanding.has(id)) {
        waiter.resolve(this.#answers.get(id));
        this.#answers.delete(id);
        return;
      }
      if (this.#failure !== undefined) {
        reject(this.#failure);
        return;
      }
      const waiters = this.#waiters.get(id);
      if (waiters === undefined) this.#waiters.set(id, [waiter]);
      else waiters.push(waiter);
    });
  }

  /** The job has moved. Errors of the old place are forgotten. */
  move(layout: JobLayout): void {
    this.#failure = undefined;
    this.#driver.dispatch({ type: "layout", layout });
  }

  /** Tells the server that the worker is done. Resolves when the server knows. */
  leave(): Promise<void> {
    if (this.#hasLeft) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#leaving.push({ resolve: () => resolve(), reject });
      this.#driver.dispatch({ type: "leave" });
    });
  }

  /** Takes an action of the state machine. */
  notice(action: WorkerAction | SendAction): void {
    switch (action.type) {
      case "finished": {
        const id = this.#pushes.shift();
        if (id !== undefined) this.#settle(id, undefined);
        break;
      }
      case "pulled":
        this.#settle(action.request, action.values);
        break;
      case "left":
        this.#hasLeft = true;
        for (const waiter of this.#leaving.splice(0)) waiter.resolve(undefined);
        break;
      case "error":
        this.fail(action.error);
        break;
      case "send":
      case "resumed":
        break;
    }
  }

  /** Rejects all that is being waited for, and what will be until something goes on. */
  fail(error: Error): void {
    this.#failure = error;
    const waiters = [...this.#waiters.values()].flat().concat(this.#leaving.splice(0));
    this.#waiters.clear();
    for (const waiter of waiters) waiter.reject(error);
  }

  #settle(id: number, answer: Float32Array | undefined): void {
    if (!this.#outstanding.delete(id)) return;
    this.#failure = undefined;
    const waiters = this.#waiters.get(id);
    this.#waiters.delete(id);
    if (waiters !== undefined) for (const waiter of waiters) waiter.resolve(answer);
    else if (answer !== undefined) this.#answers.set(id, answer);
  }
}
