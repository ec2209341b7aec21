import { create } from "../../p4info/message/create.ts";
import type { CallOptions } from "../connection.ts";
import { insert, remove } from "../entities.ts";
import { type DigestEntry_Config, Entity, type StreamMessageResponse } from "../proto/generated/p4runtime.ts";
import type { BoundClient } from "./client.ts";
import { readData } from "./data.ts";

/** A digest: messages that the program sends to the controller (9.8). They come through the client's `onMessage`. */
export interface Digest<T> {
  /** Let the switch send this digest. */
  enable(config?: Partial<DigestEntry_Config>, options?: CallOptions): Promise<void>;
  disable(options?: CallOptions): Promise<void>;
  /** The digests in a message of the stream; undefined when it holds something else. */
  read(message: StreamMessageResponse): DigestMessage<T> | undefined;
}

export interface DigestMessage<T> {
  /** For the acknowledgement. */
  readonly listId: bigint;
  /** When the switch made it, in nanoseconds of its own clock. */
  readonly timestamp: bigint;
  readonly values: readonly T[];
}

export function bindDigest<T>(client: BoundClient, name: string): Digest<T> {
  const schema = () => client.schema.digests.get(name);
  const entity = (config?: Partial<DigestEntry_Config>): Entity =>
    create(Entity, { entity: { case: "digestEntry", value: { digestId: schema().id, config } } });
  return {
    enable: async (config = {}, options) => client.write([insert(entity(config))], options),
    disable: async (options) => client.write([remove(entity())], options),
    read({ update }) {
      if (update?.case !== "digest" || update.value.digestId !== schema().id) return undefined;
      const { listId, timestamp, data } = update.value;
      const { typeSpec } = schema();
      const values = data.map(
        (value) => readData(typeSpec, client.schema.info.typeInfo, value, `digest ${name}`) as T, // T was made from the same type
      );
      return { listId, timestamp, values };
    },
  };
}
