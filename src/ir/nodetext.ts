/** A node as text without the places where it was written, for comparing: what says the same gives the same text. */
export function nodeText(node: object): string {
  return JSON.stringify(node, (key, value: unknown) =>
    key === "at" ? undefined : typeof value === "bigint" ? value.toString() : value,
  );
}
