import { dscpOfLayer, trafficPlan } from "../../wire/trafficclass.ts";
import type { MessageHub } from "../message/hub.ts";
import { PriorityQueue } from "../priorityqueue.ts";
import type { Discipline } from "./slicing.ts";

interface Letter {
  readonly to: number;
  readonly layer: number;
  /** Made when it is sent: a queue of slices holds no copies. */
  readonly body: () => Uint8Array;
}

/**
 * What a host has to send, the most urgent first. One message is sent at a time, and the next one chosen when all of it is on its way:
 * a front layer that comes later overtakes at the next border of slices, and waits for one slice at most.
 */
export class Outbox {
  /** Messages in the order in which they were sent, if it is to be kept: for tests and plots. */
  onSend: ((to: number, layer: number) => void) | undefined;
  readonly #hub: MessageHub;
  readonly #order: Discipline["order"];
  readonly #layers: number;
  readonly #isMarked: boolean;
  readonly #perMessage: number;
  readonly #queue = new PriorityQueue<Letter>();
  readonly #plan = trafficPlan();
  #sendingTo: number | undefined;
  #freeAt = Number.NEGATIVE_INFINITY;

  constructor(
    hub: MessageHub,
    settings: {
      readonly order: Discipline["order"];
      readonly layers: number;
      readonly isMarked: boolean;
      readonly perMessage: number;
    },
  ) {
    this.#hub = hub;
    this.#order = settings.order;
    this.#layers = settings.layers;
    this.#isMarked = settings.isMarked;
    this.#perMessage = settings.perMessage;
  }

  get size(): number {
    return this.#queue.size;
  }

  /** When `pump` has something to do although no packet comes. */
  get wakeAt(): number {
    return this.#queue.size > 0 && !this.#isBlocked() ? this.#freeAt : Number.POSITIVE_INFINITY;
  }

  add(to: number, layer: number, body: () => Uint8Array): void {
    this.#queue.add(this.#order === "priority" ? layer : 0, { to, layer, body });
  }

  /** Hands over what may go now. To be called after every event; the hub is polled afterwards, and then again. */
  pump(now: number): boolean {
    if (this.#isBlocked() || now < this.#freeAt) return false;
    const letter = this.#queue.take();
    if (letter === undefined) return false;
    const { to, layer, body } = letter;
    const dscp = this.#isMarked ? dscpOfLayer(this.#plan, layer, this.#layers) : 0;
    this.#hub.send(to, 0, body(), { dscp });
    this.#sendingTo = to;
    this.#freeAt = this.#perMessage === 0 ? this.#freeAt : now + this.#perMessage;
    this.onSend?.(to, layer);
    return true;
  }

  /** Is some of the last message still waiting for its turn on the network? */
  #isBlocked(): boolean {
    return this.#sendingTo !== undefined && !this.#hub.isTaken(this.#sendingTo);
  }
}
