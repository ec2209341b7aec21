/**
 * Lengths in bits of HPACK's Huffman codes by symbol (RFC 7541, appendix B). The code is canonical: codes of one length follow each other in
 * the order of their symbols, shorter ones before longer ones. So the lengths say everything.
 */
const codeLengths: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
  8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
  13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
  28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
  22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
  22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
  25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
  // End of string: never sent, but its first bits are the padding.
  30,
];
const endOfString = 256;

/** The tree as an array: two cells per node, for bit 0 and bit 1; above 0 the next node, below 0 the symbol as -1 - symbol. */
const tree = buildTree();

function buildTree(): Int16Array {
  const symbols = codeLengths
    .map((length, symbol) => ({ length, symbol }))
    .sort((a, b) => a.length - b.length || a.symbol - b.symbol);
  const cells = new Int16Array(2 * symbols.length);
  let nodes = 1;
  let code = 0;
  let before = 0;
  for (const { length, symbol } of symbols) {
    code *= 2 ** (length - before);
    before = length;
    let node = 0;
    for (let bit = length - 1; bit > 0; bit--) {
      const cell = 2 * node + ((code >>> bit) & 1);
      if (cells[cell] === 0) cells[cell] = nodes++;
      node = cells[cell] ?? 0;
    }
    cells[2 * node + (code & 1)] = -1 - symbol;
    code++;
  }
  return cells;
}

/**
 * Decode a Huffman-coded string, whose characters are bytes.
 *
 * Undefined when it is malformed: it holds the end of string, or its padding is longer than 7 bits or not all ones (RFC 7541, 5.2).
 */
export function decodeHuffman(bytes: Uint8Array, from: number, to: number): string | undefined {
  let text = "";
  let node = 0;
  let depth = 0;
  let isOnes = true;
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0;
    for (let shift = 7; shift >= 0; shift--) {
      const bit = (byte >> shift) & 1;
      const next = tree[2 * node + bit] ?? 0;
      if (bit === 0) isOnes = false;
      depth++;
      if (next > 0) {
        node = next;
        continue;
      }
      const symbol = -1 - next;
      if (symbol === endOfString) return undefined;
      text += String.fromCharCode(symbol);
      node = 0;
      depth = 0;
      isOnes = true;
    }
  }
  return depth <= 7 && isOnes ? text : undefined;
}
