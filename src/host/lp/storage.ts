/** Where a node keeps the values of an operation while it lasts. */
export interface Storage {
  /** Values will come for here: the room for them is taken from now on. */
  expect(offset: number): void;
  /** Values to send; they stay as they are until `release`. */
  read(offset: number, count: number): Float32Array;
  add(offset: number, values: Float32Array): void;
  put(offset: number, values: Float32Array): void;
  /** What `read` gave has been sent. */
  release(offset: number): void;
  /** The values of the finished operation, or undefined when this node gets none. */
  result(): Float32Array | undefined;
}

/** Room for all values: for nodes that get the result, and for algorithms that hold parts of it in between. */
export class WholeStorage implements Storage {
  readonly #values: Float32Array;
  readonly #isResult: boolean;

  /** @param values become the storage's own. */
  constructor(values: Float32Array, isResult: boolean) {
    this.#values = values;
    this.#isResult = isResult;
  }

  expect(): void {}

  read(offset: number, count: number): Float32Array {
    return this.#values.subarray(offset, offset + count);
  }

  add(offset: number, values: Float32Array): void {
    const own = this.#values;
    for (let i = 0; i < values.length; i++) own[offset + i] = (own[offset + i] ?? 0) + (values[i] ?? 0);
  }

  put(offset: number, values: Float32Array): void {
    this.#values.set(values, offset);
  }

  release(): void {}

  result(): Float32Array | undefined {
    return this.#isResult ? this.#values : undefined;
  }
}

/** Two blocks that alternate: all that a node in the middle of a chain needs to pass sums on. */
export class TwoBlocks implements Storage {
  /** Most blocks that were held at once, one that is coming in included. */
  highest = 0;
  readonly #input: Float32Array;
  readonly #block: number;
  readonly #buffers: readonly [Float32Array, Float32Array];
  /** Offsets of the blocks that are held. */
  readonly #held = new Set<number>();

  /** @param input the node's own values, only read. */
  constructor(input: Float32Array, block: number) {
    this.#input = input;
    this.#block = block;
    const size = Math.min(block, input.length);
    this.#buffers = [new Float32Array(size), new Float32Array(size)];
  }

  expect(offset: number): void {
    this.#held.add(offset);
    this.highest = Math.max(this.highest, this.#held.size);
  }

  read(offset: number, count: number): Float32Array {
    // The head of the chain has received nothing: its own values go out as they are.
    return this.#held.has(offset)
      ? this.#bufferOf(offset).subarray(0, count)
      : this.#input.subarray(offset, offset + count);
  }

  add(offset: number, values: Float32Array): void {
    const buffer = this.#bufferOf(offset);
    const input = this.#input;
    for (let i = 0; i < values.length; i++) buffer[i] = (values[i] ?? 0) + (input[offset + i] ?? 0);
  }

  put(): void {
    throw new Error("a chain's reduce adds whatever comes");
  }

  release(offset: number): void {
    this.#held.delete(offset);
  }

  result(): undefined {
    return undefined;
  }

  #bufferOf(offset: number): Float32Array {
    return this.#buffers[(offset / this.#block) & 1 ? 1 : 0];
  }
}
