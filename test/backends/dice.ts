/** Numbers that look random and are the same for the same seed (xorshift32). */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 1;
  }

  below(n: number): number {
    let x = this.#state;
    x ^= x << 13;
    x ^= x >>> 17;
    x ^= x << 5;
    this.#state = x;
    return (x >>> 0) % n;
  }

  pick<T>(...choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] ?? choices[0];
  }

  bits(width: number): bigint {
    let v = 0n;
    for (let i = 0; i < width; i += 16) v = (v << 16n) | BigInt(this.below(0x10000));
    return BigInt.asUintN(width, v);
  }

  /** Small numbers often, limits sometimes, else anything. */
  value(width: number): bigint {
    const small = BigInt(this.below(8));
    const all = (1n << BigInt(width)) - 1n;
    return BigInt.asUintN(
      width,
      this.pick(small, small, small, this.bits(width), all, 1n << BigInt(width - 1)),
    );
  }
}
