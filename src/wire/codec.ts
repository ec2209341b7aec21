import { headerBytes, type WireHeader } from "./header.ts";

/** Reads and writes one header at any offset of a byte array. Fields are unsigned and in network order. */
export interface HeaderCodec<Name extends string> {
  /** Length on the wire. */
  readonly bytes: number;
  /** Reads the fields at `offset`; the caller has checked that `bytes` bytes are there. */
  decode(from: Uint8Array, offset: number): { readonly [field in Name]: number };
  /** Writes the fields at `offset`; values are cut to their widths. */
  encode(values: { readonly [field in Name]: number }, to: Uint8Array, offset: number): void;
}

/**
 * Compiles the codec of a header declaration: straight-line code that indexes the byte array, so that it neither
 * allocates a view nor depends on where in its buffer the array begins.
 *
 * @throws RangeError for fields over 48 bits, since a number can't hold every value of them, and for a header that is
 * not a whole number of bytes.
 */
export function headerCodec<Name extends string>(header: WireHeader<Name>): HeaderCodec<Name> {
  if (!Number.isInteger(headerBytes(header)))
    throw new RangeError(
      `header ${header.name} is ${headerBytes(header) * 8} bits wide, not a whole number of bytes`,
    );
  const reads: string[] = [];
  /** For each byte of the header, what is or-ed into it. */
  const terms = Array.from({ length: headerBytes(header) }, (): string[] => []);
  let bit = 0;
  for (const { name, bits } of header.fields) {
    if (bits > 48 || bits < 1)
      throw new RangeError(`${header.name}.${name}: ${bits} bits; a codec field has 1 to 48`);
    if (!/^[A-Za-z_]\w*$/.test(name)) throw new RangeError(`${header.name}: "${name}" is no identifier`);
    reads.push(`${name}: ${readExpression(bit, bits)}`);
    for (let byte = bit >> 3; byte << 3 < bit + bits; byte++) {
      // How far the field's lowest bit lies above this byte's lowest bit; negative when it lies in a later byte.
      const up = (byte + 1) * 8 - (bit + bits);
      terms[byte]?.push(byteOfField(name, bits, up));
    }
    bit += bits;
  }
  const statements = terms.map((list, byte) => `b[o + ${byte}] = ${list.join(" | ")};`);
  const decode = new Function("b", "o", `return { ${reads.join(", ")} };`);
  const encode = new Function("v", "b", "o", statements.join("\n"));
  return {
    bytes: terms.length,
    decode: (from, offset) => decode(from, offset) as { readonly [field in Name]: number }, // made from the same list of fields
    encode: (values, to, offset) => {
      encode(values, to, offset);
    },
  };
}

/** Sum of the field's bytes; multiplication instead of shifts where the result passes 31 bits. */
function readExpression(bit: number, bits: number): string {
  const parts: string[] = [];
  for (let byte = bit >> 3; byte << 3 < bit + bits; byte++) {
    const first = Math.max(bit, byte * 8);
    const last = Math.min(bit + bits, byte * 8 + 8);
    const right = byte * 8 + 8 - last;
    const mask = 2 ** (last - first) - 1;
    const value = right === 0 && mask === 255 ? `b[o + ${byte}]` : `(b[o + ${byte}] >> ${right} & ${mask})`;
    const weight = bit + bits - last;
    parts.push(weight === 0 ? value : `${value} * ${2 ** weight}`);
  }
  return parts.join(" + ");
}

/** The bits of a field that fall into one byte, in place. */
function byteOfField(name: string, bits: number, up: number): string {
  const mask = 2 ** Math.min(bits, 32) - 1;
  if (up >= 0) return bits < 8 ? `(v.${name} & ${mask}) << ${up}` : `v.${name} << ${up} & 255`;
  const down = -up;
  // A number above 32 bits has to be divided: shifts see its low 32 bits only.
  const shifted = down < 32 && bits <= 32 ? `v.${name} >>> ${down}` : `Math.floor(v.${name} / ${2 ** down})`;
  const width = Math.min(8, bits - down);
  return `${shifted} & ${2 ** width - 1}`;
}
