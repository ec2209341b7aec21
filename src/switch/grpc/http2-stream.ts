export interface StreamListener {
  /** Bytes of the body, and whether they are its last ones: otherwise that is not known yet. They may be kept. */
  data(bytes: Uint8Array, from: number, to: number, isLast: boolean): void;
  /** The client has sent everything. */
  halfClosed(): void;
  /** The stream is no more: reset by the client, or the connection is gone. Not after the answer is complete. */
  cancelled(): void;
  /** Everything that was sent has left the stream, after it had to wait. */
  drained(): void;
}

/** Where a stream's answer goes: its connection. */
export interface StreamOutput {
  sendHeaders(stream: Http2Stream, block: Uint8Array, endStream: boolean): void;
  /** Sends a part of the bytes from `at` on, as much as there is room for; gives how much. */
  sendData(stream: Http2Stream, bytes: Uint8Array, at: number): number;
  /** The answer is complete. */
  finish(stream: Http2Stream): void;
  /** So many bytes more wait in a stream, or fewer. */
  countWaiting(bytes: number): void;
}

interface Chunk {
  readonly bytes: Uint8Array;
  at: number;
}

/** One request and its answer, seen from the server. */
export class Http2Stream {
  readonly id: number;
  readonly #output: StreamOutput;
  /** What is to be sent and does not fit the windows yet. */
  readonly #waiting: Chunk[] = [];
  #waitingBytes = 0;
  /** Header block that ends the stream, once it is known. */
  #trailers: Uint8Array | undefined;
  #hasEnded = false;
  #hasWaited = false;
  listener: StreamListener | undefined;
  /** Bytes that may be sent. */
  sendWindow: number;
  /** Bytes that came since the last window update. */
  received = 0;
  hasRemoteEnded = false;

  constructor(output: StreamOutput, id: number, sendWindow: number) {
    this.#output = output;
    this.id = id;
    this.sendWindow = sendWindow;
  }

  /** Bytes that were sent here and wait for room. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Parts that were sent here and wait for room. */
  get waitingParts(): number {
    return this.#waiting.length;
  }

  /** True when nothing can be sent any more. */
  get isClosed(): boolean {
    return this.#hasEnded;
  }

  /** The first header block of the answer. */
  sendHeaders(block: Uint8Array): void {
    if (!this.#hasEnded) this.#output.sendHeaders(this, block, false);
  }

  /** A part of the body. The bytes are not copied when they have to wait. */
  sendData(bytes: Uint8Array): void {
    if (this.#hasEnded || this.#trailers !== undefined) return;
    const sent = this.#waiting.length === 0 ? this.#send(bytes, 0) : 0;
    if (sent === bytes.length) return;
    this.#waiting.push({ bytes, at: sent });
    this.#count(bytes.length - sent);
    this.#hasWaited = true;
  }

  /** Ends the answer with trailers, behind what still waits. */
  end(trailers: Uint8Array): void {
    if (this.#hasEnded || this.#trailers !== undefined) return;
    this.#trailers = trailers;
    this.pump();
  }

  /** Sends what fits. */
  pump(): void {
    while (this.#waiting.length > 0) {
      const chunk = this.#waiting[0];
      if (chunk === undefined) break;
      const sent = this.#send(chunk.bytes, chunk.at);
      chunk.at += sent;
      this.#count(-sent);
      if (chunk.at < chunk.bytes.length) return;
      this.#waiting.shift();
    }
    if (this.#trailers !== undefined && !this.#hasEnded) {
      this.#hasEnded = true;
      this.#output.sendHeaders(this, this.#trailers, true);
      this.#output.finish(this);
    } else if (this.#hasWaited) {
      this.#hasWaited = false;
      this.listener?.drained();
    }
  }

  /** Sends from `at` on in as many frames as there is room for; gives how many bytes went. */
  #send(bytes: Uint8Array, at: number): number {
    let to = at;
    while (to < bytes.length) {
      const sent = this.#output.sendData(this, bytes, to);
      if (sent === 0) break;
      to += sent;
    }
    return to - at;
  }

  #count(bytes: number): void {
    this.#waitingBytes += bytes;
    this.#output.countWaiting(bytes);
  }

  /** Forgets what waits. */
  abandon(): void {
    this.#hasEnded = true;
    this.#waiting.length = 0;
    this.#count(-this.#waitingBytes);
  }
}
