import type { FrameEvent, HostMachine, SendAction, TickEvent } from "../../host/machine.ts";
import { parseFrame } from "../../wire/datagram.ts";
import { decodeMessage, MESSAGE_PORT } from "../../wire/message.ts";

interface Waiting {
  readonly frame: Uint8Array;
  /** When the thread is done with it. */
  readonly at: number;
}

/**
 * A machine behind the one thread of its process that takes messages from sockets (ZeroMQ's I/O thread in ps-lite): what comes waits for
 * what came before.
 */
export class IoThread<Event extends { readonly type: string }, Action> implements HostMachine<Event, Action> {
  readonly #inner: HostMachine<Event, Action>;
  readonly #cost: (bytes: number, message: number) => number;
  readonly #waiting: Waiting[] = [];
  #freeAt = 0;

  /** @param cost milliseconds for `bytes` of a message that is `message` bytes long. */
  constructor(inner: HostMachine<Event, Action>, cost: (bytes: number, message: number) => number) {
    this.#inner = inner;
    this.#cost = cost;
  }

  get wakeAt(): number {
    return Math.min(this.#inner.wakeAt, this.#waiting[0]?.at ?? Number.POSITIVE_INFINITY);
  }

  handle(event: Event | FrameEvent | TickEvent, now: number): readonly (Action | SendAction)[] {
    if (isFrame(event)) {
      const cost = this.#costOf(event.frame);
      this.#freeAt = Math.max(this.#freeAt, now) + cost;
      this.#waiting.push({ frame: event.frame, at: this.#freeAt });
      return this.#passOn(now);
    }
    if (event.type !== "tick") return this.#inner.handle(event, now);
    const passed = this.#passOn(now);
    return this.#inner.wakeAt <= now ? [...passed, ...this.#inner.handle(event, now)] : passed;
  }

  #passOn(now: number): readonly (Action | SendAction)[] {
    const out: (Action | SendAction)[] = [];
    for (let [first] = this.#waiting; first !== undefined && first.at <= now; [first] = this.#waiting) {
      this.#waiting.shift();
      out.push(...this.#inner.handle({ type: "frame", frame: first.frame }, now));
    }
    return out;
  }

  /** Only parts of messages cost something. */
  #costOf(frame: Uint8Array): number {
    const datagram = parseFrame(frame);
    if ("refused" in datagram || datagram.dstPort !== MESSAGE_PORT) return 0;
    const packet = decodeMessage(datagram.payload);
    if ("refused" in packet || packet.kind !== "part") return 0;
    return this.#cost(packet.body.length, packet.header.bytes);
  }
}

function isFrame(event: { readonly type: string }): event is FrameEvent {
  return event.type === "frame";
}
