/** First in, first out, without moving elements. */
export class Fifo<T> {
  private items: (T | undefined)[] = new Array<T | undefined>(8).fill(undefined);
  private head = 0;
  length = 0;

  push(item: T): void {
    if (this.length === this.items.length) {
      const larger = new Array<T | undefined>(this.items.length * 2).fill(undefined);
      for (let i = 0; i < this.length; i++) larger[i] = this.items[(this.head + i) % this.items.length];
      this.items = larger;
      this.head = 0;
    }
    this.items[(this.head + this.length) % this.items.length] = item;
    this.length++;
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.items[this.head];
    this.items[this.head] = undefined;
    this.head = (this.head + 1) % this.items.length;
    this.length--;
    return item;
  }
}
