import { encode } from "../../p4info/message/binary.ts";
import type { Init } from "../../p4info/message/descriptor.ts";
import { type Entity, ReadResponse } from "../../p4runtime/proto/generated/p4runtime.ts";
import type { Steps } from "./access-queue.ts";

/** Bytes of a ReadResponse, unless one entity alone has more: clients take 4 MB by default, and slow ones should get something soon. */
const responseBytes = 256 * 1024;
/** Entities that are encoded without a pause. */
const entitiesBetweenPauses = 16;

/** Puts the entities of an answer into ReadResponses of moderate size. */
export class ReadAnswer {
  readonly #send: (response: Uint8Array) => void;
  #bytes = new Uint8Array(1024);
  #length = 0;
  #responses = 0;

  /** @param send gets each response when it is complete */
  constructor(send: (response: Uint8Array) => void) {
    this.#send = send;
  }

  /** Responses that were sent. */
  get responses(): number {
    return this.#responses;
  }

  entity(entity: Init<Entity>): void {
    this.add(encode(ReadResponse, { entities: [entity] }));
  }

  *entities<T>(values: Iterable<T>, entityOf: (value: T) => Init<Entity>): Steps<void> {
    let count = 0;
    for (const value of values) {
      this.entity(entityOf(value));
      if (++count % entitiesBetweenPauses === 0) yield;
    }
  }

  /** Adds the entities of a ReadResponse, which is copied: messages behind each other are one with all their entities. */
  add(response: Uint8Array): void {
    if (this.#length > 0 && this.#length + response.length > responseBytes) this.finish();
    const needed = this.#length + response.length;
    if (needed > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(response, this.#length);
    this.#length = needed;
  }

  /** Sends what is not sent yet, if there is anything. */
  finish(): void {
    if (this.#length === 0) return;
    this.#responses++;
    this.#send(this.#bytes.slice(0, this.#length));
    this.#length = 0;
  }
}
