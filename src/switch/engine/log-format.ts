/** Fills in the `{}` of a log message, in order; `\{` and `\}` stand for braces. */
export function formatMessage(format: string, values: readonly (number | bigint)[]): string {
  let index = 0;
  return format
    .replace(/(?<!\\)\{\}/g, (hole) => (index < values.length ? String(values[index++]) : hole))
    .replace(/\\([{}])/g, "$1");
}
