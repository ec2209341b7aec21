/** What P4 compilers take for a size: a positive number of 31 bits. */
export function isSize(size: number): boolean {
  return Number.isInteger(size) && size >= 1 && size < 2 ** 31;
}
