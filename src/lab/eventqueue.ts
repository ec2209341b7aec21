interface Entry<T> {
  readonly at: number;
  readonly order: number;
  readonly item: T;
}

/** Events by time; those of one time in the order in which they were added. A binary heap. */
export class EventQueue<T> {
  readonly #heap: Entry<T>[] = [];
  #order = 0;

  get size(): number {
    return this.#heap.length;
  }

  /** Time of the earliest event; Infinity when there is none. */
  get nextAt(): number {
    return this.#heap[0]?.at ?? Number.POSITIVE_INFINITY;
  }

  add(at: number, item: T): void {
    const heap = this.#heap;
    const entry = { at, order: this.#order++, item };
    let i = heap.length;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !isBefore(entry, above)) break;
      heap[i] = above;
      i = parent;
    }
    heap[i] = entry;
  }

  /** Takes the earliest event out. */
  take(): T | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first?.item;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      const [left, right] = [heap[child], heap[child + 1]];
      if (left === undefined) break;
      let smaller = left;
      if (right !== undefined && isBefore(right, left)) {
        smaller = right;
        child++;
      }
      if (!isBefore(smaller, last)) break;
      heap[i] = smaller;
      i = child;
    }
    heap[i] = last;
    return first.item;
  }
}

function isBefore<T>(a: Entry<T>, b: Entry<T>): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order);
}
