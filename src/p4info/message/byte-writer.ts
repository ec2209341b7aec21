/**
 * Writes the wire format into one growing buffer. (The writer of google-protobuf makes an array for each nested message, which for tables of
 * some hundred thousand entries takes most of the time.)
 */
export class ByteWriter {
  #bytes = new Uint8Array(1024);
  #length = 0;

  /** A copy of what was written. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length);
  }

  /** The tag of a field: number and wire type. */
  tag(no: number, wireType: number): void {
    this.uint32(no * 8 + wireType);
  }

  uint32(value: number): void {
    this.#reserve(5);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
  }

  /** Negative values take ten bytes, as the format has it. */
  int32(value: number): void {
    if (value >= 0) this.uint32(value);
    else this.uint64(BigInt.asUintN(64, BigInt(value)));
  }

  /** @param value from 0 to 2^64 - 1 */
  uint64(value: bigint): void {
    let rest = value;
    while (rest > 0xffff_ffffn) {
      this.#reserve(1);
      this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80;
      rest >>= 7n;
    }
    this.uint32(Number(rest));
  }

  bytes(value: Uint8Array): void {
    this.uint32(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  string(value: string): void {
    this.bytes(Buffer.from(value, "utf8"));
  }

  /** A nested message: its length, then what `write` writes. */
  nested(write: () => void): void {
    this.#reserve(1);
    const lengthAt = this.#length++;
    write();
    const length = this.#length - lengthAt - 1;
    if (length < 0x80) {
      this.#bytes[lengthAt] = length;
      return;
    }
    // The length takes more than the one byte that was kept for it: move the message up.
    let more = 0;
    for (let rest = length >>> 7; rest > 0; rest >>>= 7) more++;
    this.#reserve(more);
    this.#bytes.copyWithin(lengthAt + 1 + more, lengthAt + 1, this.#length);
    const end = this.#length + more;
    this.#length = lengthAt;
    this.uint32(length);
    this.#length = end;
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(this.#bytes.length * 2, this.#length + count));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
