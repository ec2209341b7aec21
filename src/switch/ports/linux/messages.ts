/**
 * An array of the kernel's `struct mmsghdr` (64-bit Linux), each with one buffer and room for control messages, laid over memory that
 * stays where it is.
 *
 * mmsghdr, 64 bytes: name 0, namelen 8, iov 16, iovlen 24, control 32, controllen 40, flags 48, len 56.
 */
import { type Libc, linux } from "./libc.ts";

const headerSize = 64;
const vectorSize = 16;
/** Room for a `struct cmsghdr` with a `struct tpacket_auxdata`. */
const controlSize = 64;

export class MessageArray {
  /** What recvmmsg and sendmmsg take. */
  readonly headers: Uint8Array;
  readonly #view: DataView;
  readonly #vectors: DataView;
  readonly #control: DataView;
  readonly #base: bigint;
  readonly #controlBase: bigint;

  /** @param frames memory of the frames, which must live as long as the array: the kernel has its address. `at` of the setters is a place in it */
  constructor(libc: Libc, count: number, frames: Uint8Array) {
    // Small arrays without a buffer of their own could be moved.
    this.headers = new Uint8Array(new ArrayBuffer(count * headerSize));
    const vectors = new Uint8Array(new ArrayBuffer(count * vectorSize));
    const control = new Uint8Array(new ArrayBuffer(count * controlSize));
    this.#view = viewOf(this.headers);
    this.#vectors = viewOf(vectors);
    this.#control = viewOf(control);
    this.#base = libc.addressOf(frames);
    this.#controlBase = libc.addressOf(control);
    const vectorBase = libc.addressOf(vectors);
    for (let n = 0; n < count; n++) {
      this.#view.setBigUint64(n * headerSize + 16, vectorBase + BigInt(n * vectorSize), true);
      this.#view.setBigUint64(n * headerSize + 24, 1n, true);
    }
  }

  /** The headers from message `n` on. */
  from(n: number): Uint8Array {
    return this.headers.subarray(n * headerSize);
  }

  /** Message `n` is to be received into, or sent from, `length` bytes at `at`. */
  setBuffer(n: number, at: number, length: number): void {
    this.#vectors.setBigUint64(n * vectorSize, this.#base + BigInt(at), true);
    this.setLength(n, length);
  }

  /** Only the length changes. */
  setLength(n: number, length: number): void {
    this.#vectors.setUint32(n * vectorSize + 8, length, true);
  }

  /** Room for what the kernel tells of message `n`; to be set before each reception. */
  wantControl(n: number): void {
    this.#view.setBigUint64(n * headerSize + 32, this.#controlBase + BigInt(n * controlSize), true);
    this.#view.setUint32(n * headerSize + 40, controlSize, true);
  }

  /** Flags of a received message. */
  flags(n: number): number {
    return this.#view.getInt32(n * headerSize + 48, true);
  }

  /** Bytes of a received message. */
  length(n: number): number {
    return this.#view.getUint32(n * headerSize + 56, true);
  }

  /** True when the kernel sent `struct tpacket_auxdata` with message `n`. */
  hasAuxdata(n: number): boolean {
    const at = n * controlSize;
    return (
      this.#view.getUint32(n * headerSize + 40, true) >= 36 &&
      this.#control.getInt32(at + 8, true) === linux.solPacket &&
      this.#control.getInt32(at + 12, true) === linux.packetAuxdata
    );
  }

  /** `tp_status`. */
  auxStatus(n: number): number {
    return this.#control.getUint32(n * controlSize + 16, true);
  }

  /** `tp_vlan_tci` in the upper half, `tp_vlan_tpid` in the lower. */
  auxVlan(n: number): number {
    const at = n * controlSize + 16;
    return ((this.#control.getUint16(at + 16, true) << 16) | this.#control.getUint16(at + 18, true)) >>> 0;
  }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}
