/** A source of numbers from 0 (included) to 1 (excluded), such as Math.random or a seeded one. */
export type Random = () => number;

/**
 * A source that gives the same numbers for the same seed (the public-domain SplitMix32 step). Good enough for
 * sampling and for faults, not for secrets.
 */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let z = state ^ (state >>> 16);
    z = Math.imul(z, 0x21f0aaad);
    z ^= z >>> 15;
    z = Math.imul(z, 0x735a2d97);
    z ^= z >>> 15;
    return (z >>> 0) / 2 ** 32;
  };
}
