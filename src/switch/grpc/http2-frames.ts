/** Frames of HTTP/2 (RFC 9113). */

export const frameType = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const flag = { endStream: 0x1, ack: 0x1, endHeaders: 0x4, padded: 0x8, priority: 0x20 } as const;

export const errorCode = {
  noError: 0,
  protocolError: 1,
  internalError: 2,
  flowControlError: 3,
  streamClosed: 5,
  frameSizeError: 6,
  refusedStream: 7,
  cancel: 8,
  compressionError: 9,
  enhanceYourCalm: 11,
} as const;

export const setting = {
  headerTableSize: 1,
  enablePush: 2,
  maxConcurrentStreams: 3,
  initialWindowSize: 4,
  maxFrameSize: 5,
  maxHeaderListSize: 6,
} as const;

export const frameHeaderBytes = 9;
/** What everybody takes until SETTINGS say otherwise. */
export const defaultFrameSize = 16_384;
export const defaultWindow = 65_535;
export const largestWindow = 0x7fff_ffff;

/** What a client says first. */
export const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "latin1");

export function readUint32(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] ?? 0) * 0x100_0000 +
    (((bytes[at + 1] ?? 0) << 16) | ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0))
  );
}

function putUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}

/** Gathers frames that go out together, so that a socket is written to once. */
export class FrameWriter {
  #bytes = new Uint8Array(1024);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** What was written since the last time, as memory of its own. */
  take(): Uint8Array {
    const bytes = this.#bytes.slice(0, this.#length);
    this.#length = 0;
    return bytes;
  }

  /** Makes room for a frame and writes its header; gives where the payload begins. */
  #begin(type: number, flags: number, streamId: number, length: number): number {
    const needed = this.#length + frameHeaderBytes + length;
    if (needed > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    const bytes = this.#bytes;
    const at = this.#length;
    bytes[at] = length >>> 16;
    bytes[at + 1] = length >>> 8;
    bytes[at + 2] = length;
    bytes[at + 3] = type;
    bytes[at + 4] = flags;
    putUint32(bytes, at + 5, streamId);
    this.#length = needed;
    return at + frameHeaderBytes;
  }

  frame(type: number, flags: number, streamId: number, payload: Uint8Array, from: number, to: number): void {
    const at = this.#begin(type, flags, streamId, to - from);
    if (to - from <= 64) for (let i = from; i < to; i++) this.#bytes[at + i - from] = payload[i] ?? 0;
    else this.#bytes.set(payload.subarray(from, to), at);
  }

  settings(values: readonly (readonly [id: number, value: number])[]): void {
    let at = this.#begin(frameType.settings, 0, 0, 6 * values.length);
    for (const [id, value] of values) {
      this.#bytes[at] = id >>> 8;
      this.#bytes[at + 1] = id;
      putUint32(this.#bytes, at + 2, value);
      at += 6;
    }
  }

  settingsAck(): void {
    this.#begin(frameType.settings, flag.ack, 0, 0);
  }

  windowUpdate(streamId: number, increment: number): void {
    putUint32(this.#bytes, this.#begin(frameType.windowUpdate, 0, streamId, 4), increment);
  }

  rstStream(streamId: number, code: number): void {
    putUint32(this.#bytes, this.#begin(frameType.rstStream, 0, streamId, 4), code);
  }

  goaway(lastStreamId: number, code: number): void {
    const at = this.#begin(frameType.goaway, 0, 0, 8);
    putUint32(this.#bytes, at, lastStreamId);
    putUint32(this.#bytes, at + 4, code);
  }

  /** Header block, in as many frames as the peer's frame size needs. */
  headers(streamId: number, block: Uint8Array, endStream: boolean, maxFrameSize: number): void {
    let from = 0;
    do {
      const to = Math.min(block.length, from + maxFrameSize);
      const isFirst = from === 0;
      const flags = (isFirst && endStream ? flag.endStream : 0) | (to === block.length ? flag.endHeaders : 0);
      this.frame(isFirst ? frameType.headers : frameType.continuation, flags, streamId, block, from, to);
      from = to;
    } while (from < block.length);
  }
}
