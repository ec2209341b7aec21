import { decodeHuffman } from "./hpack-huffman.ts";

/** Header compression of HTTP/2 (RFC 7541). */

/** Names and values that both sides know, numbered from 1 (appendix A). */
const staticTable: readonly (readonly [name: string, value: string])[] = [
  [":authority", ""],
  [":method", "GET"],
  [":method", "POST"],
  [":path", "/"],
  [":path", "/index.html"],
  [":scheme", "http"],
  [":scheme", "https"],
  [":status", "200"],
  [":status", "204"],
  [":status", "206"],
  [":status", "304"],
  [":status", "400"],
  [":status", "404"],
  [":status", "500"],
  ["accept-charset", ""],
  ["accept-encoding", "gzip, deflate"],
  ["accept-language", ""],
  ["accept-ranges", ""],
  ["accept", ""],
  ["access-control-allow-origin", ""],
  ["age", ""],
  ["allow", ""],
  ["authorization", ""],
  ["cache-control", ""],
  ["content-disposition", ""],
  ["content-encoding", ""],
  ["content-language", ""],
  ["content-length", ""],
  ["content-location", ""],
  ["content-range", ""],
  ["content-type", ""],
  ["cookie", ""],
  ["date", ""],
  ["etag", ""],
  ["expect", ""],
  ["expires", ""],
  ["from", ""],
  ["host", ""],
  ["if-match", ""],
  ["if-modified-since", ""],
  ["if-none-match", ""],
  ["if-range", ""],
  ["if-unmodified-since", ""],
  ["last-modified", ""],
  ["link", ""],
  ["location", ""],
  ["max-forwards", ""],
  ["proxy-authenticate", ""],
  ["proxy-authorization", ""],
  ["range", ""],
  ["referer", ""],
  ["refresh", ""],
  ["retry-after", ""],
  ["server", ""],
  ["set-cookie", ""],
  ["strict-transport-security", ""],
  ["transfer-encoding", ""],
  ["user-agent", ""],
  ["vary", ""],
  ["via", ""],
  ["www-authenticate", ""],
];

/** What an entry of the dynamic table takes beside its characters (4.1). */
const entryOverhead = 32;

/** Headers in the order in which they came. */
export class Headers {
  /** Names and values by turns. */
  readonly #fields: string[] = [];
  readonly #maxSize: number;
  #size = 0;

  /** @param maxSize in characters, and 32 for each header, as HTTP/2 counts the size of a list */
  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  /** In characters, and 32 for each header. */
  get size(): number {
    return this.#size;
  }

  /** There were more headers than allowed; those above are not here. */
  get isTooLarge(): boolean {
    return this.#size > this.#maxSize;
  }

  add(name: string, value: string): void {
    this.#size += name.length + value.length + entryOverhead;
    if (!this.isTooLarge) this.#fields.push(name, value);
  }

  /** The first value of a name; undefined if it is not there. */
  get(name: string): string | undefined {
    const fields = this.#fields;
    for (let i = 0; i < fields.length; i += 2) if (fields[i] === name) return fields[i + 1];
    return undefined;
  }
}

/** The bytes are no header block. */
export class HpackError extends Error {
  override readonly name = "HpackError";
}

/** Reads header blocks of one connection. An error makes the connection useless. */
export class HpackDecoder {
  readonly #maxTableSize: number;
  readonly #maxListSize: number;
  /** Newest first. */
  readonly #table: (readonly [name: string, value: string])[] = [];
  #tableSize = 0;
  #tableLimit: number;
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;

  /**
   * @param maxTableSize of the dynamic table, as announced in SETTINGS_HEADER_TABLE_SIZE
   * @param maxListSize above which headers are left out
   */
  constructor(maxTableSize: number, maxListSize: number) {
    this.#maxTableSize = maxTableSize;
    this.#tableLimit = maxTableSize;
    this.#maxListSize = maxListSize;
  }

  /** @throws HpackError */
  decode(block: Uint8Array): Headers {
    this.#bytes = block;
    this.#at = 0;
    const headers = new Headers(this.#maxListSize);
    while (this.#at < block.length) {
      const byte = block[this.#at] ?? 0;
      if (byte >= 0x80) {
        const [name, value] = this.#entry(this.#integer(7));
        headers.add(name, value);
      } else if (byte >= 0x40) {
        const header = this.#literal(6);
        headers.add(header[0], header[1]);
        this.#remember(header);
      } else if (byte >= 0x20) {
        this.#resize(this.#integer(5));
      } else {
        const [name, value] = this.#literal(4);
        headers.add(name, value);
      }
    }
    return headers;
  }

  #entry(index: number): readonly [name: string, value: string] {
    const entry =
      index <= staticTable.length ? staticTable[index - 1] : this.#table[index - 1 - staticTable.length];
    if (entry === undefined) throw new HpackError(`there is no header ${index}`);
    return entry;
  }

  #literal(prefixBits: number): readonly [name: string, value: string] {
    const index = this.#integer(prefixBits);
    const name = index === 0 ? this.#string() : this.#entry(index)[0];
    return [name, this.#string()];
  }

  #remember(entry: readonly [name: string, value: string]): void {
    this.#table.unshift(entry);
    this.#tableSize += entry[0].length + entry[1].length + entryOverhead;
    this.#evict();
  }

  #resize(limit: number): void {
    if (limit > this.#maxTableSize) throw new HpackError("the table is larger than allowed");
    this.#tableLimit = limit;
    this.#evict();
  }

  #evict(): void {
    while (this.#tableSize > this.#tableLimit) {
      const oldest = this.#table.pop();
      if (oldest === undefined) return;
      this.#tableSize -= oldest[0].length + oldest[1].length + entryOverhead;
    }
  }

  #integer(prefixBits: number): number {
    const most = 2 ** prefixBits - 1;
    let value = (this.#bytes[this.#at++] ?? 0) & most;
    if (value < most) return value;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined || scale > 2 ** 21) throw new HpackError("an integer is cut off or too large");
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  }

  #string(): string {
    const isHuffman = (this.#bytes[this.#at] ?? 0) >= 0x80;
    const length = this.#integer(7);
    const from = this.#at;
    const to = from + length;
    if (to > this.#bytes.length) throw new HpackError("a string is cut off");
    this.#at = to;
    if (isHuffman) {
      const text = decodeHuffman(this.#bytes, from, to);
      if (text === undefined) throw new HpackError("a string is no Huffman code");
      return text;
    }
    let text = "";
    for (let i = from; i < to; i++) text += String.fromCharCode(this.#bytes[i] ?? 0);
    return text;
  }
}

/** A header block that leaves the tables alone: names and values as they are (6.2.2). Characters must be ASCII. */
export function encodeHeaders(headers: Iterable<readonly [name: string, value: string]>): Uint8Array {
  const bytes: number[] = [];
  for (const [name, value] of headers) {
    if (name === ":status" && value === "200") {
      bytes.push(0x88);
      continue;
    }
    bytes.push(0);
    for (const text of [name, value]) {
      putInteger(bytes, text.length, 0x7f);
      for (let i = 0; i < text.length; i++) bytes.push(text.charCodeAt(i) & 0xff);
    }
  }
  return Uint8Array.from(bytes);
}

function putInteger(bytes: number[], value: number, most: number): void {
  if (value < most) {
    bytes.push(value);
    return;
  }
  bytes.push(most);
  let rest = value - most;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
}
