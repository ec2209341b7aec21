import { encode } from "../../p4info/message/binary.ts";
import type { Init } from "../../p4info/message/descriptor.ts";
import { type Entity, ReadResponse } from "../../p4runtime/proto/generated/p4runtime.ts";

/** Bytes of a ReadResponse, unless one entity alone has more: clients take 4 MB by default, and slow ones should get something soon. */
const responseBytes = 256 * 1024;

/** Gathers the entities of an answer, as ReadResponses of moderate size. */
export class ReadAnswer {
  readonly #responses: Uint8Array[] = [];
  #bytes = new Uint8Array(1024);
  #length = 0;

  entity(entity: Init<Entity>): void {
    this.add(encode(ReadResponse, { entities: [entity] }));
  }

  /** Adds the entities of a ReadResponse, which is copied: messages behind each other are one with all their entities. */
  add(response: Uint8Array): void {
    if (this.#length > 0 && this.#length + response.length > responseBytes) this.#endResponse();
    const needed = this.#length + response.length;
    if (needed > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = larger;
    }
    this.#bytes.set(response, this.#length);
    this.#length = needed;
  }

  #endResponse(): void {
    this.#responses.push(this.#bytes.slice(0, this.#length));
    this.#length = 0;
  }

  /** The responses; none when there are no entities. */
  finish(): readonly Uint8Array[] {
    if (this.#length > 0) this.#endResponse();
    return this.#responses;
  }
}
