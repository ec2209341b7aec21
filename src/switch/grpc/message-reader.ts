import { gunzipSync, inflateSync } from "node:zlib";
import { type GrpcStatus, grpcCode } from "./grpc-status.ts";
import type { ConnectionMemory } from "./request-memory.ts";

/** A compressed flag and the length. */
const prefixBytes = 5;
const noBytes = new Uint8Array(0);
export const noMemory: GrpcStatus = {
  code: grpcCode.resourceExhausted,
  message: "the switch has no memory for more requests at the moment",
};

/** Memory of a message begins with this, however long it says it is. */
const firstBytes = 4096;
/** Cuts a stream's bytes into messages, whole or in parts as they come. */
export class MessageReader {
  readonly #maxSize: number;
  readonly #encoding: string;
  readonly #memory: ConnectionMemory;
  /** The prefix, as far as it came. */
  readonly #prefix = new Uint8Array(prefixBytes);
  #prefixLength = 0;
  /** A message whose rest has not come. */
  #body = noBytes;
  #bodyLength = 0;

  /**
   * @param maxSize of a message in bytes, after it was decompressed as before
   * @param encoding as the header `grpc-encoding` says
   */
  constructor(maxSize: number, encoding: string | undefined, memory: ConnectionMemory) {
    this.#maxSize = maxSize;
    this.#encoding = encoding ?? "identity";
    this.#memory = memory;
  }

  /** Bytes of a message whose rest has not come. */
  get pending(): number {
    return this.#prefixLength + this.#bodyLength;
  }

  /**
   * Take bytes and hand on each message that they complete. It is in memory of its own, or in that of `bytes`.
   *
   * @returns a status when the stream is not to be gone on with
   */
  push(
    bytes: Uint8Array,
    from: number,
    to: number,
    onMessage: (message: Uint8Array) => void,
  ): GrpcStatus | undefined {
    let at = from;
    while (at < to) {
      // Most messages come in one piece.
      if (this.#prefixLength === 0 && to - at >= prefixBytes) {
        const end = at + prefixBytes + lengthAt(bytes, at);
        if (end <= to) {
          const status = this.#message(bytes[at] ?? 0, bytes.subarray(at + prefixBytes, end), onMessage);
          if (status !== undefined) return status;
          at = end;
          continue;
        }
      }
      while (this.#prefixLength < prefixBytes && at < to)
        this.#prefix[this.#prefixLength++] = bytes[at++] ?? 0;
      if (this.#prefixLength < prefixBytes) return undefined;
      const length = lengthAt(this.#prefix, 0);
      if (length > this.#maxSize) return this.#tooLarge(length);
      const part = Math.min(to - at, length - this.#bodyLength);
      if (!this.#append(bytes, at, at + part, length)) return noMemory;
      at += part;
      if (this.#bodyLength < length) return undefined;
      const body = this.#body.subarray(0, length);
      this.release();
      const status = this.#message(this.#prefix[0] ?? 0, body, onMessage);
      if (status !== undefined) return status;
    }
    return undefined;
  }

  /** Adds to the message that is not complete; false when there is no memory for it. */
  #append(bytes: Uint8Array, from: number, to: number, length: number): boolean {
    const needed = this.#bodyLength + to - from;
    const before = this.#body.length;
    if (needed > before) {
      const size = Math.min(length, Math.max(needed, 2 * before, firstBytes));
      if (!this.#memory.change(before, size)) return false;
      const larger = new Uint8Array(size);
      larger.set(this.#body.subarray(0, this.#bodyLength));
      this.#body = larger;
    }
    this.#body.set(bytes.subarray(from, to), this.#bodyLength);
    this.#bodyLength = needed;
    return true;
  }

  /** Forgets the message that is not complete. */
  release(): void {
    this.#memory.change(this.#body.length, 0);
    this.#body = noBytes;
    this.#bodyLength = 0;
    this.#prefixLength = 0;
  }

  #message(
    flag: number,
    message: Uint8Array,
    onMessage: (message: Uint8Array) => void,
  ): GrpcStatus | undefined {
    if (message.length > this.#maxSize) return this.#tooLarge(message.length);
    if (flag === 0) {
      onMessage(message);
      return undefined;
    }
    if (flag !== 1 || this.#encoding === "identity")
      return { code: grpcCode.internal, message: "a message says that it is compressed, but not how" };
    if (this.#encoding !== "gzip" && this.#encoding !== "deflate")
      return {
        code: grpcCode.unimplemented,
        message: `encoding "${this.#encoding.slice(0, 100)}" is not supported; gzip and deflate are`,
      };
    let plain: Uint8Array;
    try {
      const options = { maxOutputLength: this.#maxSize };
      plain = this.#encoding === "gzip" ? gunzipSync(message, options) : inflateSync(message, options);
    } catch (error) {
      const isLarge = error instanceof RangeError;
      return isLarge
        ? this.#tooLarge(undefined)
        : { code: grpcCode.internal, message: "a message cannot be decompressed" };
    }
    onMessage(plain);
    return undefined;
  }

  #tooLarge(length: number | undefined): GrpcStatus {
    return {
      code: grpcCode.resourceExhausted,
      message: `the message ${length === undefined ? "is" : `has ${length} bytes, which is`} more than the ${this.#maxSize} bytes that are taken`,
    };
  }
}

function lengthAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at + 1] ?? 0) * 0x100_0000 +
    (((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 8) | (bytes[at + 4] ?? 0))
  );
}

/** A message as it goes on a stream, uncompressed. */
export function framedMessage(message: Uint8Array): Uint8Array {
  const framed = new Uint8Array(prefixBytes + message.length);
  framed[1] = message.length >>> 24;
  framed[2] = message.length >>> 16;
  framed[3] = message.length >>> 8;
  framed[4] = message.length;
  framed.set(message, prefixBytes);
  return framed;
}
