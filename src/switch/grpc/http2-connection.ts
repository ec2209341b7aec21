import { type Headers, HpackDecoder, HpackError } from "./hpack.ts";
import {
  defaultFrameSize,
  defaultWindow,
  errorCode,
  FrameWriter,
  flag,
  frameHeaderBytes,
  frameType,
  largestWindow,
  preface,
  readUint32,
  setting,
} from "./http2-frames.ts";
import { Http2Stream, type StreamListener, type StreamOutput } from "./http2-stream.ts";

/** Where a connection's bytes go. */
export interface Http2Output {
  /**
   * False when the bytes have to wait. Then nothing more of what the client sends is to be read, so that its requests do not pile up answers,
   * until there is room again, and then `Http2Connection.drained` is to be called.
   */
  write(bytes: Uint8Array): boolean;
  /** After this nothing is written any more. */
  close(): void;
}

/** What a connection tells of its streams. */
export interface Http2Listener {
  /** A request came. What is returned hears of the rest of it; undefined when the stream was answered and ended already. */
  request(stream: Http2Stream, headers: Headers): StreamListener | undefined;
  /** So many bytes of answers more wait for the client, or fewer. */
  countWaiting(bytes: number): void;
}

export interface Http2Limits {
  /** Streams that may be open on a connection. */
  readonly maxStreams: number;
  /** Bytes that a client may send ahead on a stream, and on a connection. */
  readonly window: number;
  readonly maxHeaderListSize: number;
}

export const defaultHttp2Limits: Http2Limits = {
  maxStreams: 256,
  window: 4 * 1024 * 1024,
  maxHeaderListSize: 64 * 1024,
};

/** Largest frame that is taken. */
const maxFrameSize = 128 * 1024;
const headerTableSize = 4096;

const noBytes = new Uint8Array(0);

/** A violation of the protocol that ends the connection. */
class ConnectionError extends Error {
  readonly code: number;

  constructor(code: number, text: string) {
    super(text);
    this.code = code;
  }
}

/**
 * The server's side of one HTTP/2 connection (RFC 9113): bytes in, bytes and requests out. No socket, no clock. Written for gRPC: one
 * answer is one write, and nothing is compressed that would have to be remembered.
 *
 * Whatever a client sends, memory stays bounded: by the windows, by the limits, and because a client that does not read is not read either.
 */
export class Http2Connection implements StreamOutput {
  readonly #output: Http2Output;
  readonly #listener: Http2Listener;
  readonly #limits: Http2Limits;
  readonly #hpack: HpackDecoder;
  readonly #writer = new FrameWriter();
  readonly #streams = new Map<number, Http2Stream>();
  #hasPreface = false;
  /** The beginning of something whose rest has not come, in memory that may have room for more. */
  #rest = noBytes;
  #restBytes = 0;
  /** A data frame whose payload comes in parts: bytes that are still to come. */
  #dataLeft = 0;
  #dataStream: Http2Stream | undefined;
  #dataEnds = false;
  /** A header block that comes in several frames. */
  #block: { readonly streamId: number; readonly endStream: boolean; parts: Uint8Array[] } | undefined;
  #lastStream = 0;
  #isClosed = false;
  #isDraining = false;
  #isReceiving = false;
  #isBlocked = false;
  #sendWindow = defaultWindow;
  #received = 0;
  #peerWindow = defaultWindow;
  #peerFrameSize = defaultFrameSize;
  /** Pings of ours that were not answered. */
  #openPings = 0;
  #isFlushScheduled = false;
  #waitingBytes = 0;

