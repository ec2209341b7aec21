import type { PacketState } from "./packet-state.ts";

/** Concatenates bit strings in network order; the last byte is padded with zero bits. */
export class BitWriter {
  buffer = new Uint8Array(2048);
  private bitLength = 0;

  get byteLength(): number {
    return (this.bitLength + 7) >> 3;
  }

  reset(): void {
    this.buffer.fill(0, 0, this.byteLength);
    this.bitLength = 0;
  }

  private reserve(bytes: number): void {
    if (bytes <= this.buffer.length) return;
    const larger = new Uint8Array(bytes * 2);
    larger.set(this.buffer);
    this.buffer = larger;
  }

  /** Appends an unsigned value below 2^width, width up to 32. */
  bits(value: number, width: number): void {
    this.reserve(this.byteLength + 5);
    for (let i = width - 1; i >= 0; i--) {
      if ((value >>> i) & 1) {
        const at = this.bitLength >> 3;
        this.buffer[at] = (this.buffer[at] ?? 0) | (0x80 >> (this.bitLength & 7));
      }
      this.bitLength++;
    }
  }

  bytes(bytes: Uint8Array): void {
    for (const byte of bytes) this.bits(byte, 8);
  }

  /** The payload starts at the next whole byte, as in BMv2. */
  payload(packet: PacketState): void {
    const at = this.byteLength;
    const length = packet.length - packet.offset;
    this.reserve(at + length);
    this.buffer.set(packet.bytes.subarray(packet.offset, packet.length), at);
    this.bitLength = (at + length) * 8;
  }
}
