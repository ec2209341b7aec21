import type { PacketState } from "./packet-state.ts";

/** Frames are cut from slabs of this many bytes: one allocation for many packets. */
const slabSize = 64 * 1024;

/**
 * Hands out memory for outgoing frames. A frame keeps its slab alive, so slabs are small; frames never overlap.
 */
export class FrameMemory {
  private slab: ArrayBufferLike = new ArrayBuffer(0);
  private used = 0;

  allocate(length: number): Uint8Array {
    // V8 keeps up to 64 bytes on its own heap, which is faster than a view of a slab.
    if (length <= 64 || length > slabSize / 4) return new Uint8Array(length);
    if (this.used + length > this.slab.byteLength) {
      // Every byte of a frame is written, so the memory need not be zero.
      this.slab = Buffer.allocUnsafeSlow(slabSize).buffer;
      this.used = 0;
    }
    const start = this.used;
    this.used += length;
    return new Uint8Array(this.slab, start, length);
  }
}

/** Copies what the parser left of a frame behind the headers that were written to `out`. */
export function copyPayload(packet: PacketState, out: Uint8Array, at: number): void {
  const { bytes, offset, length } = packet;
  const count = length - offset;
  if (count > 192) {
    out.set(bytes.subarray(offset, length), at);
    return;
  }
  for (let i = 0; i < count; i++) out[at + i] = bytes[offset + i] ?? 0;
}