  constructor(output: Http2Output, listener: Http2Listener, limits: Http2Limits = defaultHttp2Limits) {
    this.#output = output;
    this.#listener = listener;
    this.#limits = limits;
    this.#hpack = new HpackDecoder(headerTableSize, limits.maxHeaderListSize);
    this.#writer.settings([
      [setting.maxConcurrentStreams, limits.maxStreams],
      [setting.initialWindowSize, limits.window],
      [setting.maxFrameSize, maxFrameSize],
      [setting.maxHeaderListSize, limits.maxHeaderListSize],
    ]);
    this.#writer.windowUpdate(0, limits.window - defaultWindow);
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Bytes of answers that wait since the client does not take them. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  countWaiting(bytes: number): void {
    this.#waitingBytes += bytes;
    this.#listener.countWaiting(bytes);
  }

  /** Pings that were sent and not answered. */
  get unansweredPings(): number {
    return this.#openPings;
  }

  /** Takes bytes of the client, which belong to the connection from then on. */
  receive(chunk: Uint8Array): void {
    if (this.#isClosed) return;
    this.#isReceiving = true;
    try {
      this.#parse(chunk);
    } catch (error) {
      if (error instanceof ConnectionError) this.#fail(error.code);
      else if (error instanceof HpackError) this.#fail(errorCode.compressionError);
      else throw error;
    } finally {
      this.#isReceiving = false;
      this.flush();
    }
  }

  /** There is room again for what is to be written. */
  drained(): void {
    this.#isBlocked = false;
    this.#pumpAll();
    this.flush();
  }

  /** The connection is gone: all streams are cancelled. */
  lost(): void {
    this.#isClosed = true;
    for (const stream of [...this.#streams.values()]) this.#cancel(stream);
  }

  /** Takes no more requests; closes when the open ones are answered. */
  drain(): void {
    if (this.#isClosed || this.#isDraining) return;
    this.#isDraining = true;
    this.#writer.goaway(this.#lastStream, errorCode.noError);
    this.flush();
    this.#closeIfDone();
  }

  /** Asks whether the client is there. */
  ping(): void {
    if (this.#isClosed) return;
    this.#openPings++;
    this.#writer.frame(frameType.ping, 0, 0, new Uint8Array(8), 0, 8);
    this.flush();
  }

  /** Writes what was gathered. */
  flush(): void {
    if (this.#isReceiving || this.#writer.length === 0 || this.#isClosed) return;
    if (!this.#output.write(this.#writer.take())) this.#isBlocked = true;
  }

  sendHeaders(stream: Http2Stream, block: Uint8Array, endStream: boolean): void {
    this.#writer.headers(stream.id, block, endStream, this.#peerFrameSize);
    this.#flushSoon();
  }

  /** Sends a part of the bytes from `at` on, as much as the windows let through; gives how much. */
  sendData(stream: Http2Stream, bytes: Uint8Array, at: number): number {
    if (this.#isBlocked) return 0;
    const length = Math.min(bytes.length - at, this.#sendWindow, stream.sendWindow, this.#peerFrameSize);
    if (length <= 0) return 0;
    this.#sendWindow -= length;
    stream.sendWindow -= length;
    this.#writer.frame(frameType.data, 0, stream.id, bytes, at, at + length);
    // Large answers go out bit by bit, so that a slow client is noticed.
    if (this.#writer.length > maxFrameSize && !this.#output.write(this.#writer.take()))
      this.#isBlocked = true;
    this.#flushSoon();
    return length;
  }

  /** Frames of one turn of the event loop go out together. */
  #flushSoon(): void {
    if (this.#isReceiving || this.#isFlushScheduled) return;
    this.#isFlushScheduled = true;
    queueMicrotask(this.#scheduledFlush);
  }

  readonly #scheduledFlush = (): void => {
    this.#isFlushScheduled = false;
    this.flush();
  };

  /** The answer to a stream is complete. */
  finish(stream: Http2Stream): void {
    if (!this.#streams.delete(stream.id)) return;
    // What the client still sends is of no use any more.
    if (!stream.hasRemoteEnded) this.#writer.rstStream(stream.id, errorCode.noError);
    this.#closeIfDone();
  }

  #closeIfDone(): void {
    if (!this.#isDraining || this.#streams.size > 0 || this.#isClosed) return;
    this.#isReceiving = false;
    this.flush();
    this.#isClosed = true;
    this.#output.close();
  }

  #cancel(stream: Http2Stream): void {
    if (!this.#streams.delete(stream.id)) return;
    stream.abandon();
    stream.listener?.cancelled();
  }

  #fail(code: number): void {
    if (this.#isClosed) return;
    this.#writer.goaway(this.#lastStream, code);
    this.#output.write(this.#writer.take());
    this.lost();
    this.#output.close();
  }

  #pumpAll(): void {
    // Clients that send nothing but window updates must not have all streams looked through each time.
    if (this.#waitingBytes === 0) return;
    for (const stream of [...this.#streams.values()]) {
      if (this.#isBlocked || this.#sendWindow <= 0) return;
      if (stream.waitingBytes > 0) stream.pump();
    }
  }

  // ---------------------------------------------------------------- what comes in

  #parse(chunk: Uint8Array): void {
    const bytes = this.#restBytes === 0 ? chunk : this.#joined(chunk);
    let at = 0;
    if (!this.#hasPreface) {
      const length = Math.min(bytes.length, preface.length);
      for (let i = 0; i < length; i++)
        if (bytes[i] !== preface[i]) throw new ConnectionError(errorCode.protocolError, "no HTTP/2");
      if (length < preface.length) {
        this.#keepRest(bytes, 0);
        return;
      }
      this.#hasPreface = true;
      at = preface.length;
    }
    while (at < bytes.length && !this.#isClosed) {
      if (this.#dataLeft > 0) {
        const to = Math.min(bytes.length, at + this.#dataLeft);
        this.#dataLeft -= to - at;
        this.#dataPart(bytes, at, to);
        at = to;
        continue;
      }
      const left = bytes.length - at;
      if (left < frameHeaderBytes) break;
      const length = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
      const type = bytes[at + 3] ?? 0;
      const flags = bytes[at + 4] ?? 0;
      const streamId = readUint32(bytes, at + 5) & 0x7fff_ffff;
      if (length > maxFrameSize)
        throw new ConnectionError(errorCode.frameSizeError, "the frame is too large");
      if (this.#block !== undefined && (type !== frameType.continuation || streamId !== this.#block.streamId))
        throw new ConnectionError(errorCode.protocolError, "a header block is interrupted");
      if (type === frameType.data && (flags & flag.padded) === 0) {
        at += frameHeaderBytes;
        this.#beginData(streamId, length, (flags & flag.endStream) !== 0);
        if (length === 0) this.#dataPart(bytes, at, at);
        continue;
      }
      const end = at + frameHeaderBytes + length;
      if (end > bytes.length) break;
      this.#frame(type, flags, streamId, bytes, at + frameHeaderBytes, end);
      at = end;
    }
    if (!this.#isClosed) this.#keepRest(bytes, at);
  }

  /** What is left of before, and behind it what came now. It grows by doubling: a frame may come byte by byte. */
  #joined(chunk: Uint8Array): Uint8Array {
    const length = this.#restBytes + chunk.length;
    if (length > this.#rest.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#rest.length));
      larger.set(this.#rest.subarray(0, this.#restBytes));
      this.#rest = larger;
    }
    this.#rest.set(chunk, this.#restBytes);
    return this.#rest.subarray(0, length);
  }

  #keepRest(bytes: Uint8Array, from: number): void {
    const length = bytes.length - from;
    const isThere = from === 0 && this.#restBytes > 0;
    this.#restBytes = length;
    // Parts of what was read may be kept by others, so its memory is not used again.
    if (!isThere) this.#rest = length === 0 ? noBytes : bytes.slice(from);
  }

  #beginData(streamId: number, length: number, endStream: boolean): void {
    if (streamId === 0) throw new ConnectionError(errorCode.protocolError, "data of no stream");
    this.#checkNotIdle(streamId);
    this.#received += length;
    if (this.#received > this.#limits.window)
      throw new ConnectionError(errorCode.flowControlError, "more data than the window has room for");
    if (this.#received >= this.#limits.window / 2) {
      this.#writer.windowUpdate(0, this.#received);
      this.#received = 0;
    }
    const stream = this.#streams.get(streamId);
    if (stream !== undefined) {
      if (stream.hasRemoteEnded) throw new ConnectionError(errorCode.streamClosed, "data behind the end");
      stream.received += length;
      if (stream.received > this.#limits.window)
        throw new ConnectionError(errorCode.flowControlError, "more data than the window has room for");
    }
    this.#dataStream = stream;
    this.#dataLeft = length;
    this.#dataEnds = endStream;
  }

  #dataPart(bytes: Uint8Array, from: number, to: number): void {
    const stream = this.#dataStream;
    if (stream === undefined || stream.isClosed) return;
    const isLast = this.#dataEnds && this.#dataLeft === 0;
    if (to > from) stream.listener?.data(bytes, from, to, isLast);
    if (this.#dataLeft > 0) return;
    this.#dataStream = undefined;
    if (this.#dataEnds) this.#remoteEnd(stream);
    else if (stream.received >= this.#limits.window / 2 && !stream.isClosed) {
      this.#writer.windowUpdate(stream.id, stream.received);
      stream.received = 0;
    }
  }

  #remoteEnd(stream: Http2Stream): void {
    stream.hasRemoteEnded = true;
    if (!stream.isClosed) stream.listener?.halfClosed();
  }

  /** A stream with this number must have been begun by the client. */
  #checkNotIdle(streamId: number): void {
    if (streamId > this.#lastStream || streamId % 2 === 0)
      throw new ConnectionError(errorCode.protocolError, "the stream was never opened");
  }

  #frame(type: number, flags: number, streamId: number, bytes: Uint8Array, from: number, to: number): void {
    switch (type) {
      case frameType.data: {
        const padding = bytes[from] ?? 0;
        if (from + 1 + padding > to)
          throw new ConnectionError(errorCode.protocolError, "more padding than there is");
        this.#beginData(streamId, to - from, (flags & flag.endStream) !== 0);
        this.#dataLeft = 0;
        this.#dataPart(bytes, from + 1, to - padding);
        return;
      }
      case frameType.headers:
        this.#headers(flags, streamId, bytes, from, to);
        return;
      case frameType.continuation:
        this.#continuation(flags, bytes, from, to);
        return;
      case frameType.settings:
        this.#settings(flags, streamId, bytes, from, to);
        return;
      case frameType.ping:
        this.#ping(flags, streamId, bytes, from, to);
        return;
      case frameType.windowUpdate:
        this.#windowUpdate(streamId, bytes, from, to);
        return;
      case frameType.rstStream: {
        if (to - from !== 4) throw new ConnectionError(errorCode.frameSizeError, "a reset has 4 bytes");
        if (streamId % 2 === 0)
          throw new ConnectionError(errorCode.protocolError, "a reset of what no client opens");
        // gRPC's C++ core also resets streams whose headers it has not sent yet and then never sends, which RFC 9113 (6.4) forbids.
        const stream = this.#streams.get(streamId);
        if (stream !== undefined) this.#cancel(stream);
        return;
      }
      case frameType.priority:
        if (to - from !== 5) throw new ConnectionError(errorCode.frameSizeError, "a priority has 5 bytes");
        if (streamId === 0) throw new ConnectionError(errorCode.protocolError, "a priority of no stream");
        return;
      case frameType.pushPromise:
        throw new ConnectionError(errorCode.protocolError, "clients do not push");
      case frameType.goaway:
        if (streamId !== 0 || to - from < 8)
          throw new ConnectionError(errorCode.protocolError, "a malformed goodbye");
        return;
      default:
        // Frames of kinds that are not known are passed over.
        return;
    }
  }

  #headers(flags: number, streamId: number, bytes: Uint8Array, from: number, to: number): void {
    if (streamId % 2 === 0) throw new ConnectionError(errorCode.protocolError, "clients' streams are odd");
    let start = from;
    let end = to;
    if ((flags & flag.padded) !== 0) end -= bytes[start++] ?? 0;
    if ((flags & flag.priority) !== 0) start += 5;
    if (start > end) throw new ConnectionError(errorCode.protocolError, "more padding than there is");
    const endStream = (flags & flag.endStream) !== 0;
    const part = bytes.subarray(start, end);
    if ((flags & flag.endHeaders) !== 0) this.#headerBlock(streamId, endStream, part);
    else this.#block = { streamId, endStream, parts: [new Uint8Array(part)] };
  }

  #continuation(flags: number, bytes: Uint8Array, from: number, to: number): void {
    const block = this.#block;
    if (block === undefined)
      throw new ConnectionError(errorCode.protocolError, "a continuation of no headers");
    block.parts.push(new Uint8Array(bytes.subarray(from, to)));
    // Compressed headers are hardly larger than the list that they make, and parts without end are an attack.
    const size = block.parts.reduce((sum, part) => sum + part.length, 0);
    if (size > 2 * this.#limits.maxHeaderListSize || block.parts.length > 64)
      throw new ConnectionError(errorCode.enhanceYourCalm, "the headers are too large");
    if ((flags & flag.endHeaders) === 0) return;
    this.#block = undefined;
    this.#headerBlock(block.streamId, block.endStream, Buffer.concat(block.parts));
  }

  #headerBlock(streamId: number, endStream: boolean, block: Uint8Array): void {
    // Every block is decoded, whatever becomes of it: the tables of both sides must stay the same.
    const headers = this.#hpack.decode(block);
    const known = this.#streams.get(streamId);
    if (known !== undefined) {
      if (known.hasRemoteEnded || !endStream)
        throw new ConnectionError(errorCode.protocolError, "headers behind the end of a stream");
      this.#remoteEnd(known);
      return;
    }
    // Trailers of a stream that was answered already.
    if (streamId <= this.#lastStream) return;
    this.#lastStream = streamId;
    if (this.#isDraining || this.#streams.size >= this.#limits.maxStreams) {
      this.#writer.rstStream(streamId, errorCode.refusedStream);
      return;
    }
    const stream = new Http2Stream(this, streamId, this.#peerWindow);
    this.#streams.set(streamId, stream);
    stream.hasRemoteEnded = endStream;
    stream.listener = this.#listener.request(stream, headers);
    if (endStream && !stream.isClosed) stream.listener?.halfClosed();
  }

  #settings(flags: number, streamId: number, bytes: Uint8Array, from: number, to: number): void {
    if (streamId !== 0) throw new ConnectionError(errorCode.protocolError, "settings of a stream");
    if ((flags & flag.ack) !== 0) {
      if (to !== from) throw new ConnectionError(errorCode.frameSizeError, "an answer has no settings");
      return;
    }
    if ((to - from) % 6 !== 0) throw new ConnectionError(errorCode.frameSizeError, "half a setting");
    let peerWindow = this.#peerWindow;
    for (let at = from; at < to; at += 6) {
      const id = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
      const value = readUint32(bytes, at + 2);
      if (id === setting.initialWindowSize) {
        if (value > largestWindow)
          throw new ConnectionError(errorCode.flowControlError, "the window is too large");
        peerWindow = value;
      } else if (id === setting.maxFrameSize) {
        if (value < defaultFrameSize || value > 0xff_ffff)
          throw new ConnectionError(errorCode.protocolError, "no frame size");
        this.#peerFrameSize = Math.min(value, maxFrameSize);
      }
    }
    this.#writer.settingsAck();
    this.#setPeerWindow(peerWindow);
  }

  /** The window of streams changed, that of open ones by as much. */
  #setPeerWindow(window: number): void {
    const change = window - this.#peerWindow;
    if (change === 0) return;
    this.#peerWindow = window;
    for (const stream of this.#streams.values()) {
      stream.sendWindow += change;
      if (stream.sendWindow > largestWindow)
        throw new ConnectionError(errorCode.flowControlError, "a stream's window is too large");
    }
    if (change > 0) this.#pumpAll();
  }

  #ping(flags: number, streamId: number, bytes: Uint8Array, from: number, to: number): void {
    if (streamId !== 0) throw new ConnectionError(errorCode.protocolError, "a ping of a stream");
    if (to - from !== 8) throw new ConnectionError(errorCode.frameSizeError, "a ping has 8 bytes");
    if ((flags & flag.ack) !== 0) {
      this.#openPings = 0;
      return;
    }
    this.#writer.frame(frameType.ping, flag.ack, 0, bytes, from, to);
  }

  #windowUpdate(streamId: number, bytes: Uint8Array, from: number, to: number): void {
    if (to - from !== 4) throw new ConnectionError(errorCode.frameSizeError, "an update has 4 bytes");
    const increment = readUint32(bytes, from) & 0x7fff_ffff;
    if (streamId === 0) {
      if (increment === 0 || this.#sendWindow + increment > largestWindow)
        throw new ConnectionError(errorCode.flowControlError, "no window update");
      this.#sendWindow += increment;
      this.#pumpAll();
      return;
    }
    this.#checkNotIdle(streamId);
    const stream = this.#streams.get(streamId);
    if (stream === undefined) return;
    if (increment === 0 || stream.sendWindow + increment > largestWindow) {
      this.#writer.rstStream(streamId, errorCode.flowControlError);
      this.#cancel(stream);
      return;
    }
    stream.sendWindow += increment;
    if (stream.waitingBytes > 0) stream.pump();
  }
}
