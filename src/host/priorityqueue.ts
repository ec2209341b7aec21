/**
 * Things by priority, the smallest number first, and in the order of coming within one. A strict order: no two are equal.
 * With times for priorities it is a queue of events. A binary heap.
 */
export class PriorityQueue<T> {
  readonly #heap: { readonly priority: number; readonly sequence: number; readonly item: T }[] = [];
  #sequence = 0;

  get size(): number {
    return this.#heap.length;
  }

  /** What `take` gives next. */
  get first(): T | undefined {
    return this.#heap[0]?.item;
  }

  /** Its priority; Infinity when there is none. */
  get firstPriority(): number {
    return this.#heap[0]?.priority ?? Number.POSITIVE_INFINITY;
  }

  add(priority: number, item: T): void {
    const heap = this.#heap;
    const entry = { priority, sequence: this.#sequence++, item };
    let i = heap.push(entry) - 1;
    for (let parent = (i - 1) >> 1; i > 0; i = parent, parent = (i - 1) >> 1) {
      const above = heap[parent];
      if (above === undefined || !isBefore(entry, above)) break;
      heap[i] = above;
      heap[parent] = entry;
    }
  }

  take(): T | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first?.item;
    let i = 0;
    for (;;) {
      const left = heap[2 * i + 1];
      const right = heap[2 * i + 2];
      if (left === undefined) break;
      const isRight = right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (!isBefore(child, last)) break;
      heap[i] = child;
      i = 2 * i + (isRight ? 2 : 1);
    }
    heap[i] = last;
    return first.item;
  }

  clear(): void {
    this.#heap.length = 0;
  }
}

function isBefore(
  a: { readonly priority: number; readonly sequence: number },
  b: { readonly priority: number; readonly sequence: number },
): boolean {
  return a.priority < b.priority || (a.priority === b.priority && a.sequence < b.sequence);
}
