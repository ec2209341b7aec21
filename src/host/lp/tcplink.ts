import type { Socket } from "node:net";
import {
  type CollectiveHeader,
  CollectiveKind,
  collectiveCodec,
  decodeCollective,
  isData,
} from "../../wire/collective.ts";
import { decodeFloatsInto, encodeFloatsInto } from "../../wire/floatbody.ts";
import type { Admission, CollectiveMessage } from "./node.ts";

/** Which of a pair's two connections this is: values wait in theirs until they are wanted, the rest must never wait. */
export const Channel = { CONTROL: 0, DATA: 1 } as const;

export interface LinkListener {
  /** May this data message come in? */
  admit(header: CollectiveHeader): Admission;
  /** The values are good during the call only. */
  message(message: CollectiveMessage): void;
  /** What comes is no message; the connection is of no use any more. */
  garbage(reason: string): void;
  /** The connection has ended and all that came is used. */
  ended(reason: string): void;
}

/** Messages on one TCP connection: headers, each with its values behind it. Keeps at most one message that it may not hand on yet. */
export class TcpLink {
  readonly #socket: Socket;
  readonly #listener: LinkListener;
  readonly #headerBytes = new Uint8Array(collectiveCodec.bytes);
  #headerFilled = 0;
  #header: CollectiveHeader | undefined;
  #values = new Float32Array(0);
  #valueBytes = new Uint8Array(0);
  #valuesFilled = 0;
  #isAdmitted = false;
  /** What has been read from the socket and not been used. */
  #rest: Uint8Array = new Uint8Array(0);
  #ended: string | undefined;
  #isBroken = false;

  /** @param first bytes that were read with the greeting. */
  constructor(socket: Socket, first: Uint8Array, listener: LinkListener) {
    this.#socket = socket;
    this.#listener = listener;
    this.#rest = first;
    socket.on("data", (bytes: Uint8Array) => {
      this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes]);
      this.proceed();
    });
    socket.on("error", (error) => this.#end(error.message));
    socket.on("close", () => this.#end("the connection was closed"));
    socket.on("end", () => this.#end("the connection was closed"));
  }

  /** Goes on with what was not admitted, or with what came with the greeting. */
  proceed(): void {
    while (!this.#isBroken && this.#useRest());
    if (this.#isBroken) return;
    if (this.#rest.length > 0) this.#socket.pause();
    else {
      this.#socket.resume();
      this.#tellEnd();
    }
  }

  /** Bytes to hand to the socket: they do not change with the values afterwards. */
  static encode({ header, values }: CollectiveMessage): Uint8Array {
    const bytes = new Uint8Array(collectiveCodec.bytes + values.length * 4);
    collectiveCodec.encode(header, bytes, 0);
    encodeFloatsInto(values, bytes, collectiveCodec.bytes);
    return bytes;
  }

  /** `taken` is called when the system has taken all bytes. */
  write(bytes: Uint8Array, taken: () => void = () => {}): void {
    if (this.#socket.writable) this.#socket.write(bytes, (error) => error == null && taken());
  }

  /** Says that nothing follows. */
  end(): void {
    this.#socket.end();
  }

  destroy(): void {
    this.#isBroken = true;
    this.#socket.destroy();
  }

  /** One step on; false when it needs more bytes or an admission. */
  #useRest(): boolean {
    if (this.#header === undefined) {
      this.#headerFilled = this.#fill(this.#headerBytes, this.#headerFilled);
      if (this.#headerFilled < this.#headerBytes.length) return false;
      const header = decodeCollective(this.#headerBytes);
      if ("refused" in header) return this.#broken(header.refused);
      if (header.kind === CollectiveKind.HELLO) return this.#broken("a second greeting");
      this.#header = header;
      this.#isAdmitted = !isData(header.kind);
      this.#valuesFilled = 0;
    }
    const header = this.#header;
    if (!this.#isAdmitted) {
      const admission = this.#listener.admit(header);
      if (admission === "later") return false;
      if (admission !== "now") return this.#broken(admission.message);
      this.#isAdmitted = true;
      // Only now: the length is one that this node expects.
      if (this.#values.length < header.count) {
        this.#values = new Float32Array(header.count);
        this.#valueBytes = new Uint8Array(this.#values.buffer);
      }
    }
    const body = this.#valueBytes.subarray(0, header.count * 4);
    this.#valuesFilled = this.#fill(body, this.#valuesFilled);
    if (this.#valuesFilled < body.length) return false;
    this.#header = undefined;
    this.#headerFilled = 0;
    const values = this.#values.subarray(0, header.count);
    decodeFloatsInto(body, values, 0);
    this.#listener.message({ header, values });
    return true;
  }

  /** Moves bytes of the rest to where they belong; gives how far that is filled. */
  #fill(to: Uint8Array, filled: number): number {
    const bytes = this.#rest.subarray(0, to.length - filled);
    to.set(bytes, filled);
    this.#rest = this.#rest.subarray(bytes.length);
    return filled + bytes.length;
  }

  #broken(reason: string): false {
    this.#isBroken = true;
    this.#listener.garbage(reason);
    return false;
  }

  #end(reason: string): void {
    this.#ended ??= reason;
    this.proceed();
  }

  #tellEnd(): void {
    if (this.#ended === undefined || this.#isBroken) return;
    this.#isBroken = true;
    this.#listener.ended(this.#ended);
  }
}
