import { CollectiveError } from "./errors.ts";
import type { CollectiveAction, CollectiveEvent, CollectiveOptions } from "./node.ts";
import type { Algorithm, Operation } from "./schedule.ts";

/** What carries a node's events to its machine. */
export interface CollectiveDriver {
  /** @throws CollectiveError for a wrong call, and after the group has failed. */
  dispatch(event: Extract<CollectiveEvent, { type: "start" | "leave" }>): void;
}

export interface OperationOptions extends Partial<Pick<CollectiveOptions, "block" | "overlap">> {
  /** Default: `chain`, Linear Pipelining. */
  readonly algorithm?: Algorithm;
}

/**
 * The collective operations of a node as promises. All nodes of the group have to call the same operations in the same order,
 * with arrays of the same length. An array that is given must not change until its promise has settled. When the group fails, every
 * promise is rejected with a CollectiveError that names the node at fault.
 */
export class CollectiveGroup {
  readonly #driver: CollectiveDriver;
  readonly #open = new Map<number, { resolve(values?: Float32Array): void; reject(error: Error): void }>();
  #next = 0;
  #failure: CollectiveError | undefined;

  constructor(driver: CollectiveDriver) {
    this.#driver = driver;
  }

  /** Resolves with the root's values. On other nodes only the length of `values` counts. */
  async broadcast(values: Float32Array, root: number, options: OperationOptions = {}): Promise<Float32Array> {
    return (await this.#start("broadcast", values, root, options)) ?? values;
  }

  /** Resolves with the sum on the root, with undefined elsewhere. Orders of summation: see the algorithms. */
  reduce(
    values: Float32Array,
    root: number,
    options: OperationOptions = {},
  ): Promise<Float32Array | undefined> {
    return this.#start("reduce", values, root, options);
  }

  /** Resolves with the sum, the same bits on every node. */
  async allreduce(values: Float32Array, options: OperationOptions = {}): Promise<Float32Array> {
    return (await this.#start("allreduce", values, 0, options)) ?? values;
  }

  /** To be called with every action of the machine that is no message. */
  notice(action: CollectiveAction): void {
    if (action.type === "done") {
      this.#open.get(action.number)?.resolve(action.values);
      this.#open.delete(action.number);
    } else if (action.type === "error") this.fail(action.error);
  }

  /** Rejects all that is open, and all that comes. */
  fail(error: CollectiveError): void {
    this.#failure ??= error;
    for (const { reject } of this.#open.values()) reject(error);
    this.#open.clear();
  }

  #start(
    operation: Operation,
    values: Float32Array,
    root: number,
    { algorithm = "chain", ...options }: OperationOptions,
  ): Promise<Float32Array | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined) {
        reject(this.#failure);
        return;
      }
      const number = this.#next++;
      this.#open.set(number, { resolve, reject });
      try {
        this.#driver.dispatch({ type: "start", operation, algorithm, root, values, options });
      } catch (error) {
        if (this.#open.delete(number)) this.#next--;
        reject(error instanceof CollectiveError ? error : new CollectiveError("wrong_use", String(error)));
      }
    });
  }
}
