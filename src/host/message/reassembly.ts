import type { MessagePartHeader } from "../../wire/message.ts";

/** A message that has arrived whole. */
export interface DeliveredMessage {
  readonly tag: number;
  /** Belongs to whom it is given. */
  readonly body: Uint8Array;
}

export interface ReassemblyOptions {
  /** Longest message that is taken, in bytes. */
  readonly maxBytes: number;
  /** Messages that may be under way at once. */
  readonly maxMessages: number;
  /** Bytes of all messages that are not complete. */
  readonly maxBuffered: number;
  /** Deliver in the order of sending; otherwise as they become complete. */
  readonly ordered: boolean;
  /** Are the bytes kept? Without them messages arrive empty, and only the network is measured, with little memory. */
  readonly store: boolean;
}

interface Incoming {
  readonly tag: number;
  readonly segment: number;
  readonly bytes: number;
  /** Empty when nothing is stored. */
  readonly body: Uint8Array;
  readonly has: Uint8Array;
  missing: number;
}

export type PartFate =
  /** Stored, or known: to be acknowledged. */
  | "taken"
  | "duplicate"
  /** No room: not to be acknowledged, so that it comes again. */
  | "beyondWindow"
  /** Contradicts what came before. */
  | "inconsistent";

/** Puts messages together from their parts, in whatever order these come, each once. */
export class Reassembly {
  readonly #options: ReassemblyOptions;
  readonly #incoming = new Map<number, Incoming>();
  /** Complete messages with a number from `#base` on. */
  readonly #complete = new Map<number, DeliveredMessage | undefined>();
  /** All messages before this one are done with. */
  #base = 0;
  #buffered = 0;

  constructor(options: ReassemblyOptions) {
    this.#options = options;
  }

  /** Takes a part; messages that become deliverable are added to `delivered`. */
  take(header: MessagePartHeader, part: Uint8Array, delivered: DeliveredMessage[]): PartFate {
    const { message: id, bytes, offset, segment, tag } = header;
    const ahead = (id - this.#base) | 0;
    if (ahead < 0 || this.#complete.has(id)) return "duplicate";
    const { maxMessages, maxBytes, maxBuffered } = this.#options;
    if (ahead >= maxMessages || bytes > maxBytes) return "beyondWindow";
    let incoming = this.#incoming.get(id);
    if (incoming === undefined) {
      // The next message in turn is always taken: otherwise the ones that fill the room could wait for it.
      if (this.#buffered + bytes > maxBuffered && ahead > 0) return "beyondWindow";
      const parts = Math.max(1, Math.ceil(bytes / segment));
      const body = new Uint8Array(this.#options.store ? bytes : 0);
      incoming = { tag, segment, bytes, body, has: new Uint8Array(parts), missing: parts };
      this.#incoming.set(id, incoming);
      this.#buffered += bytes;
    }
    if (incoming.bytes !== bytes || incoming.segment !== segment || incoming.tag !== tag)
      return "inconsistent";
    const index = offset / segment;
    if (incoming.has[index] === 1) return "duplicate";
    incoming.has[index] = 1;
    if (this.#options.store) incoming.body.set(part, offset);
    incoming.missing--;
    if (incoming.missing === 0) this.#done(id, incoming, delivered);
    return "taken";
  }

  #done(id: number, { tag, bytes, body }: Incoming, delivered: DeliveredMessage[]): void {
    this.#incoming.delete(id);
    this.#buffered -= bytes;
    const message = { tag, body };
    if (!this.#options.ordered) delivered.push(message);
    this.#complete.set(id, this.#options.ordered ? message : undefined);
    while (this.#complete.has(this.#base)) {
      const next = this.#complete.get(this.#base);
      if (next !== undefined) delivered.push(next);
      this.#complete.delete(this.#base);
      this.#base = (this.#base + 1) >>> 0;
    }
  }
}
