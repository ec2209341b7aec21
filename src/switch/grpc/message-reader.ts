import { gunzipSync, inflateSync } from "node:zlib";
import { type GrpcStatus, grpcCode } from "./grpc-status.ts";

/** A compressed flag and the length. */
const prefixBytes = 5;

/** Cuts a stream's bytes into messages, whole or in parts as they come. */
export class MessageReader {
  readonly #maxSize: number;
  readonly #encoding: string;
  #parts: Uint8Array[] = [];
  #partBytes = 0;

  /**
   * @param maxSize of a message in bytes, after it was decompressed as before
   * @param encoding as the header `grpc-encoding` says
   */
  constructor(maxSize: number, encoding: string | undefined) {
    this.#maxSize = maxSize;
    this.#encoding = encoding ?? "identity";
  }

  /** Bytes of a message whose rest has not come. */
  get pending(): number {
    return this.#partBytes;
  }

  /**
   * Take bytes and hand on each message that they complete.
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
    while (at < to || this.#partBytes > 0) {
      if (this.#partBytes === 0) {
        const length = to - at < prefixBytes ? undefined : lengthAt(bytes, at);
        if (length !== undefined && length > this.#maxSize) return this.#tooLarge(length);
        if (length !== undefined && at + prefixBytes + length <= to) {
          const end = at + prefixBytes + length;
          const status = this.#message(bytes[at] ?? 0, bytes.subarray(at + prefixBytes, end), onMessage);
          if (status !== undefined) return status;
          at = end;
          continue;
        }
      }
      if (at < to) {
        this.#parts.push(bytes.subarray(at, to));
        this.#partBytes += to - at;
        at = to;
      }
      const head = this.#head();
      if (head === undefined) return undefined;
      const length = lengthAt(head, 0);
      if (length > this.#maxSize) return this.#tooLarge(length);
      if (this.#partBytes < prefixBytes + length) return undefined;
      // The message is complete; what is behind it is looked at as if it had come alone.
      const all = this.#parts.length === 1 ? head : Buffer.concat(this.#parts);
      this.#parts = [];
      this.#partBytes = 0;
      return this.push(all, 0, all.length, onMessage);
    }
    return undefined;
  }

  /** At least the prefix in one piece; undefined when it is not there yet. */
  #head(): Uint8Array | undefined {
    if (this.#partBytes < prefixBytes) return undefined;
    const first = this.#parts[0];
    if (first !== undefined && first.length >= prefixBytes) return first;
    const joined = Buffer.concat(this.#parts);
    this.#parts = [joined];
    return joined;
  }

  #message(
    flag: number,
    message: Uint8Array,
    onMessage: (message: Uint8Array) => void,
  ): GrpcStatus | undefined {
    if (flag === 0) {
      onMessage(message);
      return undefined;
    }
    if (this.#encoding !== "gzip" && this.#encoding !== "deflate")
      return { code: grpcCode.unimplemented, message: `encoding "${this.#encoding}" is not supported` };
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
