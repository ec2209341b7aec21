/**
 * How large one contribution may be, so that the sum of all workers' contributions always fits a 32-bit
 * register. The bound is checked where the integer is made (host or lookup table), never in the register:
 * saturation there would make the sum depend on the order of arrival.
 */

/** Largest magnitude of one worker's integer when `workers` of them are added: floor((2^31 - 1) / workers). */
export function contributionLimit(workers: number): number {
  checkWorkers(workers);
  return Math.floor(0x7fff_ffff / workers);
}

/** Bits that a contribution's magnitude may use: 31 - ceil(log2 workers). A magnitude below 2^bits never overflows the sum. */
export function contributionBits(workers: number): number {
  checkWorkers(workers);
  return workers === 1 ? 31 : Math.clz32(workers - 1) - 1;
}

function checkWorkers(workers: number): void {
  if (!Number.isInteger(workers) || workers < 1 || workers > 0x7fff)
    throw new RangeError(`number of workers must be an integer from 1 to 32767, not ${workers}`);
}
