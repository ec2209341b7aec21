import { type FieldSlot, type HeaderSlot, widestNumber } from "./layout.ts";

/** Code for the frame's bytes: `buf[o + n]`. */
function byteAt(base: string, offset: number): string {
  return `buf[${base}${offset === 0 ? "" : ` + ${offset}`}]`;
}

function bigEndian(base: string, first: number, count: number): string {
  const parts: string[] = [];
  for (let i = 0; i < count; i++) {
    const shift = 8 * (count - 1 - i);
    parts.push(shift === 0 ? byteAt(base, first + i) : `${byteAt(base, first + i)} << ${shift}`);
  }
  return parts.length === 1 ? (parts[0] ?? "0") : `(${parts.join(" | ")})`;
}

/** Code that reads up to 32 bits in network order, starting `bitOffset` bits after byte `base`. */
function readWord(base: string, bitOffset: number, width: number): string {
  const first = bitOffset >> 3;
  const lead = bitOffset & 7;
  const count = (lead + width + 7) >> 3;
  const trailing = count * 8 - lead - width;
  if (count <= 4) {
    const bytes = bigEndian(base, first, count);
    const shifted = trailing > 0 || count === 4 ? `(${bytes} >>> ${trailing})` : bytes;
    return lead > 0 ? `(${shifted} & ${2 ** width - 1})` : shifted;
  }
  const head = `(${byteAt(base, first)} & ${2 ** (8 - lead) - 1}) << ${32 - trailing}`;
  return `((${head} | ${bigEndian(base, first + 1, 4)} >>> ${trailing}) >>> 0)`;
}

/** Code that reads an unsigned value of up to 52 bits as a number, of more bits as a bigint. */
export function readBits(base: string, bitOffset: number, width: number): string {
  if (width <= 32) return readWord(base, bitOffset, width);
  if (width <= widestNumber) {
    const high = readWord(base, bitOffset, width - 32);
    return `(${high} * 4294967296 + ${readWord(base, bitOffset + width - 32, 32)})`;
  }
  const parts: string[] = [];
  let remaining = width;
  let at = bitOffset;
  while (remaining > 0) {
    // 48 bits at a time are exact as a number, and fewer bigint operations than 32.
    const bits = remaining % 48 === 0 ? 48 : remaining % 48;
    remaining -= bits;
    const chunk = `BigInt(${readBits(base, at, bits)})`;
    parts.push(remaining > 0 ? `${chunk} << ${remaining}n` : chunk);
    at += bits;
  }
  return `(${parts.join(" | ")})`;
}

/** A run of up to 32 bits of output: code of an unsigned number below 2^width. */
export interface Piece {
  readonly code: string;
  readonly width: number;
}

/** Code for a value cut into pieces, with the statements that prepare them. */
export interface Pieces {
  readonly prepare: readonly string[];
  readonly pieces: readonly Piece[];
}

/**
 * Cuts a field's value (given as code of its cell) into pieces of up to 32 bits. The locals that it prepares are named
 * after the field's slot: a block that uses a field twice must prepare it once.
 */
export function piecesOf(slot: FieldSlot, cell: string): Pieces {
  if (slot.store === "u") return { prepare: [], pieces: [{ code: cell, width: slot.width }] };
  const local = `w_${slot.store}${slot.index}`;
  if (slot.store === "d") {
    return {
      prepare: [`const ${local} = ${cell};`],
      pieces: [
        { code: `(${local} / 4294967296 | 0)`, width: slot.width - 32 },
        { code: `(${local} >>> 0)`, width: 32 },
      ],
    };
  }
  const words = Math.ceil(slot.width / 32);
  const prepare = [`const ${local} = ${cell};`];
  const pieces: Piece[] = [];
  for (let i = words - 1; i >= 0; i--) {
    const shifted = i === 0 ? local : `(${local} >> ${32 * i}n)`;
    prepare.push(`const ${local}_${i} = Number(BigInt.asUintN(32, ${shifted}));`);
    pieces.push({ code: `${local}_${i}`, width: i === words - 1 ? slot.width - 32 * i : 32 });
  }
  return { prepare, pieces };
}

export function piecesOfConstant(value: bigint, width: number): readonly Piece[] {
  const pieces: Piece[] = [];
  let remaining = width;
  while (remaining > 0) {
    const bits = remaining % 32 === 0 ? 32 : remaining % 32;
    remaining -= bits;
    pieces.push({ code: String(BigInt.asUintN(bits, value >> BigInt(remaining))), width: bits });
  }
  return pieces;
}

/**
 * Code for each byte of the concatenation of pieces. Bits above the low eight may be set in the result: storing it in a
 * Uint8Array drops them. A last byte that is not filled is padded with zero bits.
 */
export function byteExpressions(pieces: readonly Piece[]): readonly string[] {
  const total = pieces.reduce((bits, piece) => bits + piece.width, 0);
  const bytes: string[] = [];
  let first = 0;
  let firstStart = 0;
  for (let byte = 0; byte * 8 < total; byte++) {
    const parts: string[] = [];
    let index = first;
    let start = firstStart;
    while (index < pieces.length && start < byte * 8 + 8) {
      const piece = pieces[index];
      if (piece === undefined) break;
      const end = start + piece.width;
      if (end > byte * 8) {
        const shift = byte * 8 + 8 - end;
        parts.push(
          shift === 0 ? piece.code : shift > 0 ? `${piece.code} << ${shift}` : `${piece.code} >>> ${-shift}`,
        );
      }
      if (end <= byte * 8 + 8) {
        start = end;
        index++;
      } else {
        break;
      }
    }
    first = index;
    firstStart = start;
    bytes.push(parts.length === 1 ? (parts[0] ?? "0") : parts.join(" | "));
  }
  return bytes;
}

/** A header cut at its varbit: fields before it, the varbit, fields after it. */
export interface HeaderParts {
  readonly before: readonly FieldSlot[];
  readonly varbit: FieldSlot | undefined;
  readonly after: readonly FieldSlot[];
}

export function headerParts(header: HeaderSlot): HeaderParts {
  const at = header.fields.findIndex((field) => field.store === "v");
  if (at < 0) return { before: header.fields, varbit: undefined, after: [] };
  return {
    before: header.fields.slice(0, at),
    varbit: header.fields[at],
    after: header.fields.slice(at + 1),
  };
}

export function bitsOf(fields: readonly FieldSlot[]): number {
  return fields.reduce((bits, field) => bits + field.width, 0);
}
