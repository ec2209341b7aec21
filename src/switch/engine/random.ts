/** A source of random numbers: integers from 0 to 2^32 - 1. */
export type RandomSource = () => number;

/** Mulberry32: small, fast and reproducible from its seed. Not for secrets. */
export function seededRandom(seed: number): RandomSource {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  };
}

/** A number from low to high, both included, without bias; high - low below 2^32. */
export function randomBetween(source: RandomSource, low: number, high: number): number {
  const range = high - low + 1;
  const limit = 4294967296 - (4294967296 % range);
  let value = source();
  while (value >= limit) value = source();
  return low + (value % range);
}

export function randomBetweenBig(source: RandomSource, low: bigint, high: bigint): bigint {
  const range = high - low + 1n;
  const bits = range.toString(2).length;
  for (;;) {
    let value = 0n;
    for (let have = 0; have < bits; have += 32) value = (value << 32n) | BigInt(source());
    value = BigInt.asUintN(bits, value);
    if (value < range) return low + value;
  }
}
