/**
 * A queue with a limit between a stream and whoever reads it: what comes while it is full is dropped and counted, so the stream is never
 * held up. It can be read by `for await`, by one reader at a time.
 */
export class BoundedQueue<T> implements AsyncIterable<T> {
  readonly #limit: number;
  readonly #waiting: T[] = [];
  #reader:
    | {
        readonly resolve: (result: IteratorResult<T, undefined>) => void;
        readonly reject: (error: Error) => void;
      }
    | undefined;
  #end: { readonly error: Error | undefined } | undefined;
  #dropped = 0;

  /** @param limit how many elements may wait */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Elements that were lost because the reader was too slow. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Elements that wait. */
  get length(): number {
    return this.#waiting.length;
  }

  push(element: T): void {
    if (this.#end !== undefined) return;
    const reader = this.#reader;
    if (reader !== undefined) {
      this.#reader = undefined;
      reader.resolve({ done: false, value: element });
    } else if (this.#waiting.length < this.#limit) this.#waiting.push(element);
    else this.#dropped++;
  }

  /** No more elements come. The reader still gets those that wait, then the error if there is one. */
  end(error?: Error): void {
    if (this.#end !== undefined) return;
    this.#end = { error };
    const reader = this.#reader;
    this.#reader = undefined;
    if (reader === undefined) return;
    if (error === undefined) reader.resolve({ done: true, value: undefined });
    else reader.reject(error);
  }

  /** The next element; `done` after the end. A wait is given up when the signal is aborted. */
  next(signal?: AbortSignal): Promise<IteratorResult<T, undefined>> {
    const [first] = this.#waiting;
    if (this.#waiting.length > 0 && first !== undefined) {
      this.#waiting.shift();
      return Promise.resolve({ done: false, value: first });
    }
    if (this.#end?.error !== undefined) return Promise.reject(this.#end.error);
    if (this.#end !== undefined) return Promise.resolve({ done: true, value: undefined });
    if (this.#reader !== undefined) return Promise.reject(new Error("the queue has a reader already"));
    if (signal?.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        if (this.#reader === reader) this.#reader = undefined;
        reject(signal?.reason);
      };
      const done = (): void => signal?.removeEventListener("abort", abort);
      const reader = {
        resolve: (result: IteratorResult<T, undefined>) => {
          done();
          resolve(result);
        },
        reject: (error: Error) => {
          done();
          reject(error);
        },
      };
      this.#reader = reader;
      signal?.addEventListener("abort", abort, { once: true });
    });
  }

  [Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    return {
      next: () => this.next(),
      // Leaving the loop leaves the queue as it is: somebody else may read on.
      return: () => Promise.resolve({ done: true, value: undefined }),
    };
  }
}
